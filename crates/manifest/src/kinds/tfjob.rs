//! The `TFJob` of the API server: one schema for every version it serves, with the rules it can check by itself.
//!
//! The schema is a superset of all versions, so that there is nothing to convert and no webhook: fields that moved under
//! `runPolicy` in v1 are still known where they were. Pod templates are kept as they are. What the rules cannot say,
//! the operator says in a condition of the job.

mod status;

use serde_json::{Map, Value, json};
use trainyard_core::{JOB_LABEL, ROLE_LABEL, TASK_INDEX_LABEL};
use trainyard_document::tfjob_api::{LEAST_LOST_NODE, MANAGERS, SERVED};

use super::common::{MOST_REPLICAS, RoleRules, additions, integer, names, object, schema, template};
use super::{JobApi, PodLabels, Roles, Served, Vendor, columns, tensorboard};
use crate::install::access::{of_finalizers, of_jobs, of_statuses};
use crate::names::{KUBEFLOW_INDEX_LABEL, KUBEFLOW_JOB_LABEL, KUBEFLOW_ROLE_LABEL};

/// The kind. Selector and labels are Kubeflow's, since its users' tools look for them.
pub static API: JobApi = JobApi {
    word: "tfjob",
    group: GROUP,
    version: "v1",
    api_version: "kubeflow.org/v1",
    kind: "TFJob",
    plural: "tfjobs",
    short_names: &[],
    status: "tfjobs/status",
    labels: PodLabels {
        selector: ("training.kubeflow.org/operator-name", "tfjob-controller"),
        job: &[JOB_LABEL, KUBEFLOW_JOB_LABEL],
        role: &[ROLE_LABEL, KUBEFLOW_ROLE_LABEL],
        index: &[TASK_INDEX_LABEL, KUBEFLOW_INDEX_LABEL],
    },
    roles: Roles::Named(&["chief", "master", "ps", "worker", "evaluator"]),
    shows_containers: false,
    definitions: |served| vec![definition(served)],
    uses: &[
        of_jobs(GROUP, "tfjobs"),
        of_statuses(GROUP, "tfjobs/status"),
        of_finalizers(GROUP, "tfjobs/finalizers"),
    ],
    vendor: Vendor {
        whose: "Kubeflow's",
        gives_way: true,
        images: &["training-operator", "tf-operator", "tf_operator"],
        label: Some(("control-plane", "kubeflow-training-operator")),
        kinds_flag: Some("--enable-scheme"),
        webhook: Some("training-operator.kubeflow.org"),
        instead: "; or, where it runs jobs of other kinds too, give it `--enable-scheme` for each of those \
                  (docs/migrate-from-kubeflow.md)",
    },
};

const GROUP: &str = "kubeflow.org";
/// Names of replica types, as they may be spelt in any case.
const TYPES: &str = "['ps', 'worker', 'chief', 'master', 'evaluator']";

/// The definition.
fn definition(served: Served) -> Value {
    let count = match served {
        Served::All => SERVED.len(),
        Served::Newest => 1,
    };
    let versions: Vec<Value> = SERVED.iter().take(count).map(|name| version(name)).collect();
    API.definition_of(&versions)
}

/// What its objects are.
const DESCRIPTION: &str =
    "A distributed training with TensorFlow: roles, how many tasks each has, and what their pods are like.";

fn version(name: &str) -> Value {
    json!({
        "name": name,
        "served": true,
        "storage": name == SERVED[0],
        "subresources": { "status": {} },
        "additionalPrinterColumns": columns(".status.conditions[-1:].type"),
        "schema": { "openAPIV3Schema": schema(DESCRIPTION, &names(&ROLES), &spec(), &status::schema()) },
    })
}

/// Its roles, as the rules about names reach them.
const ROLES: RoleRules = RoleRules {
    list: "self.spec.tfReplicaSpecs",
    variable: "key",
    kind: "key",
    replicas: "self.spec.tfReplicaSpecs[key].replicas",
    unchanged: "(key in oldSelf.spec.tfReplicaSpecs && \
                has(self.spec.tfReplicaSpecs[key].replicas) == has(oldSelf.spec.tfReplicaSpecs[key].replicas) && \
                (!has(self.spec.tfReplicaSpecs[key].replicas) || \
                self.spec.tfReplicaSpecs[key].replicas == oldSelf.spec.tfReplicaSpecs[key].replicas))",
};

