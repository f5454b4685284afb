//! W6: what is remembered of a job and cannot be read, by an older version or at all.

use serde_json::{Value, json};
use trainyard_cluster_tests::fake_kubelet::FakeKubelet;
use trainyard_cluster_tests::shared;

use super::waits::{events, waiting};
use super::{Harness, NODE, job};

/// A job that runs, whose operator has been killed, with another memory; gives the job as it is stored by then.
fn remembers(harness: &mut Harness, change: impl FnOnce(&mut Value)) -> Value {
    harness.create(&job("mnist", &json!({}), &[("Worker", 2, "ExitCode")]));
    harness.run(&["mnist-worker-0", "mnist-worker-1"]);
    shared()
        .api()
        .wait(&harness.path("mnist"), "both workers in the counts", |job| {
            (job["status"]["replicaStatuses"]["Worker"]["active"] == 2).then_some(())
        });
    harness.kill();
    write(harness, change)
}

/// Changes the status of the job, as no operator does.
fn write(harness: &Harness, change: impl FnOnce(&mut Value)) -> Value {
    let mut stored = shared().api().get(&harness.path("mnist")).unwrap();
    change(&mut stored["status"]);
    let path = format!("{}/status", harness.path("mnist"));
    shared().api().replace(&path, &stored).unwrap()
}

/// Waits until the operator has heard of every pod what there is to hear: a pod that ends now ends its job.
fn catches_up(harness: &Harness, marker: &str) {
    harness.create(&job(marker, &json!({}), &[("Worker", 1, "Never")]));
    let pod = format!("{marker}-worker-0");
    harness.run(&[&pod]);
    harness.exit(&pod, 0);
    shared().api().wait(&harness.path(marker), "its end", |job| {
        job["status"]["completionTime"].is_string().then_some(())
    });
}

#[test]
fn a_status_of_a_newer_format_is_not_touched_and_it_is_told_once() {
    let mut harness = Harness::new("newer");
    let before = remembers(&mut harness, |status| {
        status["trainyard"]["format"] = json!(99);
        status["trainyard"]["unknown"] = json!({ "a": [1, { "b": null }] });
        status["trainyard"]["held"] = json!({ "by": "a variant of the future" });
    });
    assert_eq!(before["status"]["trainyard"]["unknown"]["a"][0], 1, "it is kept");
    harness.start();
    harness.operator.says("NewerMemory");
    harness.exit("mnist-worker-1", 1);
    harness.exit("mnist-worker-0", 0);
    catches_up(&harness, "first");
    assert!(harness.operator.stop(), "nothing is under way any more");
    harness.start();
    catches_up(&harness, "second");
    assert!(harness.operator.stop());
    let after = shared().api().get(&harness.path("mnist")).unwrap();
    assert_eq!(after["status"].to_string(), before["status"].to_string());
    assert_eq!(
        after["metadata"]["resourceVersion"], before["metadata"]["resourceVersion"],
        "not even the same was written"
    );
    let told = events(&harness, "mnist", "NewerMemory");
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("its format is 99"), "{told:?}");
    let lines = harness.operator.said();
    assert_eq!(
        lines.matches("NewerMemory").count(),
        2,
        "one line per operator: {lines}"
    );
}

#[test]
fn a_memory_that_makes_no_sense_stays_and_the_job_says_so_and_goes_on_when_it_is_repaired() {
    let mut harness = Harness::new("unreadable");
    let before = remembers(&mut harness, |status| {
        status["trainyard"]["held"] = "Frozen".into();
        status["trainyard"]["unknown"] = json!([1]);
    });
    harness.start();
    let wait = waiting(&harness, "mnist", "UnreadableMemory");
    let words = wait["message"].as_str().unwrap_or_default();
    assert!(
        words.contains("Frozen") && words.contains("delete the job"),
        "{words}"
    );
    harness.exit("mnist-worker-1", 137);
    catches_up(&harness, "first");
    let without_words = |mut job: Value| {
        let mut status = job["status"].take();
        for words in ["waiting", "summary"] {
            status.as_object_mut().unwrap().remove(words);
        }
        status.to_string()
    };
    let after = shared().api().get(&harness.path("mnist")).unwrap();
    assert_eq!(without_words(after), without_words(before));
    assert_eq!(events(&harness, "mnist", "UnreadableMemory").len(), 1);
    write(&harness, |status| {
        status["trainyard"].as_object_mut().unwrap().remove("held");
    });
    harness.pod("mnist-worker-1", "0.1");
    let status = shared().api().get(&harness.path("mnist")).unwrap()["status"].take();
    assert_eq!(
        (status.get("waiting"), &status["trainyard"]["paid"]),
        (None, &json!(1))
    );
}

#[test]
fn a_job_that_has_ended_is_not_run_again_and_expires_whatever_is_remembered_of_it() {
    let mut harness = Harness::new("ended");
    harness.kill();
    let kubelet = FakeKubelet::open(&harness.namespace, NODE);
    let policy = json!({ "ttlSecondsAfterFinished": 2 });
    harness.create(&job("mnist", &policy, &[("Worker", 2, "Never")]));
    let begun = shared().api().get(&harness.path("mnist")).unwrap()["metadata"]["creationTimestamp"].clone();
    write(&harness, |status| {
        *status = json!({
            "conditions": [{ "type": "Succeeded", "status": "True", "reason": "TFJobSucceeded" }],
            "startTime": begun, "completionTime": begun,
            "trainyard": { "format": 1, "held": "Frozen" },
        });
    });
    harness.start();
    shared().api().wait_until_gone(&harness.path("mnist"));
    assert_eq!(kubelet.look(|history| history.pods_of("mnist").count()), 0);
}
