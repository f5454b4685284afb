//! What is told about a change of status: conditions that have changed, and what a job has begun to wait for.
//!
//! An event's name is made of what it says, so one that is told again after a crash is refused and not doubled.

use serde_json::{Value, json};
use trainyard_core::Time;
use trainyard_status::rfc3339;

use super::wait::{Reason, Wait};
use crate::job::JobSeen;
use crate::kinds::Kind;

/// Longest note that the API server accepts.
const LONGEST_NOTE: usize = 1000;

/// Something that has changed about a job, for logs, metrics and Kubernetes events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What it is about.
    pub topic: Topic,
    /// The point that the job has come to, if it is one that is counted.
    pub milestone: Option<Milestone>,
    /// The type of the Kubernetes event; none for what is not worth one.
    pub severity: Option<Severity>,
    /// Why, in one word.
    pub reason: String,
    /// One sentence.
    pub message: String,
    /// RFC 3339. Part of the event's name.
    pub time: String,
}

/// What a change is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// A condition or phase of the status.
    Condition,
    /// `status.waiting`.
    Wait,
    /// Something for the job's author alone.
    Note,
    /// Something for the job's author and the operator's log, though it is not in the status.
    Warning,
}

/// Points in the life of a job that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Milestone {
    /// The operator has accepted it.
    Created,
    /// Its tasks run.
    Running,
    /// It or one of its tasks was restarted.
    Restarted,
    /// It has succeeded.
    Succeeded,
    /// It has failed, or its spec is invalid.
    Failed,
}

/// The type of a Kubernetes event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// For the record.
    Normal,
    /// The author should look.
    Warning,
}

impl Change {
    /// A change that concerns no condition.
    fn beside(topic: Topic, severity: Severity, reason: &str, message: String, now: Time) -> Self {
        Self {
            topic,
            milestone: None,
            severity: Some(severity),
            reason: reason.to_owned(),
            message,
            time: rfc3339(now),
        }
    }
}

/// Something that is wrong about a job and stands in no status.
#[must_use]
pub fn warning(reason: &str, message: String, now: Time) -> Change {
    Change::beside(Topic::Warning, Severity::Warning, reason, message, now)
}

/// What Kubeflow tells of a job whose templates name another scheduler than the one that places groups.
#[must_use]
pub fn other_scheduler(now: Time) -> Change {
    let message =
        "Another scheduler is specified when gang-scheduling is enabled and it will not be overwritten";
    let reason = "SetPodTemplateSchedulerName";
    Change::beside(Topic::Note, Severity::Warning, reason, message.into(), now)
}

/// The job's kind places its tasks together, and the operator was told of no scheduler that does.
#[must_use]
pub fn no_gang(now: Time) -> Change {
    let message = "the operator was installed without a gang scheduler, so tasks are placed one by one: install it again with \
                   `--gang-scheduler-name` beside the flags that it has";
    Change::beside(
        Topic::Note,
        Severity::Normal,
        "NoGangScheduler",
        message.into(),
        now,
    )
}

/// The operator panicked while it reconciled the job or applied the result.
#[must_use]
pub fn panicked(words: &str, wait: u32, now: Time) -> Change {
    let message = format!(
        "the operator failed on this job, which is a bug of the operator; the job is read again in {wait} s: {words}"
    );
    Change::beside(Topic::Note, Severity::Warning, "OperatorPanicked", message, now)
}

/// Everything that has changed between two statuses.
#[must_use]
pub fn changes(kind: &Kind, before: Option<&Value>, after: &Value, now: Time) -> Vec<Change> {
    let mut changes = (kind.changes)(before, after);
    changes.extend(waits(before, after, now));
    changes
}

fn waits(before: Option<&Value>, after: &Value, now: Time) -> Vec<Change> {
    let known = Wait::of_status(before);
    let new = |wait: &Wait| !known.iter().any(|known| known.reason == wait.reason);
    let after = Wait::of_status(Some(after)).into_iter();
    after.filter(new).map(|wait| told(wait, now)).collect()
}

/// What is told of a wait, in Kubeflow's words.
fn told(wait: Wait, now: Time) -> Change {
    let Wait {
        reason,
        message: said,
        help,
        pod,
        container,
        ..
    } = wait;
    let mut message = match (pod, container) {
        (None, _) if reason.is_refusal() => format!("Error creating: {said}"),
        (Some(pod), _) if reason.is_ordinary() || reason == Reason::VolumesNotReady => {
            format!("pod {pod}: {said}")
        }
        (Some(pod), None) if reason != Reason::NodeLost => {
            format!("Error pod {pod} condition message: {said}")
        }
        (Some(pod), Some(container)) => {
            format!("Error pod {pod} container {container} waiting message: {said}")
        }
        _ => said,
    };
    if let Some(help) = help {
        // Kubeflow's words stay as they are.
        let end = if message.ends_with('.') { "" } else { ";" };
        message = format!("{message}{end} help: {help}");
    }
    let severity = if reason.is_ordinary() {
        Severity::Normal
    } else {
        Severity::Warning
    };
    Change::beside(Topic::Wait, severity, &reason.to_string(), message, now)
}

/// The event that tells of a change; none for what is not worth one.
pub fn event(job: &JobSeen, change: &Change) -> Option<Value> {
    let severity = match change.severity? {
        Severity::Normal => "Normal",
        Severity::Warning => "Warning",
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
        "type": severity,
        "note": note,
        "regarding": {
            "apiVersion": job.key.kind.api.api_version, "kind": job.key.kind.api.kind,
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
