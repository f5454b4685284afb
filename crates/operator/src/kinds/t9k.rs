//! T9k's `TensorFlowTrainingJob`: one phase, conditions that are always there, and modes in which nothing trains.

use serde_json::{Value, json};
use trainyard_core::Memory;
use trainyard_manifest::kinds::t9k::API;
use trainyard_status::{InstanceDetails, t9k_invalid, t9k_memory, t9k_status_with, t9k_waiting};

use super::{Kind, Projection, Stage, as_written, keep_addresses};
use crate::job::{JobWire, Reading};
use crate::reconcile::events::{Change, Milestone, Severity, Topic};

/// The kind.
pub static KIND: Kind = Kind {
    api: &API,
    framework: "tensorflow",
    manifest,
    status,
    counts: &["tasks", "aggregate"],
    memory: t9k_memory,
    taken_over: None,
    waiting: t9k_waiting,
    invalid: |before, words, now| t9k_invalid(before, INVALID, words, now),
    invalid_edit: INVALID,
    definition_too_old: "DefinitionTooOld",
    stage,
    changes,
    orders: None,
};

/// The reason of what is said about a spec that cannot be read.
const INVALID: &str = "InvalidSpec";

#[expect(
    clippy::unnecessary_wraps,
    reason = "jobs of other kinds may belong to another controller"
)]
fn manifest(wire: &JobWire, memory: Option<&Memory>, reading: &Reading) -> Option<Value> {
    let mut annotations = wire.metadata.annotations.clone().unwrap_or_default();
    keep_addresses(
        &mut annotations,
        wire.status.as_ref(),
        memory,
        reading.per_replica,
    );
    let mut manifest = as_written(&API, wire);
    manifest["metadata"]["annotations"] = json!(annotations);
    Some(manifest)
}

fn status(of: &Projection<'_>) -> Value {
    let details = |pod: &str| match of.pods.get(pod) {
        Some(held) => held.pod.details(of.now),
        None => InstanceDetails::default(),
    };
    t9k_status_with(of.previous, of.job, of.step, of.observed, &details, of.now)
}

fn phase(status: Option<&Value>) -> &str {
    status
        .and_then(|status| status["phase"].as_str())
        .unwrap_or_default()
}

fn stage(status: Option<&Value>) -> Stage {
    match phase(status) {
        "" | "Pending" => Stage::New,
        "Succeeded" | "Failed" => Stage::Ended,
        _ => Stage::Begun,
    }
}

/// A new job, a new phase, a replica that has failed, replicas that were started again.
fn changes(before: Option<&Value>, after: &Value) -> Vec<Change> {
    let mut changes = Vec::new();
    if phase(before).is_empty() {
        let created = change(after, "Initialized", "Created", None);
        changes.push(Change {
            milestone: Some(Milestone::Created),
            ..created
        });
    }
    changes.extend(new_phase(before, after));
    changes.extend(new_failure(before, after));
    if restarts(Some(after)) > restarts(before) {
        // What failed has been told; that it runs again is seen.
        let message = format!("replicas have been started again {} times", restarts(Some(after)));
        let restarted = change(after, "Running", "Restarted", None);
        changes.push(Change {
            milestone: Some(Milestone::Restarted),
            message,
            ..restarted
        });
    }
    changes
}

fn new_phase(before: Option<&Value>, after: &Value) -> Option<Change> {
    let (then, now) = (phase(before), phase(Some(after)));
    if now.is_empty() || now == then {
        return None;
    }
    let (milestone, severity, about) = match now {
        "Running" => (Some(Milestone::Running), None, "Running"),
        "Succeeded" => (Some(Milestone::Succeeded), Some(Severity::Normal), "Completed"),
        "Failed" => (Some(Milestone::Failed), Some(Severity::Warning), "Failed"),
        // That a node does not answer is told as what the job waits for.
        "Pending" | "Unknown" => (None, None, "Running"),
        // Paused and Resuming: what the other conditions say does not change between the two.
        _ => (None, Some(Severity::Normal), "Paused"),
    };
    let mut change = change(after, about, now, severity);
    if now == "Resuming" {
        change.message = said(after, "Running", "message");
    }
    Some(Change { milestone, ..change })
}

