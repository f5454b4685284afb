//! What is told about a change of status: conditions that have changed, and what a job has begun to wait for.
//!
//! An event's name is made of what it says, so one that is told again after a crash is refused and not doubled.

use serde_json::{Value, json};
use trainyard_core::Time;
use trainyard_status::rfc3339;

use super::lost_nodes::NODE_LOST;
use super::waiting::{REFUSED, WAITING_FIELD, is_ordinary};
use crate::job::{API_VERSION, JobSeen, KIND};

/// Longer notes are refused.
const LONGEST_NOTE: usize = 1000;
/// Conditions that are not worth an event: users see their effect.
const SILENT: &[&str] = &["Created", "Running"];
/// Conditions that a job only has once it has run, or was held.
const LATER: &[&str] = &["Running", "Restarting", "Suspended"];

/// The condition of a job that cannot be gone on with as long as the cluster is as it is.
const STALLED: &str = "Stalled";

/// Adds the condition that says that nothing can be done; the next status that is written without trouble has none.
pub fn stall(status: &mut Value, before: Option<&Value>, message: &str, now: Time) {
    let known = before
        .map(|status| list(status, "conditions"))
        .unwrap_or_default();
    let known = known.into_iter().find(|condition| condition["type"] == STALLED);
    let stalled = known.cloned().unwrap_or_else(|| {
        let now = rfc3339(now);
        json!({
            "type": STALLED, "status": "True", "reason": "TFJobDefinitionTooOld", "message": message,
            "lastUpdateTime": now, "lastTransitionTime": now,
        })
    });
    if let Some(conditions) = status["conditions"].as_array_mut() {
        conditions.push(stalled);
    }
}

/// Whether a job says that nothing can be done about it.
#[must_use]
pub fn is_stalled(status: Option<&Value>) -> bool {
    let conditions = status
        .map(|status| list(status, "conditions"))
        .unwrap_or_default();
    conditions.iter().any(|condition| condition["type"] == STALLED)
}

/// Whether a job says that it has ended.
#[must_use]
pub fn has_ended(status: &Value) -> bool {
    let ended = |condition: &&Value| {
        let kind = condition["type"].as_str();
        matches!(kind, Some("Succeeded" | "Failed")) && condition["status"] == "True"
    };
    list(status, "conditions").iter().any(ended)
}

/// Something that has changed about a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What: a condition, or a wait.
    pub what: ChangeKind,
    /// Why, in one word.
    pub reason: String,
    /// In words.
    pub message: String,
    /// When, as it is written.
    time: String,
}

/// What has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// The condition of this type.
    Condition(String),
    /// It waits for something.
    Wait,
    /// Something that its author should know.
    Note,
    /// Something that its author and the operator's should know, though nothing is written about it.
    Warning,
}

/// Something that is wrong about a job and stands in no status.
#[must_use]
pub fn warning(reason: &str, message: String, now: Time) -> Change {
    Change {
        what: ChangeKind::Warning,
        reason: reason.to_owned(),
        message,
        time: rfc3339(now),
    }
}

/// What Kubeflow tells of a job whose templates name another scheduler than the one that places groups.
#[must_use]
pub fn other_scheduler(now: Time) -> Change {
    Change {
        what: ChangeKind::Note,
        reason: "SetPodTemplateSchedulerName".into(),
        message:
            "Another scheduler is specified when gang-scheduling is enabled and it will not be overwritten"
                .into(),
        time: rfc3339(now),
    }
}

/// A panic of ours while the job was decided about, or while that was carried out.
#[must_use]
pub fn panicked(words: &str, wait: u32, now: Time) -> Change {
    Change {
        what: ChangeKind::Note,
        reason: "OperatorPanicked".into(),
        message: format!(
            "the operator failed on this job, which is a bug of the operator; the job is read again in {wait} s: {words}"
        ),
        time: rfc3339(now),
    }
}

/// Everything that has changed between two statuses.
#[must_use]
pub fn changes(before: Option<&Value>, after: &Value, now: Time) -> Vec<Change> {
    let mut changes = conditions(before, after);
    changes.extend(waits(before, after, now));
    changes
}

