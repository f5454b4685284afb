//! The compiled job: everything [`step`](crate::step) may know about a manifest.
//!
//! A dialect reads a manifest once and fills this in; nothing after that asks which dialect it was. What differs
//! between dialects (rules, limits, address form, the roles in `TF_CONFIG`) is data here.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::exit::Ending;
use crate::rule::{Rule, Scope, Then, When};

/// A job, with every default applied and every policy turned into rules and limits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Job {
    /// The job's name; the names of its tasks begin with it.
    pub name: Arc<str>,
    /// The namespace its objects live in.
    pub namespace: Arc<str>,
    /// UID of the object: memory with another UID is never believed. Empty until the API server has given it one.
    pub uid: Arc<str>,
    /// The roles, in the order in which their tasks are created and ties are broken.
    pub roles: Vec<Role>,
    /// What ends or restarts the job, first match first.
    pub rules: Vec<Rule>,
    /// Budgets and time limits.
    pub limits: Limits,
    /// What happens to the tasks when the job has ended.
    pub clean: Clean,
    /// Whether the manifest asks that nothing run for now.
    pub suspend: bool,
    /// The tasks must be placed together, by this scheduler.
    pub gang: Option<Gang>,
    /// How tasks find each other.
    pub addresses: Addresses,
    /// What `TF_CONFIG` says.
    pub cluster: ClusterForm,
}

impl Job {
    /// The role of that name, with its position.
    #[must_use]
    pub fn role(&self, name: &RoleName) -> Option<(usize, &Role)> {
        self.roles.iter().enumerate().find(|(_, role)| role.name == *name)
    }

    /// How many tasks the job has.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.roles.iter().map(|role| u64::from(role.replicas)).sum()
    }

    /// Every task, in order of creation.
    pub fn tasks(&self) -> impl Iterator<Item = TaskId> + '_ {
        self.roles.iter().flat_map(Role::tasks)
    }

    /// The rules that mean such an end of a task, with their positions.
    pub(crate) fn rules_for(
        &self,
        role: &RoleName,
        index: u32,
        ending: Ending,
    ) -> impl Iterator<Item = (usize, &Rule)> {
        let means = move |rule: &Rule| match &rule.when {
            When::Ended { who, how } => {
                who.includes(role, index) && how.iter().any(|how| ending.matches(*how))
            }
            _ => false,
        };
        let rules = self.rules.iter().enumerate();
        rules.filter(move |(_, rule)| means(rule))
    }

    /// The first rule that answers an end of a task, with or without a restart left to pay for it.
    #[must_use]
    pub fn answer(&self, role: &RoleName, index: u32, ending: Ending, can_pay: bool) -> Option<&Rule> {
        let mut rules = self.rules_for(role, index, ending).map(|(_, rule)| rule);
        rules.find(|rule| can_pay || !rule.then.is_paid())
    }

    /// Whether some rule restarts the whole job: its tasks then stand or fall together.
    #[must_use]
    pub fn restarts_whole(&self) -> bool {
        self.rules.iter().any(|rule| {
            matches!(
                &rule.then,
                Then::Restart {
                    scope: Scope::Job,
                    ..
                }
            )
        })
    }
}

/// A set of equal tasks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Role {
    /// The name as it stands in task names.
    pub name: RoleName,
    /// What TensorFlow calls it.
    pub kind: RoleKind,
    /// The type in `TF_CONFIG`; lower case, as TensorFlow wants it.
    pub tf_type: Arc<str>,
    /// Number of tasks.
    pub replicas: u32,
    /// The pod template.
    pub template: Template,
    /// The template used once the job has been paused and resumed, where the manifest gives one.
    pub resume_template: Option<Template>,
    /// What the kubelet, or the local supervisor, restarts by itself. Never, where a failure of the task restarts others with it; a
    /// dialect whose rules only see ends that the world does not restart (Volcano) keeps the template's own.
    pub in_place: InPlace,
    /// The port TensorFlow listens on.
    pub port: u16,
    /// What one task asks for, in thousandths: `cpu`, `memory`, `nvidia.com/gpu` and whatever else.
    pub ask: BTreeMap<Arc<str>, i64>,
    /// Which tasks must be up before this role's are created.
    pub after: Option<After>,
}

impl Role {
    /// Every task of the role.
    pub fn tasks(&self) -> impl Iterator<Item = TaskId> + use<> {
        let name = self.name.clone();
        (0..self.replicas).map(move |index| TaskId {
            role: name.clone(),
            index,
        })
    }
}

/// A role's name, spelt as in the names of its tasks: `worker`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RoleName(pub Arc<str>);

impl RoleName {
    /// A role's name from text.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RoleName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// One task of a job: `worker-1`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct TaskId {
    /// Its role.
    pub role: RoleName,
    /// Its number within the role, from 0.
    pub index: u32,
}

