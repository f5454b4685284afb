//! The group that a gang scheduler places together, and the marks by which pods are its members; both as Kubeflow's operator
//! writes them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use trainyard_core::{Gang, GangScheduler, Job, Role};
use trainyard_dialect::asked_together;
use trainyard_document::quantity::Quantity;

use crate::subject::Subject;

/// The kind of a group, with every scheduler.
pub const KIND: &str = "PodGroup";
/// And its plural.
pub const PLURAL: &str = "podgroups";
/// Joins a pod to a group of Volcano.
const VOLCANO_GROUP: &str = "scheduling.k8s.io/group-name";
/// Says which of a job's roles a pod is of.
const VOLCANO_TASK: &str = "volcano.sh/task-spec";
/// Joins a pod to a group of the coscheduling plugin.
const PLUGIN_GROUP: &str = "scheduling.x-k8s.io/pod-group";
const VOLCANO: &str = "volcano";
/// The fields of a group that follow its job.
const OURS: &[&str] = &[
    "minMember",
    "minResources",
    "priorityClassName",
    "scheduleTimeoutSeconds",
];
/// Where Volcano puts a group that names no queue.
const DEFAULT_QUEUE: &str = "default";

/// Whose groups are made, for every job of an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Groups {
    /// Volcano's.
    Volcano,
    /// Those of the coscheduling plugin, in the scheduler of this name.
    Coscheduling(Arc<str>),
}

impl Groups {
    /// By the words of Kubeflow's `--gang-scheduler-name`: `volcano`, or the name of a scheduler with the coscheduling plugin.
    /// Nothing and `none` are no groups.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "" | "none" => None,
            VOLCANO => Some(Self::Volcano),
            _ => Some(Self::Coscheduling(name.into())),
        }
    }

    /// The scheduler's name.
    #[must_use]
    pub fn scheduler(&self) -> &str {
        match self {
            Self::Volcano => VOLCANO,
            Self::Coscheduling(name) => name,
        }
    }

    /// The API group of its groups.
    #[must_use]
    pub fn api_group(&self) -> &'static str {
        match self {
            Self::Volcano => "scheduling.volcano.sh",
            Self::Coscheduling(_) => "scheduling.x-k8s.io",
        }
    }

    /// And the version.
    #[must_use]
    pub fn api_version(&self) -> &'static str {
        match self {
            Self::Volcano => "v1beta1",
            Self::Coscheduling(_) => "v1alpha1",
        }
    }

    /// What a job needs of this scheduler; what its manifest says stands. A group that its templates name is somebody else's:
    /// whether that is let in is not ours to wait for.
    #[must_use]
    pub fn gang(&self, job: &Job) -> Gang {
        let all: u32 = job
            .roles
            .iter()
            .fold(0, |sum, role| sum.saturating_add(role.replicas));
        let said = job.gang.clone().unwrap_or_else(|| Gang {
            scheduler: GangScheduler::Default,
            existing: None,
            members: all,
            per_role: BTreeMap::new(),
            queue: None,
            priority: None,
            resources: asked_together(&job.roles, all),
            timeout: None,
            hold: false,
        });
        Gang {
            scheduler: match self {
                Self::Volcano => GangScheduler::Volcano,
                Self::Coscheduling(name) => GangScheduler::Named(Arc::clone(name)),
            },
            // Volcano lets a group in before its pods are made; the plugin looks at pods that exist.
            hold: *self == Self::Volcano && said.existing.is_none(),
            ..said
        }
    }

    /// The group of a job, without its owner; none where its templates name another.
    #[must_use]
    pub fn object(&self, subject: &Subject) -> Option<Value> {
        let job = &subject.job;
        let gang = job.gang.as_ref().filter(|gang| gang.existing.is_none())?;
        let mut spec = Map::new();
        // No scheduler takes a group of none.
        spec.insert("minMember".into(), gang.members.max(1).into());
        if !gang.resources.is_empty() {
            spec.insert("minResources".into(), quantities(&gang.resources).into());
        }
        match self {
            Self::Volcano => {
                let queue = gang.queue.as_deref().unwrap_or(DEFAULT_QUEUE);
                spec.insert("queue".into(), queue.into());
                if let Some(class) = &gang.priority {
                    spec.insert("priorityClassName".into(), (**class).into());
                }
            }
            Self::Coscheduling(_) => {
                if let Some(timeout) = gang.timeout {
                    spec.insert("scheduleTimeoutSeconds".into(), timeout.into());
                }
            }
        }
        let mut metadata = json!({ "name": job.name, "namespace": job.namespace });
        if !subject.annotations.is_empty() {
            metadata["annotations"] = subject.annotations.clone().into();
        }
        Some(json!({
            "apiVersion": format!("{}/{}", self.api_group(), self.api_version()),
            "kind": KIND,
            "metadata": metadata,
            "spec": spec,
        }))
    }
}

