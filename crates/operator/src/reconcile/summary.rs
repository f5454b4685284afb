//! What every kind's status shows in printer columns: one sentence about the job (why it failed, what it waits for, or how many of its tasks
//! are ready), how many tasks are ready, and how often tasks were restarted.

use std::collections::BTreeSet;

use serde_json::Value;
use trainyard_core::{Cause, Failure, Hold, Job, Memory, Observed, Outcome, Seen, TaskId, TaskSeen, Verdict};
use trainyard_status::log_command;

use super::wait::Wait;

/// Where the sentence stands in the status.
pub const SUMMARY_FIELD: &str = "summary";
/// Where it says how many tasks are ready: `2/3`.
pub const READY_FIELD: &str = "ready";
/// Where it says how often tasks were started again.
pub const RESTARTS_FIELD: &str = "restarts";
/// Longest summary, in characters: it is a column of a table.
const LONGEST: usize = 320;
/// Longest cause in it, where a remedy follows.
const LONGEST_CAUSE: usize = 180;

/// Writes the fields of a job with that memory; `waiting` is the first thing that it waits for.
pub fn write(status: &mut Value, job: &Job, memory: &Memory, observed: &Observed, waiting: Option<&Wait>) {
    status[RESTARTS_FIELD] = restarts(memory).into();
    if let Some(verdict) = &memory.verdict {
        // Nothing is to become ready any more.
        status[SUMMARY_FIELD] = ended(job, memory, observed, verdict).into();
        return;
    }
    let (ready, all) = (ready(job, memory, observed), job.size());
    status[READY_FIELD] = format!("{ready}/{all}").into();
    status[SUMMARY_FIELD] = active(memory, (ready, all), waiting).into();
}

/// The sentence about a job that has not ended.
fn active(memory: &Memory, (ready, all): (usize, u64), waiting: Option<&Wait>) -> String {
    match memory.held {
        Some(Hold::Suspended) if let Some(wait) = waiting.filter(|wait| wait.reason.is_of_queue()) => {
            return of_wait(wait);
        }
        Some(Hold::Suspended) => return "suspended".to_owned(),
        Some(Hold::Aborted) => return "stopped until it is resumed".to_owned(),
        None => {}
    }
    match waiting {
        Some(wait) => of_wait(wait),
        None => format!("{ready} of {all} tasks ready"),
    }
}

/// How often tasks were started again: by the operator, each task of a restart counted, and by kubelets.
fn restarts(memory: &Memory) -> u64 {
    let in_place = u64::from(memory.in_place_most);
    let roles = memory.roles.values().map(|role| u64::from(role.restarts));
    roles.fold(in_place, u64::saturating_add)
}

/// The summary of a job that waits for this.
#[must_use]
pub fn of_wait(wait: &Wait) -> String {
    let words = format!("{}: {}", wait.reason, wait.sentence());
    with_help(&words, wait.help.as_deref())
}

/// A cause and its remedy, both of them, as far as a column has room.
fn with_help(words: &str, help: Option<&str>) -> String {
    match help {
        Some(help) => {
            let words = cut_to(words.trim_end_matches('.'), LONGEST_CAUSE);
            cut(&format!("{words}; help: {help}"))
        }
        None => cut(words),
    }
}

/// The summary of a job whose spec cannot be read.
#[must_use]
pub fn of_invalid(words: &str) -> String {
    cut(&format!("failed: the spec is invalid: {words}"))
}

