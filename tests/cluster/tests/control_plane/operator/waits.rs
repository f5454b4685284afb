//! What a job waits for stands in its status, in the cluster's words, and is told once.

use serde_json::{Value, json};
use trainyard_cluster_tests::shared;

use super::{Yard, job};

const NO_ROOM: &str = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.";

/// What a job waits for, as soon as it is this.
#[track_caller]
pub fn waiting(yard: &Yard, name: &str, reason: &str) -> Value {
    shared().api().wait(&yard.path(name), reason, |job| {
        let waiting = job["status"]["waiting"].as_array()?;
        waiting.iter().find(|wait| wait["reason"] == reason).cloned()
    })
}

/// Events of that reason about a job.
pub fn events(yard: &Yard, name: &str, reason: &str) -> Vec<String> {
    let path = yard.namespace.path("apis/events.k8s.io/v1", "events");
    let all = shared().api().list(&path).unwrap();
    let about = all
        .iter()
        .filter(|event| event["regarding"]["name"] == name && event["reason"] == reason);
    about
        .map(|event| event["note"].as_str().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn a_job_without_a_node_says_what_the_scheduler_says() {
    let yard = Yard::new("unplaced");
    yard.create(&job("mnist", &json!({}), &[("Worker", 2, "Never")]));
    for pod in ["mnist-worker-0", "mnist-worker-1"] {
        yard.pod(pod, "0.0");
        shared().player().no_node(&yard.namespace, pod, NO_ROOM);
    }
    let wait = waiting(&yard, "mnist", "Unschedulable");
    assert_eq!(wait["message"], NO_ROOM);
    assert_eq!(
        (&wait["pods"], &wait["pod"]),
        (&json!(2), &json!("mnist-worker-0"))
    );
    yard.operator.says("Unschedulable");
    // Other words for the same are no news for anybody.
    shared().player().no_node(
        &yard.namespace,
        "mnist-worker-0",
        "0/1 nodes are available: 1 other words.",
    );
    yard.run(&["mnist-worker-0", "mnist-worker-1"]);
    yard.conditions("mnist", &["Created", "Running"]);
    // One of them runs first, so for a moment it runs and waits.
    shared()
        .api()
        .wait(&yard.path("mnist"), "nothing it waits for", |job| {
            job["status"].get("waiting").is_none().then_some(())
        });
    let told = events(&yard, "mnist", "Unschedulable");
    assert_eq!(
        told,
        [format!("Error pod mnist-worker-0 condition message: {NO_ROOM}")]
    );
}

#[test]
fn a_job_beyond_its_quota_says_so_and_goes_on_when_there_is_room() {
    let yard = Yard::new("quota");
    let quotas = yard.namespace.path("api/v1", "resourcequotas");
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": { "name": "few" },
        "spec": { "hard": { "pods": "1" } },
    });
    shared().api().create(&quotas, &quota).unwrap();
    let few = format!("{quotas}/few");
    // Nobody is held to a quota before it has been counted; no controller of the test cluster need do that.
    let counted = json!({ "status": { "hard": { "pods": "1" }, "used": { "pods": "0" } } });
    shared().api().patch(&format!("{few}/status"), &counted).unwrap();
    yard.create(&job("mnist", &json!({}), &[("Worker", 2, "Never")]));
    let wait = waiting(&yard, "mnist", "ExceededQuota");
    assert!(
        wait["message"].as_str().unwrap().contains("exceeded quota: few"),
        "{wait}"
    );
    shared().api().delete(&few).unwrap();
    yard.run(&["mnist-worker-0", "mnist-worker-1"]);
    let status = yard.conditions("mnist", &["Created", "Running"]);
    assert_eq!(status.get("waiting"), None, "it waits no longer");
    assert_eq!(events(&yard, "mnist", "ExceededQuota").len(), 1);
}

#[test]
fn a_service_of_somebody_else_is_named_and_left_alone() {
    let yard = Yard::new("taken");
    let services = yard.namespace.path("api/v1", "services");
    let theirs = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": "mnist" },
        "spec": { "clusterIP": "None", "selector": { "app": "theirs" } },
    });
    let theirs = shared().api().create(&services, &theirs).unwrap();
    yard.create(&job("mnist", &json!({}), &[("Worker", 1, "Never")]));
    let wait = waiting(&yard, "mnist", "FailedCreateService");
    let words = wait["message"].as_str().unwrap_or_default();
    assert!(
        words.contains("services \"mnist\" already exists") && words.contains("was not made for this job"),
        "{words}"
    );
    assert_eq!(yard.names(), Vec::<String>::new(), "no pod without its address");
    let path = format!("{services}/mnist");
    let now = shared().api().get(&path).unwrap();
    assert_eq!(
        now["metadata"]["resourceVersion"],
        theirs["metadata"]["resourceVersion"]
    );
    shared().api().delete(&path).unwrap();
    yard.run(&["mnist-worker-0"]);
    let status = yard.conditions("mnist", &["Created", "Running"]);
    assert_eq!(status.get("waiting"), None, "it waits no longer");
}

#[test]
fn an_edit_that_cannot_be_read_is_told_and_the_job_goes_on_as_it_was() {
    let mut yard = Yard::new("misedited");
    yard.create(&job("mnist", &json!({}), &[("Worker", 1, "Never")]));
    yard.run(&["mnist-worker-0"]);
    yard.conditions("mnist", &["Created", "Running"]);
    let scope =
        |scope: Value| json!({ "metadata": { "annotations": { "trainyard.dev/restart-scope": scope } } });
    yard.patch("mnist", &scope(json!("Sometimes")));
    let wait = waiting(&yard, "mnist", "InvalidTFJobSpec");
    let words = wait["message"].as_str().unwrap_or_default();
    assert!(
        words.contains("goes on as it was") && words.contains("restart-scope"),
        "{words}"
    );
    yard.conditions("mnist", &["Created", "Running"]);
    assert_eq!(yard.names(), ["mnist-worker-0"]);

    // One that has never seen the spec before says so too, instead of being silent for ever.
    yard.kill();
    yard.start();
    shared().api().wait(&yard.path("mnist"), "other words", |job| {
        let said = job["status"]["waiting"][0]["message"].as_str()?;
        said.contains("nothing is done about the job").then_some(())
    });
    yard.patch("mnist", &scope(Value::Null));
    shared().api().wait(&yard.path("mnist"), "no complaint", |job| {
        job["status"]["waiting"].is_null().then_some(())
    });
    let told = events(&yard, "mnist", "InvalidTFJobSpec");
    assert_eq!(told.len(), 1, "{told:?}");
}
