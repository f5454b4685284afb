//! The schema of a `TensorFlowTrainingJob`'s spec, with the rules that the API server can check by itself: what `trainyard check` refuses, as far as
//! a rule can say it.

use serde_json::{Value, json};

use crate::kinds::common::{MOST_REPLICAS, additions, integer, object, template};
use crate::kinds::tensorboard;

/// The replica types, as T9k spells them.
const TYPES: [&str; 4] = ["chief", "worker", "ps", "evaluator"];
/// Bounds that let the API server estimate what its rules cost; far beyond any command.
const MOST_WORDS: u32 = 128;
const LONGEST_WORD: u32 = 32_768;

/// The schema of `spec`.
pub(super) fn schema() -> Value {
    json!({
        "type": "object", "required": ["replicaSpecs"],
        "description": "What is to be trained, by how many, and how.",
        "x-kubernetes-validations": [
            of_this_job("debug", "replicaSpecs"),
            of_this_job("pause", "resumeSpecs"),
            immutable("pause", "resumeSpecs"),
        ],
        "properties": {
            "replicaSpecs": replica_specs(),
            "runMode": run_mode(),
            "runPolicy": run_policy(),
            "scheduler": scheduler(),
            "tensorboardSpec": tensorboard::schema(),
        },
    })
}

/// A list of which each entry is about one replica type.
fn by_type(description: &str, more: Value, required: &[&str]) -> Value {
    let mut properties = object(json!({
        "type": { "type": "string", "enum": TYPES, "description": "The replica type: chief, worker, ps or evaluator." },
    }));
    properties.extend(object(more));
    json!({
        "type": "array", "maxItems": TYPES.len(), "description": description,
        "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
        "items": { "type": "object", "required": required, "properties": properties },
    })
}

fn replica_specs() -> Value {
    let description =
        "The replica types of the job, each once: at most one chief, workers, ps and evaluator.";
    let replica = json!({
        "replicas": {
            "type": "integer", "format": "int32", "minimum": 0, "maximum": MOST_REPLICAS,
            "description": "How many replicas there are of this type; 1 unless given.",
        },
        "restartPolicy": {
            "type": "string", "enum": ["Always", "OnFailure", "Never", "ExitCode"],
            "description": "Whether a replica that ends is started again, as a new pod: Never (default), OnFailure, Always, or by its \
                            ExitCode (42, 130, 137, 138, 143).",
        },
        "template": template(),
    });
    let mut schema = by_type(description, replica, &["type", "template"]);
    schema["minItems"] = 1.into();
    schema["x-kubernetes-validations"] = json!([
        {
            "rule": "self.all(role, role.type != 'chief' || !has(role.replicas) || role.replicas <= 1)",
            "message": "TensorFlow knows one chief: set its replicas to 1",
        },
        {
            "rule": "self.size() == 0 || self.exists(role, role.type in ['chief', 'worker'])",
            "message": "a job of ps and evaluator alone never ends: add a worker or a chief",
        },
    ]);
    schema
}

fn run_mode() -> Value {
    let debug = by_type(
        "Which types wait, and how; the others run as their template says. Without a list, every replica runs sleep inf.",
        json!({ "skipInitContainer": skip(), "command": words("What runs instead of the training; sleep inf unless given.") }),
        &["type"],
    );
    let resume = by_type(
        "How replicas start after a pause, by type; cannot be changed. A type that is not listed starts with its template's command.",
        json!({
            "skipInitContainer": skip(),
            "command": words("Instead of the template's command."),
            "args": words("Instead of the template's args."),
        }),
        &["type"],
    );
    json!({
        "type": "object",
        "description": "Debug or pause; without either, the job trains at once.",
        "properties": {
            "debug": mode(
                "Pods are made as for a training and wait for a user to log in.",
                "Whether pods wait instead of training; false unless given.", "replicaSpecs", &debug,
            ),
            "pause": mode(
                "A paused job has no pods.", "Whether the job is paused; may be changed at any time. False unless given.",
                "resumeSpecs", &resume,
            ),
        },
    })
}

/// A mode that can be switched on; an old page of the manual spells the switch `enable`.
fn mode(description: &str, switch: &str, list: &str, settings: &Value) -> Value {
    json!({
        "type": "object", "description": description,
        "x-kubernetes-validations": [{
            "rule": "!has(self.enable) || !has(self.enabled) || self.enable == self.enabled",
            "message": "enable is the old spelling of enabled and says something else: keep enabled alone",
        }],
        "properties": {
            "enabled": { "type": "boolean", "description": switch },
            "enable": { "type": "boolean", "description": "The old spelling of enabled." },
            list: settings,
        },
    })
}

fn skip() -> Value {
    json!({ "type": "boolean", "description": "Leave out the init containers; false unless given." })
}

fn words(description: &str) -> Value {
    json!({
        "type": "array", "maxItems": MOST_WORDS, "description": description,
        "items": { "type": "string", "maxLength": LONGEST_WORD },
    })
}

/// Whether there is a list of settings of a mode.
fn has(whose: &str, mode: &str, list: &str) -> String {
    let mode_path = format!("{whose}.runMode.{mode}");
    format!("(has({whose}.runMode) && has({mode_path}) && has({mode_path}.{list}))")
}

/// Settings of a mode are for replica types of the job.
fn of_this_job(mode: &str, list: &str) -> Value {
    let (has, path) = (has("self", mode, list), format!("runMode.{mode}.{list}"));
    json!({
        "rule": format!("!{has} || self.{path}.all(set, self.replicaSpecs.exists(role, role.type == set.type))"),
        "message": format!("spec.{path} is about a type that spec.replicaSpecs does not have"),
    })
}

/// The list cannot be changed, added or removed: whether a pause has used it already is not the API server's to know.
fn immutable(mode: &str, list: &str) -> Value {
    let (now, before, path) = (
        has("self", mode, list),
        has("oldSelf", mode, list),
        format!("runMode.{mode}.{list}"),
    );
    json!({
        "rule": format!("{now} == {before} && (!{now} || self.{path} == oldSelf.{path})"),
        "message": format!("spec.{path} is immutable: it is given when the job is created"),
    })
}

fn run_policy() -> Value {
    let mut properties = object(json!({
        "activeDeadlineSeconds": integer("int64", 1, "The job fails when it has run for so long."),
        "backoffLimit": integer(
            "int32", 0, "So many restarts are allowed to all replicas together; no limit unless given. A replica that fails after that stays \
                         failed, and the job fails if it was the chief or, without one, worker 0.",
        ),
        "cleanUpPolicy": {
            "type": "string", "maxLength": 16,
            "description": "Which pods are deleted when the job has ended: None (default), All, or those that are Unfinished; in any letter case.",
            "x-kubernetes-validations": [{
                "rule": "self.lowerAscii() in ['none', 'all', 'unfinished']",
                "message": "cleanUpPolicy is None, All or Unfinished",
            }],
        },
    }));
    properties.extend(additions());
    json!({ "type": "object", "properties": properties, "description": "How the job runs and ends." })
}

fn scheduler() -> Value {
    json!({
        "type": "object",
        "description": "Who places the pods; the cluster's own scheduler unless given.",
        "properties": { "t9kScheduler": {
            "type": "object", "required": ["queue"],
            "description": "T9k's scheduler places all pods of the job or none, from a queue.",
            "properties": {
                "queue": { "type": "string", "maxLength": 253, "description": "The queue." },
                "priority": {
                    "type": "integer", "format": "int32", "minimum": 0, "maximum": 100,
                    "description": "The priority in the queue; 0 unless given.",
                },
            },
        } },
    })
}
