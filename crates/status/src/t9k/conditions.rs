//! The six conditions, all of them always there.

use serde_json::{Value, json};
use trainyard_core::{
    Cause, Ending, Exit, Job, Memory, Observed, Outcome, TaskId, TaskSeen, Time, Verdict, When, task_name,
};

use crate::{Instances, explained, rfc3339, why_ended};

/// A reason where there is none.
const NONE: &str = "-";

/// A reason and a message.
type Why = (String, String);

/// A condition: its type, its status, and why.
type Row = (&'static str, &'static str, Why);

/// The conditions of a job, each with whether it holds and why.
pub(super) fn conditions(
    previous: Option<&Value>,
    job: &Job,
    memory: &Memory,
    (observed, instances): (&Observed, &Instances<'_>),
    phase: &str,
    now: Time,
) -> Vec<Value> {
    let end = memory.verdict.as_ref().map(|verdict| {
        let reason = match verdict.outcome {
            Outcome::Succeeded => "Succeeded",
            Outcome::Failed | Outcome::Terminated => "Failed",
        };
        let said = previous.and_then(|status| said_of_end(status, reason));
        let words = said.unwrap_or_else(|| ended(job, memory, verdict, observed));
        (reason.to_owned(), words)
    });
    let succeeded = phase == "Succeeded";
    let failing = failing(job, memory, instances);
    let ended_or = |otherwise| end.clone().unwrap_or(otherwise);
    let unfinished = || ended_or(why(NONE, "The job has not finished."));
    let runs = match phase {
        "Unknown" => "Unknown",
        phase => truth(phase == "Running"),
    };
    let table = [
        (
            "Initialized",
            truth(memory.started.is_some()),
            initialized(memory),
        ),
        ("Running", runs, ended_or(running(phase))),
        (
            "ReplicaFailure",
            truth(failing.is_some()),
            replica_failure(failing.as_deref()),
        ),
        ("Completed", truth(succeeded), unfinished()),
        ("Failed", truth(end.is_some() && !succeeded), unfinished()),
        ("Paused", truth(phase == "Paused"), paused(phase)),
    ];
    written(previous, table, now)
}

/// What a status says of the end of its job, if it does: the pods that the words were taken from may be gone.
fn said_of_end(status: &Value, reason: &str) -> Option<String> {
    let listed = status.get("conditions")?.as_array()?;
    let kinds = ["Completed", "Failed"];
    let is_end = |condition: &&Value| {
        let is_kind = condition["type"]
            .as_str()
            .is_some_and(|kind| kinds.contains(&kind));
        is_kind && condition["status"] == "True" && condition["reason"] == reason
    };
    let end = listed.iter().find(is_end)?;
    end["message"].as_str().map(str::to_owned)
}

/// The conditions of a job for which nothing has been created.
pub(super) fn of_waiting(now: Time) -> Vec<Value> {
    let unfinished = || why(NONE, "The job has not finished.");
    let table = [
        (
            "Initialized",
            "False",
            why(NONE, "The job has not been initialized yet."),
        ),
        ("Running", "False", running("Pending")),
        ("ReplicaFailure", "False", why(NONE, "No pod was created.")),
        ("Completed", "False", unfinished()),
        ("Failed", "False", unfinished()),
        ("Paused", "False", paused("Pending")),
    ];
    written(None, table, now)
}

/// The conditions of a job whose spec cannot be read.
pub(super) fn of_invalid(previous: Option<&Value>, reason: &str, words: &str, now: Time) -> Vec<Value> {
    let failed = || why(reason, words);
    let table = [
        ("Initialized", "False", failed()),
        ("Running", "False", failed()),
        ("ReplicaFailure", "False", why(NONE, "No pod was created.")),
        ("Completed", "False", failed()),
        ("Failed", "True", failed()),
        ("Paused", "False", paused("Failed")),
    ];
    written(previous, table, now)
}

/// The list, in which a condition keeps its time while it keeps its status.
fn written(previous: Option<&Value>, table: [Row; 6], now: Time) -> Vec<Value> {
    let condition = |(kind, status, (reason, message)): Row| {
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

fn truth(holds: bool) -> &'static str {
    if holds { "True" } else { "False" }
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
        "Unknown" => why("NodeLost", "The nodes of its pods do not answer."),
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
pub(super) fn since(previous: Option<&Value>, kind: &str, status: &str) -> Option<Value> {
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
        message = format!("{message} {}", explained(exit));
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
fn ended(job: &Job, memory: &Memory, verdict: &Verdict, observed: &Observed) -> String {
    if verdict.outcome == Outcome::Succeeded {
        return "The job has finished successfully.".to_owned();
    }
    let words = failed(job, memory, verdict);
    match why_ended(job, memory, observed) {
        Some(more) => format!("{words} {more}"),
        None => words,
    }
}

/// What ended a job that has failed.
fn failed(job: &Job, memory: &Memory, verdict: &Verdict) -> String {
    match &verdict.cause {
        cause @ Cause::Rule { .. } if let Some(bound) = cause.exceeded() => {
            format!("The job is failed: deciding about it exceeded a bound: {bound}.")
        }
        Cause::Rule { task: Some(task), .. } => {
            format!("The job is failed: {} has failed.", task_name(job, task))
        }
        Cause::Rule { task: None, from } => {
            let timeout =
                |rule: &&trainyard_core::Rule| matches!(rule.when, When::Down { .. }) && rule.from == *from;
            match job.rules.iter().find(timeout) {
                Some(rule) => format!(
                    "The job is failed: a replica was not running {} seconds after its creation.",
                    rule.held
                ),
                None => {
                    "The job is failed: every replica has ended, and the one that decides has not succeeded."
                        .to_owned()
                }
            }
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
