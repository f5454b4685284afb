//! What the users of a kind of job see of it: the kind's own `status`, made from what `step` remembers, and read back.
//!
//! ```text
//! previous status, Job, Step (memory, events), Observed, now ─▶ the kind's status, memory inside
//! ```
//!
//! Pure functions, one per kind. Nothing is decided here: the verdict, the counts of restarts and the times are in
//! the memory. Lists that are history (conditions) need the previous status, and only they do.

mod conditions;
mod details;
mod failure;
mod instances;
mod recall;
mod t9k;
mod tfjob;
mod time;
mod volcano;

use serde_json::{Map, Value, json};
use trainyard_core::{Cause, Failure, Job, Memory, Outcome, Time, Verdict, Why};

pub use self::details::{ContainerSeen, ContainerState, InstanceDetails};
pub use self::failure::{explained, log_command, why_ended};
use self::instances::Instances;
pub use self::recall::{Flaw, Unread, newer_memory};
pub use self::t9k::{t9k_invalid, t9k_memory, t9k_status, t9k_status_with, t9k_waiting};
pub use self::tfjob::{tfjob_begun, tfjob_invalid, tfjob_memory, tfjob_status};
pub use self::time::{read_rfc3339, rfc3339};
pub use self::volcano::{Phase as VolcanoPhase, volcano_memory, volcano_order, volcano_status};

/// Where the memory lies in every dialect's status.
pub const MEMORY_FIELD: &str = "trainyard";

/// The memory as it is written into a status.
fn written_memory(memory: &Memory) -> Value {
    // Memory is plain data with text keys, so this cannot fail; if it did, null is read as no memory.
    serde_json::to_value(memory).unwrap_or(Value::Null)
}

/// Writes what every kind's status shows under the same names: when the job began and ended, its first failure, and memory.
fn write_common(status: &mut Map<String, Value>, memory: &Memory) {
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            status.insert(key.into(), value);
        }
    };
    put("startTime", memory.started.map(|time| rfc3339(time).into()));
    let ended = memory.verdict.as_ref().map(|verdict| verdict.at);
    put("completionTime", ended.map(|time| rfc3339(time).into()));
    put("firstFailure", memory.first_failure.as_ref().map(first_failure));
    put(MEMORY_FIELD, Some(written_memory(memory)));
}

/// The memory of a job that ended under another operator: a finished job is not run again because we look at it now.
fn ended_before(job: &Job, outcome: Outcome, at: Option<Time>, from: &str) -> Memory {
    let mut memory = Memory::new(job);
    let at = at.unwrap_or_default();
    memory.started = Some(at);
    let cause = Cause::Rule {
        from: from.into(),
        task: None,
    };
    memory.verdict = Some(Verdict { outcome, cause, at });
    memory
}

/// The first failure in words: whose, how, and what it means.
fn first_failure(failure: &Failure) -> Value {
    let Failure { task, stamp, exit } = failure;
    let signal = exit.code.map(|code| code.saturating_sub(128));
    let reason = if exit.rejected {
        "Rejected"
    } else {
        reason(exit.why)
    };
    let mut out = json!({
        "task": task.to_string(),
        "attempt": stamp.attempt,
        "exitCode": exit.code,
        "signal": signal.filter(|signal| (1..=64).contains(signal)),
        "reason": reason,
        "container": exit.container,
        "message": exit.message,
        "time": rfc3339(exit.at),
        "meaning": exit.meaning(),
        "cause": exit.cause,
    });
    if let Value::Object(fields) = &mut out {
        fields.retain(|_, value| !value.is_null());
    }
    out
}

/// Whose end it was, in one word.
fn reason(why: Why) -> &'static str {
    match why {
        Why::Itself => "Error",
        Why::OutOfMemory => "OOMKilled",
        Why::NotStarted => "StartError",
        Why::Disrupted => "Disrupted",
    }
}
