//! `status` of a Volcano job: its state machine, counts, and the history of its phases.
//!
//! `step` knows no phases. They follow from what it remembers (a verdict, a hold, restarts paid), from what is alive,
//! and from the phase before; so this is Volcano's table of actions and phases read from the other end.

mod counts;
mod from;

use serde_json::{Value, json};
use trainyard_core::{Cause, Hold, Job, Memory, Observed, Ordered, Outcome, Step, Time, Verdict};

use self::counts::Counts;
use super::recall::recall;
use super::time::{go_duration, read_rfc3339, rfc3339};
use super::{MEMORY_FIELD, Unread, ended_before, first_failure, why_ended, written_memory};

/// `status.state.phase`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Waiting for enough pods.
    Pending,
    /// Enough pods have started.
    Running,
    /// Pods go, to be made again.
    Restarting,
    /// Pods go, and none are made until a user resumes the job.
    Aborting,
    /// None are left.
    Aborted,
    /// The job has succeeded; what still runs goes.
    Completing,
    /// The job has succeeded.
    Completed,
    /// The job was ended; what still runs goes.
    Terminating,
    /// The job was ended.
    Terminated,
    /// The job has failed.
    Failed,
}

const PHASES: &[(&str, Phase)] = &[
    ("Pending", Phase::Pending),
    ("Running", Phase::Running),
    ("Restarting", Phase::Restarting),
    ("Aborting", Phase::Aborting),
    ("Aborted", Phase::Aborted),
    ("Completing", Phase::Completing),
    ("Completed", Phase::Completed),
    ("Terminating", Phase::Terminating),
    ("Terminated", Phase::Terminated),
    ("Failed", Phase::Failed),
];

impl Phase {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        let found = PHASES.iter().find(|(_, phase)| *phase == self);
        found.map_or("", |(word, _)| word)
    }

    /// The phase of that word.
    #[must_use]
    pub fn find(word: &str) -> Option<Self> {
        let found = PHASES.iter().find(|(known, _)| *known == word);
        found.map(|(_, phase)| *phase)
    }

    /// The phase that a status says.
    fn of(status: Option<&Value>) -> Option<Self> {
        Self::find(status?.pointer("/state/phase")?.as_str()?)
    }
}

/// What a `Command` with this action orders, given to a job in this phase.
///
/// Nothing, where Volcano would do nothing: a job that is already restarting is not restarted once more, and restarts
/// of a task or a pod say nothing without one.
#[must_use]
pub fn volcano_order(action: &str, phase: Option<Phase>) -> Option<Ordered> {
    match action {
        "RestartJob" if phase == Some(Phase::Restarting) => None,
        "RestartJob" => Some(Ordered::RestartJob { paid: true }),
        "AbortJob" => Some(Ordered::Abort),
        "ResumeJob" => Some(Ordered::Resume { paid: true }),
        "CompleteJob" => Some(Ordered::Finish(Outcome::Succeeded)),
        "TerminateJob" => Some(Ordered::Finish(Outcome::Terminated)),
        _ => None,
    }
}

