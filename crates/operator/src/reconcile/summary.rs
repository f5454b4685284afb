//! One sentence about a job, for printer columns: why it failed, what it waits for, or how many of its tasks are ready.

use std::collections::BTreeSet;

use trainyard_core::{Cause, Hold, Job, Memory, Observed, Outcome, Seen, TaskId, Verdict};

use super::wait::Wait;

/// Where it stands in the status.
pub const SUMMARY_FIELD: &str = "summary";
/// Longest summary, in characters: it is a column of a table.
const LONGEST: usize = 200;

/// The summary of a job with that memory; `waiting` is the first thing that it waits for.
#[must_use]
pub fn summary(job: &Job, memory: &Memory, observed: &Observed, waiting: Option<&Wait>) -> String {
    if let Some(verdict) = &memory.verdict {
        return cut(&ended(memory, verdict));
    }
    match memory.held {
        Some(Hold::Suspended) => return "suspended".to_owned(),
        Some(Hold::Aborted) => return "stopped until it is resumed".to_owned(),
        None => {}
    }
    match waiting {
        Some(wait) => of_wait(wait),
        None => format!("{} of {} tasks ready", ready(job, memory, observed), job.size()),
    }
}

/// The summary of a job that waits for this.
#[must_use]
pub fn of_wait(wait: &Wait) -> String {
    cut(&format!("{}: {}", wait.reason, wait.message))
}

fn ended(memory: &Memory, verdict: &Verdict) -> String {
    let failure = memory.first_failure.as_ref();
    match (&verdict.cause, verdict.outcome) {
        (_, Outcome::Succeeded) => "succeeded".to_owned(),
        (Cause::Order, _) => "stopped by an order".to_owned(),
        (Cause::Deadline, _) => "failed: it was active for longer than it may be".to_owned(),
        (cause, _) if let Some(bound) = cause.exceeded() => format!("failed: {bound}"),
        _ => match failure {
            Some(failure) => format!("failed: {}: {}", failure.task, failure.exit.meaning()),
            None => "failed".to_owned(),
        },
    }
}

/// Tasks that run, or have done their work.
fn ready(job: &Job, memory: &Memory, observed: &Observed) -> usize {
    let runs = observed
        .tasks
        .iter()
        .filter(|seen| matches!(seen.state, Seen::Running { .. }));
    let running: BTreeSet<&TaskId> = runs.map(|seen| &seen.id).collect();
    let tasks = job.tasks();
    tasks
        .filter(|task| running.contains(task) || memory.is_done(task))
        .count()
}

fn cut(words: &str) -> String {
    words.chars().take(LONGEST).collect()
}
