//! Gang schedulers: each places all tasks of a job or none. One file per scheduler, and one table of them.
//!
//! ```text
//! --gang-scheduler-name ─▶ Schedulers ─┐
//! manifest ─▶ GangChoice ──────────────┼▶ Placing ─▶ Scheduler ─┬▶ group objects, when pods may be created
//! status.trainyard.gang ───────────────┘                        ├▶ marks on pods
//!                                                               └▶ a group's status ─▶ GangSeen
//! ```
//!
//! A [`Scheduler`] is data and functions. Callers know nothing else of it: not the API of its objects, nor how many there are
//! per job, nor their names. `CONTRIBUTING.md` says how to add one.

mod correction;
mod coscheduling;
mod ended;
mod gates;
mod kube_batch;
mod largest;
mod native;
mod queue;
mod schedulers;
mod t9k;
mod volcano;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use trainyard_core::{Gang, GangScheduler, GangSeen, Job, Role, Seen, Subject, TaskSeen, asked_together};

pub use self::ended::Ended;
pub use self::gates::GATE;
pub use self::largest::largest_first;
pub use self::queue::{InQueue, QueueApi, QueueState, QueueWait, needs, queue_of};
pub use self::schedulers::{Began, Placing, Schedulers};
use crate::install::access::Use;

/// Every scheduler that there is a module for. The first that serves a scheduler's name is taken; the last serves nearly every name.
static SCHEDULERS: &[&Scheduler] = &[
    &volcano::SCHEDULER,
    &kube_batch::SCHEDULER,
    &t9k::SCHEDULER,
    &native::SCHEDULER,
    &gates::SCHEDULER,
    &coscheduling::SCHEDULER,
];

/// A gang scheduler: what the operator has to know to place jobs by it.
#[derive(Debug)]
pub struct Scheduler {
    /// Whether this module is the one for a scheduler that a job or a flag names.
    pub serves: fn(&GangScheduler) -> bool,
    /// The APIs of the objects that it reads. The operator watches them all, and does nothing before each has been listed:
    /// that is how it knows that the scheduler is installed.
    pub apis: &'static [&'static GroupApi],
    /// The APIs of the queues that its groups are put into, where their objects say why a group waits. A group's queue is in any of them.
    pub queues: &'static [&'static QueueApi],
    /// What the operator does with these objects: `trainyard install` grants it.
    pub uses: &'static [Use],
    /// Pods are created only once every group has been let in. Without, the scheduler looks at pods that exist.
    pub holds: bool,
    /// The objects that a job should have now; none, one or several. Their contents may follow how many tasks have ended.
    pub groups: fn(&Subject, &Gang, Ended) -> Vec<GroupWanted>,
    /// Makes a pod a member of its job's group. A scheduler that its template names is kept, and so is a group (`gang.existing`).
    pub mark: fn(&mut Value, &Job, &Role, &Gang),
}

/// One API of group objects.
#[derive(Debug)]
pub struct GroupApi {
    /// The API group, as in `scheduling.volcano.sh`.
    pub group: &'static str,
    /// Its version.
    pub version: &'static str,
    /// The kind of the objects.
    pub kind: &'static str,
    /// Their plural, as in paths.
    pub plural: &'static str,
    /// The fields of `spec` that follow the job. Others belong to users and to the scheduler: a group that a user has
    /// moved to another queue stays there.
    pub follows: &'static [&'static str],
    /// What a status says.
    pub state: fn(&Value) -> GroupState,
    /// What an administrator does where the cluster does not serve it: `install Volcano`.
    pub help: &'static str,
}

impl GroupApi {
    /// `<plural>.<group>`, as kubectl and definitions name it; no two APIs have the same.
    #[must_use]
    pub fn resource(&self) -> String {
        format!("{}.{}", self.plural, self.group)
    }

    /// As objects name it.
    #[must_use]
    pub fn api_version(&self) -> String {
        format!("{}/{}", self.group, self.version)
    }
}

/// A group object that a job should have, without its owner.
#[derive(Clone, Debug)]
pub struct GroupWanted {
    /// Its API.
    pub api: &'static GroupApi,
    /// The whole object; its namespace is the job's.
    pub object: Value,
}

impl GroupWanted {
    /// The object's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.object["metadata"]["name"].as_str().unwrap_or_default()
    }

    /// The merge patch of `spec` that makes an existing group right; none where it is.
    #[must_use]
    pub fn correction(&self, seen: &Value) -> Option<Value> {
        correction::patch(self.api.follows, &self.object["spec"], seen)
    }
}

/// How many members a group needs, by its spec.
#[must_use]
pub fn members(spec: &Value) -> Option<u64> {
    let count = spec
        .get("minMember")
        .or_else(|| spec.pointer("/schedulingPolicy/gang/minCount"));
    count?.as_u64()
}

