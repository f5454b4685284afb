//! Kubeflow's `TFJob`: its older versions, its conditions, and jobs that Kubeflow's operator began.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use trainyard_core::{AddressForm, Job, Memory, Observed, Stamp, TaskSeen};
use trainyard_dialect::OURSELVES;
use trainyard_manifest::kinds::tfjob::API;
use trainyard_status::{tfjob_begun, tfjob_invalid, tfjob_memory, tfjob_status};

use super::{Kind, STALLED, Stage, conditions, is_remembered, keep_addresses};
use crate::job::{JobWire, Reading};
use crate::reconcile::events::{Change, Milestone, Severity, Topic};

/// The kind.
pub static KIND: Kind = Kind {
    api: &API,
    framework: "tensorflow",
    manifest,
    status: |of| tfjob_status(of.previous, of.job, of.step, of.observed, of.now),
    counts: &["replicaStatuses"],
    memory: tfjob_memory,
    taken_over: Some(taken_over),
    // Kubeflow writes no condition before it has begun.
    waiting: |_| json!({}),
    invalid: tfjob_invalid,
    invalid_edit: "InvalidTFJobSpec",
    definition_too_old: "TFJobDefinitionTooOld",
    stage,
    changes,
    orders: None,
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

fn manifest(wire: &JobWire, memory: Option<&Memory>, reading: &Reading) -> Option<Value> {
    let manager = wire.spec.pointer("/runPolicy/managedBy").and_then(Value::as_str);
    if manager.is_some_and(|manager| !OURSELVES.contains(&manager)) {
        return None;
    }
    let meta = &wire.metadata;
    let mut annotations = meta.annotations.clone().unwrap_or_default();
    annotate(
        &mut annotations,
        wire.status.as_ref(),
        memory,
        reading.per_replica,
    );
    let old = MOVED.iter().any(|field| wire.spec.get(field).is_some());
    Some(json!({
        "apiVersion": if old { OLD_VERSION } else { API.api_version },
        "kind": API.kind,
        "metadata": {
            "name": meta.name, "namespace": meta.namespace,
            "labels": meta.labels.clone().unwrap_or_default(),
            "annotations": annotations,
        },
        "spec": wire.spec,
    }))
}

/// Says how tasks find each other as the author could have said it, also for a job that another operator began.
fn annotate(
    annotations: &mut BTreeMap<String, String>,
    status: Option<&Value>,
    memory: Option<&Memory>,
    per_replica: bool,
) {
    // Another operator began it.
    let theirs = memory.is_none() && !is_remembered(status) && tfjob_begun(status).is_some();
    keep_addresses(annotations, status, memory, per_replica || theirs);
    let kubeflow = theirs || memory.is_some_and(|memory| memory.form == Some(AddressForm::Kubeflow));
    if kubeflow {
        let entry = annotations.entry("trainyard.dev/evaluator-in-cluster".to_owned());
        entry.or_insert_with(|| "true".to_owned());
    }
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

#[cfg(test)]
mod tests {
    use super::super::ADDRESSES;
    use super::*;

    #[test]
    fn tasks_find_each_other_as_when_the_job_began() {
        let began = "2026-01-02T03:04:05Z";
        let memory = |form: &str| {
            let form = serde_json::from_str(form).unwrap_or(Value::Null);
            json!({ "startTime": began, "trainyard": { "format": 1, "job": "u", "started": 1_800_000_000, "form": form } })
        };
        let mut held = memory("null");
        held["trainyard"]["held"] = "Suspended".into();
        let (theirs, per_job) = (Some("per-replica"), Some("per-job"));
        let rows = [
            // What the author says, the status, the flag; then whether addresses are per replica, and all is as Kubeflow's.
            (None, json!(null), false, false, false),
            (None, json!(null), true, true, false),
            (per_job, json!(null), true, false, false),
            (None, json!({ "conditions": [] }), true, true, false),
            (None, json!({ "startTime": began }), false, true, true),
            (per_job, json!({ "startTime": began }), false, false, true),
            (
                None,
                json!({ "startTime": began, "trainyard": null }),
                false,
                true,
                true,
            ),
            (
                None,
                json!({ "startTime": began, "trainyard": {} }),
                true,
                false,
                false,
            ),
            (None, memory("null"), true, false, false),
            (theirs, memory("null"), false, false, false),
            (per_job, memory("\"per-replica\""), false, true, false),
            (None, memory("\"kubeflow\""), false, true, true),
            (theirs, held, false, true, false),
        ];
        for (own, status, flag, per_replica, kubeflow) in rows {
            let own = own.map(|own| (ADDRESSES.to_owned(), own.to_owned()));
            let mut annotations: BTreeMap<String, String> = own.into_iter().collect();
            let memory = crate::job::stored_memory(Some(&status));
            annotate(&mut annotations, Some(&status), memory.as_ref(), flag);
            let addresses = annotations.get(ADDRESSES).map(String::as_str);
            assert_eq!(addresses == theirs, per_replica, "{status}");
            let evaluator = annotations.contains_key("trainyard.dev/evaluator-in-cluster");
            assert_eq!(evaluator, kubeflow, "{status}");
        }
    }
}