/// Whether a job has neither run nor been held yet.
#[must_use]
pub fn is_fresh(status: Option<&Value>) -> bool {
    let known = status
        .map(|status| list(status, "conditions"))
        .unwrap_or_default();
    let later = |condition: &&Value| {
        let kind = condition["type"].as_str().unwrap_or_default();
        LATER.contains(&kind)
    };
    !known.iter().any(later)
}

fn conditions(before: Option<&Value>, after: &Value) -> Vec<Change> {
    let known = before
        .map(|status| list(status, "conditions"))
        .unwrap_or_default();
    let changed = |condition: &&Value| {
        !known.iter().any(|known| {
            let same = |field: &str| known[field] == condition[field];
            same("type") && same("lastUpdateTime") && same("status")
        })
    };
    // That a job no longer runs is said by what it does instead.
    let over = |condition: &&Value| condition["type"] == "Running" && condition["status"] == "False";
    let after = list(after, "conditions");
    let changed = after.into_iter().filter(changed).filter(|one| !over(one));
    changed
        .map(|condition| {
            let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
            Change {
                what: ChangeKind::Condition(text("type")),
                reason: text("reason"),
                message: text("message"),
                time: text("lastUpdateTime"),
            }
        })
        .collect()
}

fn waits(before: Option<&Value>, after: &Value, now: Time) -> Vec<Change> {
    let known = before
        .map(|status| list(status, WAITING_FIELD))
        .unwrap_or_default();
    let new = |wait: &&Value| !known.iter().any(|known| known["reason"] == wait["reason"]);
    let after = list(after, WAITING_FIELD);
    let new = after.into_iter().filter(new);
    new.map(|wait| {
        let text = |field: &str| wait[field].as_str().unwrap_or_default();
        let (pod, said) = (text("pod"), text("message"));
        // Kubeflow's words.
        let message = match (pod, text("container")) {
            ("", _) if REFUSED.contains(&text("reason")) => format!("Error creating: {said}"),
            ("", _) => said.to_owned(),
            _ if text("reason") == NODE_LOST => said.to_owned(),
            (pod, _) if is_ordinary(text("reason")) => format!("pod {pod}: {said}"),
            (pod, "") => format!("Error pod {pod} condition message: {said}"),
            (pod, container) => format!("Error pod {pod} container {container} waiting message: {said}"),
        };
        Change {
            what: ChangeKind::Wait,
            reason: text("reason").to_owned(),
            message,
            time: rfc3339(now),
        }
    })
    .collect()
}

fn list<'a>(status: &'a Value, field: &str) -> Vec<&'a Value> {
    status[field]
        .as_array()
        .map(|list| list.iter().collect())
        .unwrap_or_default()
}

/// The event that tells of a change; none for what is not worth one.
pub fn event(job: &JobSeen, change: &Change) -> Option<Value> {
    let bad = match &change.what {
        ChangeKind::Condition(kind) if SILENT.contains(&&**kind) => return None,
        ChangeKind::Condition(kind) => matches!(&**kind, "Failed" | "Restarting" | STALLED),
        ChangeKind::Wait => !is_ordinary(&change.reason),
        ChangeKind::Note | ChangeKind::Warning => true,
    };
    let Change { reason, time, .. } = change;
    let digits: String = time.chars().filter(char::is_ascii_digit).collect();
    let note: String = change.message.chars().take(LONGEST_NOTE).collect();
    let name = format!("{}.{digits}", name(job, reason));
    Some(json!({
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
    }))
}

/// The name of an event, but for its time.
#[must_use]
pub fn name(job: &JobSeen, reason: &str) -> String {
    format!("{}.{}.{}", job.key.name, short(&job.uid), reason.to_lowercase())
}

/// Events have finer times than we keep.
fn precise(time: &str) -> String {
    format!("{}.000000Z", time.trim_end_matches('Z'))
}

fn short(uid: &str) -> &str {
    uid.split('-').next().unwrap_or_default()
}
