//! `status` of a `TFJob`, to the word: conditions in Kubeflow's order with its reasons and messages, counts per role.
//!
//! Two of its faults are gone: a job never both succeeds and fails, and what has ended always says when.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use trainyard_core::{
    Cause, Ending, Event, Hold, How, Job, Memory, Observed, Outcome, Role, RoleKind, Seen, Step, TaskId,
    TaskSeen, Then, Time, Verdict, When,
};

use super::conditions::{Conditions, Kind};
use super::instances::Instances;
use super::recall::recall;
use super::time::{read_rfc3339, rfc3339};
use super::{MEMORY_FIELD, Unread, ended_before, explained, why_ended, write_common};

/// The status after a step, memory included. `previous` is the one before it, as it was last persisted.
#[must_use]
pub fn tfjob_status(
    previous: Option<&Value>,
    job: &Job,
    step: &Step,
    observed: &Observed,
    now: Time,
) -> Value {
    let memory = &step.memory;
    let before = Conditions::read(previous);
    let counts = counts(previous, &before, job, memory, observed);
    let mut conditions = before.clone();
    project(&mut conditions, job, step, observed, &counts, now);
    let mut status = Map::new();
    status.insert("conditions".into(), conditions.write());
    let written = counts
        .iter()
        .map(|(role, count)| (role.to_string(), count.write()));
    status.insert("replicaStatuses".into(), written.collect());
    write_common(&mut status, memory);
    Value::Object(status)
}

/// The memory that a status holds.
///
/// A status that another operator wrote has none. If it says that the job has ended, that stands: a finished job is
/// not run again because another operator looks at it now. It stands as well where the memory cannot be read.
pub fn tfjob_memory(status: Option<&Value>, job: &Job) -> Result<Option<Memory>, Unread> {
    recall(status, job, |status| memory_of_end(status, job))
}

/// The memory of a job whose conditions say that it has ended.
fn memory_of_end(status: &Value, job: &Job) -> Option<Memory> {
    let conditions = Conditions::read(Some(status));
    let outcome = if conditions.is(Kind::Failed) {
        Outcome::Failed
    } else if conditions.is(Kind::Succeeded) {
        Outcome::Succeeded
    } else {
        return None;
    };
    let started = tfjob_begun(Some(status));
    let at = time(status, "completionTime").or(started);
    let memory = ended_before(job, outcome, at, "status.conditions");
    Some(Memory { started, ..memory })
}

/// When a job began, by its status alone, which another operator may have written.
#[must_use]
pub fn tfjob_begun(status: Option<&Value>) -> Option<Time> {
    time(status?, "startTime")
}

fn time(status: &Value, field: &str) -> Option<Time> {
    read_rfc3339(status.get(field)?.as_str()?)
}

/// The status of a job that cannot be read; none if it says so already, has ended, or has run: then it was another spec that
/// ran, and its tasks may still.
#[must_use]
pub fn tfjob_invalid(previous: Option<&Value>, words: &str, now: Time) -> Option<Value> {
    let mut conditions = Conditions::read(previous);
    let runs = previous.is_some_and(|status| status.get(MEMORY_FIELD).is_some());
    if runs || conditions.is(Kind::Failed) || conditions.is(Kind::Succeeded) {
        return None;
    }
    let message = format!("The spec is invalid: {words}");
    conditions.set(Kind::Failed, true, "InvalidTFJobSpec", message, now);
    let mut status = match previous {
        Some(Value::Object(status)) => status.clone(),
        _ => Map::new(),
    };
    status.insert("conditions".into(), conditions.write());
    status.insert("completionTime".into(), json!(rfc3339(now)));
    Some(Value::Object(status))
}

/// How many replicas of a role are in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    active: u32,
    succeeded: u32,
    failed: u32,
}

