//! Real TensorFlow in pods: what `trainyard render` writes trains.

use std::process::Command;

use serde_json::Value;
use trainyard_cluster_tests::{Namespace, with_node};

use crate::PATIENCE;

/// What `trainyard render` makes of an example.
fn render(example: &str, namespace: &str) -> String {
    let program = trainyard_tools::trainyard().unwrap();
    let rendered = Command::new(program)
        .args(["render", example, "--to", "jobs", "--namespace", namespace])
        .current_dir(trainyard_tools::root())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&rendered.stderr);
    assert!(rendered.status.success(), "{said}");
    String::from_utf8(rendered.stdout).unwrap()
}

/// Waits until a Job is complete; if it fails instead, its log says why.
#[track_caller]
fn complete(namespace: &Namespace<'_>, job: &str) {
    let path = namespace.path("apis/batch/v1", &format!("jobs/{job}"));
    let ended = |job: &Value| {
        let conditions = job["status"]["conditions"].as_array()?;
        let of = |kind: &str| {
            conditions
                .iter()
                .any(|one| one["type"] == kind && one["status"] == "True")
        };
        (of("Complete") || of("Failed")).then(|| of("Complete"))
    };
    let api = namespace.cluster().api();
    if !api.wait_for(PATIENCE, &path, "the end of the job", ended) {
        let logs = namespace.kubectl(&["logs", &format!("job/{job}"), "--all-pods"]);
        panic!("{job} failed: {}", logs.output);
    }
}

/// The accuracy that a pod prints at its end.
pub fn accuracy(log: &str) -> f64 {
    let lines = log.lines().rev();
    let mut values = lines.filter_map(|line| {
        line.split_once("accuracy ")?
            .1
            .split_whitespace()
            .next()?
            .parse()
            .ok()
    });
    values.next().unwrap_or_else(|| panic!("no accuracy in: {log}"))
}

/// One parameter server and two workers that are told their places by flags: what used to take a Service and a Job for
/// each task, written by hand, and addresses copied from one into the other.
#[test]
fn a_rendered_job_with_one_server_and_two_workers_trains() {
    let Some(cluster) = with_node() else { return };
    let namespace = cluster.namespace("flags");
    let text = render("examples/digits-flags.yaml", namespace.name());
    namespace.apply(&text).good();
    complete(&namespace, "digits-flags-worker");
    let pods = namespace.pods();
    let workers = pods
        .iter()
        .filter_map(|pod| pod["metadata"]["name"].as_str())
        .filter(|name| name.contains("worker"));
    let reached: Vec<f64> = workers
        .map(|name| accuracy(&namespace.kubectl(&["logs", name]).good()))
        .collect();
    assert_eq!(reached.len(), 2);
    assert!(reached.iter().all(|accuracy| *accuracy >= 0.9), "{reached:?}");
}
