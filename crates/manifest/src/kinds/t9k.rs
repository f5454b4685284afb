//! T9k's `TensorFlowTrainingJob`. The operator runs it where its `kinds` are set so; `install` does not offer it yet.

use serde_json::{Value, json};
use trainyard_core::{JOB_LABEL, ROLE_LABEL, TASK_INDEX_LABEL};

use super::{JobApi, PodLabels, Served};
use crate::install::access::{Use, jobs};

const GROUP: &str = "batch.tensorstack.dev";

/// The kind. T9k's own operator gives its pods other labels, so its pods are never taken for ours.
pub static API: JobApi = JobApi {
    group: GROUP,
    version: "v1beta1",
    api_version: "batch.tensorstack.dev/v1beta1",
    kind: "TensorFlowTrainingJob",
    plural: "tensorflowtrainingjobs",
    status: "tensorflowtrainingjobs/status",
    labels: PodLabels {
        selector: ("trainyard.dev/operator-name", "tensorflowtrainingjob-controller"),
        job: &[JOB_LABEL],
        role: &[ROLE_LABEL],
        index: &[TASK_INDEX_LABEL],
    },
    definition,
    uses: &[
        Use {
            verbs: &["list", "watch", "delete"],
            why: "jobs are seen; those whose time to live is over are deleted",
            ..jobs(GROUP, "tensorflowtrainingjobs")
        },
        Use {
            verbs: &["update"],
            why: "a job's status is written when something about the job has changed",
            ..jobs(GROUP, "tensorflowtrainingjobs/status")
        },
    ],
};

/// The definition. What the spec says is checked when the operator reads it.
fn definition(_: Served) -> Value {
    let anything = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": API.definition_name() },
        "spec": {
            "group": GROUP,
            "names": {
                "kind": API.kind, "listKind": "TensorFlowTrainingJobList",
                "plural": API.plural, "singular": "tensorflowtrainingjob",
            },
            "scope": "Namespaced",
            "versions": [{
                "name": API.version, "served": true, "storage": true, "subresources": { "status": {} },
                "additionalPrinterColumns": [
                    { "name": "Phase", "type": "string", "jsonPath": ".status.phase" },
                    { "name": "Summary", "type": "string", "jsonPath": ".status.summary" },
                    { "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp" },
                ],
                "schema": { "openAPIV3Schema": {
                    "type": "object", "required": ["spec"], "properties": { "spec": anything, "status": anything },
                } },
            }],
        },
    })
}
