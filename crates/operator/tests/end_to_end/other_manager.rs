//! A job whose status another controller writes, as the API server notes it down.

use std::process::Command;

use serde_json::{Value, json};
use trainyard_cluster_tests::shared;

use super::{Harness, job, shown};

/// Writes a job's status as a controller of that name does.
fn write_as(harness: &Harness, name: &str, manager: &str, change: impl FnOnce(&mut Value)) {
    let path = harness.path(name);
    let mut object = shared().api().get(&path).unwrap();
    change(&mut object["status"]);
    shared()
        .api()
        .replace(&format!("{path}/status?fieldManager={manager}"), &object)
        .unwrap();
}

/// What the message says to type, typed.
fn obey(message: &str) {
    let command = message
        .split('`')
        .find(|words| words.starts_with("kubectl "))
        .unwrap();
    let kubectl = shared().kubectl().program().display().to_string();
    let done = Command::new("sh")
        .args(["-c", &command.replacen("kubectl", &kubectl, 1)])
        .env("KUBECONFIG", shared().kubeconfig())
        .status()
        .unwrap();
    assert!(done.success(), "{command}");
}

/// Waits for the condition that says that nothing is done about the job; gives the status.
#[track_caller]
fn stalled(harness: &Harness) -> Value {
    harness
        .api()
        .wait(&harness.path("mnist"), "the condition", |job| {
            let last = job["status"]["conditions"].as_array()?.last()?;
            (shown(last) == "Stalled").then(|| job["status"].clone())
        })
}

#[test]
fn the_operator_stops_with_one_job_when_another_controller_writes_its_status() {
    let harness = Harness::new("other-manager");
    harness.create(&job("mnist", &json!({}), &[("Worker", 1, "ExitCode")]));
    harness.run(&["mnist-worker-0"]);
    harness.conditions("mnist", &["Created", "Running"]);
    // What people write stops nothing: the task is restarted.
    write_as(&harness, "mnist", "kubectl-edit", |status| {
        status["note"] = "mine".into();
    });
    harness.exit("mnist-worker-0", 137);
    harness.pod("mnist-worker-0", "0.1");
    harness.run_on_a_node("mnist-worker-0");
    harness
        .api()
        .wait(&harness.path("mnist"), "a task that runs again", |job| {
            (job["status"]["ready"] == "1/1" && job["status"]["restarts"] == 1).then_some(())
        });

    // As Kubeflow's operator does: it knows no field of ours.
    write_as(&harness, "mnist", "manager", |status| {
        let fields = status.as_object_mut().unwrap();
        fields.retain(|field, _| ["conditions", "replicaStatuses", "startTime"].contains(&field.as_str()));
    });
    let status = stalled(&harness);
    let wait = &status["waiting"][0];
    assert_eq!(wait["reason"], "OtherManager", "{status:#}");
    let message = wait["message"].as_str().unwrap();
    assert!(message.contains("`manager`"), "{message}");
    harness.operator.says("OtherManager");

    // Nothing is done about it, also by an operator that starts later; other jobs go on.
    harness.exit("mnist-worker-0", 137);
    let mut harness = harness;
    harness.kill();
    harness.start();
    harness.create(&job("other", &json!({}), &[("Worker", 1, "Never")]));
    harness.run(&["other-worker-0"]);
    harness.exit("other-worker-0", 0);
    harness.conditions("other", &["Created", "!Running", "Succeeded"]);
    let pod = harness
        .api()
        .get(&harness.namespace.pod("mnist-worker-0"))
        .unwrap();
    assert_eq!(
        pod["metadata"]["deletionTimestamp"],
        Value::Null,
        "it is not restarted"
    );
    stalled(&harness);

    obey(message);
    harness.pod("mnist-worker-0", "0.2");
}
