//! The `TFJob` of the API server: one schema for every version it serves, with the rules it can check by itself.
//!
//! The schema is a superset of all versions, so that there is nothing to convert and no webhook: fields that moved under
//! `runPolicy` in v1 are still known where they were. Pod templates are kept as they are. What the rules cannot say,
//! the operator says in a condition of the job.

use serde_json::{Map, Value, json};
use trainyard_dialect::MANAGERS;

/// The name of the definition.
pub const NAME: &str = "tfjobs.kubeflow.org";
/// The versions that are served; the first is stored.
const VERSIONS: [&str; 3] = ["v1", "v1beta2", "v1beta1"];
/// Names of replica types, as they may be spelt in any case.
const TYPES: &str = "['ps', 'worker', 'chief', 'master', 'evaluator']";
/// Bounds that let the server estimate what its rules cost; far beyond any job.
const MOST_CONTAINERS: u32 = 64;
const MOST_REPLICAS: u32 = 10_000;

/// Which versions an installation serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Served {
    /// All of them: old manifests work as they are.
    #[default]
    All,
    /// The stored one alone: each further one costs the API server a cache of its own.
    Newest,
}

/// The definition.
#[must_use]
pub fn definition(served: Served) -> Value {
    let count = match served {
        Served::All => VERSIONS.len(),
        Served::Newest => 1,
    };
    let versions: Vec<Value> = VERSIONS.iter().take(count).map(|name| version(name)).collect();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": NAME },
        "spec": {
            "group": "kubeflow.org",
            "names": { "kind": "TFJob", "listKind": "TFJobList", "plural": "tfjobs", "singular": "tfjob" },
            "scope": "Namespaced",
            "conversion": { "strategy": "None" },
            "versions": versions,
        },
    })
}

fn version(name: &str) -> Value {
    json!({
        "name": name,
        "served": true,
        "storage": name == VERSIONS[0],
        "subresources": { "status": {} },
        "additionalPrinterColumns": [
            { "name": "State", "type": "string", "jsonPath": ".status.conditions[-1:].type" },
            { "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp" },
        ],
        "schema": { "openAPIV3Schema": {
            "type": "object",
            "required": ["spec"],
            "x-kubernetes-validations": [{
                "rule": "self.metadata.name.matches('^[a-z]([-a-z0-9]{0,48}[a-z0-9])?$')",
                "message": "metadata.name must be a DNS label of at most 50 characters that begins with a letter: the \
                            names of pods and Services are made of it",
            }],
            "properties": {
                "apiVersion": { "type": "string" },
                "kind": { "type": "string" },
                "metadata": { "type": "object", "properties": { "name": { "type": "string", "maxLength": 253 } } },
                "spec": spec(),
                "status": status(),
            },
        } },
    })
}

fn spec() -> Value {
    // Where v1beta1 and v1beta2 had them.
    let mut properties = limits();
    properties.insert("cleanPodPolicy".into(), clean_pod_policy());
    properties.extend(object(json!({
        "runPolicy": run_policy(),
        "successPolicy": { "type": "string", "enum": ["", "AllWorkers"] },
        "enableDynamicWorker": { "type": "boolean" },
        "tfReplicaSpecs": replica_specs(),
    })));
    json!({ "type": "object", "required": ["tfReplicaSpecs"], "properties": properties })
}

fn limits() -> Map<String, Value> {
    object(json!({
        "ttlSecondsAfterFinished": seconds("int32"),
        "activeDeadlineSeconds": seconds("int64"),
        "backoffLimit": { "type": "integer", "format": "int32", "minimum": 0 },
    }))
}

fn seconds(format: &str) -> Value {
    json!({ "type": "integer", "format": format, "minimum": 0 })
}

fn clean_pod_policy() -> Value {
    json!({ "type": "string", "enum": ["", "All", "Running", "None"] })
}