/// How far the scheduler has come with one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupState {
    /// It has not been let in, and this is what the scheduler says about it.
    Waiting(Option<Arc<str>>),
    /// Its scheduler has said nothing about it, and says something before it places a member.
    Silent,
    /// It has been let in.
    Open,
    /// The same, and its scheduler says why its members are not placed.
    Placing(Arc<str>),
    /// It had been, and some of its members run while others cannot be placed.
    Broken,
}

/// The APIs of every scheduler that there is a module for.
pub fn apis() -> impl Iterator<Item = &'static GroupApi> {
    SCHEDULERS.iter().flat_map(|module| module.apis).copied()
}

/// The module that serves a scheduler; none for [`GangScheduler::Default`], which has no name, and for schedulers whose groups cannot be written.
#[must_use]
pub fn scheduler(named: &GangScheduler) -> Option<&'static Scheduler> {
    SCHEDULERS.iter().copied().find(|module| (module.serves)(named))
}

/// What a job that is placed by this scheduler needs of it; what its manifest says stands. A group that its templates name was made
/// by a user: the job joins it, and does not wait for it to be let in.
#[must_use]
pub fn gang(named: &GangScheduler, job: &Job) -> Gang {
    let all = u32::try_from(job.size()).unwrap_or(u32::MAX);
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
    let holds = scheduler(named).is_some_and(|module| module.holds);
    Gang {
        scheduler: named.clone(),
        hold: holds && said.existing.is_none(),
        ..said
    }
}

/// What is kept of a gang that no scheduler places: for kinds that always have one, how many tasks are needed decides more than how
/// they are placed.
#[must_use]
pub fn unplaced(subject: &Subject) -> Option<Gang> {
    let said = subject.job.gang.as_ref();
    said.filter(|_| subject.conventions.own_scheduler.is_some())
        .map(|said| Gang {
            scheduler: GangScheduler::Default,
            existing: None,
            resources: BTreeMap::new(),
            hold: false,
            ..said.clone()
        })
}

/// Whether a job has a gang that no scheduler places.
#[must_use]
pub fn is_unplaced(job: &Job) -> bool {
    let gang = job.gang.as_ref();
    gang.is_some_and(|gang| gang.scheduler == GangScheduler::Default)
}

/// The annotation of the groups that this operator creates. Its value is the name of the group, so that a group of another controller that
/// copies annotations does not have it.
const MARK: &str = "trainyard.dev/group";

/// Whether a group that a job owns was created by this operator, and may be changed and deleted. Volcano itself creates groups that
/// a job owns; the last release and Kubeflow's operator called theirs like the job and set no mark.
#[must_use]
pub fn is_ours(annotations: Option<&BTreeMap<String, String>>, name: &str, job: &str) -> bool {
    let mark = annotations.and_then(|annotations| annotations.get(MARK));
    mark.is_some_and(|mark| mark == name) || name == job
}

/// The group objects that a job should have now; none where its templates name a group. Without `ended`, as they were at first: names and
/// number are the same.
#[must_use]
pub fn groups(subject: &Subject, ended: Option<Ended>) -> Vec<GroupWanted> {
    let gang = subject.job.gang.as_ref().filter(|gang| gang.existing.is_none());
    let module = gang.and_then(|gang| scheduler(&gang.scheduler));
    let (Some(gang), Some(module)) = (gang, module) else {
        return Vec::new();
    };
    let mut groups = (module.groups)(subject, gang, ended.unwrap_or_default());
    for group in &mut groups {
        let name = group.name().to_owned();
        group.object["metadata"]["annotations"][MARK] = name.into();
    }
    groups
}

/// How far a job's gang has come: `groups` are those that exist of `wanted`.
///
/// A broken group says nothing about when it broke, so the tasks that run do: a new epoch creates its tasks only after those of the
/// old one are gone. While none runs, what the scheduler says is about tasks that are gone, and the next ones wait for its next word.
#[must_use]
pub fn seen<'a>(wanted: usize, groups: impl Iterator<Item = &'a GroupState>, tasks: &[TaskSeen]) -> GangSeen {
    let states: Vec<&GroupState> = groups.collect();
    if states.len() < wanted {
        return GangSeen::Absent;
    }
    let waits = |state: &&&GroupState| matches!(state, GroupState::Waiting(_) | GroupState::Silent);
    if states.iter().any(|state| waits(&state)) {
        return GangSeen::Held;
    }
    if !states.contains(&&GroupState::Broken) {
        return GangSeen::Open;
    }
    let runs = |task: &&TaskSeen| task.stopping.is_none() && matches!(task.state, Seen::Running { .. });
    let newest = tasks.iter().filter(runs).map(|task| task.stamp.epoch).max();
    newest.map_or(GangSeen::Held, |epoch| GangSeen::Broken { epoch })
}