/// What must change in a group of ours for it to be as it should; none where nothing must. Who has moved it to another queue
/// meant to.
#[must_use]
pub fn correction(wanted: &Value, seen: &Value) -> Option<Value> {
    let mut patch = Map::new();
    for field in OURS {
        let there = seen.get(*field).filter(|value| !is_nothing(value));
        match (wanted["spec"].get(*field), there) {
            (Some(wanted), Some(there)) if same(wanted, there) => {}
            (Some(wanted), there) => {
                patch.insert((*field).to_owned(), replaced(wanted, there));
            }
            (None, Some(_)) => {
                patch.insert((*field).to_owned(), Value::Null);
            }
            (None, None) => {}
        }
    }
    (!patch.is_empty()).then(|| patch.into())
}

fn is_nothing(value: &Value) -> bool {
    value.is_null() || value.as_str() == Some("") || value.as_object().is_some_and(Map::is_empty)
}

/// Whether two values mean the same: whoever writes a group again may write its amounts in another way.
fn same(one: &Value, other: &Value) -> bool {
    let amounts = |value: &Value| -> Option<BTreeMap<String, Quantity>> {
        let amounts = value.as_object()?.iter();
        let read = |value: &Value| match value {
            Value::String(text) => Quantity::parse(text).ok(),
            value => Quantity::parse(&value.to_string()).ok(),
        };
        amounts
            .map(|(name, value)| Some((name.clone(), read(value)?)))
            .collect()
    };
    one == other || amounts(one).is_some_and(|one| Some(one) == amounts(other))
}

/// A value as a merge patch has to say it: what is there and should not be is null.
fn replaced(wanted: &Value, seen: Option<&Value>) -> Value {
    let (Value::Object(wanted), Some(Value::Object(seen))) = (wanted, seen) else {
        return wanted.clone();
    };
    let gone = seen.keys().filter(|key| !wanted.contains_key(*key));
    let gone = gone.map(|key| (key.clone(), Value::Null));
    wanted.clone().into_iter().chain(gone).collect()
}

/// Why the tasks of a job and its group would wait for each other for ever, if they would: no pod is placed before enough of them
/// exist, and a start order makes no more before the first ones run.
#[must_use]
pub fn deadlock(job: &Job) -> Option<String> {
    let gang = job.gang.as_ref()?;
    let first = job.roles.iter().filter(|role| role.after.is_none());
    let first: u32 = first.fold(0, |sum, role| sum.saturating_add(role.replicas));
    (first < gang.members && job.roles.iter().any(|role| role.after.is_some())).then(|| {
        format!(
            "spec.runPolicy.startOrder: only {first} tasks are created at first and the gang needs {}: remove the start order, or \
             lower `schedulingPolicy.minAvailable`",
            gang.members
        )
    })
}

/// A job's gang and the name of the scheduler that places it, where [`Groups::gang`] has said who does.
fn placed(job: &Job) -> Option<(&Gang, &str)> {
    let gang = job.gang.as_ref()?;
    match &gang.scheduler {
        GangScheduler::Volcano => Some((gang, VOLCANO)),
        GangScheduler::Named(name) => Some((gang, name)),
        _ => None,
    }
}

/// Marks a pod as a member of its job's group. Another scheduler that its template names is kept.
pub(crate) fn mark(pod: &mut Value, job: &Job, role: &Role) {
    let Some((gang, scheduler)) = placed(job) else {
        return;
    };
    if gang.existing.is_none() {
        let metadata = &mut pod["metadata"];
        if gang.scheduler == GangScheduler::Volcano {
            metadata["annotations"][VOLCANO_GROUP] = (&*job.name).into();
            metadata["annotations"][VOLCANO_TASK] = (&*role.name.0).into();
        } else {
            metadata["labels"][PLUGIN_GROUP] = (&*job.name).into();
        }
    }
    let named = pod["spec"]["schedulerName"].as_str().unwrap_or_default();
    if named.is_empty() {
        pod["spec"]["schedulerName"] = scheduler.into();
    }
}

/// The scheduler that a template names though another one is to place its pods, if there is one.
#[must_use]
pub fn other_scheduler(job: &Job) -> Option<String> {
    let (_, scheduler) = placed(job)?;
    job.roles.iter().find_map(|role| {
        let template: Value = serde_json::from_str(&role.template.0).ok()?;
        let named = template.pointer("/spec/schedulerName")?.as_str()?;
        (!named.is_empty() && named != scheduler).then(|| named.to_owned())
    })
}

/// Amounts in thousandths, as Kubernetes writes them.
fn quantities(amounts: &BTreeMap<Arc<str>, i64>) -> Map<String, Value> {
    let written = |milli: i64| match milli % 1000 {
        0 => (milli / 1000).to_string(),
        _ => format!("{milli}m"),
    };
    amounts
        .iter()
        .map(|(name, milli)| (name.to_string(), written(*milli).into()))
        .collect()
}

#[cfg(test)]
mod tests;
