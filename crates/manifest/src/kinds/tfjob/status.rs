//! The schema of a `TFJob`'s status: what users and their tools read; the rest is kept as the operator writes it.

use serde_json::{Value, json};

const SUMMARY: &str = "One sentence: why it failed, what it waits for, or how many of its tasks are ready.";

/// One thing that a job waits for.
fn wait() -> Value {
    let text = |description: &str| json!({ "type": "string", "description": description });
    json!({
        "type": "object", "x-kubernetes-preserve-unknown-fields": true,
        "description": "One thing that it waits for.",
        "properties": {
            "reason": text("In one word, as Unschedulable."),
            "message": text("In the cluster's own words, where it has any."),
            "pods": { "type": "integer", "format": "int32", "description": "How many pods wait for it." },
            "pod": text("One of them."),
            "node": text("The node that does not answer, where that is the reason."),
            "container": text("Which container of it waits."),
        },
    })
}

/// The schema of `status`.
pub(super) fn schema() -> Value {
    let time =
        |description: &str| json!({ "type": "string", "format": "date-time", "description": description });
    let anything = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let said = |description: &str| {
        let mut anything = anything.clone();
        anything["description"] = description.into();
        anything
    };
    json!({
        "type": "object",
        "description": "What has become of the job: conditions, pods by replica type, what it waits for, why it failed.",
        // It is written by one program, whole: the server need not note down who wrote which field of it.
        "x-kubernetes-map-type": "atomic",
        // The memory of our decisions, the first failure, and what older operators wrote.
        "x-kubernetes-preserve-unknown-fields": true,
        "properties": {
            "startTime": time("When the job began, or began again after it was suspended."),
            "completionTime": time("When it ended."),
            "lastReconcileTime": time("As Kubeflow's operator wrote it."),
            "summary": { "type": "string", "description": SUMMARY },
            "waiting": {
                "type": "array", "items": wait(),
                "description": "What it waits for that is not ordinary: reason, message, and which pods.",
            },
            "firstFailure": said("Which task failed first, and how: its exit code, reason, message, and where."),
            "conditions": {
                "type": "array",
                "description": "What the job has been and is; the last one is what it is now.",
                "items": {
                    "type": "object",
                    "required": ["type", "status"],
                    "properties": {
                        "type": { "type": "string" },
                        "status": { "type": "string" },
                        "reason": { "type": "string" },
                        "message": { "type": "string" },
                        "lastUpdateTime": time("When something of it was last written."),
                        "lastTransitionTime": time("When it last became true or false."),
                    },
                },
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
        },
    })
}
