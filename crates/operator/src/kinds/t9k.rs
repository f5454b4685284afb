//! T9k's `TensorFlowTrainingJob`: one phase, and conditions that are always there.

use serde_json::{Value, json};
use trainyard_core::{Memory, Time};
use trainyard_manifest::kinds::t9k::API;
use trainyard_status::{MEMORY_FIELD, rfc3339, t9k_memory, t9k_status};

use super::{Kind, Stage};
use crate::job::{JobWire, Reading};
use crate::reconcile::events::{Change, Milestone, Severity, Topic};

/// The kind.
pub static KIND: Kind = Kind {
    api: &API,
    framework: "tensorflow",
    manifest,
    status: t9k_status,
    counts: &["tasks", "aggregate"],
    memory: t9k_memory,
    taken_over: None,
    invalid,
    invalid_edit: "InvalidSpec",
    definition_too_old: "DefinitionTooOld",
    stage,
    changes,
    orders: None,
};

#[expect(
    clippy::unnecessary_wraps,
    reason = "jobs of other kinds may belong to another controller"
)]
fn manifest(wire: &JobWire, _: Option<&Memory>, _: &Reading) -> Option<Value> {
    let meta = &wire.metadata;
    Some(json!({
        "apiVersion": API.api_version,
        "kind": API.kind,
        "metadata": {
            "name": meta.name, "namespace": meta.namespace,
            "labels": meta.labels.clone().unwrap_or_default(),
            "annotations": meta.annotations.clone().unwrap_or_default(),
        },
        "spec": wire.spec,
    }))
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

fn invalid(before: Option<&Value>, words: &str, now: Time) -> Option<Value> {
    let runs = before.is_some_and(|status| status.get(MEMORY_FIELD).is_some());
    if runs || stage(before) == Stage::Ended {
        return None;
    }
    let now = rfc3339(now);
    let message = format!("The spec is invalid: {words}");
    Some(json!({
        "phase": "Failed",
        "completionTime": now,
        "conditions": [{
            "type": "Failed", "status": "True", "reason": KIND.invalid_edit, "message": message,
            "lastTransitionTime": now,
        }],
    }))
}

/// A new phase.
fn changes(before: Option<&Value>, after: &Value) -> Vec<Change> {
    let now = phase(Some(after));
    if now.is_empty() || now == phase(before) {
        return Vec::new();
    }
    let (milestone, severity, condition) = match now {
        "Pending" => (Some(Milestone::Created), None, "Running"),
        "Running" => (Some(Milestone::Running), None, "Running"),
        "Succeeded" => (Some(Milestone::Succeeded), Some(Severity::Normal), "Completed"),
        "Failed" => (Some(Milestone::Failed), Some(Severity::Warning), "Failed"),
        _ => (None, Some(Severity::Normal), "Running"),
    };
    let condition = super::conditions(Some(after)).find(|one| one["type"] == condition);
    let text = |field: &str| {
        let text = condition.and_then(|condition| condition[field].as_str());
        text.unwrap_or_default().to_owned()
    };
    vec![Change {
        topic: Topic::Condition,
        milestone,
        severity,
        reason: now.to_owned(),
        message: text("message"),
        time: text("lastTransitionTime"),
    }]
}
