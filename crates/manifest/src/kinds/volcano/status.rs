//! The schema of a Volcano job's status: Volcano's fields described, and every other field kept.

use serde_json::{Value, json};

/// The schema of `status`.
pub(super) fn schema() -> Value {
    let text = |description: &str| json!({ "type": "string", "description": description });
    let time =
        |description: &str| json!({ "type": "string", "format": "date-time", "description": description });
    let count =
        |description: &str| json!({ "type": "integer", "format": "int32", "description": description });
    let kept = |kind: &str, description: &str| {
        let mut schema = json!({ "type": kind, "description": description });
        let item = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        match kind {
            "array" => schema["items"] = item,
            _ => schema["x-kubernetes-preserve-unknown-fields"] = true.into(),
        }
        schema
    };
    json!({
        "type": "object",
        "description": "What has become of the job: its phase, pods by state, what it waits for, why it ended.",
        // It is written by one program, whole: the server need not note down who wrote which field of it.
        "x-kubernetes-map-type": "atomic",
        // The memory of our decisions, the first failure, and what Volcano's own controller wrote.
        "x-kubernetes-preserve-unknown-fields": true,
        "properties": {
            "state": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                "description": "The phase, and why it ended.",
                "properties": {
                    "phase": text("Pending, Running, Restarting, Aborting, Aborted, Completing, Completed, Terminating, Terminated or Failed."),
                    "reason": text("What ended it, in one word."),
                    "message": text("What ended it, in a sentence."),
                    "lastTransitionTime": time("When the phase began."),
                },
            },
            "minAvailable": count("So many pods it needs to run."),
            "pending": count("Pods that have not started."),
            "running": count("Pods that run."),
            "succeeded": count("Tasks that have succeeded, also when their pods are gone."),
            "failed": count("Tasks that have failed, also when their pods are gone."),
            "terminating": count("Pods that were told to stop."),
            "version": count("Grows whenever the whole job is restarted or aborted."),
            "retryCount": count("Restarts that count toward maxRetry."),
            "runningDuration": text("From the start to the end."),
            "taskStatusCount": kept("object", "Pods by task and state."),
            "controlledResources": kept("object", "Plugins and volumes that have objects of their own now."),
            "conditions": kept("array", "Each phase that it has been in, with the time at which it last began."),
            "summary": text("One sentence: why it failed, what it waits for, or how many of its pods are ready."),
            "waiting": kept("array", "What it waits for that is not ordinary: reason, message, and which pods."),
            "firstFailure": kept("object", "Which pod failed first, and how: its exit code, reason, message, and where."),
        },
    })
}
