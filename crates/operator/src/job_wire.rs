//! A job on the wire, read so that no job can keep the others from being read.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;
use serde_json::Value;
use trainyard_manifest::bounded::{Bounded, DEEPEST};

use crate::guarded::metadata;

/// A job on the wire. `spec` stays as it is until its meaning is asked for.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "Parts")]
pub struct JobWire {
    /// Name, UID and what else says which object it is.
    pub metadata: ObjectMeta,
    pub(crate) spec: Value,
    pub(crate) status: Option<Value>,
    /// Why the job cannot be run, whatever its spec says; none where it may be.
    pub(crate) unreadable: Option<String>,
}

#[derive(Deserialize)]
struct Parts {
    #[serde(default)]
    metadata: Bounded,
    #[serde(default)]
    spec: Bounded,
    #[serde(default)]
    status: Bounded,
}

impl From<Parts> for JobWire {
    fn from(parts: Parts) -> Self {
        let (metadata, strange) = metadata(&parts.metadata.value);
        let deep = || format!("the spec is nested deeper than {DEEPEST} levels");
        let strange = strange.map(|words| format!("the metadata cannot be read: {words}"));
        Self {
            metadata,
            spec: parts.spec.value,
            // No field of ours is nested as deep as what was left out.
            status: Some(parts.status.value).filter(|status| !status.is_null()),
            unreadable: strange.or_else(|| parts.spec.cut.then(deep)),
        }
    }
}

impl JobWire {
    /// Why the job cannot be run, whatever its spec says.
    #[must_use]
    pub fn unreadable(&self) -> Option<&str> {
        self.unreadable.as_deref()
    }
}

#[cfg(test)]
impl JobWire {
    /// Gives the job to another controller.
    pub(crate) fn manage(&mut self, by: &str) {
        self.spec["runPolicy"]["managedBy"] = by.into();
    }

    /// Sets a field of its `runPolicy`.
    pub(crate) fn policy(&mut self, field: &str, value: u32) {
        self.spec["runPolicy"][field] = value.into();
    }

    /// Gives it so many workers.
    pub(crate) fn scale(&mut self, workers: u32) {
        self.spec["tfReplicaSpecs"]["Worker"]["replicas"] = workers.into();
    }
}

#[cfg(test)]
mod tests {
    use kube::core::{ObjectList, WatchEvent};
    use serde_json::json;

    use super::*;
    use crate::job::{JobSeen, Meaning, Reading};

    fn nested(levels: usize) -> String {
        format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels))
    }

    /// A job as the API server writes it, with this beside its spec's own fields.
    fn job(name: &str, metadata: &str, spec: &str) -> String {
        let template = json!({ "spec": { "containers": [{ "name": "tensorflow", "image": "i" }] } });
        format!(
            r#"{{"metadata": {{"name": "{name}", "namespace": "ml", "uid": "{name}", "resourceVersion": "3", "generation": 1{metadata}}},
                "spec": {{"tfReplicaSpecs": {{"Worker": {{"template": {template}}}}}{spec}}}}}"#
        )
    }

    fn read(wire: JobWire) -> JobSeen {
        Reading::default().read(&crate::kinds::tfjob::KIND, wire, None)
    }

    #[test]
    fn a_job_nested_too_deep_is_refused_alone() {
        let deep = nested(5_000);
        let fields = format!(r#", "managedFields": [{{"manager": "m", "fieldsV1": {deep}}}]"#);
        let bad = job("bad", &fields, &format!(r#", "more": {deep}"#));
        let list = format!(
            r#"{{"apiVersion": "v1", "kind": "List", "metadata": {{}}, "items": [{bad}, {}]}}"#,
            job("good", "", "")
        );
        let list: ObjectList<JobWire> = serde_json::from_str(&list).unwrap();
        let [bad, good] = &list.items[..] else {
            panic!("{} items", list.items.len())
        };
        assert!(matches!(&*read(good.clone()).meaning, Meaning::Job(_)));
        let seen = read(bad.clone());
        assert_eq!((&*seen.key.name, seen.version), ("bad", 3));
        let Meaning::Broken(words) = &*seen.meaning else {
            panic!("it is no job")
        };
        assert_eq!(words, "the spec is nested deeper than 100 levels");
    }

    #[test]
    fn a_watch_goes_on_after_a_job_nested_too_deep() {
        let event = format!(
            r#"{{"type": "ADDED", "object": {}}}"#,
            job("bad", "", &format!(r#", "more": {}"#, nested(5_000)))
        );
        let event: WatchEvent<JobWire> = serde_json::from_str(&event).unwrap();
        assert!(matches!(event, WatchEvent::Added(job) if job.unreadable().is_some()));
    }

    #[test]
    fn metadata_of_wrong_types_is_refused_alone() {
        let strange = job("bad", r#", "labels": 3, "creationTimestamp": {}"#, "");
        let wire: JobWire = serde_json::from_str(&strange).unwrap();
        assert!(
            wire.unreadable()
                .is_some_and(|words| words.starts_with("the metadata cannot be read: "))
        );
        assert_eq!(wire.metadata.name.as_deref(), Some("bad"));
        assert_eq!(wire.metadata.resource_version.as_deref(), Some("3"));
    }
}