/// The status of a Volcano job after a step, given the one written before.
#[must_use]
pub fn volcano_status(
    previous: Option<&Value>,
    job: &Job,
    step: &Step,
    observed: &Observed,
    now: Time,
) -> Value {
    let counts = Counts::of(job, step, observed);
    let memory = &step.memory;
    let before = Phase::of(previous);
    let passed = passed(previous, job, memory, &counts);
    let phase = passed.last().copied().or(before).unwrap_or(Phase::Pending);
    let same = before == Some(phase) && passed.is_empty();
    let since = previous
        .and_then(|status| status.pointer("/state/lastTransitionTime"))
        .filter(|_| same)
        .cloned()
        .unwrap_or_else(|| rfc3339(now).into());
    let mut state = json!({"phase": phase.word(), "lastTransitionTime": since});
    if let Some(verdict) = &memory.verdict {
        let (reason, message) = why(memory, verdict);
        state["reason"] = reason.into();
        // The pods that the words were taken from may be gone.
        let said = previous.and_then(|status| status.pointer("/state/message"));
        let said = said.filter(|_| is_over(before));
        state["message"] = said.cloned().unwrap_or_else(|| {
            let more = why_ended(job, memory, observed);
            more.map_or_else(|| message.clone(), |more| format!("{message} {more}"))
                .into()
        });
    }
    let mut status = json!({
        "state": state,
        "minAvailable": min_available(job),
        "version": memory.epoch,
        "conditions": conditions(previous, &passed, now),
    });
    counts.write(&mut status);
    if retry_count(memory) > 0 {
        status["retryCount"] = retry_count(memory).into();
    }
    if let (Some(started), Some(verdict)) = (memory.started, &memory.verdict) {
        status["runningDuration"] = go_duration(verdict.at.since(started)).into();
    }
    if let Some(failure) = &memory.first_failure {
        status["firstFailure"] = first_failure(failure);
    }
    status[MEMORY_FIELD] = written_memory(memory);
    status
}

/// The memory that a status holds.
///
/// A status that Volcano's own controller wrote has none. If it says that the job has ended, that stands.
pub fn volcano_memory(status: Option<&Value>, job: &Job) -> Result<Option<Memory>, Unread> {
    recall(status, job, |status| memory_of_end(status, job))
}

/// The memory of a job whose phase says that it has ended.
fn memory_of_end(status: &Value, job: &Job) -> Option<Memory> {
    let outcome = match Phase::of(Some(status))? {
        Phase::Completing | Phase::Completed => Outcome::Succeeded,
        Phase::Terminating | Phase::Terminated => Outcome::Terminated,
        Phase::Failed => Outcome::Failed,
        Phase::Pending | Phase::Running | Phase::Restarting | Phase::Aborting | Phase::Aborted => {
            return None;
        }
    };
    let since = status.pointer("/state/lastTransitionTime");
    let at = since.and_then(Value::as_str).and_then(read_rfc3339);
    Some(ended_before(job, outcome, at, "status.state.phase"))
}

/// Whether the job had ended by then.
fn is_over(phase: Option<Phase>) -> bool {
    use Phase::{Completed, Completing, Failed, Terminated, Terminating};
    matches!(
        phase,
        Some(Completed | Completing | Failed | Terminated | Terminating)
    )
}

/// The phases the job went through since the status before, the last of which it is in; none if it is where it was.
fn passed(previous: Option<&Value>, job: &Job, memory: &Memory, counts: &Counts) -> Vec<Phase> {
    let before = Phase::of(previous);
    let mut passed = match (&memory.verdict, memory.held) {
        (Some(verdict), _) => at_the_end(verdict, counts),
        (None, Some(Hold::Aborted | Hold::Suspended)) => {
            going(Phase::Aborting, Phase::Aborted, counts.alive() > 0)
        }
        (None, None) => return active(previous, job, memory, counts),
    };
    // What was passed before is not passed again.
    if let Some(done) = passed.iter().position(|phase| Some(*phase) == before) {
        passed.drain(..=done);
    }
    passed
}

/// A phase that lasts while something is alive, and the one after it.
fn going(while_alive: Phase, then: Phase, alive: bool) -> Vec<Phase> {
    if alive {
        vec![while_alive]
    } else {
        vec![while_alive, then]
    }
}

fn at_the_end(verdict: &Verdict, counts: &Counts) -> Vec<Phase> {
    let alive = counts.alive() > 0;
    match verdict.outcome {
        // Reached by counting, the end comes at once; what is left goes afterwards.
        Outcome::Succeeded if by_counting(verdict) => vec![Phase::Completed],
        Outcome::Succeeded => going(Phase::Completing, Phase::Completed, alive),
        Outcome::Terminated => going(Phase::Terminating, Phase::Terminated, alive),
        Outcome::Failed if without_restarts(verdict) => vec![Phase::Restarting, Phase::Failed],
        Outcome::Failed => vec![Phase::Failed],
    }
}

