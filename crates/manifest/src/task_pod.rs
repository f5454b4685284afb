//! The pods of a job that an operator runs: one per attempt of a task, owned by the job; and what must exist before them.

use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value, json};
use trainyard_core::{AddressBook, Addresses, Cluster, InPlace, Role, Subject, TaskId, task_name};

use crate::cluster_map::ClusterMap;
use crate::gang;
use crate::kinds::JobApi;
use crate::names::{Labelled, Life, STAMP};
use crate::observe::write_stamp;
use crate::pod::{Index, ParsedTemplate, Pods, Variables, main_container, spec_of};
use crate::service::{service_names, services_of_tasks};

/// The object that owns what is made for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Its kind.
    pub api: &'static JobApi,
    /// Its name.
    pub name: Arc<str>,
    /// Its UID.
    pub uid: Arc<str>,
}

impl Owner {
    /// Its entry in `ownerReferences`.
    #[must_use]
    pub fn reference(&self) -> Value {
        json!({
            "apiVersion": self.api.api_version, "kind": self.api.kind, "name": self.name, "uid": self.uid,
            "controller": true, "blockOwnerDeletion": true,
        })
    }
}

/// Makes the pods of one job.
#[derive(Debug)]
pub struct TaskPods<'a> {
    pods: Pods<'a>,
    owner: Value,
    /// Per role, its template and the one for after a pause, parsed when a pod is made from them.
    templates: Vec<[OnceLock<ParsedTemplate>; 2]>,
}

impl<'a> TaskPods<'a> {
    /// The pods of this job.
    #[must_use]
    pub fn of(
        subject: &'a Subject,
        book: &'a AddressBook,
        cluster: &'a Cluster,
        map: &'a ClusterMap,
        owner: &Owner,
    ) -> Self {
        let named = matches!(subject.job.addresses, Addresses::PerJob | Addresses::PerJobShort);
        Self {
            pods: Pods {
                subject,
                book,
                cluster,
                map,
                subdomain: named.then_some(&*subject.job.name),
                variables: Variables::Mentioned,
            },
            owner: owner.reference(),
            templates: subject.job.roles.iter().map(|_| Default::default()).collect(),
        }
    }

    /// One life of one task.
    #[must_use]
    pub fn pod(&self, task: &TaskId, life: Life) -> Value {
        let job = &self.pods.subject.job;
        let Some((position, role)) = job.role(&task.role) else {
            return Value::Null;
        };
        let again = role.resume_template.as_ref().filter(|_| life.resumed);
        let parsed = &self.templates[position][usize::from(again.is_some())];
        let template = parsed.get_or_init(|| ParsedTemplate::of(again.unwrap_or(&role.template)));
        let mut pod = self.pods.template(template, role, Index::Fixed(task.index), None);
        let name = task_name(job, task);
        self.place(&mut pod, role, &name);
        gang::mark(&mut pod, job, role);
        pod["apiVersion"] = "v1".into();
        pod["kind"] = "Pod".into();
        let metadata = &mut pod["metadata"];
        metadata["name"] = name.into();
        metadata["namespace"] = (&*job.namespace).into();
        let object = Labelled {
            life: Some(life),
            ..Labelled::pod(self.pods.subject, role, Some(task.index))
        };
        object.mark(metadata);
        for (key, value) in object.labels(self.pods.subject.conventions.operated_annotations) {
            metadata["annotations"][key] = value;
        }
        metadata["annotations"][STAMP] = write_stamp(life.stamp).into();
        metadata["ownerReferences"] = json!([self.owner]);
        pod
    }

    /// Sets whether the kubelet restarts the task in place, and the name of its host.
    fn place(&self, pod: &mut Value, role: &Role, name: &str) {
        let Some(spec) = spec_of(pod) else { return };
        let policy = match role.in_place {
            InPlace::Never => "Never",
            InPlace::OnFailure => "OnFailure",
            InPlace::Always => "Always",
        };
        spec.insert("restartPolicy".into(), policy.into());
        keep_last_words(spec);
        if self.pods.subdomain.is_some() {
            spec.insert("hostname".into(), name.into());
        }
    }
}

/// A failed pod may be deleted after a second, and its log with it: the status of the task's container, and of those that run before
/// it, keeps the last lines.
fn keep_last_words(spec: &mut Map<String, Value>) {
    let main = main_container(spec);
    let chosen = |key: &str, position: usize| key == "initContainers" || main == Some(position);
    for key in ["initContainers", "containers"] {
        let containers = spec.get_mut(key).and_then(Value::as_array_mut);
        for (position, container) in containers.into_iter().flatten().enumerate() {
            if let (Value::Object(container), true) = (container, chosen(key, position)) {
                container
                    .entry("terminationMessagePolicy")
                    .or_insert_with(|| "FallbackToLogsOnError".into());
            }
        }
    }
}

/// Plural and name of each object of [`fixtures`].
pub fn fixture_names(subject: &Subject, map: &ClusterMap) -> impl Iterator<Item = (&'static str, String)> {
    let services = service_names(&subject.job).into_iter();
    let map = (!map.inline).then(|| ("configmaps", map.name.clone()));
    services.map(|name| ("services", name)).chain(map)
}

/// What must exist before the first pod: each with the plural of its kind.
#[must_use]
pub fn fixtures(subject: &Subject, map: &ClusterMap, owner: &Owner) -> Vec<(&'static str, Value)> {
    let job = &subject.job;
    let of_job = Labelled {
        subject,
        role: None,
        index: None,
        is_pod: false,
        life: None,
    };
    let services = services_of_tasks(subject).into_iter();
    let map = (!map.inline).then(|| ("configmaps", map.object(job)));
    let mut fixtures: Vec<_> = services.map(|service| ("services", service)).chain(map).collect();
    for (_, object) in &mut fixtures {
        of_job.mark(&mut object["metadata"]);
        object["metadata"]["ownerReferences"] = json!([owner.reference()]);
    }
    fixtures
}
