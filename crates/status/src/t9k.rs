//! `status` of a `TensorFlowTrainingJob`: a phase, six conditions that are always there, every replica, and counts.

use serde_json::{Map, Value, json};
use trainyard_core::{
    Cause, Ending, Exit, Job, Memory, Observed, Outcome, Role, Seen, Step, TaskId, TaskSeen, Time, Verdict,
    task_name,
};

use super::recall::recall;
use super::time::{read_rfc3339, rfc3339};
use super::{Instances, Unread, ended_before, write_common};

/// The container that trains.
const MAIN_CONTAINER: &str = "tensorflow";

/// A reason where there is none.
const NONE: &str = "-";

/// The status after a step, memory included. `previous` is the one before it, as it was last persisted.
#[must_use]
pub fn t9k_status(previous: Option<&Value>, job: &Job, step: &Step, observed: &Observed, now: Time) -> Value {
    let memory = &step.memory;
    let instances = Instances::of(memory, observed);
    let (tasks, aggregate) = tasks(job, memory, &instances);
    let phase = phase(previous, job, memory, &aggregate);
    let mut status = Map::new();
    status.insert("phase".into(), phase.into());
    let conditions = conditions(previous, job, memory, &instances, phase, now);
    status.insert("conditions".into(), conditions.into());
    status.insert("tasks".into(), tasks.into());
    status.insert("aggregate".into(), aggregate.write());
    status.insert("backoffCount".into(), memory.paid.into());
    write_common(&mut status, memory);
    Value::Object(status)
}

/// The memory that a status holds.
///
/// A status that another controller wrote has none. If it says that the job has ended, that stands.
pub fn t9k_memory(status: Option<&Value>, job: &Job) -> Result<Option<Memory>, Unread> {
    recall(status, job, |status| memory_of_end(status, job))
}

/// The memory of a job whose phase says that it has ended.
fn memory_of_end(status: &Value, job: &Job) -> Option<Memory> {
    let (outcome, kind) = match status.get("phase")?.as_str()? {
        "Succeeded" => (Outcome::Succeeded, "Completed"),
        "Failed" => (Outcome::Failed, "Failed"),
        _ => return None,
    };
    let since = since(Some(status), kind, "True");
    let at = since.as_ref().and_then(Value::as_str).and_then(read_rfc3339);
    Some(ended_before(job, outcome, at, "status.phase"))
}

/// How many replicas are in which state.
#[derive(Clone, Copy, Debug, Default)]
struct Aggregate([u64; 7]);

/// The state of a replica: its pod's phase, and two more for pods that are not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Creating,
    Pending,
    Running,
    Succeeded,
    Failed,
    /// Nothing is ever in it here; T9k's status counts it.
    #[expect(dead_code, reason = "it has a place in the counts")]
    Unknown,
    Deleted,
}

impl State {
    const WORDS: [&'static str; 7] = [
        "Creating",
        "Pending",
        "Running",
        "Succeeded",
        "Failed",
        "Unknown",
        "Deleted",
    ];
    fn word(self) -> &'static str {
        Self::WORDS[self as usize]
    }
}

impl Aggregate {
    fn count(&mut self, state: State) {
        self.0[state as usize] += 1;
    }

    fn of(&self, state: State) -> u64 {
        self.0[state as usize]
    }

    fn write(self) -> Value {
        let counts = State::WORDS.into_iter().zip(self.0);
        counts
            .map(|(word, count)| (word.to_ascii_lowercase(), Value::from(count)))
            .collect()
    }
}

/// Every role with its replicas, and how many are in which state.
fn tasks(job: &Job, memory: &Memory, instances: &Instances<'_>) -> (Vec<Value>, Aggregate) {
    let mut aggregate = Aggregate::default();
    let mut tasks = Vec::with_capacity(job.roles.len());
    for role in &job.roles {
        let replicas: Vec<Value> = role
            .tasks()
            .map(|task| {
                let seen = instances.current(&task);
                let state = state(memory, &task, seen);
                aggregate.count(state);
                replica(job, &task, state, seen)
            })
            .collect();
        tasks.push(json!({
            "type": role.name.as_str(),
            "restartCount": restarts(memory, role),
            "replicas": replicas,
        }));
    }
    (tasks, aggregate)
}