fn spec() -> Value {
    // Where v1beta1 and v1beta2 had them.
    let mut properties = limits();
    properties.insert("cleanPodPolicy".into(), clean_pod_policy());
    for old in properties.values_mut() {
        old["description"] = "As in v1beta1 and v1beta2; now under runPolicy.".into();
    }
    properties.extend(object(json!({
        "runPolicy": run_policy(),
        "successPolicy": {
            "type": "string", "enum": ["", "AllWorkers"],
            "description": "When a job without a Chief or Master has succeeded: when its first worker has (default), or when AllWorkers have.",
        },
        "enableDynamicWorker": {
            "type": "boolean",
            "description": "Workers may come, go and fail without the job failing: a worker is told of itself and the parameter servers alone.",
        },
        "tfReplicaSpecs": replica_specs(),
        "tensorboardSpec": tensorboard::schema(),
    })));
    json!({
        "type": "object", "required": ["tfReplicaSpecs"], "properties": properties,
        "description": "What is to be trained, by how many, and how.",
    })
}

fn limits() -> Map<String, Value> {
    object(json!({
        "ttlSecondsAfterFinished": integer("int32", 0, "The job is deleted so many seconds after its end; never unless given."),
        "activeDeadlineSeconds": integer("int64", 1, "The job fails when it has run for so long."),
        "backoffLimit": integer(
            "int32", 0, "So many restarts are allowed, and the next failure that would need one ends the job; no limit unless given.",
        ),
    }))
}

fn clean_pod_policy() -> Value {
    json!({
        "type": "string", "enum": ["", "All", "Running", "None"],
        "description": "Which pods are deleted when the job has ended: None (default), those that are still Running, or All.",
    })
}

fn run_policy() -> Value {
    let mut properties = limits();
    properties.insert("cleanPodPolicy".into(), clean_pod_policy());
    properties.extend(object(json!({
        "suspend": {
            "type": "boolean", "default": false,
            "description": "A suspended job has no pods; it begins, or goes on with what has not succeeded, when this is false.",
        },
        "managedBy": {
            "type": "string", "enum": MANAGERS,
            "description": "Who runs the job; this operator unless given.",
            "x-kubernetes-validations": [immutable("spec.runPolicy.managedBy")],
        },
    })));
    properties.extend(additions());
    properties.extend(object(json!({
        "lostNodeSeconds": integer(
            "int32", LEAST_LOST_NODE,
            "A pod that is still there so many seconds after its grace, as on a node that does not answer, is deleted by force and \
             its task started again; never unless given. The node may still run it: then the task runs twice.",
        ),
        "schedulingPolicy": {
            "type": "object",
            "description": "How a gang scheduler places the job, where the operator is told of one.",
            "properties": {
                "minAvailable": integer("int32", 0, "So many tasks are placed together; all of them unless given."),
                "queue": {
                    "type": "string", "maxLength": 253,
                    "description": "Volcano's queue.",
                    "x-kubernetes-validations": [immutable("spec.runPolicy.schedulingPolicy.queue")],
                },
                "minResources": {
                    "description": "What the group needs at least; what its tasks ask for unless given.",
                    "type": "object", "additionalProperties": { "x-kubernetes-int-or-string": true },
                },
                "priorityClass": { "type": "string", "description": "The priority class of the group." },
                "scheduleTimeoutSeconds": integer("int32", 0, "How long the coscheduling plugin waits for the group."),
            },
        },
    })));
    // There in every job: Kubeflow's client for Python cannot read a job without it.
    json!({
        "type": "object", "default": {}, "properties": properties,
        "description": "How the job runs and ends.",
    })
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
        "description": "By replica type: Chief (or Master), Worker, PS, Evaluator.",
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
            {
                "rule": "self.all(key, !(key.lowerAscii() in ['chief', 'master']) || !has(self[key].replicas) \
                         || self[key].replicas <= 1)",
                "message": "TensorFlow knows one Chief (or Master): set its replicas to 1",
            },
            {
                "rule": "self.size() == 0 || self.exists(key, !(key.lowerAscii() in ['ps', 'evaluator']))",
                "message": "a job of PS and Evaluator alone never ends: add a Worker or a Chief",
            },
        ],
        "additionalProperties": {
            "type": "object",
            "required": ["template"],
            "properties": {
                "replicas": {
                    "type": "integer", "format": "int32", "minimum": 0, "maximum": MOST_REPLICAS,
                    "description": "How many tasks there are of this type; 1 unless given.",
                },
                "restartPolicy": {
                    "type": "string", "enum": ["", "Always", "OnFailure", "Never", "ExitCode"],
                    "description": "Whether a task that ends is started again: Never (default), OnFailure, Always, or by its \
                                    ExitCode (42, 128 to 255).",
                },
                "template": template(),
            },
        },
    })
}
