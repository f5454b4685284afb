//! Objects with values that no reader expects: each concerns itself alone, also for an operator that lists it anew.

use serde_json::{Value, json};
use trainyard_cluster_tests::shared;

use super::{Harness, job};

/// Writes this into the status of a pod's main container, as any client may that has the right to `pods/status`.
fn write_status(harness: &Harness, pod: &str, container: &Value) {
    let path = format!("{}/status", harness.namespace.pod(pod));
    let mut status =
        json!({ "name": "tensorflow", "image": "trainer", "imageID": "", "ready": true, "started": true });
    for (field, value) in container.as_object().unwrap() {
        status[field] = value.clone();
    }
    let change = json!({ "status": { "phase": "Running", "containerStatuses": [status] } });
    shared().api().patch(&path, &change).unwrap();
}

/// A pod with the labels of a job's, which every user may make who may make pods.
fn forged(harness: &Harness, name: &str, labels: &Value, annotations: &Value) {
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": name, "labels": labels, "annotations": annotations },
        "spec": { "containers": [{ "name": "tensorflow", "image": "trainer" }] },
    });
    let path = harness.namespace.path("api/v1", "pods");
    shared().api().create(&path, &pod).unwrap();
}

#[test]
fn pods_with_strange_numbers_stop_no_job_after_a_restart() {
    let mut harness = Harness::new("strange");
    harness.create(&job("mnist", &json!({}), &[("Worker", 1, "OnFailure")]));
    harness.run(&["mnist-worker-0"]);
    let labels = |index: &str| {
        json!({
            "training.kubeflow.org/operator-name": "tfjob-controller",
            "training.kubeflow.org/job-name": "mnist", "training.kubeflow.org/replica-type": "worker",
            "training.kubeflow.org/replica-index": index,
        })
    };
    for (name, index, stamp) in [
        ("many", "4294967296", "0.0"),
        ("less", "0x1", "-1.-1"),
        ("text", "one", "99999999999999999999.0"),
    ] {
        forged(
            &harness,
            name,
            &labels(index),
            &json!({ "trainyard.dev/stamp": stamp }),
        );
    }
    forged(
        &harness,
        "bare",
        &json!({ "training.kubeflow.org/operator-name": "tfjob-controller" }),
        &json!({}),
    );
    let running = |count: i64| json!({ "restartCount": count, "state": { "running": { "startedAt": "0001-01-01T00:00:00Z" } } });
    let ended = json!({ "restartCount": i32::MIN, "state": { "running": {} }, "lastState": { "terminated": {
        "exitCode": i32::MIN, "startedAt": "9999-12-31T23:59:59Z", "finishedAt": "0001-01-01T00:00:00Z" } } });
    write_status(&harness, "mnist-worker-0", &running(-1));
    write_status(&harness, "many", &running(i64::from(i32::MAX)));
    write_status(&harness, "less", &ended);
    harness.kill();
    harness.start();
    harness.create(&job("second", &json!({}), &[("Worker", 1, "Never")]));
    harness.run(&["second-worker-0"]);
    harness.exit("second-worker-0", 0);
    harness.conditions("second", &["Created", "!Running", "Succeeded"]);
    harness.exit("mnist-worker-0", 0);
    harness.conditions("mnist", &["Created", "!Running", "Succeeded"]);
    assert!(
        !harness.operator.said().contains("cannot be watched"),
        "{}",
        harness.operator.said()
    );
}

/// The API server takes objects that are nested deeper than most clients read, ours for tests too: it is asked for text.
#[test]
fn a_job_nested_deeper_than_can_be_read_fails_and_stops_no_other() {
    let mut harness = Harness::new("deep");
    let mut deep = json!(1);
    for _ in 0..400 {
        deep = json!({ "a": deep });
    }
    let mut nested = job("nested", &json!({}), &[("Worker", 1, "Never")]);
    nested["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["deep"] = deep;
    let path = harness.namespace.path("apis/kubeflow.org/v1", "tfjobs");
    // It is created; the answer holds it and cannot be read.
    let answer = shared().api().create(&path, &nested);
    assert!(answer.is_err(), "this shows nothing where it can be read");
    harness.kill();
    harness.start();
    harness.create(&job("mnist", &json!({}), &[("Worker", 1, "Never")]));
    harness.pod("mnist-worker-0", "0.0");
    harness.operator.says("nested deeper than 100 levels");
    let begun = std::time::Instant::now();
    loop {
        let text = shared().api().text(&harness.path("nested")).unwrap();
        if text.contains("InvalidTFJobSpec") {
            break;
        }
        assert!(begun.elapsed().as_secs() < 60, "it never failed");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let _ = harness
        .namespace
        .kubectl(&["delete", "tfjob", "nested", "--wait=false"]);
}
