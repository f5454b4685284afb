//! A TensorBoard beside a job: created, told and replaced, with no right that is not used.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use trainyard_cluster_tests::shared;
use trainyard_manifest::install::access::{Asked, BOARDS, uses};
use trainyard_manifest::kinds::Kinds;
use trainyard_manifest::kinds::t9k::API;

use super::super::Harness;
use super::training_job;

fn harness(name: &str, more: &[&str]) -> Harness {
    let flags = [&["--kinds", API.word], more].concat();
    Harness {
        kind: &API,
        ..Harness::with(name, &flags)
    }
}

/// A job of one worker that asks for a TensorBoard.
fn asking(name: &str) -> Value {
    let board = json!({ "image": "tensorboard:1", "trainingLogFilesets": ["pvc://logs/run-1"] });
    let rest = json!({ "tensorboardSpec": board });
    training_job(name, &rest, &[("worker", 1, "Never")])
}

/// Waits until the status says this about the job's TensorBoard.
#[track_caller]
fn told(harness: &Harness, job: &str, reason: &str) -> Value {
    harness.api().wait(&harness.path(job), reason, |object| {
        let board = &object["status"]["tensorboard"];
        (board["reason"] == reason).then(|| board.clone())
    })
}

#[test]
fn it_is_created_told_when_ready_and_replaced_when_its_settings_change() {
    let harness = harness("board", &["--tensorboard"]);
    harness.create(&asking("mnist"));
    let path = harness
        .namespace
        .path("apis/apps/v1", "deployments/mnist-tensorboard");
    let first = harness
        .api()
        .wait(&path, "a Deployment", |object| Some(object.clone()));
    let job = harness.api().get(&harness.path("mnist")).unwrap();
    let service = harness.namespace.path("api/v1", "services/mnist-tensorboard");
    let service = harness.api().get(&service).unwrap();
    for object in [&first, &service] {
        let owner = &object["metadata"]["ownerReferences"][0];
        assert_eq!(
            (&owner["uid"], &owner["controller"]),
            (&job["metadata"]["uid"], &json!(true))
        );
    }
    // The cluster's own controllers make the pod, and tell when it is ready.
    let pods = harness
        .namespace
        .path("api/v1", "pods?labelSelector=trainyard.dev/tensorboard=mnist");
    let pod = harness.api().wait(&pods, "its pod", |list| {
        Some(list["items"][0]["metadata"]["name"].as_str()?.to_owned())
    });
    harness.run_on_a_node(&pod);
    let ready = told(&harness, "mnist", "DependentReady");
    assert_eq!(
        (&ready["ready"], &ready["dependent"]["uid"]),
        (&json!(true), &first["metadata"]["uid"])
    );
    harness.patch(
        "mnist",
        &json!({ "spec": { "tensorboardSpec": { "image": "tensorboard:2" } } }),
    );
    let second = harness.api().wait(&path, "another Deployment", |object| {
        (object["metadata"]["uid"] != first["metadata"]["uid"]).then(|| object.clone())
    });
    assert_eq!(
        second["spec"]["template"]["spec"]["containers"][0]["image"],
        "tensorboard:2"
    );
    let kinds: Kinds = API.word.parse().unwrap();
    let requests = || {
        uses(&kinds)
            .chain([BOARDS])
            .filter(|used| used.asked == Asked::Request)
    };
    let named = |verb: &str, group: &str, resource: &str| format!("{verb} {resource}.{group}");
    let account = harness.operator.account();
    for verb in BOARDS.verbs {
        let right = named(verb, BOARDS.group, BOARDS.resource);
        account.wait_until_asked(&right, |asked| asked.to_string() == right);
    }
    let granted: BTreeSet<String> = requests()
        .flat_map(|used| used.verbs.iter().map(move |verb| (verb, used)))
        .map(|(verb, used)| named(verb, used.group, used.resource))
        .collect();
    for asked in account.asked() {
        assert!(
            asked.allowed && granted.contains(&asked.to_string()),
            "{asked} without a right"
        );
    }
}

#[test]
fn its_pod_is_admitted_where_restricted_is_enforced() {
    let harness = harness("board-psa", &["--tensorboard"]);
    harness.create(&asking("mnist"));
    let path = harness
        .namespace
        .path("apis/apps/v1", "deployments/mnist-tensorboard");
    let mut pod = harness.api().wait(&path, "a Deployment", |object| {
        Some(object["spec"]["template"].clone())
    });
    pod["apiVersion"] = "v1".into();
    pod["kind"] = "Pod".into();
    pod["metadata"]["name"] = "board".into();
    let level = json!({ "metadata": { "labels": { "pod-security.kubernetes.io/enforce": "restricted" } } });
    let namespace = format!("/api/v1/namespaces/{}", harness.namespace.name());
    shared().api().patch(&namespace, &level).unwrap();
    let pods = harness.namespace.path("api/v1", "pods?dryRun=All");
    shared().api().create(&pods, &pod).unwrap();
    pod["spec"]["containers"][0]["securityContext"]["capabilities"] = Value::Null;
    let refused = shared().api().create(&pods, &pod).unwrap_err();
    assert!(refused.message.contains("violates PodSecurity"), "{refused}");
}

#[test]
fn a_service_of_another_owner_is_told_and_the_job_runs() {
    let harness = harness("board-taken", &["--tensorboard"]);
    let services = harness.namespace.path("api/v1", "services");
    let foreign = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": "mnist-tensorboard" },
        "spec": { "clusterIP": "None", "selector": { "app": "not-ours" } },
    });
    harness.api().create(&services, &foreign).unwrap();
    harness.create(&asking("mnist"));
    harness.run(&["mnist-worker-0"]);
    let refused = told(&harness, "mnist", "DependentRefused");
    let note = refused["note"].as_str().unwrap_or_default();
    assert!(note.contains("was not made for this job"), "{note}");
    harness.exit("mnist-worker-0", 0);
    harness.api().wait(&harness.path("mnist"), "Succeeded", |object| {
        (object["status"]["phase"] == "Succeeded").then_some(())
    });
    // What is in the way is deleted by a user: it is created by itself, though the job has ended.
    harness
        .api()
        .delete(&format!("{services}/mnist-tensorboard"))
        .unwrap();
    told(&harness, "mnist", "DependentNotReady");
}