impl TaskId {
    /// A task from its role's name and its number.
    #[must_use]
    pub fn new(role: &str, index: u32) -> Self {
        Self {
            role: RoleName::new(role),
            index,
        }
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}-{}", self.role, self.index)
    }
}

/// Text that names no task.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a task: expected a role and a number, as in `worker-0`")]
pub struct BadTaskId(String);

impl FromStr for TaskId {
    type Err = BadTaskId;

    fn from_str(text: &str) -> Result<Self, BadTaskId> {
        let bad = || BadTaskId(text.into());
        let (role, index) = text.rsplit_once('-').ok_or_else(bad)?;
        let index = index.parse().map_err(|_| bad())?;
        if role.is_empty() {
            Err(bad())
        } else {
            Ok(Self::new(role, index))
        }
    }
}

impl From<TaskId> for String {
    fn from(task: TaskId) -> Self {
        task.to_string()
    }
}

impl TryFrom<String> for TaskId {
    type Error = BadTaskId;

    fn try_from(text: String) -> Result<Self, BadTaskId> {
        text.parse()
    }
}

/// A pod template as compact JSON; opaque here, carried out by the worlds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Template(pub Arc<str>);

/// What TensorFlow calls a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum RoleKind {
    /// The coordinator.
    Chief,
    /// The coordinator's old name.
    Master,
    /// Trains; where there is no chief, the first one coordinates.
    Worker,
    /// Holds variables; never ends by itself.
    Ps,
    /// Evaluates checkpoints beside the training.
    Evaluator,
    /// Something that TensorFlow does not know.
    Other,
}

impl RoleKind {
    /// The replica type as a `TFJob` and its status spell it.
    #[must_use]
    pub fn tfjob_name(self) -> &'static str {
        match self {
            Self::Chief => "Chief",
            Self::Master => "Master",
            Self::Ps => "PS",
            Self::Worker => "Worker",
            Self::Evaluator => "Evaluator",
            Self::Other => "Other",
        }
    }
}

/// What the kubelet, or the local supervisor, restarts by itself in the same pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum InPlace {
    /// Nothing.
    Never,
    /// Programs that exit with another code than 0.
    OnFailure,
    /// Every program that exits.
    Always,
}

/// Which tasks must be up before a role's are created.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct After {
    /// How many tasks of each role must be ready or have succeeded.
    pub roles: Vec<(RoleName, u32)>,
    /// One of the roles suffices.
    pub any: bool,
}

/// The most tasks a job may have.
pub const MOST_TASKS: u64 = 100_000;

/// What the first `members` tasks ask for together, in the order of the roles.
#[must_use]
pub fn asked_together(roles: &[Role], members: u32) -> BTreeMap<Arc<str>, i64> {
    let mut left = members;
    let mut sum: BTreeMap<Arc<str>, i64> = BTreeMap::new();
    for role in roles {
        let count = role.replicas.min(left);
        left -= count;
        for (name, milli) in &role.ask {
            let entry = sum.entry(name.clone()).or_default();
            *entry = entry.saturating_add(milli.saturating_mul(i64::from(count)));
        }
    }
    sum.retain(|_, milli| *milli != 0);
    sum
}

/// Budgets and time limits; all times are seconds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Limits {
    /// Restarts that may be paid for, shared by all tasks; none means without limit.
    pub restarts: Option<u32>,
    /// Whether restarts in place draw on the same budget.
    pub count_in_place: bool,
    /// The job fails this long after its start.
    pub deadline: Option<u32>,
    /// The job is deleted this long after its end.
    pub ttl: Option<u32>,
    /// How long an end that would cost a restart or the job is left unanswered, so that its cause can arrive.
    pub settle: u32,
    /// The wait before a task is created again.
    pub wait: Wait,
    /// A task that should have stopped this long ago and is still there is deleted by force; none waits for ever, as
    /// Kubernetes does. Its program may still run on a node that does not answer.
    pub lost_node: Option<u32>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            restarts: None,
            count_in_place: false,
            deadline: None,
            ttl: None,
            settle: 1,
            wait: Wait::default(),
            lost_node: None,
        }
    }
}

/// The wait before a task is created again: it doubles with every attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Wait {
    /// Before the first re-creation.
    pub first: u32,
    /// Never longer than this.
    pub most: u32,
    /// A life at least this long starts the doubling anew.
    pub healthy: u32,
}

impl Default for Wait {
    fn default() -> Self {
        Self {
            first: 10,
            most: 360,
            healthy: 600,
        }
    }
}

/// What happens to the tasks when the job has ended. Ordered by how much goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Clean {
    /// Everything stays as it is, running or not.
    None,
    /// What still runs is stopped; what has ended stays, with its logs.
    Unfinished,
    /// Everything goes.
    All,
}

