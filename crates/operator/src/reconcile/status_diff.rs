//! Which changes of a status may wait. Writing a status costs the API server as much as creating four pods, so it is written at once
//! only if a user waits for what it says. When memory must be stored is decided by `step`.

use serde_json::Value;
use trainyard_status::MEMORY_FIELD;

use super::board::TENSORBOARD_FIELD;
use super::summary::{READY_FIELD, RESTARTS_FIELD, SUMMARY_FIELD};
use super::wait::{Reason, Wait};
use super::waiting::WAITING_FIELD;
use crate::kinds::Kind;

/// Counts may wait this long, in seconds: by then the next condition has often come, and one write says both.
pub const QUIET: u32 = 2;
/// Other words for the same wait may wait this long since the last write.
pub const SAME_WAIT: u32 = 30;

/// What a new status shows that the stored one does not, besides memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusDiff {
    /// Nothing, or other columns about the same.
    Same,
    /// Other words for what is waited for; they wait for [`SAME_WAIT`].
    Wording,
    /// Counts; they wait for [`QUIET`].
    Counts,
    /// What a user waits for.
    Substance,
}

/// How two statuses differ.
#[must_use]
pub fn diff(kind: &Kind, before: Option<&Value>, after: &Value) -> StatusDiff {
    let Some(before) = before else {
        return StatusDiff::Substance;
    };
    // The words may change with every look of a scheduler.
    let reasons = |status: &Value| -> Vec<Reason> {
        let waits = Wait::of_status(Some(status)).into_iter();
        waits.map(|wait| wait.reason).collect()
    };
    if reasons(before) != reasons(after) {
        return StatusDiff::Substance;
    }
    // What these columns show changes with the counts of the kind, or with memory; which tasks are ready is a count of its own.
    let columns = [SUMMARY_FIELD, RESTARTS_FIELD];
    let aside = [&[MEMORY_FIELD, WAITING_FIELD], &columns[..]].concat();
    if same_but_for(before, after, &aside) {
        let same_words = before.get(WAITING_FIELD) == after.get(WAITING_FIELD);
        return if same_words {
            StatusDiff::Same
        } else {
            StatusDiff::Wording
        };
    }
    let counts = kind.counts.iter().chain(&[TENSORBOARD_FIELD, READY_FIELD]);
    let aside: Vec<&str> = aside.iter().chain(counts).copied().collect();
    if same_but_for(before, after, &aside) {
        StatusDiff::Counts
    } else {
        StatusDiff::Substance
    }
}

/// Whether two statuses are equal in all other fields.
fn same_but_for(before: &Value, after: &Value, aside: &[&str]) -> bool {
    let (Some(before), Some(after)) = (before.as_object(), after.as_object()) else {
        return before == after;
    };
    let fields = before.keys().chain(after.keys());
    let mut compared = fields.filter(|field| !aside.contains(&field.as_str()));
    compared.all(|field| before.get(field) == after.get(field))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_may_wait_is_told_from_what_may_not() {
        let status = |active: u32, wait: &str, summary: &str| {
            json!({
                "conditions": [], "replicaStatuses": { "Worker": { "active": active } }, "summary": summary,
                "waiting": [{ "reason": "Unschedulable", "message": wait }], "trainyard": { "epoch": active },
            })
        };
        let stored = status(0, "a", "b");
        let mut other_reason = stored.clone();
        other_reason["waiting"][0]["reason"] = "ErrImagePull".into();
        let mut memory = stored.clone();
        memory["trainyard"]["epoch"] = 7.into();
        let rows = [
            (None, stored.clone(), StatusDiff::Substance),
            (Some(&stored), memory, StatusDiff::Same),
            (Some(&stored), status(0, "a", "c"), StatusDiff::Same),
            (Some(&stored), status(0, "c", "c"), StatusDiff::Wording),
            (Some(&stored), status(1, "c", "c"), StatusDiff::Counts),
            (Some(&stored), other_reason, StatusDiff::Substance),
            (
                Some(&stored),
                json!({ "conditions": [{ "type": "Running" }], "waiting": stored["waiting"] }),
                StatusDiff::Substance,
            ),
        ];
        for (before, after, expected) in rows {
            assert_eq!(
                diff(&crate::kinds::tfjob::KIND, before, &after),
                expected,
                "{after}"
            );
        }
    }
}
