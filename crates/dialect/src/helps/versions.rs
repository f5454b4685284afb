//! Helps that differ with the version of a `TFJob`.

use trainyard_document::codes::Code;

use super::manifests::{FIRST, OLD, PS, V1};
use super::{Row, row};

pub(super) fn rows() -> Vec<Row> {
    let mut rows = clean_up();
    rows.extend(versions());
    rows
}

/// Each version says where its clean-up policy is.
fn clean_up() -> Vec<Row> {
    vec![
        row(
            Code::ServersNeverStop,
            V1,
            &[
                ("    Worker:", PS),
                ("  runPolicy:\n    cleanPodPolicy: Running\n", ""),
            ],
            "set `spec.runPolicy.cleanPodPolicy: Running`",
            &[("spec:\n", "spec:\n  runPolicy:\n    cleanPodPolicy: Running\n")],
        ),
        row(
            Code::ServersNeverStop,
            V1,
            &[("    Worker:", PS), ("Running", "None")],
            "set `spec.runPolicy.cleanPodPolicy: Running`",
            &[("None", "Running")],
        ),
        row(
            Code::ServersNeverStop,
            OLD,
            &[("  cleanPodPolicy: Running\n", "")],
            "set `spec.cleanPodPolicy: Running`",
            &[("spec:\n", "spec:\n  cleanPodPolicy: Running\n")],
        ),
        row(
            Code::ServersNeverStop,
            FIRST,
            &[("  cleanupPodPolicy: Running\n", "")],
            "set `spec.cleanupPodPolicy: Running`",
            &[("spec:\n", "spec:\n  cleanupPodPolicy: Running\n")],
        ),
    ]
}

/// Fields of another version than the manifest's.
fn versions() -> Vec<Row> {
    let later = "remove it here; a manifest of `kubeflow.org/v1` can say it, and `trainyard convert --to tfjob` makes one";
    let stray = |good: &str, field: &str, help| {
        let (with, without) = (format!("spec:\n  {field}\n"), "spec:\n");
        row(
            Code::UnknownField,
            good,
            &[(without, &with)],
            help,
            &[(&with, without)],
        )
    };
    vec![
        stray(FIRST, "runPolicy: {backoffLimit: 3}", later),
        stray(FIRST, "backoffLimit: 3", later),
        stray(FIRST, "successPolicy: AllWorkers", later),
        row(
            Code::UnknownField,
            FIRST,
            &[("cleanupPodPolicy", "cleanPodPolicy")],
            "it belongs in `spec.cleanupPodPolicy`",
            &[("cleanPodPolicy", "cleanupPodPolicy")],
        ),
        stray(V1, "tfImage: x", "remove it: each template names its own image"),
        stray(
            V1,
            "terminationPolicy: {chief: {replicaName: WORKER}}",
            "remove it: the `Chief` or `Master` decides, or else the first `Worker`",
        ),
        stray(V1, "RuntimeId: x", "remove it: only `v1alpha1` had it"),
        row(
            Code::UnknownField,
            V1,
            &[(
                "  runPolicy:\n    cleanPodPolicy: Running\n",
                "  cleanupPodPolicy: Running\n",
            )],
            "move it to `spec.runPolicy.cleanPodPolicy`",
            &[(
                "  cleanupPodPolicy: Running\n",
                "  runPolicy:\n    cleanPodPolicy: Running\n",
            )],
        ),
        row(
            Code::UnknownField,
            OLD,
            &[("cleanPodPolicy", "cleanupPodPolicy")],
            "move it to `spec.cleanPodPolicy`",
            &[("cleanupPodPolicy", "cleanPodPolicy")],
        ),
        row(
            Code::UnknownField,
            V1,
            &[(
                "  tfReplicaSpecs:\n    Worker:\n",
                "  replicaSpecs:\n    - tfReplicaType: WORKER\n",
            )],
            "make it a map, `tfReplicaSpecs`, with each `tfReplicaType` as a key: `Master:`, `Worker:`",
            &[(
                "  replicaSpecs:\n    - tfReplicaType: WORKER\n",
                "  tfReplicaSpecs:\n    Worker:\n",
            )],
        ),
    ]
}