/// How often tasks of a role have been started again: alone, and with the whole job.
fn restarts(memory: &Memory, role: &Role) -> u64 {
    let own = memory.roles.get(&role.name).map_or(0, |role| role.restarts);
    u64::from(own) + u64::from(memory.rounds) * u64::from(role.replicas)
}

fn state(memory: &Memory, task: &TaskId, seen: Option<&TaskSeen>) -> State {
    match seen.map(|seen| &seen.state) {
        Some(Seen::Waiting) => State::Pending,
        Some(Seen::Running { .. }) => State::Running,
        Some(Seen::Ended(exit)) if Ending::of(Some(exit)) == Ending::Succeeded => State::Succeeded,
        Some(Seen::Ended(_)) => State::Failed,
        Some(Seen::Gone(_)) | None => {
            let over = memory.verdict.is_some() || memory.held.is_some();
            let settled = memory.is_done(task) || memory.is_failed(task);
            if over || settled {
                State::Deleted
            } else {
                State::Creating
            }
        }
    }
}

fn replica(job: &Job, task: &TaskId, state: State, seen: Option<&TaskSeen>) -> Value {
    let mut replica = json!({"name": task_name(job, task), "phase": state.word()});
    let Some(seen) = seen.filter(|_| !matches!(state, State::Creating | State::Deleted)) else {
        return replica;
    };
    replica["uid"] = (*seen.instance).into();
    let mut container = json!({"name": MAIN_CONTAINER});
    container["state"] = match state {
        State::Running => "Running",
        State::Succeeded | State::Failed => "Terminated",
        _ => "Waiting",
    }
    .into();
    if let Some(code) = seen.exit().and_then(|exit: &Exit| exit.code) {
        container["exitCode"] = code.into();
    }
    replica["containers"] = json!([container]);
    replica
}

/// A job is pending until every replica has started once; after a pause it is resuming until then.
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
    let started = [State::Running, State::Succeeded, State::Failed, State::Deleted];
    let started: u64 = started.into_iter().map(|state| aggregate.of(state)).sum();
    match before.unwrap_or_default() {
        "Running" => "Running",
        _ if job.size() > 0 && started >= job.size() => "Running",
        "Paused" | "Resuming" if memory.resumed => "Resuming",
        _ => "Pending",
    }
}

/// A reason and a message.
type Why = (String, String);

/// The six conditions, each with whether it holds and why.
fn conditions(
    previous: Option<&Value>,
    job: &Job,
    memory: &Memory,
    instances: &Instances<'_>,
    phase: &str,
    now: Time,
) -> Vec<Value> {
    let end = memory.verdict.as_ref().map(|verdict| {
        let reason = match verdict.outcome {
            Outcome::Succeeded => "Succeeded",
            Outcome::Failed | Outcome::Terminated => "Failed",
        };
        (reason.to_owned(), ended(job, memory, verdict))
    });
    let succeeded = phase == "Succeeded";
    let failing = failing(job, memory, instances);
    let ended_or = |otherwise| end.clone().unwrap_or(otherwise);
    let unfinished = || ended_or(why(NONE, "The job has not finished."));
    let failed = replica_failure(failing.as_deref());
    let table = [
        ("Initialized", memory.started.is_some(), initialized(memory)),
        ("Running", phase == "Running", ended_or(running(phase))),
        ("ReplicaFailure", failing.is_some(), failed),
        ("Completed", succeeded, unfinished()),
        ("Failed", end.is_some() && !succeeded, unfinished()),
        ("Paused", phase == "Paused", paused(phase)),
    ];
    let condition = |(kind, holds, (reason, message)): (&str, bool, Why)| {
        let status = if holds { "True" } else { "False" };
        let since = since(previous, kind, status).unwrap_or_else(|| rfc3339(now).into());
        json!({
            "type": kind,
            "status": status,
            "reason": reason,
            "message": message,
            "lastTransitionTime": since,
        })
    };
    table.into_iter().map(condition).collect()
}