impl Counts {
    fn write(self) -> Value {
        let named = [
            ("active", self.active),
            ("succeeded", self.succeeded),
            ("failed", self.failed),
        ];
        let written = named.into_iter().filter(|(_, count)| *count > 0);
        written
            .map(|(name, count)| (name.to_owned(), json!(count)))
            .collect()
    }

    /// What is active has succeeded.
    fn all_succeeded(self) -> Self {
        Self {
            active: 0,
            succeeded: self.succeeded.saturating_add(self.active),
            failed: self.failed,
        }
    }

    /// What was last counted of a job that has failed: of what still ran then, only what is there is active.
    fn after_failure(self, now: Self) -> Self {
        Self {
            active: now.active,
            succeeded: self.succeeded.max(now.succeeded),
            failed: self.failed.max(now.failed),
        }
    }

    fn read(value: &Value) -> Self {
        let count = |name: &str| {
            let count = value.get(name).and_then(Value::as_u64).unwrap_or(0);
            u32::try_from(count).unwrap_or(u32::MAX)
        };
        Self {
            active: count("active"),
            succeeded: count("succeeded"),
            failed: count("failed"),
        }
    }
}

/// Counts by role, as the status spells it; in the order of the alphabet.
type Tally = BTreeMap<&'static str, Counts>;

/// What is counted. After the end the last counts stay; what still ran when the job succeeded counts as succeeded, and what
/// still ran when it failed is active as long as it runs.
fn counts(
    previous: Option<&Value>,
    before: &Conditions,
    job: &Job,
    memory: &Memory,
    observed: &Observed,
) -> Tally {
    let ended = before.is(Kind::Succeeded) || before.is(Kind::Failed);
    let verdict = memory.verdict.as_ref();
    let succeeds = verdict.is_some_and(|verdict| verdict.outcome == Outcome::Succeeded);
    let written = previous.and_then(|status| status.get("replicaStatuses"));
    let mut tally: Tally = BTreeMap::new();
    for role in &job.roles {
        let name = role.kind.tfjob_name();
        let last = written.and_then(|written| written.get(name)).map(Counts::read);
        let count = match last {
            Some(last) if before.is(Kind::Succeeded) => last.all_succeeded(),
            Some(last) if ended => last.after_failure(counted(role, memory, observed, true)),
            // In the write that says that the job has succeeded: a second one would cost as much as the job's pods.
            _ if succeeds => counted(role, memory, observed, false).all_succeeded(),
            _ => counted(role, memory, observed, false),
        };
        tally.insert(name, count);
    }
    tally
}

/// What the pods of a role say, and what is remembered; `over` if the status has said that the job has ended.
fn counted(role: &Role, memory: &Memory, observed: &Observed, over: bool) -> Counts {
    let known = memory.roles.get(&role.name);
    let mut counts = Counts {
        succeeded: known.map_or(0, |known| known.done.len()),
        failed: known.map_or(0, |known| known.failed.len()),
        active: 0,
    };
    if memory.held.is_some() {
        return counts;
    }
    let mut seen: BTreeMap<u32, &TaskSeen> = BTreeMap::new();
    for task in observed.tasks.iter().filter(|seen| seen.id.role == role.name) {
        let settled = memory.is_done(&task.id) || memory.is_failed(&task.id);
        if settled || task.id.index >= role.replicas {
            continue;
        }
        let newest = seen.entry(task.id.index).or_insert(task);
        if (newest.stamp, newest.alive()) < (task.stamp, task.alive()) {
            *newest = task;
        }
    }
    for task in seen.values() {
        match &task.state {
            Seen::Waiting | Seen::Gone(_) => {}
            Seen::Running { .. } => counts.active += 1,
            Seen::Ended(exit) => match Ending::of(Some(exit)) {
                Ending::Succeeded => counts.succeeded += 1,
                // What clean-up has stopped has not failed.
                Ending::Disrupted if over => {}
                _ => counts.failed += 1,
            },
        }
    }
    counts
}

