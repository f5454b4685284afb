//! `status` of a `TensorFlowTrainingJob`: a phase, six conditions that are always there, every replica, and counts.

mod conditions;
mod replicas;

use serde_json::{Map, Value};
use trainyard_core::{Job, Memory, Observed, Outcome, Step, Time};

use self::conditions::{conditions, of_invalid, of_waiting, since};
use self::replicas::{Aggregate, State, tasks};
use super::details::InstanceDetails;
use super::recall::recall;
use super::time::read_rfc3339;
use super::{Instances, MEMORY_FIELD, Unread, ended_before, rfc3339, write_common};

/// The status after a step, memory included. `previous` is the one before it, as it was last persisted.
#[must_use]
pub fn t9k_status(previous: Option<&Value>, job: &Job, step: &Step, observed: &Observed, now: Time) -> Value {
    let nothing = |_: &str| InstanceDetails::default();
    t9k_status_with(previous, job, step, observed, &nothing, now)
}

/// The same, with what is known of instances besides their tasks, by the name of the pod.
#[must_use]
pub fn t9k_status_with<'a>(
    previous: Option<&Value>,
    job: &Job,
    step: &Step,
    observed: &Observed,
    details: &dyn Fn(&str) -> InstanceDetails<'a>,
    now: Time,
) -> Value {
    let memory = &step.memory;
    let instances = Instances::of(memory, observed);
    let (tasks, aggregate) = tasks(job, memory, &instances, details);
    let phase = phase(previous, job, memory, &aggregate);
    let mut status = Map::new();
    status.insert("phase".into(), phase.into());
    let conditions = conditions(previous, job, memory, (observed, &instances), phase, now);
    status.insert("conditions".into(), conditions.into());
    status.insert("tasks".into(), tasks.into());
    status.insert("aggregate".into(), aggregate.write());
    status.insert("backoffCount".into(), memory.paid.into());
    write_common(&mut status, memory);
    Value::Object(status)
}

/// The status of a job whose spec cannot be read; none if it has ended or run. `reason` is that of its conditions.
#[must_use]
pub fn t9k_invalid(previous: Option<&Value>, reason: &str, words: &str, now: Time) -> Option<Value> {
    let runs = previous.is_some_and(|status| status.get(MEMORY_FIELD).is_some());
    let ended = previous.is_some_and(|status| end_of(status).is_some());
    if runs || ended {
        return None;
    }
    let conditions = of_invalid(previous, reason, &format!("The spec is invalid: {words}"), now);
    let mut status = without_tasks("Failed", conditions);
    status.insert("completionTime".into(), rfc3339(now).into());
    Some(Value::Object(status))
}

/// The status of a job about which nothing is done yet, without what it waits for.
#[must_use]
pub fn t9k_waiting(now: Time) -> Value {
    Value::Object(without_tasks("Pending", of_waiting(now)))
}

fn without_tasks(phase: &str, conditions: Vec<Value>) -> Map<String, Value> {
    let mut status = Map::new();
    status.insert("phase".into(), phase.into());
    status.insert("conditions".into(), conditions.into());
    status.insert("tasks".into(), Vec::<Value>::new().into());
    status.insert("aggregate".into(), Aggregate::default().write());
    status.insert("backoffCount".into(), 0.into());
    status
}

/// The memory that a status holds.
///
/// A status that another controller wrote has none. If it says that the job has ended, that stands.
pub fn t9k_memory(status: Option<&Value>, job: &Job) -> Result<Option<Memory>, Unread> {
    recall(status, job, |status| memory_of_end(status, job))
}

/// The memory of a job whose phase says that it has ended.
fn memory_of_end(status: &Value, job: &Job) -> Option<Memory> {
    let (outcome, kind) = end_of(status)?;
    let since = since(Some(status), kind, "True");
    let at = since.as_ref().and_then(Value::as_str).and_then(read_rfc3339);
    Some(ended_before(job, outcome, at, "status.phase"))
}

/// How a job has ended by its phase, and the condition that says so.
fn end_of(status: &Value) -> Option<(Outcome, &'static str)> {
    match status.get("phase")?.as_str()? {
        "Succeeded" => Some((Outcome::Succeeded, "Completed")),
        "Failed" => Some((Outcome::Failed, "Failed")),
        _ => None,
    }
}

/// A job is pending until every replica has started once; after a pause it is resuming until then. Nothing is known of one that ran
/// while no node answers for a replica of it that should run.
fn phase(previous: Option<&Value>, job: &Job, memory: &Memory, aggregate: &Aggregate) -> &'static str {
    if let Some(verdict) = &memory.verdict {
        return match verdict.outcome {
            Outcome::Succeeded => "Succeeded",
            Outcome::Failed | Outcome::Terminated => "Failed",
        };
    }
    if memory.held.is_some() {
        return "Paused";
    }
    let before = previous.and_then(|status| status["phase"].as_str());
    let started = [
        State::Running,
        State::Succeeded,
        State::Failed,
        State::Unknown,
        State::Deleted,
    ];
    let known = [State::Creating, State::Pending, State::Running];
    let silent = aggregate.sum(&known) == 0 && aggregate.of(State::Unknown) > 0;
    match before.unwrap_or_default() {
        "Running" | "Unknown" if silent => "Unknown",
        "Running" | "Unknown" => "Running",
        _ if job.size() > 0 && aggregate.sum(&started) >= job.size() => "Running",
        "Paused" | "Resuming" if memory.resumed => "Resuming",
        _ => "Pending",
    }
}