fn why(reason: &str, message: &str) -> Why {
    (reason.to_owned(), message.to_owned())
}

fn initialized(memory: &Memory) -> Why {
    if memory.started.is_some() {
        why(NONE, "The job has been initialized successfully.")
    } else {
        why(NONE, "The job has not been initialized yet.")
    }
}

fn running(phase: &str) -> Why {
    match phase {
        "Running" => why("Running", "The job is running."),
        "Paused" => why("Paused", "The job is paused."),
        "Resuming" => why("Resuming", "The job is resuming: not all pods run yet."),
        _ => why("Pending", "Not all pods have started yet."),
    }
}

fn replica_failure(failing: Option<&str>) -> Why {
    match failing {
        Some(message) => why("PodFailed", message),
        None => why(NONE, "All pods are running normally."),
    }
}

fn paused(phase: &str) -> Why {
    if phase == "Paused" {
        why("Paused", "The job is paused.")
    } else {
        why(NONE, "The job is not paused.")
    }
}

/// Since when a condition has had that status, if it had it before.
fn since(previous: Option<&Value>, kind: &str, status: &str) -> Option<Value> {
    let listed = previous?.get("conditions")?.as_array()?;
    let before = listed.iter().find(|condition| condition["type"] == kind)?;
    (before["status"] == status).then(|| before["lastTransitionTime"].clone())
}

/// The first replica that has failed and not been made anew, in words.
fn failing(job: &Job, memory: &Memory, instances: &Instances<'_>) -> Option<String> {
    let failed = |task: &TaskId| {
        let exit = instances.current(task).and_then(TaskSeen::exit);
        memory.is_failed(task) || exit.is_some_and(|exit| Ending::of(Some(exit)).is_failure())
    };
    let mut tasks = job.tasks().filter(failed);
    let first = tasks.next()?;
    let others = tasks.count();
    let exit = instances.current(&first).and_then(TaskSeen::exit);
    let exit = exit.or_else(|| first_exit(memory, &first));
    let pod = task_name(job, &first);
    let mut message = format!("{pod} has failed.");
    if let Some(exit) = exit {
        message = format!("{message} {}", exit.meaning());
    }
    if others > 0 {
        message = format!("{message} So have {others} more.");
    }
    Some(message)
}

/// How this task ended, where it was the first to fail.
fn first_exit<'m>(memory: &'m Memory, task: &TaskId) -> Option<&'m Exit> {
    let first = memory.first_failure.as_ref();
    first
        .filter(|failure| failure.task == *task)
        .map(|failure| &failure.exit)
}

/// What ended the job, in words.
fn ended(job: &Job, memory: &Memory, verdict: &Verdict) -> String {
    if verdict.outcome == Outcome::Succeeded {
        return "The job has finished successfully.".to_owned();
    }
    match &verdict.cause {
        Cause::Rule { task: Some(task), .. } => {
            let meaning = first_exit(memory, task).map(|exit| format!(" {}", exit.meaning()));
            let (pod, meaning) = (task_name(job, task), meaning.unwrap_or_default());
            format!("The job is failed: {pod} has failed.{meaning}")
        }
        Cause::Rule { task: None, .. } => {
            "The job is failed: every replica has ended, and the one that decides has not succeeded."
                .to_owned()
        }
        Cause::Restarts { task } => {
            let who = task.as_ref().map(|task| format!(" for {}", task_name(job, task)));
            let (who, paid) = (who.unwrap_or_default(), memory.paid);
            format!("The job is failed: no restart is left{who}, after {paid}.")
        }
        Cause::Deadline => "The job is failed: it ran longer than activeDeadlineSeconds.".to_owned(),
        Cause::Order => "The job was ended on request.".to_owned(),
    }
}