fn run_policy() -> Value {
    let mut properties = limits();
    properties.insert("cleanPodPolicy".into(), clean_pod_policy());
    properties.extend(object(json!({
        "suspend": { "type": "boolean", "default": false },
        "managedBy": {
            "type": "string", "enum": MANAGERS,
            "x-kubernetes-validations": [immutable("spec.runPolicy.managedBy")],
        },
        // `Replica`, `Job`, or a list of replica types.
        "restartScope": { "x-kubernetes-preserve-unknown-fields": true },
        // A list of replica types, or their names with commas.
        "startOrder": { "x-kubernetes-preserve-unknown-fields": true },
        "startTimeoutSeconds": seconds("int32"),
        "schedulingPolicy": {
            "type": "object",
            "properties": {
                "minAvailable": { "type": "integer", "format": "int32", "minimum": 0 },
                "queue": {
                    "type": "string", "maxLength": 253,
                    "x-kubernetes-validations": [immutable("spec.runPolicy.schedulingPolicy.queue")],
                },
                "minResources": {
                    "type": "object", "additionalProperties": { "x-kubernetes-int-or-string": true },
                },
                "priorityClass": { "type": "string" },
                "scheduleTimeoutSeconds": seconds("int32"),
            },
        },
    })));
    // There in every job: Kubeflow's client for Python cannot read a job without it.
    json!({ "type": "object", "default": {}, "properties": properties })
}

fn immutable(field: &str) -> Value {
    json!({ "rule": "self == oldSelf", "message": format!("{field} is immutable") })
}

fn replica_specs() -> Value {
    let known = format!("self.all(key, key.lowerAscii() in {TYPES})");
    let unknown = format!("self.filter(key, !(key.lowerAscii() in {TYPES}))");
    let twice = format!("{TYPES}.all(type, self.filter(key, key.lowerAscii() == type).size() <= 1)");
    json!({
        "type": "object",
        "minProperties": 1,
        "maxProperties": 16,
        "x-kubernetes-validations": [
            {
                "rule": known,
                "messageExpression": format!(
                    "'unknown replica type \"' + {unknown}[0] + '\"; known: Chief, Master, PS, Worker, Evaluator'"
                ),
            },
            { "rule": twice, "message": "a replica type is given twice, spelt differently" },
            {
                "rule": "self.filter(key, key.lowerAscii() in ['chief', 'master']).size() <= 1",
                "message": "Chief and Master are two names of one role: give one of them",
            },
        ],
        "additionalProperties": {
            "type": "object",
            "required": ["template"],
            "properties": {
                "replicas": { "type": "integer", "format": "int32", "minimum": 0, "maximum": MOST_REPLICAS },
                "restartPolicy": { "type": "string", "enum": ["", "Always", "OnFailure", "Never", "ExitCode"] },
                "template": template(),
            },
        },
    })
}

/// A pod template is kept as it is. Of its containers as much is named as the rule needs.
fn template() -> Value {
    json!({
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": true,
        "properties": { "spec": {
            "type": "object",
            "required": ["containers"],
            "x-kubernetes-preserve-unknown-fields": true,
            "properties": { "containers": {
                "type": "array",
                "minItems": 1,
                "maxItems": MOST_CONTAINERS,
                "x-kubernetes-validations": [{
                    "rule": "self.exists_one(container, container.name == 'tensorflow')",
                    "message": "exactly one container must be named \"tensorflow\": it is the task",
                }],
                "items": {
                    "type": "object",
                    "required": ["name"],
                    "x-kubernetes-preserve-unknown-fields": true,
                    "properties": { "name": { "type": "string", "maxLength": 63 } },
                },
            } },
        } },
    })
}

fn status() -> Value {
    let time = || json!({ "type": "string", "format": "date-time" });
    json!({
        "type": "object",
        // It is written by one program, whole: the server need not note down who wrote which field of it.
        "x-kubernetes-map-type": "atomic",
        // The memory of our decisions, the first failure, and what older operators wrote.
        "x-kubernetes-preserve-unknown-fields": true,
        "properties": {
            "startTime": time(),
            "completionTime": time(),
            "lastReconcileTime": time(),
            "conditions": { "type": "array", "items": {
                "type": "object",
                "required": ["type", "status"],
                "properties": {
                    "type": { "type": "string" },
                    "status": { "type": "string" },
                    "reason": { "type": "string" },
                    "message": { "type": "string" },
                    "lastUpdateTime": time(),
                    "lastTransitionTime": time(),
                },
            } },
            "replicaStatuses": { "type": "object", "additionalProperties": {
                "type": "object",
                "x-kubernetes-preserve-unknown-fields": true,
                "properties": {
                    "active": { "type": "integer", "format": "int32" },
                    "succeeded": { "type": "integer", "format": "int32" },
                    "failed": { "type": "integer", "format": "int32" },
                },
            } },
        },
    })
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
