//! Kubeflow's `TFJob`: its older versions, its conditions, and jobs that Kubeflow's operator began.

use serde_json::{Map, Value, json};
use trainyard_core::{Job, Memory, Observed, Stamp, TaskSeen};
use trainyard_dialect::OURSELVES;
use trainyard_manifest::kinds::tfjob::API;
use trainyard_status::{tfjob_begun, tfjob_invalid, tfjob_memory, tfjob_status};

use super::{Kind, STALLED, Stage, conditions};
use crate::address_form::AddressForm;
use crate::job::{JobWire, Reading};
use crate::reconcile::events::{Change, Milestone, Severity, Topic};

/// The kind.
pub static KIND: Kind = Kind {
    api: &API,
    framework: "tensorflow",
    manifest,
    status: tfjob_status,
    counts: &["replicaStatuses"],
    memory: tfjob_memory,
    taken_over,
    invalid: tfjob_invalid,
    invalid_edit: "InvalidTFJobSpec",
    definition_too_old: "TFJobDefinitionTooOld",
    stage,
    changes,
};

/// The newest version with its policies beside each other.
const OLD_VERSION: &str = "kubeflow.org/v1beta2";
/// Fields that v1 has under `runPolicy`, and its predecessors had beside it. The definition knows them in every version,
/// and a job that has them was written for an old one.
const MOVED: &[&str] = &[
    "cleanPodPolicy",
    "ttlSecondsAfterFinished",
    "activeDeadlineSeconds",
    "backoffLimit",
];

fn manifest(wire: &JobWire, reading: &Reading) -> Option<(Value, AddressForm)> {
    let manager = wire.spec.pointer("/runPolicy/managedBy").and_then(Value::as_str);
    if manager.is_some_and(|manager| !OURSELVES.contains(&manager)) {
        return None;
    }
    let meta = &wire.metadata;
    let form = AddressForm::of(wire.status.as_ref(), reading.per_replica);
    let own = meta.annotations.iter().flatten();
    let mut annotations: Map<String, Value> = own
        .map(|(name, value)| (name.clone(), value.as_str().into()))
        .collect();
    form.annotate(wire.status.as_ref(), &mut annotations);
    let old = MOVED.iter().any(|field| wire.spec.get(field).is_some());
    let manifest = json!({
        "apiVersion": if old { OLD_VERSION } else { API.api_version },
        "kind": API.kind,
        "metadata": {
            "name": meta.name, "namespace": meta.namespace,
            "labels": meta.labels.clone().unwrap_or_default(),
            "annotations": annotations,
        },
        "spec": wire.spec,
    });
    Some((manifest, form))
}

/// The memory of a job that Kubeflow's operator began: all its tasks live their first life, and it began when its status says.
fn taken_over(status: Option<&Value>, job: &Job, observed: &Observed) -> Option<Memory> {
    let first = |task: &TaskSeen| task.stamp == Stamp::default();
    if observed.tasks.is_empty() && conditions(status).any(|condition| condition["type"] == STALLED) {
        // It was this operator that said when it began, and it did not.
        return None;
    }
    let begun = tfjob_begun(status)?;
    let all_first = observed.tasks.iter().all(first);
    all_first.then(|| Memory::begun_elsewhere(job, begun))
}

fn stage(status: Option<&Value>) -> Stage {
    let mut stage = Stage::New;
    for condition in conditions(status) {
        match condition["type"].as_str() {
            Some("Succeeded" | "Failed") if condition["status"] == "True" => return Stage::Ended,
            Some("Running" | "Restarting" | "Suspended") => stage = Stage::Begun,
            _ => {}
        }
    }
    stage
}

/// Conditions that are new or were written again.
fn changes(before: Option<&Value>, after: &Value) -> Vec<Change> {
    let is_new = |condition: &&Value| {
        !conditions(before).any(|known| {
            let same = |field: &str| known[field] == condition[field];
            same("type") && same("lastUpdateTime") && same("status")
        })
    };
    // That a job no longer runs is said by what it does instead.
    let over = |condition: &&Value| condition["type"] == "Running" && condition["status"] == "False";
    let new = conditions(Some(after)).filter(is_new).filter(|one| !over(one));
    new.map(change).collect()
}

fn change(condition: &Value) -> Change {
    let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
    let kind = text("type");
    // No event for what users see by its effect.
    let (milestone, severity) = match &*kind {
        "Created" => (Some(Milestone::Created), None),
        "Running" => (Some(Milestone::Running), None),
        "Restarting" => (Some(Milestone::Restarted), Some(Severity::Warning)),
        "Succeeded" => (Some(Milestone::Succeeded), Some(Severity::Normal)),
        "Failed" => (Some(Milestone::Failed), Some(Severity::Warning)),
        STALLED => (None, Some(Severity::Warning)),
        _ => (None, Some(Severity::Normal)),
    };
    Change {
        topic: Topic::Condition,
        milestone,
        severity,
        reason: text("reason"),
        message: text("message"),
        time: text("lastUpdateTime"),
    }
}
