//! The schema of a `TFJob`'s status: what users and their tools read; the rest is kept as the operator writes it.

use serde_json::{Value, json};

use crate::kinds::common::{self, time};

const STATUS: &str =
    "What has become of the job: conditions, pods by replica type, what it waits for, why it failed.";

/// The schema of `status`.
pub(super) fn schema() -> Value {
    common::status(
        STATUS,
        json!({
            "lastReconcileTime": time("As Kubeflow's operator wrote it."),
            "conditions": {
                "type": "array",
                "description": "What the job has been and is; the last one is what it is now.",
                "items": common::condition(),
            },
            "replicaStatuses": {
                "type": "object",
                "description": "How many pods are active, succeeded and failed, by replica type.",
                "additionalProperties": {
                    "type": "object",
                    "x-kubernetes-preserve-unknown-fields": true,
                    "properties": {
                        "active": { "type": "integer", "format": "int32" },
                        "succeeded": { "type": "integer", "format": "int32" },
                        "failed": { "type": "integer", "format": "int32" },
                    },
                },
            },
        }),
    )
}
