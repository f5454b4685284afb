//! A job with what accompanies it into objects, as data that a kind's reader makes (ADR 15). No decision looks at it.

use serde_json::{Map, Value};

use crate::{GangScheduler, Job};

/// Names the job of an object, whatever its kind.
pub const JOB_LABEL: &str = "trainyard.dev/job-name";
/// Names the role of a pod.
pub const ROLE_LABEL: &str = "trainyard.dev/role";
/// A task's number within its role. Every world sets it on every task of every kind, so that a template can refer to it
/// (`metadata.labels['trainyard.dev/task-index']`) without knowing the world.
pub const TASK_INDEX_LABEL: &str = "trainyard.dev/task-index";

/// A job, and everything about it that ends up in objects.
#[derive(Clone, Debug)]
pub struct Subject {
    /// What it means.
    pub job: Job,
    /// What its kind's users expect of its objects.
    pub conventions: &'static Conventions,
    /// The manifest's own labels.
    pub labels: Map<String, Value>,
    /// The manifest's own annotations, without those that are meant for us or for kubectl.
    pub annotations: Map<String, Value>,
    /// Objects that its tasks refer to: claims, maps of hosts, a network policy.
    pub objects: Vec<Value>,
    /// Nothing but its own pods may reach them, if the manifest asks for that.
    pub isolation: Option<Isolation>,
    /// T9k's `TensorBoard`, if the manifest asks for one.
    pub tensorboard: Option<Value>,
    /// Its pods and Services also get [`Conventions::legacy_labels`].
    pub legacy_labels: bool,
    /// The other controller that runs it, if the manifest names one.
    pub managed_by: Option<String>,
    /// `generateName` was given: the name in `job` is a placeholder for one that the API server will make.
    pub generate_name: bool,
    /// The namespace that the manifest itself names; `job` has a default where it names none.
    pub own_namespace: Option<String>,
}

/// Who may reach the pods of a job beside the pods themselves and its TensorBoard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Isolation {
    /// Entries of `from` of a NetworkPolicy, as the API server stores them.
    pub from: Vec<Value>,
}

/// What the users of one kind of job, and their tools, expect of the objects of every such job.
#[derive(Debug)]
pub struct Conventions {
    /// Labels of every pod of a task, besides ours.
    pub pod_labels: &'static [Label],
    /// Labels of what an operator makes: pods, Services, ConfigMaps. Those of one task tell it from every other, and are
    /// the selector of its Service.
    pub operated_labels: &'static [Label],
    /// Annotations of the pods that an operator makes.
    pub operated_annotations: &'static [Label],
    /// Labels that older operators of the kind set, for selectors that were written for them.
    pub legacy_labels: &'static [Label],
    /// The scheduler that the kind's own controller gives to every pod, asked for or not.
    pub own_scheduler: Option<GangScheduler>,
}

/// A label of a kind: its key, and where its value comes from.
pub type Label = (&'static str, LabelValue);

/// Whether the settings of a TensorBoard say that it is not to run for now.
#[must_use]
pub fn board_is_suspended(settings: &Value) -> bool {
    settings["suspend"] == true || settings["runMode"] == "paused"
}

/// Where the value of a label comes from. A label whose source an object lacks is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelValue {
    /// The same for every job.
    Fixed(&'static str),
    /// The job's name.
    Job,
    /// The job's namespace.
    Namespace,
    /// The name of the task's role.
    Role,
    /// The task's number within its role.
    Index,
    /// The job's name and the name of the task's role, with a dash between them.
    JobAndRole,
    /// The queue that the job asks for.
    Queue,
    /// The epoch of the pod: which start of the whole job it belongs to.
    Epoch,
    /// How many restarts had been paid for when the pod was made.
    Paid,
    /// This word on the pods of the leading tasks (the chief, or else worker 0), and nothing elsewhere.
    Leader(&'static str),
}
