//! T9k's `TensorFlowTrainingJob`, `batch.tensorstack.dev/v1beta1`, as the API server knows it. T9k publishes no definition: this one is made from
//! its documents, and `docs/t9k.md` says what was chosen where they are silent.

mod spec;
mod status;

use serde_json::{Value, json};
use trainyard_core::{JOB_LABEL, ROLE_LABEL, TASK_INDEX_LABEL};

use super::common::{RoleRules, names, schema};
use super::{JobApi, PodLabels, Roles, Vendor, columns};
use crate::install::access::{of_finalizers, of_lasting_jobs, of_statuses};

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
    shows_containers: true,
    definitions: |_| vec![definition()],
    uses: &[
        of_lasting_jobs(GROUP, "tensorflowtrainingjobs"),
        of_statuses(GROUP, "tensorflowtrainingjobs/status"),
        of_finalizers(GROUP, "tensorflowtrainingjobs/finalizers"),
    ],
    // Its controller is closed source, and no document says how it is deployed: its definition tells.
    vendor: Vendor {
        whose: "T9k's",
        gives_way: false,
        images: &[],
        label: None,
        kinds_flag: None,
        webhook: None,
        instead: "",
    },
};

/// Its roles, as the rules about names reach them.
const ROLES: RoleRules = RoleRules {
    list: "self.spec.replicaSpecs",
    variable: "role",
    kind: "role.type",
    replicas: "role.replicas",
    unchanged: "oldSelf.spec.replicaSpecs.exists(old, old.type == role.type && has(old.replicas) == has(role.replicas) && \
                (!has(role.replicas) || old.replicas == role.replicas))",
};

/// What its objects are.
const DESCRIPTION: &str = "A distributed training with TensorFlow, as T9k describes it: replica types, how many replicas each has, and what \
                           their pods are like.";

/// The definition: one version.
fn definition() -> Value {
    API.definition_of(&[json!({
        "name": API.version, "served": true, "storage": true, "subresources": { "status": {} },
        "additionalPrinterColumns": columns(".status.phase"),
        "schema": { "openAPIV3Schema": schema(DESCRIPTION, &names(&ROLES), &spec::schema(), &status::schema()) },
    })])
}
