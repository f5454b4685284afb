//! A job of an old exercise, `kubectl create -f` as its readers type it.
//!
//! One thing is replaced, as the exercise asks: the image's name. The image is made as its Dockerfile says (TensorFlow's,
//! with `main.py` in `/app` as the entry point); `main.py` is ours, of the same steps, since today's TensorFlow has those of
//! 1.10 in `compat.v1` only. The GPU that it asks for is a number that the node is said to have.

use std::fs;

use serde_json::{Value, json};

use super::Yard;
use super::trainings::GOOD;
use crate::training::accuracy;

/// As a reader has filled it in: it was handed out with the image `<DOCKER_USERNAME>/tf-mnist:gpu`.
const EXERCISE: &str = "tests/fixtures/ok/tfjob/v1beta1-master-in-capitals.yaml";

/// The job, with the image of the test's node.
fn exercise() -> String {
    let text = fs::read_to_string(trainyard_tools::root().join(EXERCISE)).unwrap();
    let named = text.replace("mycompany/tf-mnist:gpu", "trainyard/tf-mnist:gpu");
    assert_ne!(text, named);
    named
}

/// The same with two workers and a server: what the exercise describes in words.
fn with_workers_and_a_server(yard: &Yard) -> Value {
    let printed = yard.namespace.kubectl_with(
        &["create", "--dry-run=client", "--output=json", "--filename", "-"],
        &exercise(),
    );
    let mut job: Value = serde_json::from_str(&printed.good()).unwrap();
    job["metadata"] = json!({ "name": "module6-ex2" });
    let roles = &mut job["spec"]["tfReplicaSpecs"];
    roles["WORKER"] = roles["MASTER"].clone();
    roles["WORKER"]["replicas"] = json!(2);
    roles["PS"] = roles["MASTER"].clone();
    job
}

#[test]
fn the_job_of_an_exercise_for_v1beta1_runs_to_its_end() {
    let Some(yard) = Yard::new("exercise") else { return };
    let gpus = json!({ "nvidia.com/gpu": "5" });
    let has = json!({ "status": { "capacity": gpus, "allocatable": gpus } });
    let api = yard.namespace.cluster().api();
    api.patch("/api/v1/nodes/node-1/status", &has).unwrap();

    yard.create(&exercise());
    yard.create(&with_workers_and_a_server(&yard).to_string());
    let status = yard.succeeds("module6-ex1-gpu");
    assert_eq!(status["replicaStatuses"]["Master"]["succeeded"], 1, "{status:#}");
    let log = yard.log("module6-ex1-gpu-master-0");
    assert!(log.contains("a task alone, without TF_CONFIG"), "{log}");
    assert!(accuracy(&log) >= GOOD, "{log}");

    yard.succeeds("module6-ex2");
    let log = yard.log("module6-ex2-master-0");
    assert!(log.contains("master 0 among master, ps, worker"), "{log}");
    assert!(accuracy(&log) >= GOOD, "{log}");
}
