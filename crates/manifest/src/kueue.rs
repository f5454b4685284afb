//! Kueue: a job waits in a queue until there is quota for all of its tasks. Pure; the operator reads and writes the objects.
//!
//! ```text
//! job with a queue's name ─▶ Queued ─▶ Workload ─▶ Kueue ─▶ WorkloadState ─┬▶ the job is held, or runs
//!                                                                          ├▶ Placement: what flavors say of pods
//!         status of the Workload ◀── Amendment ◀── Holding ◀───────────────┘
//! ```
//!
//! The operator writes one `Workload` per job and reads its status; it decides nothing about quota. How the two share the Workload is in
//! `docs/adr/0019-kueue-holds-a-job.md`. What a Workload says may have been written by a tenant: nothing here trusts a number or a text of it.

mod amend;
mod holding;
mod placement;
mod state;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use trainyard_core::{Job, Role, TaskId};

pub use self::amend::{Amendment, amended};
pub use self::holding::Holding;
pub use self::placement::{PLACEMENT, Placement, PodSetPlacement};
pub use self::state::{Phase, WorkloadState};
use crate::fingerprint;
use crate::install::access::{Use, cluster, jobs};
use crate::kinds::JobApi;
use crate::names::Life;
use crate::task_pod::TaskPods;

/// The API group of Kueue's objects.
pub const GROUP: &str = "kueue.x-k8s.io";
/// The only version that is spoken: Kueue serves it since 0.15.
pub const VERSION: &str = "v1beta2";
/// As objects name it.
pub const API_VERSION: &str = "kueue.x-k8s.io/v1beta2";
/// The kind of what stands in a queue.
pub const KIND: &str = "Workload";
/// Its plural.
pub const WORKLOADS: &str = "workloads";
/// Its status, as metrics and rights name it.
pub const STATUS: &str = "workloads/status";
/// The plural of what describes nodes.
pub const FLAVORS: &str = "resourceflavors";
/// The label of a job with the name of its queue.
pub const QUEUE_LABEL: &str = "kueue.x-k8s.io/queue-name";
/// The label of a job with the name of its `WorkloadPriorityClass`.
pub const PRIORITY_LABEL: &str = "kueue.x-k8s.io/priority-class";
/// The label of a Workload with the UID of its job, which Kueue's messages name.
const JOB_UID_LABEL: &str = "kueue.x-k8s.io/job-uid";
/// The label of a pod with the name of its pod set.
const POD_SET_LABEL: &str = "kueue.x-k8s.io/podset";
/// The annotation of a pod with the name of its Workload.
const WORKLOAD_ANNOTATION: &str = "kueue.x-k8s.io/workload";
/// The annotation of the Workloads that this operator creates. Its value is the name of the Workload.
const MARK: &str = "trainyard.dev/workload";
/// The annotation that tells from which templates a Workload was written: the API server may have added defaults to those that it has.
const CONTENT: &str = "trainyard.dev/content";

/// What Kueue counts, and what it matches with flavors. Nothing else of a template is copied: variables may hold secrets, and users who may
/// read Workloads need not be those who may read jobs.
const POD_FIELDS: &[&str] = &[
    "affinity",
    "nodeSelector",
    "overhead",
    "priorityClassName",
    "resourceClaims",
    "resources",
    "restartPolicy",
    "runtimeClassName",
    "schedulerName",
    "tolerations",
    "topologySpreadConstraints",
];
/// The same of a container. Admission checks that ask a cluster for nodes need its image.
const CONTAINER_FIELDS: &[&str] = &["name", "image", "resources", "restartPolicy"];

/// What the operator does with Kueue's objects, where it was told to.
pub const USES: &[Use] = &[
    Use {
        verbs: &["list", "watch", "get", "create", "patch", "delete"],
        why: "a job with the name of a queue has a Workload there: Kueue admits it, and evicts it",
        ..jobs(GROUP, WORKLOADS)
    },
    Use {
        verbs: &["update"],
        why: "Kueue is told when pods are ready, have finished or were stopped, and when the job has ended",
        ..jobs(GROUP, STATUS)
    },
    Use {
        verbs: &["get"],
        why: "a flavor says on which nodes the tasks of an admitted job may run",
        ..cluster(GROUP, FLAVORS)
    },
    Use {
        verbs: &["get"],
        why: "the priority of a job in its queue, by the class that its label names",
        ..cluster(GROUP, "workloadpriorityclasses")
    },
    Use {
        verbs: &["get"],
        why: "the same by the priority class of its pods",
        ..cluster("scheduling.k8s.io", "priorityclasses")
    },
];