/// Carries the list of conditions on to where the job stands now.
fn project(
    conditions: &mut Conditions,
    job: &Job,
    step: &Step,
    observed: &Observed,
    counts: &Tally,
    now: Time,
) {
    let (name, namespace) = (&job.name, &job.namespace);
    if !conditions.has(Kind::Created) {
        let message = format!("TFJob {name} is created.");
        conditions.set(Kind::Created, true, "TFJobCreated", message, now);
    }
    if step.memory.held == Some(Hold::Suspended) {
        suspend(conditions, job, now);
        return;
    }
    if conditions.is(Kind::Suspended) {
        let message = format!("TFJob {name} is resumed.");
        conditions.set(Kind::Suspended, false, "TFJobResumed", message, now);
    }
    let verdict = step.memory.verdict.as_ref();
    let succeeded = verdict.is_some_and(|verdict| verdict.outcome == Outcome::Succeeded);
    restart(conditions, job, (step, observed), now);
    let recovered = !conditions.is(Kind::Restarting) || !is_restarting(job, step, observed);
    if !succeeded && recovered && decider_runs(job, counts) {
        let message = format!("TFJob {namespace}/{name} is running.");
        conditions.set(Kind::Running, true, "TFJobRunning", message, now);
    }
    match verdict {
        Some(verdict) if succeeded => {
            let message = format!("TFJob {namespace}/{name} successfully completed.");
            conditions.set(Kind::Succeeded, true, "TFJobSucceeded", message, verdict.at);
        }
        Some(verdict) if !conditions.is(Kind::Succeeded) && !conditions.is(Kind::Failed) => {
            // Kubeflow's words come first: its users look for them.
            let message = with_more(
                why_failed(job, verdict, counts),
                why_ended(job, &step.memory, observed),
            );
            conditions.set(Kind::Failed, true, "TFJobFailed", message, verdict.at);
        }
        _ => {}
    }
}

fn suspend(conditions: &mut Conditions, job: &Job, now: Time) {
    let message = || format!("TFJob {} is suspended.", job.name);
    if conditions.is(Kind::Running) {
        conditions.set(Kind::Running, false, "TFJobSuspended", message(), now);
    }
    conditions.set(Kind::Suspended, true, "TFJobSuspended", message(), now);
}

/// Says that something starts again, if this step decided so.
fn restart(conditions: &mut Conditions, job: &Job, (step, observed): (&Step, &Observed), now: Time) {
    let name = &job.name;
    for event in &step.events {
        let (task, paid) = match event {
            Event::Restarting { task, paid, .. } => (task, paid),
            Event::RolledBack { .. } => {
                let message =
                    format!("job {name} is restarting because not enough of its tasks were placed in time.");
                conditions.set(Kind::Restarting, true, "TFJobRolledBack", message, now);
                continue;
            }
            _ => continue,
        };
        let message = match task.as_ref().and_then(|task| job.role(&task.role)) {
            Some((_, role)) => {
                let role = role.kind.tfjob_name();
                // Kubeflow's words are for failures; what costs nothing was none. A failure in the same step comes last, by the
                // order of the rules, and is what is told.
                let why = if *paid { "failed" } else { "were disrupted" };
                let words = format!("job {name} is restarting because {role} replica(s) {why}.");
                with_more(words, task.as_ref().and_then(|task| of_task(task, observed)))
            }
            None => format!("job {name} is restarting."),
        };
        conditions.set(Kind::Restarting, true, "TFJobRestarting", message, now);
    }
}

/// Words of Kubeflow's, and ours after them.
fn with_more(words: String, more: Option<String>) -> String {
    match more {
        Some(more) if words.ends_with('.') => format!("{words} {more}"),
        Some(more) => format!("{words}. {more}"),
        None => words,
    }
}