/// Makes a pod a member of its job's gang.
pub(crate) fn mark(pod: &mut Value, job: &Job, role: &Role) {
    if let Some(gang) = &job.gang
        && let Some(module) = scheduler(&gang.scheduler)
    {
        (module.mark)(pod, job, role, gang);
    }
}

/// Why the tasks of a job and its group would wait for each other for ever, if they would: no pod is placed before enough of them
/// exist, and a start order creates no more before the first ones run.
#[must_use]
pub fn deadlock(job: &Job) -> Option<String> {
    let gang = job.gang.as_ref().filter(|_| !is_unplaced(job))?;
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

/// The scheduler that a template names though another one is to place its pods, if there is one.
#[must_use]
pub fn other_scheduler(subject: &Subject) -> Option<String> {
    let job = &subject.job;
    let placing = match &job.gang.as_ref()?.scheduler {
        GangScheduler::Native => "default-scheduler",
        // Every scheduler heeds gates.
        GangScheduler::Gates => return None,
        scheduler => scheduler.name()?,
    };
    // The kind gives it to every pod, asked for or not.
    let own = subject
        .conventions
        .own_scheduler
        .as_ref()
        .and_then(GangScheduler::name);
    job.roles.iter().find_map(|role| {
        let template: Value = serde_json::from_str(&role.template.0).ok()?;
        let named = template.pointer("/spec/schedulerName")?.as_str()?;
        (!named.is_empty() && named != placing && Some(named) != own).then(|| named.to_owned())
    })
}

/// The one group of a job, called like it and with its annotations. `more` adds to its spec what this scheduler alone knows.
fn pod_group(
    api: &'static GroupApi,
    subject: &Subject,
    gang: &Gang,
    more: impl FnOnce(&mut Map<String, Value>),
) -> Vec<GroupWanted> {
    let mut spec = Map::new();
    // No scheduler accepts a group of none.
    spec.insert("minMember".into(), gang.members.max(1).into());
    if !gang.resources.is_empty() {
        spec.insert("minResources".into(), quantities(&gang.resources).into());
    }
    more(&mut spec);
    group_of(api, subject, &spec)
}

/// The one group of a job, called like it and with its annotations.
fn group_of(api: &'static GroupApi, subject: &Subject, spec: &Map<String, Value>) -> Vec<GroupWanted> {
    let job = &subject.job;
    let mut metadata = json!({ "name": job.name, "namespace": job.namespace });
    if !subject.annotations.is_empty() {
        metadata["annotations"] = subject.annotations.clone().into();
    }
    let object = json!({
        "apiVersion": api.api_version(), "kind": api.kind, "metadata": metadata, "spec": spec,
    });
    vec![GroupWanted { api, object }]
}

/// How many members a gang needs where its scheduler counts no pods that have ended.
fn not_ended(subject: &Subject, gang: &Gang, ended: Ended) -> u32 {
    let all = u32::try_from(subject.job.size()).unwrap_or(u32::MAX);
    gang.members.min(all.saturating_sub(ended.all())).max(1)
}

/// Amounts in thousandths, as Kubernetes writes them.
fn quantities(amounts: &BTreeMap<Arc<str>, i64>) -> Map<String, Value> {
    let written = |milli: i64| match milli % 1000 {
        0 => (milli / 1000).to_string(),
        _ => format!("{milli}m"),
    };
    let amounts = amounts.iter();
    amounts
        .map(|(name, milli)| (name.to_string(), written(*milli).into()))
        .collect()
}

/// Names the scheduler that places a pod, unless its template names one.
fn place(pod: &mut Value, gang: &Gang) {
    let named = pod["spec"]["schedulerName"].as_str().unwrap_or_default();
    if let Some(name) = gang.scheduler.name().filter(|_| named.is_empty()) {
        pod["spec"]["schedulerName"] = name.into();
    }
}

/// Whether a group has been let in, by the phases that Volcano began with; and what the scheduler says where it has not.
fn phase(status: &Value) -> GroupState {
    let waits = matches!(status["phase"].as_str(), None | Some("" | "Pending"));
    if !waits {
        return GroupState::Open;
    }
    GroupState::Waiting(unschedulable(status))
}

/// Why a scheduler cannot place a group, in its words.
fn unschedulable(status: &Value) -> Option<Arc<str>> {
    // Schedulers keep one condition per type: the others tell of what was.
    let mut conditions = status["conditions"].as_array().into_iter().flatten();
    let words = conditions.find(|one| one["type"] == "Unschedulable" && one["status"] == "True");
    let words = words.and_then(|condition| condition["message"].as_str());
    words.filter(|words| !words.is_empty()).map(Arc::from)
}

#[cfg(test)]
mod tests;
