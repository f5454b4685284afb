//! Events on a job: one for every condition that has changed, and none for anything else.
//!
//! An event's name is made of what it says, so one that is told again after a crash is refused and not doubled.

use serde_json::{Value, json};

use crate::job::{API_VERSION, JobSeen, KIND};

/// Longer notes are refused.
const LONGEST_NOTE: usize = 1000;
/// Conditions that are not worth an event: users see their effect.
const SILENT: &[&str] = &["Created", "Running"];

/// The events of a change of status.
pub fn of(job: &JobSeen, before: Option<&Value>, after: &Value) -> Vec<Value> {
    let known = before.map(conditions).unwrap_or_default();
    let changed = |condition: &&&Value| {
        let kind = condition["type"].as_str().unwrap_or_default();
        let same = known.iter().any(|known| {
            known["type"] == condition["type"]
                && known["lastUpdateTime"] == condition["lastUpdateTime"]
                && known["status"] == condition["status"]
        });
        !same && !SILENT.contains(&kind)
    };
    let after = conditions(after);
    // Running=False and Suspended=True say the same.
    after
        .iter()
        .filter(changed)
        .map(|condition| event(job, condition))
        .collect()
}

fn conditions(status: &Value) -> Vec<&Value> {
    status["conditions"]
        .as_array()
        .map(|list| list.iter().collect())
        .unwrap_or_default()
}

fn event(job: &JobSeen, condition: &Value) -> Value {
    let text = |field: &str| condition[field].as_str().unwrap_or_default();
    let (reason, time) = (text("reason"), text("lastUpdateTime"));
    let bad = matches!(text("type"), "Failed" | "Restarting");
    let digits: String = time.chars().filter(char::is_ascii_digit).collect();
    let note: String = text("message").chars().take(LONGEST_NOTE).collect();
    let name = format!(
        "{}.{}.{}.{digits}",
        job.key.name,
        short(&job.uid),
        reason.to_lowercase()
    );
    json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": { "name": name, "namespace": job.key.namespace },
        "eventTime": precise(time),
        "reportingController": "trainyard.dev/operator",
        "reportingInstance": "trainyard",
        "action": "Reconcile",
        "reason": reason,
        "type": if bad { "Warning" } else { "Normal" },
        "note": note,
        "regarding": {
            "apiVersion": API_VERSION, "kind": KIND,
            "name": job.key.name, "namespace": job.key.namespace, "uid": job.uid,
        },
    })
}

/// Events have finer times than we keep.
fn precise(time: &str) -> String {
    format!("{}.000000Z", time.trim_end_matches('Z'))
}

fn short(uid: &str) -> &str {
    uid.split('-').next().unwrap_or_default()
}
