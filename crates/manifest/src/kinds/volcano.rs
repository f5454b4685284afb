//! Volcano's `Job`, and the `Command` by which its users give orders. Nothing else in Trainyard knows `bus.volcano.sh`.
//!
//! The kind is called like Kubernetes' own `batch/v1` Job, so an owner reference is this kind's only if the group is too.

mod command;
mod rules;
mod spec;
mod status;

use serde_json::{Value, json};
use trainyard_core::{JOB_LABEL, ROLE_LABEL, TASK_INDEX_LABEL};

use super::common::schema;
use super::{JobApi, PodLabels, Roles, Served, Vendor, columns};
use crate::install::access::{Use, jobs, of_finalizers, of_jobs, of_statuses};

const GROUP: &str = "batch.volcano.sh";
/// The API group of orders.
pub const COMMAND_GROUP: &str = "bus.volcano.sh";

/// The kind. Volcano's own controller puts no such selector on its pods, so its pods are never taken for ours.
pub static API: JobApi = JobApi {
    word: "volcano",
    group: GROUP,
    version: "v1alpha1",
    api_version: "batch.volcano.sh/v1alpha1",
    kind: "Job",
    plural: "jobs",
    short_names: &["vcjob", "vj"],
    status: "jobs/status",
    labels: PodLabels {
        selector: ("trainyard.dev/operator-name", "volcano-job-controller"),
        job: &[JOB_LABEL, "volcano.sh/job-name"],
        role: &[ROLE_LABEL, "volcano.sh/task-spec"],
        index: &[TASK_INDEX_LABEL, "volcano.sh/task-index"],
    },
    roles: Roles::Any,
    shows_containers: false,
    definitions,
    uses: &[
        of_jobs(GROUP, "jobs"),
        of_statuses(GROUP, "jobs/status"),
        of_finalizers(GROUP, "jobs/finalizers"),
        Use {
            verbs: &["list", "watch", "delete"],
            why: "a Command orders something, and is deleted when it has been obeyed",
            ..jobs(COMMAND_GROUP, "commands")
        },
        Use {
            verbs: &["patch", "delete"],
            why: "the plugin `svc` writes the names of all pods into a ConfigMap: rewritten when the job is scaled, deleted when it ends",
            ..jobs("", "configmaps")
        },
        Use {
            verbs: &["get", "create", "update", "delete"],
            why: "the plugin `svc` lets only pods of the same job reach its pods",
            ..jobs("networking.k8s.io", "networkpolicies")
        },
        Use {
            verbs: &["get", "create"],
            why: "`volumes` may ask for claims; they are deleted with their job",
            ..jobs("", "persistentvolumeclaims")
        },
    ],
    vendor: Vendor {
        whose: "Volcano's",
        gives_way: false,
        images: &["vc-controller-manager"],
        label: None,
        kinds_flag: None,
        webhook: Some(".volcano.sh"),
        instead: "; or leave these jobs to it",
    },
};

/// The definitions of jobs and of the Commands for them.
fn definitions(_: Served) -> Vec<Value> {
    vec![definition(), command::definition()]
}

/// What its objects are.
const DESCRIPTION: &str = "Tasks with pods that belong together, and what follows when some of them end.";

fn definition() -> Value {
    API.definition_of(&[json!({
        "name": API.version, "served": true, "storage": true, "subresources": { "status": {} },
        "additionalPrinterColumns": columns(".status.state.phase"),
        "schema": { "openAPIV3Schema": schema(DESCRIPTION, &rules::of_names(), &spec::schema(), &status::schema()) },
    })])
}
