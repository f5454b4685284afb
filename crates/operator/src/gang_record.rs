//! Whether the tasks of a job are placed as a group: it stays as it was when the job began. Tasks that run were placed one by one
//! or together, and a group that begins in the middle would wait for members that are there already and not in it.

use serde_json::Value;
use trainyard_manifest::pod_group::Groups;
use trainyard_status::MEMORY_FIELD;

/// Where it is noted, beside what else is remembered.
const FIELD: &str = "gang";

/// Whether a job with this status is placed so. One that has not begun is, and one that another operator began: whoever moves
/// here gives the flag that it had.
#[must_use]
pub fn belongs(status: Option<&Value>, groups: &Groups) -> bool {
    let memory = status.and_then(|status| status.get(MEMORY_FIELD));
    let memory = memory.filter(|memory| !memory.is_null());
    memory.is_none_or(|memory| memory.get(FIELD).and_then(Value::as_str) == Some(groups.scheduler()))
}

/// Notes it in a status that holds memory.
pub fn note(status: &mut Value, groups: Option<&Groups>) {
    if let (Some(groups), Some(Value::Object(memory))) = (groups, status.get_mut(MEMORY_FIELD)) {
        memory.insert(FIELD.into(), groups.scheduler().into());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_job_is_placed_as_it_began() {
        let rows = [
            (json!(null), true),
            (json!({ "conditions": [] }), true),
            (json!({ "startTime": "2026-01-02T03:04:05Z" }), true),
            (json!({ "trainyard": null }), true),
            (json!({ "trainyard": {} }), false),
            (json!({ "trainyard": { "gang": "volcano" } }), true),
            (json!({ "trainyard": { "gang": "another" } }), false),
        ];
        for (status, expected) in rows {
            assert_eq!(belongs(Some(&status), &Groups::Volcano), expected, "{status}");
        }
        assert!(belongs(None, &Groups::Volcano));
    }
}