/// A job that waits in a queue: everything of its Workload that follows from the job.
#[derive(Clone, Debug, PartialEq)]
pub struct Queued {
    /// The Workload's name.
    pub name: Arc<str>,
    /// The queue.
    pub queue: Arc<str>,
    /// Where the job's priority is looked up; none means 0.
    pub priority: Option<PriorityClass>,
    /// One per role.
    first: PodSets,
    /// The same for tasks that are created after a pause, where these have other templates.
    resumed: Option<PodSets>,
}

/// The pod sets of a Workload.
#[derive(Clone, Debug, PartialEq)]
pub struct PodSets {
    /// Name, number of pods, template.
    sets: Vec<(Arc<str>, u32, Value)>,
    /// Names and templates in short.
    content: Arc<str>,
}

/// A class that gives a job its priority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PriorityClass {
    /// Kueue's own, by the job's label.
    Workload(Arc<str>),
    /// The one of its pods.
    Pod(Arc<str>),
}

impl PriorityClass {
    /// API version and plural of the object.
    #[must_use]
    pub const fn resource(&self) -> (&'static str, &'static str) {
        match self {
            Self::Workload(_) => (API_VERSION, "workloadpriorityclasses"),
            Self::Pod(_) => ("scheduling.k8s.io/v1", "priorityclasses"),
        }
    }

    /// The name of the object.
    #[must_use]
    pub const fn name(&self) -> &Arc<str> {
        match self {
            Self::Workload(name) | Self::Pod(name) => name,
        }
    }

    fn reference(&self) -> Value {
        let (group, kind) = match self {
            Self::Workload(_) => (GROUP, "WorkloadPriorityClass"),
            Self::Pod(_) => ("scheduling.k8s.io", "PriorityClass"),
        };
        json!({ "group": group, "kind": kind, "name": self.name() })
    }
}

/// The name of the queue that labels ask for.
#[must_use]
pub fn queue_of(labels: Option<&BTreeMap<String, String>>) -> Option<&str> {
    let name = labels?.get(QUEUE_LABEL).map(String::as_str);
    name.filter(|name| !name.is_empty())
}

/// The pod set that holds the tasks of a role. Kueue takes names in lower case only.
#[must_use]
pub fn pod_set(role: &Role) -> String {
    role.name.as_str().to_lowercase()
}

impl Queued {
    /// What a job in this queue needs. `pods` makes its pods, which are what Kueue counts.
    #[must_use]
    pub fn of(api: &JobApi, job: &Job, queue: &str, class: Option<&str>, pods: &TaskPods<'_>) -> Self {
        let first = PodSets::of(job, pods, false);
        let other = job.roles.iter().any(|role| role.resume_template.is_some());
        let said = job.gang.as_ref().and_then(|gang| gang.priority.as_deref());
        let of_pods = || {
            let mut named = first
                .sets
                .iter()
                .map(|(_, _, template)| &template["spec"]["priorityClassName"]);
            named.find_map(|name| name.as_str().filter(|name| !name.is_empty()))
        };
        let pod_class = said.or_else(of_pods).map(|name| PriorityClass::Pod(name.into()));
        let class = class.filter(|name| !name.is_empty());
        let kind = api.kind.to_lowercase();
        let which = fingerprint(&format!("{}/{}/{}", api.group, api.kind, job.uid));
        Self {
            name: format!("{kind}-{}-{:08x}", job.name, which >> 32).into(),
            queue: queue.into(),
            priority: class
                .map(|name| PriorityClass::Workload(name.into()))
                .or(pod_class),
            resumed: other.then(|| PodSets::of(job, pods, true)),
            first,
        }
    }

    /// The pod sets of tasks that are created now, or after a pause.
    #[must_use]
    pub fn pod_sets(&self, resumed: bool) -> &PodSets {
        self.resumed.as_ref().filter(|_| resumed).unwrap_or(&self.first)
    }

