//! The schema of a Volcano job's spec: Volcano's fields, constraints and defaults. Pod templates and claims are kept as they are.

use serde_json::{Value, json};

use super::rules;
use crate::kinds::common::{MOST_REPLICAS, pod_template};
use crate::kinds::tensorboard;

/// Bounds that let the API server estimate what its rules cost; far beyond any job.
const MOST_TASKS: u32 = 256;
const MOST_POLICIES: u32 = 64;

/// Events that a policy may wait for.
const EVENTS: &[&str] = &[
    "*",
    "PodFailed",
    "PodEvicted",
    "PodPending",
    "Unknown",
    "TaskCompleted",
    "TaskFailed",
    "JobUpdated",
];

/// Actions that a policy may ask for.
const ACTIONS: &[&str] = &[
    "AbortJob",
    "RestartJob",
    "RestartTask",
    "RestartPod",
    "TerminateJob",
    "CompleteJob",
    "ResumeJob",
];

/// The schema of `spec`.
pub(super) fn schema() -> Value {
    json!({
        "type": "object",
        "description": "The tasks, and how they run and end.",
        "required": ["tasks"],
        "x-kubernetes-validations": rules::of_spec(),
        "properties": {
            "schedulerName": text(63, "Who places the pods; the operator's gang scheduler unless it is another one."),
            "minAvailable": integer(0, "So many pods are placed together and make the job Running; all that the tasks need unless given."),
            "minSuccess": integer(1, "So many pods that succeed complete the job."),
            "maxRetry": with(integer(0, "The request to restart that ends the job."), "default", json!(3)),
            "ttlSecondsAfterFinished": integer(0, "The job is deleted so many seconds after its end; never unless given."),
            "queue": queue(),
            "priorityClassName": name("The priority class of the group, and of pods whose template names none."),
            "runningEstimate": text(64, "How long it is expected to run; nothing is done with it."),
            "networkTopology": topology(),
            "plugins": plugins(),
            "policies": with(policies(), "x-kubernetes-validations", rules::of_policies()),
            "volumes": volumes(),
            "tensorboardSpec": tensorboard::schema(),
            "tasks": {
                "type": "array", "minItems": 1, "maxItems": MOST_TASKS, "items": task(),
                "description": "Sets of equal pods.",
                "x-kubernetes-validations": rules::of_tasks(),
            },
        },
    })
}

fn with(mut schema: Value, key: &str, value: Value) -> Value {
    schema[key] = value;
    schema
}

fn integer(minimum: u32, description: &str) -> Value {
    json!({ "type": "integer", "format": "int32", "minimum": minimum, "description": description })
}

fn text(longest: u32, description: &str) -> Value {
    json!({ "type": "string", "maxLength": longest, "description": description })
}

/// Another object's name.
fn name(description: &str) -> Value {
    let pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
    with(text(253, description), "pattern", pattern.into())
}

fn anything(description: &str) -> Value {
    json!({ "type": "object", "description": description, "x-kubernetes-preserve-unknown-fields": true })
}

fn queue() -> Value {
    let queue = name("Volcano's queue.");
    let queue = with(queue, "default", "default".into());
    with(queue, "x-kubernetes-validations", rules::of_queue())
}

fn topology() -> Value {
    json!({
        "type": "object",
        "description": "Where in the network the pods are placed; not handed to the scheduler.",
        "x-kubernetes-validations": rules::of_topology(),
        "properties": {
            "mode": { "type": "string", "enum": ["hard", "soft"], "default": "hard", "description": "How strictly." },
            "highestTierAllowed": integer(0, "The highest tier, by number."),
            "highestTierName": text(253, "The highest tier, by name."),
        },
    })
}

fn plugins() -> Value {
    json!({
        "type": "object", "maxProperties": 16,
        "description": "What is done for the pods, each with its arguments: env (their numbers), svc (their names, and who may reach \
                        them), tensorflow (TF_CONFIG).",
        "x-kubernetes-validations": rules::of_plugins(),
        "additionalProperties": {
            "type": "array", "nullable": true, "maxItems": 32, "items": { "type": "string", "maxLength": 1024 },
        },
    })
}

fn policies() -> Value {
    let event = || json!({ "type": "string", "enum": EVENTS, "description": "What it waits for." });
    json!({
        "type": "array", "maxItems": MOST_POLICIES,
        "description": "What follows when something happens. The policies of a task come before those of the job.",
        "items": {
            "type": "object",
            "required": ["action"],
            "x-kubernetes-validations": rules::of_policy(),
            "properties": {
                "action": { "type": "string", "enum": ACTIONS, "description": "What follows." },
                "event": event(),
                "events": {
                    "type": "array", "maxItems": 8, "items": event(), "description": "One of these.",
                },
                "exitCode": { "type": "integer", "format": "int32", "description": "A pod whose program ended with this code." },
                "timeout": text(64, "It follows only after this time, as 10m30s."),
            },
        },
    })
}

fn volumes() -> Value {
    json!({
        "type": "array", "maxItems": 64,
        "description": "Claims that every container mounts.",
        "x-kubernetes-validations": rules::of_volumes(),
        "items": {
            "type": "object",
            "required": ["mountPath"],
            "x-kubernetes-validations": rules::of_volume(),
            "properties": {
                "mountPath": {
                    "type": "string", "maxLength": 1024, "pattern": "^[^:]+$", "description": "Where containers see it.",
                },
                "volumeClaimName": text(253, "A claim that exists."),
                "volumeClaim": anything("The spec of a claim that is made for the job, and deleted with it."),
            },
        },
    })
}

fn task() -> Value {
    json!({
        "type": "object",
        "required": ["template"],
        "x-kubernetes-validations": rules::of_task(),
        "properties": {
            "name": {
                "type": "string", "maxLength": 63, "pattern": "^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$",
                "description": "Its name; default<position> unless given.",
            },
            "replicas": with(integer(0, "How many pods; none unless given."), "maximum", MOST_REPLICAS.into()),
            "minAvailable": integer(0, "So many of them are needed; all unless given."),
            "maxRetry": integer(0, "So many restarts in place raise TaskFailed; 3 unless given."),
            "policies": policies(),
            "dependsOn": {
                "type": "object",
                "description": "Its pods are created when those of other tasks are ready.",
                "properties": {
                    "name": {
                        "type": "array", "maxItems": 64, "items": { "type": "string", "maxLength": 63 },
                        "description": "The other tasks.",
                    },
                    "iteration": {
                        "type": "string", "enum": ["any", "all"], "description": "Whether one of them suffices; all unless given.",
                    },
                },
            },
            "topologyPolicy": {
                "type": "string", "enum": ["none", "best-effort", "restricted", "single-numa-node"],
                "description": "What the scheduler is told about NUMA nodes.",
            },
            "partitionPolicy": {
                "type": "object",
                "description": "Partitions of its pods; only their numbers are used.",
                "required": ["totalPartitions", "partitionSize"],
                "properties": {
                    "totalPartitions": integer(1, "How many there are."),
                    "partitionSize": integer(1, "How many pods each has."),
                    "minPartitions": integer(0, "How many are needed."),
                    "networkTopology": topology(),
                },
            },
            "template": template(),
        },
    })
}

/// Without a rule about the main container: it may have any name.
fn template() -> Value {
    let description = "A pod template (`kubectl explain pod.spec`); its container named tensorflow, or else the first, is the task.";
    pod_template(description, &Value::Null)
}