fn by_counting(verdict: &Verdict) -> bool {
    matches!(&verdict.cause, Cause::Rule { from, .. } if [from::MIN_SUCCESS, from::MIN_AVAILABLE].contains(&&**from))
}

fn without_restarts(verdict: &Verdict) -> bool {
    match &verdict.cause {
        Cause::Restarts { .. } => true,
        Cause::Rule { from, .. } => **from == *from::MAX_RETRY,
        Cause::Deadline | Cause::Order => false,
    }
}

/// The phases of a job that may run.
fn active(previous: Option<&Value>, job: &Job, memory: &Memory, counts: &Counts) -> Vec<Phase> {
    let before = Phase::of(previous);
    let paid = previous
        .and_then(|status| status["retryCount"].as_u64())
        .unwrap_or(0);
    let resumed = matches!(before, Some(Phase::Aborting | Phase::Aborted));
    if before.is_some() && u64::from(retry_count(memory)) > paid || resumed {
        // It stays for one look, as it does in Volcano until the next event.
        return vec![Phase::Restarting];
    }
    let mut passed = Vec::new();
    let mut phase = before.unwrap_or_else(|| {
        passed.push(Phase::Pending);
        Phase::Pending
    });
    if job.size() == 0 {
        return passed;
    }
    while let Some(next) = next(phase, job, counts) {
        passed.push(next);
        phase = next;
    }
    passed
}

fn next(phase: Phase, job: &Job, counts: &Counts) -> Option<Phase> {
    let least = u64::from(min_available(job));
    let size = job.size();
    match phase {
        Phase::Restarting if size.saturating_sub(counts.terminating) >= least => Some(Phase::Pending),
        Phase::Pending if counts.started() >= least => Some(Phase::Running),
        Phase::Running if counts.pending > size.saturating_sub(least) => Some(Phase::Pending),
        _ => None,
    }
}

/// Restarts asked for: the last one, which ended the job, too.
fn retry_count(memory: &Memory) -> u32 {
    let refused = memory.verdict.as_ref().is_some_and(without_restarts);
    memory.paid.saturating_add(u32::from(refused))
}

fn min_available(job: &Job) -> u32 {
    job.gang.as_ref().map_or(0, |gang| gang.members)
}

/// Each phase once, with the last time it was entered, in order of those times.
fn conditions(previous: Option<&Value>, passed: &[Phase], now: Time) -> Vec<Value> {
    let before = previous.and_then(|status| status["conditions"].as_array());
    let mut conditions: Vec<Value> = before.cloned().unwrap_or_default();
    // What was said of a definition that drops memory is no phase.
    conditions.retain(|condition| condition.get("type").is_none());
    for phase in passed {
        conditions.retain(|condition| condition["status"] != phase.word());
        conditions.push(json!({"status": phase.word(), "lastTransitionTime": rfc3339(now)}));
    }
    conditions
}

/// What ended the job, as a word and as a sentence.
fn why(memory: &Memory, verdict: &Verdict) -> (&'static str, String) {
    let (reason, message) = match &verdict.cause {
        _ if without_restarts(verdict) => {
            let restarts = memory.paid;
            ("MaxRetry", format!("No restart is left after {restarts}."))
        }
        Cause::Rule { from, .. } => match &**from {
            from::MIN_SUCCESS => ("MinSuccess", format!("Decided by {from}.")),
            from::MIN_AVAILABLE => ("MinAvailable", format!("Decided by {from}.")),
            other if other.contains(".policies[") => ("Policy", format!("Decided by {other}.")),
            _ => (
                "AllEnded",
                "Every pod has ended, and too few have succeeded.".to_owned(),
            ),
        },
        Cause::Restarts { .. } => ("MaxRetry", String::new()),
        Cause::Deadline => ("Deadline", "The job ran longer than it may.".to_owned()),
        Cause::Order => ("Command", "Ordered by a user.".to_owned()),
    };
    (reason, message)
}