/// How the instance of a task that is restarted failed, where the world has found out why.
fn of_task(task: &TaskId, observed: &Observed) -> Option<String> {
    let ended = observed.tasks.iter().filter(|seen| seen.id == *task);
    let exit = ended
        .filter_map(TaskSeen::exit)
        .find(|exit| exit.cause.is_some())?;
    Some(format!("{task}: {}", explained(exit)))
}

/// Whether a task that is to run again has not been created again.
fn is_restarting(job: &Job, step: &Step, observed: &Observed) -> bool {
    let memory = &step.memory;
    let here = Instances::of(memory, observed);
    job.tasks().any(|task| {
        let settled = memory.is_done(&task) || memory.is_failed(&task);
        !settled && here.current(&task).is_none()
    })
}

/// Whether a task runs whose running is the job's: the chief or master, else any worker.
fn decider_runs(job: &Job, counts: &Tally) -> bool {
    let declared = |kind: RoleKind| {
        job.roles
            .iter()
            .any(|role| role.kind == kind && role.replicas > 0)
    };
    let active = |kind: RoleKind| {
        let count = counts.get(kind.tfjob_name());
        count.is_some_and(|count| count.active > 0)
    };
    if declared(RoleKind::Chief) || declared(RoleKind::Master) {
        active(RoleKind::Chief) || active(RoleKind::Master)
    } else {
        active(RoleKind::Worker)
    }
}

/// Why the job has failed, in Kubeflow's words where it has some.
fn why_failed(job: &Job, verdict: &Verdict, counts: &Tally) -> String {
    let (name, namespace) = (&job.name, &job.namespace);
    match &verdict.cause {
        Cause::Restarts { .. } => {
            format!("Job {name} has failed because it has reached the specified backoff limit")
        }
        Cause::Deadline => {
            format!("Job {name} has failed because it was active longer than specified deadline")
        }
        Cause::Order => format!("TFJob {namespace}/{name} was ended on request."),
        cause @ Cause::Rule { from, task } => {
            if let Some(bound) = cause.exceeded() {
                return format!(
                    "TFJob {namespace}/{name} has failed because deciding about it exceeded a bound: {bound}."
                );
            }
            let timeout = job
                .rules
                .iter()
                .find(|rule| matches!(rule.when, When::Down { .. }) && rule.from == *from);
            if let (None, Some(timeout)) = (task, timeout) {
                let held = timeout.held;
                return format!(
                    "TFJob {namespace}/{name} has failed because a replica was not running {held} seconds after its creation."
                );
            }
            replicas_failed(job, task.as_ref(), counts)
        }
    }
}

fn replicas_failed(job: &Job, task: Option<&TaskId>, counts: &Tally) -> String {
    let (name, namespace) = (&job.name, &job.namespace);
    let role = task.and_then(|task| job.role(&task.role)).map(|(_, role)| role);
    if let (Some(task), Some(role)) = (task, role)
        && by_exit_code(job, task)
    {
        let role = role.kind.tfjob_name();
        return format!("job \"{name}\" is failing because \"{role}\" replica(s) failed.");
    }
    let failed = counts.iter().find(|(_, count)| count.failed > 0);
    let role = role
        .map(|role| role.kind.tfjob_name())
        .or_else(|| failed.map(|(role, _)| *role));
    match role {
        Some(role) => {
            let count = counts.get(role).map_or(1, |count| count.failed.max(1));
            format!("TFJob {namespace}/{name} has failed because {count} {role} replica(s) failed.")
        }
        None => format!("TFJob {namespace}/{name} has failed because nothing is left that could finish it."),
    }
}

/// Whether exit codes say if this task starts again: Kubeflow has words of its own for those that do not.
fn by_exit_code(job: &Job, task: &TaskId) -> bool {
    job.rules.iter().any(|rule| match (&rule.when, &rule.then) {
        (When::Ended { who, how }, Then::Restart { .. }) => {
            who.includes(&task.role, task.index) && how.iter().any(|how| matches!(how, How::Codes(..)))
        }
        _ => false,
    })
}