fn new_failure(before: Option<&Value>, after: &Value) -> Option<Change> {
    let failing = |status: &Value| said(status, "ReplicaFailure", "status") == "True";
    let is_new = failing(after) && !before.is_some_and(failing);
    is_new.then(|| {
        let reason = said(after, "ReplicaFailure", "reason");
        change(after, "ReplicaFailure", &reason, Some(Severity::Warning))
    })
}

/// How often replicas of any type have been started again.
fn restarts(status: Option<&Value>) -> u64 {
    let tasks = status.and_then(|status| status["tasks"].as_array());
    let counts = tasks
        .into_iter()
        .flatten()
        .map(|task| task["restartCount"].as_u64());
    counts.fold(0, |sum, count| sum.saturating_add(count.unwrap_or_default()))
}

/// A change that a condition tells of.
fn change(status: &Value, condition: &str, reason: &str, severity: Option<Severity>) -> Change {
    Change {
        topic: Topic::Condition,
        milestone: None,
        severity,
        reason: reason.to_owned(),
        message: said(status, condition, "message"),
        time: said(status, condition, "lastTransitionTime"),
    }
}

/// A field of a condition.
fn said(status: &Value, condition: &str, field: &str) -> String {
    let condition = super::conditions(Some(status)).find(|one| one["type"] == condition);
    let text = condition.and_then(|condition| condition[field].as_str());
    text.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A status with these types of conditions that hold.
    fn status_of(phase: &str, holds: &[&str], restarts: u32, time: &str) -> Value {
        let kinds = ["Running", "ReplicaFailure", "Completed", "Failed", "Paused"];
        let condition = |kind: &&str| {
            let status = if holds.contains(kind) { "True" } else { "False" };
            json!({ "type": kind, "status": status, "reason": "R", "message": format!("{kind} {status}"), "lastTransitionTime": time })
        };
        let conditions: Vec<Value> = kinds.iter().map(condition).collect();
        json!({ "phase": phase, "conditions": conditions, "tasks": [{ "restartCount": restarts }] })
    }

    #[test]
    fn phases_failures_and_restarts_are_told_and_counted() {
        let running = status_of("Running", &["Running"], 0, "1");
        let rows = [
            (
                None,
                status_of("Pending", &[], 0, "1"),
                vec!["Created", "Pending"],
                vec![Milestone::Created],
            ),
            (
                None,
                status_of("Paused", &["Paused"], 0, "1"),
                vec!["Created", "Paused"],
                vec![Milestone::Created],
            ),
            (Some(&running), running.clone(), vec![], vec![]),
            (
                Some(&running),
                status_of("Running", &["Running", "ReplicaFailure"], 0, "2"),
                vec!["R"],
                vec![],
            ),
            (
                Some(&running),
                status_of("Running", &["Running"], 2, "1"),
                vec!["Restarted"],
                vec![Milestone::Restarted],
            ),
            (
                Some(&running),
                status_of("Paused", &["Paused"], 0, "2"),
                vec!["Paused"],
                vec![],
            ),
            (
                Some(&running),
                status_of("Unknown", &[], 0, "2"),
                vec!["Unknown"],
                vec![],
            ),
            (
                Some(&running),
                status_of("Failed", &["Failed"], 0, "2"),
                vec!["Failed"],
                vec![Milestone::Failed],
            ),
        ];
        for (before, after, reasons, milestones) in rows {
            let changes = changes(before, &after);
            let told: Vec<&str> = changes.iter().map(|change| &*change.reason).collect();
            let counted: Vec<Milestone> = changes.iter().filter_map(|change| change.milestone).collect();
            assert_eq!((told, counted), (reasons, milestones), "{after}");
        }
    }

    /// An event's name is made of reason and time: the second pause must have another one.
    #[test]
    fn two_pauses_without_a_run_between_them_are_two_events() {
        let resuming = status_of("Resuming", &[], 0, "2");
        let mut again = status_of("Paused", &["Paused"], 0, "2");
        again["conditions"][4]["lastTransitionTime"] = "3".into();
        let first = status_of("Paused", &["Paused"], 0, "1");
        let times: Vec<String> = [(&first, &resuming), (&resuming, &again)]
            .into_iter()
            .flat_map(|(before, after)| changes(Some(before), after))
            .map(|change| change.time)
            .collect();
        assert_eq!(times, ["2", "3"]);
    }
}
