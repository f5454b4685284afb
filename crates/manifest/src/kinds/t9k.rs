//! T9k's `TensorFlowTrainingJob`.

use serde_json::{Value, json};
use trainyard_core::{JOB_LABEL, ROLE_LABEL, TASK_INDEX_LABEL};

use super::{JobApi, PodLabels, Roles, columns};
use crate::install::access::{of_jobs, of_statuses};

const GROUP: &str = "batch.tensorstack.dev";

/// The kind. T9k's own operator gives its pods other labels, so its pods are never taken for ours.
pub static API: JobApi = JobApi {
    word: "tensorflowtrainingjob",
    group: GROUP,
    version: "v1beta1",
    api_version: "batch.tensorstack.dev/v1beta1",
    kind: "TensorFlowTrainingJob",
    plural: "tensorflowtrainingjobs",
    short_names: &["tj"],
    status: "tensorflowtrainingjobs/status",
    labels: PodLabels {
        selector: ("trainyard.dev/operator-name", "tensorflowtrainingjob-controller"),
        job: &[JOB_LABEL],
        role: &[ROLE_LABEL],
        index: &[TASK_INDEX_LABEL],
    },
    roles: Roles::Named(&["chief", "ps", "worker", "evaluator"]),
    definitions: |_| vec![definition()],
    uses: &[
        of_jobs(GROUP, "tensorflowtrainingjobs"),
        of_statuses(GROUP, "tensorflowtrainingjobs/status"),
    ],
};

/// The definition. What the spec says is checked when the operator reads it.
fn definition() -> Value {
    let anything = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    API.definition_of(&[json!({
        "name": API.version, "served": true, "storage": true, "subresources": { "status": {} },
        "additionalPrinterColumns": columns(".status.phase"),
        "schema": { "openAPIV3Schema": {
            "type": "object", "required": ["spec"], "properties": { "spec": anything, "status": anything },
        } },
    })])
}
