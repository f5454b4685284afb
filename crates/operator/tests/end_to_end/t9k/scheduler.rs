//! `scheduler.t9kScheduler` with the operator told of T9k's scheduler, which is played: it is closed, and its documents say what it does.

use serde_json::{Value, json};
use trainyard_cluster_tests::{Crds, shared};
use trainyard_core::GangScheduler;
use trainyard_manifest::kinds::t9k::API;

use super::super::Harness;
use super::training_job;

const GROUPS: &str = "apis/scheduler.tensorstack.dev/v1beta1";

fn harness(name: &str) -> Harness {
    shared().install(Crds::T9kScheduler);
    let flags = ["--kinds", API.word, "--gang-scheduler-name", "t9k"];
    Harness {
        kind: &API,
        ..Harness::with(name, &flags)
    }
}

/// What T9k's scheduler writes about a group.
fn judge(harness: &Harness, conditions: &Value) {
    let path = harness.namespace.path(GROUPS, "podgroups/queued/status");
    let change = json!({ "status": { "conditions": conditions } });
    harness.api().patch(&path, &change).unwrap();
}

#[test]
fn a_job_for_t9ks_scheduler_has_its_group_and_labels_and_says_what_it_waits_for() {
    let harness = harness("t9k-gang");
    let rest = json!({ "scheduler": { "t9kScheduler": { "queue": "night", "priority": 50 } } });
    harness.create(&training_job(
        "queued",
        &rest,
        &[("worker", 2, "Never"), ("ps", 1, "Never")],
    ));
    let path = harness.namespace.path(GROUPS, "podgroups/queued");
    let made = |group: &Value| group["metadata"]["uid"].is_string().then(|| group.clone());
    let group = harness.api().wait(&path, "its group", made);
    assert_eq!(
        group["spec"],
        json!({ "minMember": 3, "queue": "night", "priority": 50 })
    );
    assert_eq!(group["metadata"]["ownerReferences"][0]["kind"], API.kind);
    let pod = harness.pod("queued-ps-0", "0.0");
    assert_eq!(pod["spec"]["schedulerName"], "t9k-scheduler");
    let labels = &pod["metadata"]["labels"];
    for (key, expected) in [("group-name", "queued"), ("queue", "night"), ("role", "ps")] {
        assert_eq!(labels[format!("scheduler.tensorstack.dev/{key}")], expected);
    }

    let enough =
        json!({ "type": "SufficientGroupMember", "status": "True", "reason": "SufficientMemberPods" });
    let full = json!({ "type": "GroupScheduled", "status": "False", "reason": "Unschedulable", "message": "queue night has 1 cpu left" });
    judge(&harness, &json!([enough, full]));
    let words = |job: &Value| {
        let wait = &job["status"]["waiting"][0];
        (wait["reason"] == "PodGroupPending").then(|| wait["message"].clone())
    };
    let words = harness
        .api()
        .wait(&harness.path("queued"), "what it waits for", words);
    assert_eq!(words, "PodGroup queued waits: queue night has 1 cpu left");
    let placed = json!({ "type": "GroupScheduled", "status": "True", "reason": "PodGroupScheduled" });
    judge(&harness, &json!([enough, placed]));
    harness.run(&["queued-worker-0", "queued-worker-1", "queued-ps-0"]);
    let running = |job: &Value| {
        let waits = job["status"]["waiting"].is_array();
        (job["status"]["phase"] == "Running" && !waits).then_some(())
    };
    harness
        .api()
        .wait(&harness.path("queued"), "that it runs", running);

    // A group that a user has moved to another queue stays there, and one whose members were changed is corrected.
    let moved = json!({ "spec": { "queue": "day", "minMember": 1 } });
    harness.api().patch(&path, &moved).unwrap();
    let corrected = |group: &Value| (group["spec"]["minMember"] == 3).then(|| group["spec"]["queue"].clone());
    assert_eq!(
        harness.api().wait(&path, "that it is corrected", corrected),
        "day"
    );
    harness.exit("queued-worker-0", 0);
    harness.api().wait_until_gone(&path);
    harness.uses_its_rights(&GangScheduler::T9k);
}
