//! Queues of gang schedulers: what a job says whose group waits because of one. Volcano is played; the real one is in `gang_scenarios.rs`.

use serde_json::json;

use super::gang::{QUEUES, harness, queue};
use super::job;

#[test]
fn a_job_says_that_its_queue_is_missing_or_closed_and_what_helps() {
    let harness = harness("gang-queue");
    let policy = json!({ "schedulingPolicy": { "queue": "gang-night" } });
    harness.create(&job("night", &policy, &[("Worker", 2, "Never")]));
    let words = harness.told_of_group("night", "there is no queue `gang-night`");
    let namespace = harness.namespace.name();
    let moved = format!("kubectl patch podgroups.scheduling.volcano.sh night -n {namespace} --type merge");
    assert!(words.contains(&moved), "{words}");

    queue("gang-night");
    let closed = json!({ "status": { "state": "Closed", "allocated": {} } });
    let path = format!("{QUEUES}/gang-night/status");
    harness.api().patch(&path, &closed).unwrap();
    let words = harness.told_of_group("night", "its queue `gang-night` is Closed");
    assert!(
        words.contains("vcctl queue operate --action open --name gang-night"),
        "{words}"
    );

    // The group is where its users put it.
    let moved = json!({ "spec": { "queue": "default" } });
    harness.api().patch(&harness.group_path("night"), &moved).unwrap();
    harness.let_in("night");
    harness.pod("night-worker-0", "0.0");
}

/// Volcano's webhook refuses pods whose queue is closed, and T9k's admission those of a queue that is closed or full. The API server refuses
/// them here in the webhook's words.
#[test]
fn what_the_webhook_of_a_scheduler_refuses_is_told_in_its_words() {
    let harness = harness("gang-webhook");
    let refusal = "failed :  can only submit job to queue with state `Open`, queue `day` status is `Closed`;";
    let name = harness.namespace.name();
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": { "name": name },
        "spec": {
            "matchConstraints": { "resourceRules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"],
            }] },
            "validations": [{ "expression": "object.spec.schedulerName != 'volcano'", "message": refusal }],
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": { "name": name },
        "spec": {
            "policyName": name, "validationActions": ["Deny"],
            "matchResources": { "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": name } } },
        },
    });
    let root = "/apis/admissionregistration.k8s.io/v1";
    let api = harness.api();
    api.create(&format!("{root}/validatingadmissionpolicies"), &policy)
        .unwrap();
    api.create(&format!("{root}/validatingadmissionpolicybindings"), &binding)
        .unwrap();
    let probe = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "probe" },
        "spec": { "schedulerName": "volcano", "containers": [{ "name": "c", "image": "i" }] },
    });
    let pods = harness.namespace.path("api/v1", "pods");
    api.wait(&pods, "that the policy is in force", |_| {
        api.create(&format!("{pods}?dryRun=All"), &probe)
            .is_err()
            .then_some(())
    });
    harness.create(&job("day", &json!({}), &[("Worker", 1, "Never")]));
    harness.let_in("day");
    api.wait(&harness.path("day"), "why it has no pod", |job| {
        let wait = &job["status"]["waiting"][0];
        let told = wait["message"]
            .as_str()?
            .contains("queue `day` status is `Closed`");
        (wait["reason"] == "FailedCreatePod" && told).then_some(())
    });
}
