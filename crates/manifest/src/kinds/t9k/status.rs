//! The schema of a `TensorFlowTrainingJob`'s status, as T9k documents it; the rest is kept as the operator writes it.

use serde_json::{Value, json};

use crate::kinds::common::{self, integer, text};

const STATUS: &str =
    "What has become of the job: a phase, six conditions that are always there, every replica, and counts.";

/// The schema of `status`.
pub(super) fn schema() -> Value {
    common::status(
        STATUS,
        json!({
            "phase": text("Pending, Running, Paused, Resuming, Succeeded, Failed or Unknown."),
            "conditions": {
                "type": "array", "items": common::condition(),
                "description": "Initialized, Running, ReplicaFailure, Completed, Failed and Paused, each True or False, always in this order.",
            },
            "tasks": {
                "type": "array", "items": task(),
                "description": "The replicas by type, with their pods' phases and containers.",
            },
            "aggregate": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": counts(),
                "description": "How many replicas are in which phase.",
            },
            "backoffCount": integer("int32", 0, "How many restarts count toward runPolicy.backoffLimit."),
        }),
    )
}

fn task() -> Value {
    let container = json!({
        "type": "object", "x-kubernetes-preserve-unknown-fields": true,
        "properties": {
            "name": text("The container's name."),
            "state": text("Waiting, Running or Terminated."),
            "exitCode": { "type": "integer", "format": "int32", "description": "How it ended." },
        },
    });
    let replica = json!({
        "type": "object", "x-kubernetes-preserve-unknown-fields": true,
        "properties": {
            "name": text("The name of its pod."),
            "uid": text("The UID of its pod, while there is one."),
            "phase": text("The phase of its pod, Creating before there is one, or Deleted when there is to be none any more."),
            "containers": {
                "type": "array", "items": container,
                "description": "The containers of its pod, the one that trains first.",
            },
        },
    });
    json!({
        "type": "object", "x-kubernetes-preserve-unknown-fields": true,
        "properties": {
            "type": text("The replica type."),
            "restartCount": integer("int64", 0, "How often replicas of this type have been started again."),
            "replicas": { "type": "array", "items": replica, "description": "The replicas, by their index." },
        },
    })
}

fn counts() -> Value {
    let phases = [
        "creating",
        "pending",
        "running",
        "succeeded",
        "failed",
        "unknown",
        "deleted",
    ];
    let count = |phase: &str| {
        (
            phase.to_owned(),
            integer("int32", 0, &format!("How many are {phase}.")),
        )
    };
    phases.into_iter().map(count).collect()
}