/// The tasks must be placed together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Gang {
    /// The scheduler that places them.
    pub scheduler: GangScheduler,
    /// A group of others that the template names: joined, never written.
    pub existing: Option<Arc<str>>,
    /// Smallest number of tasks that may be placed.
    pub members: u32,
    /// Smallest number of tasks of each role, where the kind has one.
    pub per_role: BTreeMap<RoleName, u32>,
    /// The scheduler's queue; none for its default.
    pub queue: Option<Arc<str>>,
    /// A priority class, or a number where the scheduler counts in numbers.
    pub priority: Option<Arc<str>>,
    /// What the members ask for together, in thousandths, as the scheduler counts it.
    pub resources: BTreeMap<Arc<str>, i64>,
    /// How long the scheduler may hold some members while it waits for the others.
    pub timeout: Option<u32>,
    /// Tasks are created only once the group has been let in.
    pub hold: bool,
}

/// The gang schedulers there are adapters for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum GangScheduler {
    /// The one the operator was told to use.
    Default,
    /// Volcano.
    Volcano,
    /// kube-batch.
    KubeBatch,
    /// The coscheduling plugin.
    SchedulerPlugins,
    /// T9k's scheduler.
    T9k,
    /// The cluster's own scheduler, by the groups of `scheduling.k8s.io`.
    Native,
    /// The cluster's own scheduler: the operator holds pods by scheduling gates until it is their gang's turn.
    Gates,
    /// Another one, by its name.
    Named(Arc<str>),
}

impl GangScheduler {
    /// The scheduler that a template's `schedulerName` names.
    #[must_use]
    pub fn named(name: &str) -> Self {
        match name {
            "volcano" => Self::Volcano,
            "kube-batch" => Self::KubeBatch,
            "scheduler-plugins-scheduler" => Self::SchedulerPlugins,
            "t9k-scheduler" => Self::T9k,
            _ => Self::Named(name.into()),
        }
    }

    /// The scheduler that a flag or an annotation names: by its word, or by its `schedulerName`.
    #[must_use]
    pub fn chosen(word: &str) -> Self {
        match word {
            "scheduler-plugins" => Self::SchedulerPlugins,
            "t9k" => Self::T9k,
            "native" => Self::Native,
            "gates" => Self::Gates,
            _ => Self::named(word),
        }
    }

    /// The word for it in flags and annotations; none for [`Self::Default`].
    #[must_use]
    pub fn word(&self) -> Option<&str> {
        match self {
            Self::SchedulerPlugins => Some("scheduler-plugins"),
            Self::T9k => Some("t9k"),
            _ => self.name(),
        }
    }

    /// What memory calls it, and what pods that it places give as their `schedulerName`, where they give one; none for
    /// [`Self::Default`].
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Default => None,
            Self::Volcano => Some("volcano"),
            Self::KubeBatch => Some("kube-batch"),
            Self::SchedulerPlugins => Some("scheduler-plugins-scheduler"),
            Self::T9k => Some("t9k-scheduler"),
            Self::Native => Some("native"),
            Self::Gates => Some("gates"),
            Self::Named(name) => Some(name),
        }
    }
}

/// Which gang scheduler a manifest asks for. An operator knows only those that it was told of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub enum GangChoice {
    /// It says nothing: the operator's default, if it has one.
    #[default]
    Default,
    /// None: tasks are placed one by one, whatever the operator's default is.
    None,
    /// Templates name this one in `schedulerName`, which alone asks for no gang: it counts if the operator was told of it.
    Template(GangScheduler),
    /// This one and no other: the job waits until the operator is told of it.
    Named(GangScheduler),
}

/// How tasks find each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Addresses {
    /// One headless Service per job: `<job>-<role>-<i>.<job>.<namespace>.svc`.
    PerJob,
    /// The same without the namespace, as Volcano writes it: `<job>-<role>-<i>.<job>`.
    PerJobShort,
    /// One headless Service per replica, as Kubeflow does: `<job>-<role>-<i>.<namespace>.svc`.
    PerReplica,
    /// The world chooses them: loopback ports, node names.
    Given,
}

/// What `TF_CONFIG` says about the cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum ClusterForm {
    /// There is no `TF_CONFIG`: one task alone, or a manifest that makes its own.
    None,
    /// Every task gets every address of these roles, in this order.
    Full {
        /// The roles that are in the cluster.
        roles: Vec<RoleName>,
        /// Whether `"environment":"cloud"` follows, as Kubeflow writes.
        environment: bool,
    },
    /// Workers come and go: each sees itself and the parameter servers.
    Sparse,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn task_names_read_back() {
        for text in ["worker-0", "my-role-12"] {
            assert_eq!(text.parse::<TaskId>().unwrap().to_string(), text);
        }
        for text in ["", "worker", "-1", "worker-", "worker-x"] {
            assert!(text.parse::<TaskId>().is_err(), "{text}");
        }
    }
}
