//! Objects of which each is read by itself: one that cannot be read does not keep the others from being read.
//!
//! Like kube's `DeserializeGuard`; but neither its depth nor its metadata can make an object fail.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use trainyard_manifest::bounded::Bounded;

use crate::job::JobWire;
use crate::watched::{WatchedNode, WatchedPod};

/// What is wrong is told in at most so many characters: the words may hold the object's own.
const LONGEST: usize = 300;

/// An object, or why it cannot be read.
#[derive(Clone, Debug)]
pub struct Guarded<K>(pub Result<K, Unread>);

/// An object that cannot be read.
#[derive(Clone, Debug)]
pub struct Unread {
    /// Which object it is, as far as it says so.
    pub metadata: ObjectMeta,
    /// What is wrong with it.
    pub why: String,
}

impl<'de, K: DeserializeOwned> Deserialize<'de> for Guarded<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Bounded::deserialize(deserializer)?.value;
        Ok(Self(K::deserialize(&object).map_err(|error| Unread {
            metadata: metadata(&object["metadata"]).0,
            why: short(&error),
        })))
    }
}

impl<K: Resource> Resource for Guarded<K> {
    type DynamicType = K::DynamicType;
    type Scope = K::Scope;

    fn kind(of: &Self::DynamicType) -> Cow<'_, str> {
        K::kind(of)
    }

    fn group(of: &Self::DynamicType) -> Cow<'_, str> {
        K::group(of)
    }

    fn version(of: &Self::DynamicType) -> Cow<'_, str> {
        K::version(of)
    }

    fn plural(of: &Self::DynamicType) -> Cow<'_, str> {
        K::plural(of)
    }

    fn meta(&self) -> &ObjectMeta {
        self.0.as_ref().map_or_else(|unread| &unread.metadata, K::meta)
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        self.0
            .as_mut()
            .map_or_else(|unread| &mut unread.metadata, K::meta_mut)
    }
}

/// An object's metadata; where that cannot be read, why, and as much of it as says which object it is.
#[must_use]
pub fn metadata(value: &Value) -> (ObjectMeta, Option<String>) {
    match ObjectMeta::deserialize(value) {
        Ok(metadata) => (metadata, None),
        Err(error) => {
            let text = |field: &str| value[field].as_str().map(str::to_owned);
            let metadata = ObjectMeta {
                name: text("name"),
                namespace: text("namespace"),
                uid: text("uid"),
                resource_version: text("resourceVersion"),
                ..ObjectMeta::default()
            };
            (metadata, Some(short(&error)))
        }
    }
}

fn short(error: &serde_json::Error) -> String {
    error.to_string().chars().take(LONGEST).collect()
}

/// What a watch shows, which may be unreadable.
pub trait MaybeReadable {
    /// Why it cannot be read; none where it can.
    fn unreadable(&self) -> Option<&str>;
}

impl<K> MaybeReadable for Guarded<K> {
    fn unreadable(&self) -> Option<&str> {
        self.0.as_ref().err().map(|unread| &*unread.why)
    }
}

impl MaybeReadable for JobWire {
    fn unreadable(&self) -> Option<&str> {
        self.unreadable()
    }
}

impl MaybeReadable for WatchedNode {
    fn unreadable(&self) -> Option<&str> {
        None
    }
}

impl MaybeReadable for WatchedPod {
    fn unreadable(&self) -> Option<&str> {
        self.seen.unreadable()
    }
}

#[cfg(test)]
mod tests {
    use kube::core::{DynamicObject, ObjectList};

    use super::*;
    use crate::watched::WatchedService;

    fn list<K: DeserializeOwned + Clone>(bad: &str) -> Vec<K> {
        let good = r#"{"apiVersion": "v1", "kind": "Any", "metadata": {"name": "good", "namespace": "ml", "uid": "g"}}"#;
        let text =
            format!(r#"{{"apiVersion": "v1", "kind": "List", "metadata": {{}}, "items": [{bad}, {good}]}}"#);
        serde_json::from_str::<ObjectList<K>>(&text).unwrap().items
    }

    #[test]
    fn strange_metadata_and_depth_concern_one_object() {
        let deep = format!("{}1{}", r#"{"a":"#.repeat(5_000), "}".repeat(5_000));
        let rows = [
            (
                r#"{"metadata": {"name": "bad", "labels": {"a": 1}}}"#.to_owned(),
                true,
            ),
            (
                r#"{"metadata": {"name": "bad", "generation": "x"}}"#.to_owned(),
                true,
            ),
            (
                r#"{"metadata": {"name": "bad", "ownerReferences": {}}}"#.to_owned(),
                true,
            ),
            (
                format!(
                    r#"{{"metadata": {{"name": "bad", "managedFields": [{{"fieldsV1": {deep}}}]}}, "spec": {deep}}}"#
                ),
                false,
            ),
        ];
        for (bad, unreadable) in rows {
            let services = list::<Guarded<WatchedService>>(&bad);
            assert_eq!(services[0].unreadable().is_some(), unreadable, "{bad:.80}");
            assert_eq!(services[0].meta().name.as_deref(), Some("bad"));
            assert_eq!(services[1].unreadable(), None);
            let groups = list::<Guarded<DynamicObject>>(&bad);
            assert_eq!(groups[0].unreadable().is_some(), unreadable, "{bad:.80}");
            assert_eq!(groups[1].unreadable(), None);
        }
    }
}