fn ended(job: &Job, memory: &Memory, observed: &Observed, verdict: &Verdict) -> String {
    let failure = memory.first_failure.as_ref();
    let words = match (&verdict.cause, verdict.outcome) {
        (_, Outcome::Succeeded) => "succeeded".to_owned(),
        (Cause::Order, _) => "stopped by an order".to_owned(),
        (Cause::Deadline, _) => return past_deadline(job),
        (cause, _) if let Some(bound) = cause.exceeded() => format!("failed: {bound}"),
        (cause, _) => match (failure, cause.task()) {
            (Some(failure), task) => {
                let decided = task.filter(|task| **task != failure.task);
                let log = log_command(job, memory, observed, failure);
                let log = log.map(|command| format!("`{command}` shows what it printed"));
                let spent = matches!(cause, Cause::Restarts { .. });
                let budget = job.limits.restarts.filter(|_| spent);
                return failed(failure, (decided, budget), log.as_deref());
            }
            (None, Some(task)) => format!("failed: {task} failed"),
            (None, None) => "failed".to_owned(),
        },
    };
    cut(&words)
}

fn past_deadline(job: &Job) -> String {
    match job.limits.deadline {
        Some(seconds) => with_help(
            &format!("failed: it ran longer than `activeDeadlineSeconds: {seconds}` allows"),
            Some("raise it, or find out what takes so long"),
        ),
        None => "failed: it was active for longer than it may be".to_owned(),
    }
}

/// The first failure, its cause and its remedy, which is to read its log where no other is known. `decided` is the task whose failure
/// ended the job, if it was another; `budget` how many restarts there were, if none was left.
fn failed(failure: &Failure, (decided, budget): (Option<&TaskId>, Option<u32>), log: Option<&str>) -> String {
    let Failure { task, exit, .. } = failure;
    let failed = match budget {
        Some(restarts) => format!("failed, no restart is left of {restarts}"),
        None => "failed".to_owned(),
    };
    let meaning = exit.meaning();
    let words = match decided {
        Some(other) => format!("{failed}: {other} failed; the first to fail was {task}: {meaning}"),
        None => format!("{failed}: {task}: {meaning}"),
    };
    let help = exit.cause.as_ref().and_then(|cause| cause.help.as_deref());
    let more = budget.map(|_| "mend what fails, or allow more restarts");
    with_help(&words, help.or(log).or(more))
}

/// Tasks that are ready, or have done their work. What is being stopped, or belongs to an older life, does not count.
fn ready(job: &Job, memory: &Memory, observed: &Observed) -> usize {
    let is_ready = |seen: &&TaskSeen| {
        let is_current = seen.stamp == memory.stamp(&seen.id);
        is_current && seen.stopping.is_none() && matches!(seen.state, Seen::Running { ready: true })
    };
    let ready = observed.tasks.iter().filter(is_ready);
    let ready: BTreeSet<&TaskId> = ready.map(|seen| &seen.id).collect();
    let tasks = job.tasks();
    tasks
        .filter(|task| ready.contains(task) || memory.is_done(task))
        .count()
}

/// The words, as far as a column has room.
fn cut(words: &str) -> String {
    cut_to(words, LONGEST)
}

/// So many characters of the words: cut between two words, and never inside of a command, which would be copied.
fn cut_to(words: &str, longest: usize) -> String {
    let Some((end, _)) = words.char_indices().nth(longest) else {
        return words.to_owned();
    };
    let mut kept = &words[..end];
    if kept.matches('`').count() % 2 == 1 {
        kept = kept.rsplit_once('`').map_or(kept, |(before, _)| before);
    } else {
        kept = kept.rsplit_once(' ').map_or(kept, |(before, _)| before);
    }
    format!("{}…", kept.trim_end_matches([' ', '(', ',', ':', ';']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_cut_between_words_and_not_inside_of_a_command() {
        let rows = [
            ("a ".repeat(250), format!("{}…", "a ".repeat(159) + "a")),
            (
                format!("{} `kubectl delete {}`", "a".repeat(250), "b".repeat(99)),
                format!("{}…", "a".repeat(250)),
            ),
            (
                format!("{} ({}", "a".repeat(310), "b".repeat(99)),
                format!("{}…", "a".repeat(310)),
            ),
            ("ä".repeat(400), format!("{}…", "ä".repeat(320))),
            ("short".to_owned(), "short".to_owned()),
        ];
        for (words, expected) in rows {
            assert_eq!(cut(&words), expected);
        }
    }
}
