//! Which news may wait. Writing a job's status costs the API server as much as making four pods, so it is written when
//! somebody waits for what it says, and otherwise seldom.

use serde_json::Value;
use trainyard_status::MEMORY_FIELD;

use super::waiting::{WAITING_FIELD, reasons};
use crate::kinds::Kind;

/// Counts may wait this long, in seconds: by then the next condition has often come, and one write says both.
pub const QUIET: u32 = 2;
/// Other words for the same wait may wait this long since the last write.
pub const SAME_WAIT: u32 = 30;

/// What a new status says that the old one did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusDiff {
    /// That all pods of a role have been made. It is found out again as long as they are there, and a task that vanished
    /// before it was stored is made again as if it had never been: nothing is written for it alone.
    Bookkeeping,
    /// Other words for what is waited for; they wait for [`SAME_WAIT`].
    Wording,
    /// Counts, and which tasks are done. Their pods say so too, so this waits for [`QUIET`].
    Counts,
    /// What somebody waits for.
    Substance,
}

/// How two statuses differ.
#[must_use]
pub fn diff(kind: &Kind, before: Option<&Value>, after: &Value) -> StatusDiff {
    let Some(before) = before else {
        return StatusDiff::Substance;
    };
    if reasons(before) != reasons(after) {
        return StatusDiff::Substance;
    }
    if without(before, &["born"]) == without(after, &["born"]) {
        let same_words = before.get(WAITING_FIELD) == after.get(WAITING_FIELD);
        return if same_words {
            StatusDiff::Bookkeeping
        } else {
            StatusDiff::Wording
        };
    }
    let bare = |status: &Value| {
        let mut status = without(status, &["born", "done"]);
        if let Value::Object(fields) = &mut status {
            for counts in kind.counts {
                fields.shift_remove(*counts);
            }
        }
        status
    };
    if bare(before) == bare(after) {
        StatusDiff::Counts
    } else {
        StatusDiff::Substance
    }
}

/// A status without words about waiting, and whose memory holds none of these for any role.
fn without(status: &Value, notes: &[&str]) -> Value {
    let mut status = status.clone();
    if let Value::Object(fields) = &mut status {
        fields.shift_remove(WAITING_FIELD);
    }
    let Some(Value::Object(memory)) = status.get_mut(MEMORY_FIELD) else {
        return status;
    };
    let Some(Value::Object(roles)) = memory.get_mut("roles") else {
        return status;
    };
    for role in roles.values_mut().filter_map(Value::as_object_mut) {
        for note in notes {
            role.shift_remove(*note);
        }
    }
    roles.retain(|_, role| role.as_object().is_none_or(|role| !role.is_empty()));
    if roles.is_empty() {
        memory.shift_remove("roles");
    }
    status
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_may_wait_is_told_from_what_may_not() {
        let status = |active: u32, memory: Value| json!({ "conditions": [], "replicaStatuses": { "Worker": { "active": active } }, "trainyard": memory });
        let new = || status(0, json!({ "epoch": 0 }));
        let cases = [
            (None, new(), StatusDiff::Substance),
            (
                Some(new()),
                status(0, json!({ "epoch": 0, "roles": { "worker": { "born": 2 } } })),
                StatusDiff::Bookkeeping,
            ),
            (Some(new()), status(1, json!({ "epoch": 0 })), StatusDiff::Counts),
            (
                Some(new()),
                status(1, json!({ "epoch": 0, "roles": { "worker": { "done": "0" } } })),
                StatusDiff::Counts,
            ),
            (
                Some(new()),
                status(0, json!({ "epoch": 0, "roles": { "worker": { "failed": "0" } } })),
                StatusDiff::Substance,
            ),
            (
                Some(new()),
                status(1, json!({ "epoch": 1 })),
                StatusDiff::Substance,
            ),
            (
                Some(new()),
                json!({ "conditions": [{ "type": "Running" }] }),
                StatusDiff::Substance,
            ),
        ];
        for (before, after, expected) in cases {
            assert_eq!(
                diff(&crate::kinds::tfjob::KIND, before.as_ref(), &after),
                expected,
                "{after}"
            );
        }
    }
}
