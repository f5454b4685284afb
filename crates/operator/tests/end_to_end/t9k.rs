//! T9k's `TensorFlowTrainingJob` on a real API server: its definition, its decisions, its modes, and faults.

mod decisions;
mod definition;
mod faults;
mod modes;
mod scheduler;
mod tensorboard;

use serde_json::{Value, json};
use trainyard_cluster_tests::Namespace;
use trainyard_manifest::kinds::t9k::API;

use super::played::T9K;
use super::scenarios::each_ends_as_in_the_simulator;

#[test]
fn every_scenario_ends_as_in_the_simulator() {
    each_ends_as_in_the_simulator(&T9K, 4);
}

/// The path of the jobs of a namespace.
fn jobs(namespace: &Namespace<'_>) -> String {
    namespace.path(&format!("apis/{}", API.api_version), API.plural)
}

/// A job with these roles: `("worker", 2, "ExitCode")`, and the rest of its spec.
fn training_job(name: &str, rest: &Value, roles: &[(&str, u32, &str)]) -> Value {
    let container =
        json!({ "name": "tensorflow", "image": "trainer", "command": ["train"], "args": ["--fresh"] });
    let replicas: Vec<Value> = roles
        .iter()
        .map(|(role, replicas, restart)| {
            let template = json!({ "spec": { "containers": [container] } });
            json!({ "type": role, "replicas": replicas, "restartPolicy": restart, "template": template })
        })
        .collect();
    let mut job = json!({
        "apiVersion": API.api_version, "kind": API.kind, "metadata": { "name": name }, "spec": rest,
    });
    job["spec"]["replicaSpecs"] = replicas.into();
    job
}
