//! Jobs of T9k and Volcano: real pods, real TensorFlow.

use std::fs;

use serde_json::{Value, json};
use trainyard_manifest::kinds::{t9k, volcano};

use super::Yard;
use super::trainings::{GOOD, claim_checkpoints, steps};
use crate::training::accuracy;

/// The phase in which a job has ended, one of these two.
#[track_caller]
fn ended(yard: &Yard, job: &str, pointer: &str, phases: [&str; 2]) -> String {
    yard.wait(job, "its end", |status| {
        let phase = status.pointer(pointer)?.as_str()?;
        phases.contains(&phase).then(|| phase.to_owned())
    })
}

/// The Volcano Job of the tutorial: image and script are replaced, nothing else. Its shell makes `TF_CONFIG` of the files in `/etc/volcano`.
#[test]
fn the_tutorials_volcano_job_trains() {
    let Some(yard) = Yard::of("volcano", &volcano::API) else {
        return;
    };
    let file = trainyard_tools::root().join("tests/fixtures/ok/volcano/tutorial-hosts-from-files.yaml");
    let text = fs::read_to_string(file).unwrap();
    let ours = text
        .replace(
            "volcanosh/dist-mnist-tf-example:0.0.1",
            "tensorflow/tensorflow:2.21.0",
        )
        .replace(
            "/var/tf_dist_mnist/dist_mnist.py",
            "examples/digits/train_between_graph.py",
        );
    assert_ne!(text, ours);
    yard.create(&ours);
    let phase = ended(
        &yard,
        "tensorflow-dist-mnist",
        "/state/phase",
        ["Completed", "Failed"],
    );
    assert_eq!(phase, "Completed", "{}", yard.all_logs());
    // The server never ends by itself: it is stopped once both workers have ended.
    let workers = ["tensorflow-dist-mnist-worker-0", "tensorflow-dist-mnist-worker-1"];
    yard.pods_are(&workers);
    for worker in workers {
        let log = yard.log(worker);
        assert!(accuracy(&log) >= GOOD, "{log}");
    }
}

/// A role of a training job.
fn replicas(kind: &str, count: u32, spec: &Value) -> Value {
    json!({ "type": kind, "replicas": count, "restartPolicy": "ExitCode", "template": { "spec": spec } })
}

fn training_job(name: &str, spec: &Value) -> String {
    let job = json!({
        "apiVersion": t9k::API.api_version, "kind": t9k::API.kind, "metadata": { "name": name }, "spec": spec,
    });
    job.to_string()
}

/// A container as in T9k's tutorials: the main one is called `tensorflow`.
fn container(script: &str, args: &[&str]) -> Value {
    json!({
        "name": "tensorflow", "image": "tensorflow/tensorflow:2.21.0",
        "command": ["python", format!("examples/digits/{script}")], "args": args,
    })
}

#[test]
fn a_training_job_with_a_chief_a_server_and_workers_trains() {
    let Some(yard) = Yard::of("t9k", &t9k::API) else {
        return;
    };
    let of = |args: &[&str]| json!({ "containers": [container("train_ps.py", args)] });
    let spec = json!({
        "runPolicy": { "cleanUpPolicy": "Unfinished" },
        "replicaSpecs": [
            replicas("chief", 1, &of(&["--steps=600"])),
            replicas("ps", 1, &of(&[])),
            replicas("worker", 2, &of(&[])),
        ],
    });
    yard.create(&training_job("digits", &spec));
    let phase = ended(&yard, "digits", "/phase", ["Succeeded", "Failed"]);
    assert_eq!(phase, "Succeeded", "{}", yard.all_logs());
    yard.pods_are(&["digits-chief-0"]);
    let log = yard.log("digits-chief-0");
    assert!(accuracy(&log) >= GOOD, "{log}");
}

#[test]
fn a_training_job_that_was_paused_goes_on_from_its_checkpoint() {
    let Some(yard) = Yard::of("paused", &t9k::API) else {
        return;
    };
    claim_checkpoints(&yard);
    // It would not end before it is paused; `resumeSpecs` lets it end.
    let mut container = container(
        "train_mirrored.py",
        &["--steps=100000", "--checkpoints=/checkpoints/unfinished"],
    );
    container["volumeMounts"] = json!([{ "name": "checkpoints", "mountPath": "/checkpoints" }]);
    let claim = json!({ "claimName": "digits-checkpoints" });
    let pod = json!({
        "terminationGracePeriodSeconds": 5, "containers": [container],
        "volumes": [{ "name": "checkpoints", "persistentVolumeClaim": claim }],
    });
    let resumed =
        json!({ "type": "worker", "args": ["--steps=800", "--checkpoints=/checkpoints/unfinished"] });
    yard.create(&training_job(
        "digits",
        &json!({
            "runMode": { "pause": { "enabled": false, "resumeSpecs": [resumed] } },
            "replicaSpecs": [replicas("worker", 2, &pod)],
        }),
    ));
    yard.until_logged("digits-worker-0", "step 300 ");
    let paused = |enabled: bool| {
        let change = json!({ "spec": { "runMode": { "pause": { "enabled": enabled } } } });
        let api = yard.namespace.cluster().api();
        api.patch(&yard.path("digits"), &change).unwrap();
    };
    paused(true);
    yard.pods_are(&[]);
    yard.wait("digits", "a pause", |status| {
        (status["phase"] == "Paused").then_some(())
    });
    paused(false);
    yard.until_logged("digits-worker-0", "resumed at step");
    let phase = ended(&yard, "digits", "/phase", ["Succeeded", "Failed"]);
    assert_eq!(phase, "Succeeded", "{}", yard.all_logs());
    let log = yard.log("digits-worker-0");
    assert!(accuracy(&log) >= GOOD, "{log}");
    assert!(
        steps(&log)[0] > 200,
        "what was trained is not trained again: {log}"
    );
}