    /// The Workload, without its owner.
    #[must_use]
    pub fn object(&self, job: &Job, resumed: bool, priority: i32) -> Value {
        let mut metadata = self.marks(resumed);
        metadata["name"] = (&*self.name).into();
        metadata["namespace"] = (&*job.namespace).into();
        metadata["labels"] = json!({ JOB_UID_LABEL: job.uid });
        let mut spec = self.spec(resumed, priority);
        // In a merge patch it takes the field away.
        spec.retain(|_, value| !value.is_null());
        json!({ "apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": spec })
    }

    /// The merge patch that brings a Workload up to date which Kueue has not reserved quota for.
    #[must_use]
    pub fn correction(&self, resumed: bool, priority: i32) -> Value {
        json!({ "metadata": self.marks(resumed), "spec": self.spec(resumed, priority) })
    }

    fn marks(&self, resumed: bool) -> Value {
        json!({ "annotations": { MARK: self.name, CONTENT: self.pod_sets(resumed).content } })
    }

    fn spec(&self, resumed: bool, priority: i32) -> Map<String, Value> {
        let sets = self.pod_sets(resumed).sets.iter();
        let sets: Vec<Value> = sets
            .map(|(name, count, template)| json!({ "name": name, "count": count, "template": template }))
            .collect();
        let class = self.priority.as_ref().map(PriorityClass::reference);
        Map::from_iter([
            ("queueName".to_owned(), (&*self.queue).into()),
            ("podSets".to_owned(), sets.into()),
            ("priorityClassRef".to_owned(), class.unwrap_or_default()),
            ("priority".to_owned(), priority.into()),
        ])
    }

    /// Whether a Workload that no quota is reserved for says what the job is now.
    #[must_use]
    pub fn is_same(&self, seen: &WorkloadState, resumed: bool) -> bool {
        let sets = self.pod_sets(resumed);
        let counts = sets
            .sets
            .iter()
            .map(|(name, count, _)| (Arc::clone(name), *count));
        let class = self.priority.as_ref().map(|class| &**class.name());
        *seen.queue == *self.queue
            && seen.class.as_deref() == class
            && seen.content.as_deref() == Some(&*sets.content)
            && seen.counts == counts.collect()
    }

    /// Whether pods made from the job's templates are those that Kueue has reserved quota for.
    #[must_use]
    pub fn has_same_pods(&self, seen: &WorkloadState, resumed: bool) -> bool {
        seen.content.as_deref() == Some(&*self.pod_sets(resumed).content)
    }
}

impl PodSets {
    fn of(job: &Job, pods: &TaskPods<'_>, resumed: bool) -> Self {
        let life = Life {
            resumed,
            ..Life::default()
        };
        let set = |role: &Role| {
            let task = TaskId {
                role: role.name.clone(),
                index: 0,
            };
            let template = counted(&pods.pod(&task, life));
            (Arc::from(pod_set(role)), role.replicas, template)
        };
        let sets: Vec<_> = job.roles.iter().map(set).collect();
        let shown: Vec<Value> = sets
            .iter()
            .map(|(name, _, template)| json!([name, template]))
            .collect();
        let content = fingerprint(&Value::from(shown).to_string());
        Self {
            sets,
            content: format!("{content:016x}").into(),
        }
    }
}

/// The part of a pod that Kueue looks at.
fn counted(pod: &Value) -> Value {
    let spec = &pod["spec"];
    let mut counted = kept(spec, POD_FIELDS);
    for list in ["initContainers", "containers"] {
        if let Some(containers) = spec[list].as_array() {
            let containers = containers.iter().map(|one| kept(one, CONTAINER_FIELDS).into());
            counted.insert(list.into(), containers.collect::<Vec<Value>>().into());
        }
    }
    json!({ "spec": counted })
}

fn kept(object: &Value, fields: &[&str]) -> Map<String, Value> {
    let fields = fields.iter().filter_map(|field| {
        let value = object.get(field).filter(|value| !value.is_null())?;
        Some(((*field).to_owned(), value.clone()))
    });
    fields.collect()
}

/// Whether a Workload that a job owns was created by this operator, and may be changed and deleted. The ones that Kueue's own integration
/// creates have no mark.
#[must_use]
pub fn is_ours(annotations: Option<&BTreeMap<String, String>>, name: &str) -> bool {
    let mark = annotations.and_then(|annotations| annotations.get(MARK));
    mark.is_some_and(|mark| mark == name)
}

#[cfg(test)]
mod tests;
