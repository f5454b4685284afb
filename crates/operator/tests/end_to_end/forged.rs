//! F5: pods with a job's labels, a stamp and the job's true UID, which the job has not made. They decide nothing.

use serde_json::{Value, json};
use trainyard_cluster_tests::shared;

use super::waits::{events, waiting};
use super::{Harness, NODE, job};

/// A pod that says it is task `role`-`index` of a job, under this name.
fn forge(harness: &Harness, name: &str, role: &str, index: &str) {
    let mnist = shared().api().get(&harness.path("mnist")).unwrap();
    let labels = json!({
        "training.kubeflow.org/operator-name": "tfjob-controller", "trainyard.dev/job-name": "mnist",
        "trainyard.dev/role": role, "trainyard.dev/task-index": index,
    });
    let forged = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "labels": labels, "annotations": { "trainyard.dev/stamp": "0.0" },
            "ownerReferences": [{
                "apiVersion": "kubeflow.org/v1", "kind": "TFJob", "name": "mnist", "uid": mnist["metadata"]["uid"],
                "controller": true,
            }],
        },
        "spec": { "restartPolicy": "Never", "containers": [{ "name": "tensorflow", "image": "i" }] },
    });
    let pods = harness.namespace.path("api/v1", "pods");
    shared().api().create(&pods, &forged).unwrap();
}

/// A pod as it is now, which must not be on its way out; without what a test may change itself.
fn untouched(harness: &Harness, name: &str) -> Value {
    let pod = shared().api().get(&harness.namespace.pod(name)).unwrap();
    assert_eq!(
        pod["metadata"].get("deletionTimestamp"),
        None,
        "{name} is left alone"
    );
    pod
}

fn delete_now(harness: &Harness, pod: &str) {
    let path = format!("{}?gracePeriodSeconds=0", harness.namespace.pod(pod));
    shared().api().delete(&path).unwrap();
}

#[test]
fn a_forged_pod_of_another_name_neither_ends_a_job_nor_stands_for_its_task() {
    let harness = Harness::new("forged");
    harness.create(&job("mnist", &json!({}), &[("Worker", 1, "Never")]));
    harness.run(&["mnist-worker-0"]);
    harness.conditions("mnist", &["Created", "Running"]);
    for (name, code) in [("well", 0), ("badly", 1)] {
        forge(&harness, name, "worker", "0");
        shared().player().bind(&harness.namespace, name, NODE);
        shared().player().exit(&harness.namespace, name, code);
    }
    let before = untouched(&harness, "badly");
    // Their ends are seen before this one.
    delete_now(&harness, "mnist-worker-0");
    harness.pod("mnist-worker-0", "0.1");
    harness.run_on_a_node("mnist-worker-0");
    let status = harness.conditions("mnist", &["Created", "Running"]);
    assert_eq!(status.get("firstFailure"), None, "{status:#}");
    harness.operator.says("UnknownPod");
    let told = events(&harness, "mnist", "UnknownPod");
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("kubectl delete pod "), "{told:?}");
    harness.exit("mnist-worker-0", 3);
    let status = harness.conditions("mnist", &["Created", "!Running", "Failed"]);
    assert_eq!(status["firstFailure"]["exitCode"], 3, "the real one decides");
    assert_eq!(untouched(&harness, "badly"), before);
}

#[test]
fn a_forged_pod_of_a_role_or_a_number_that_there_is_not_is_not_remembered_and_not_stopped() {
    let harness = Harness::new("nonsense");
    harness.create(&job(
        "mnist",
        &json!({ "cleanPodPolicy": "All" }),
        &[("Worker", 1, "Never")],
    ));
    harness.run(&["mnist-worker-0"]);
    harness.conditions("mnist", &["Created", "Running"]);
    let forged = ["mnist-nonsense-0", "mnist-worker-4294967295", "mnist-worker-01"];
    forge(&harness, forged[0], "nonsense", "0");
    forge(&harness, forged[1], "worker", "4294967295");
    forge(&harness, forged[2], "worker", "01");
    for name in forged {
        harness.run_on_a_node(name);
    }
    harness.operator.says("UnknownPod");
    harness.exit("mnist-worker-0", 0);
    let status = harness.conditions("mnist", &["Created", "!Running", "Succeeded"]);
    assert_eq!(status["replicaStatuses"], json!({ "Worker": { "succeeded": 1 } }));
    let roles = &status["trainyard"]["roles"];
    assert_eq!(roles.as_object().map(serde_json::Map::len), Some(1), "{roles}");
    assert!(roles["worker"].get("attempts").is_none(), "{roles}");
    // Everything that is the job's goes with its end.
    shared()
        .api()
        .wait_until_gone(&harness.namespace.pod("mnist-worker-0"));
    for name in forged {
        untouched(&harness, name);
    }
}

#[test]
fn a_pod_that_holds_a_tasks_name_and_is_another_is_named_and_the_task_is_made_when_it_goes() {
    let mut harness = Harness::new("held");
    harness.kill();
    harness.create(&job("mnist", &json!({}), &[("Worker", 2, "Never")]));
    // The name of worker 1, the labels of worker 0.
    forge(&harness, "mnist-worker-1", "worker", "0");
    let before = untouched(&harness, "mnist-worker-1");
    harness.start();
    let wait = waiting(&harness, "mnist", "FailedCreatePod");
    let words = wait["message"].as_str().unwrap_or_default();
    let help = format!(
        "kubectl delete pod mnist-worker-1 -n {}",
        harness.namespace.name()
    );
    assert!(
        words.contains("was not made for this job") && words.contains(&help),
        "{words}"
    );
    assert_eq!(untouched(&harness, "mnist-worker-1"), before);
    delete_now(&harness, "mnist-worker-1");
    let made = harness.pod("mnist-worker-1", "0.0");
    assert_eq!(made["metadata"]["labels"]["trainyard.dev/task-index"], "1");
    harness.run(&["mnist-worker-0", "mnist-worker-1"]);
    shared()
        .api()
        .wait(&harness.path("mnist"), "nothing it waits for", |job| {
            job["status"].get("waiting").is_none().then_some(())
        });
}
