//! What a job waits for stands in its status, in the cluster's words, and is told once.

use serde_json::{Value, json};
use trainyard_cluster_tests::{Node, shared};

use super::{Harness, job};

const NO_ROOM: &str = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.";

/// What a job waits for, as soon as it is this.
#[track_caller]
pub fn waiting(harness: &Harness, name: &str, reason: &str) -> Value {
    shared().api().wait(&harness.path(name), reason, |job| {
        let waiting = job["status"]["waiting"].as_array()?;
        waiting.iter().find(|wait| wait["reason"] == reason).cloned()
    })
}

/// Events of that reason about a job, of which there is at least one: it may follow the status that says the same.
pub fn events(harness: &Harness, name: &str, reason: &str) -> Vec<String> {
    let path = harness.namespace.path("apis/events.k8s.io/v1", "events");
    let about = |event: &&Value| event["regarding"]["name"] == name && event["reason"] == reason;
    let note = |event: &Value| event["note"].as_str().unwrap_or_default().to_owned();
    shared().api().wait(&path, reason, |list| {
        let all = list["items"].as_array()?;
        let notes: Vec<String> = all.iter().filter(about).map(note).collect();
        (!notes.is_empty()).then_some(notes)
    })
}

#[test]
fn a_job_without_a_node_says_what_the_scheduler_says() {
    let harness = Harness::new("unplaced");
    harness.create(&job("mnist", &json!({}), &[("Worker", 2, "Never")]));
    for pod in ["mnist-worker-0", "mnist-worker-1"] {
        harness.pod(pod, "0.0");
        shared().player().no_node(&harness.namespace, pod, NO_ROOM);
    }
    let wait = waiting(&harness, "mnist", "Unschedulable");
    assert_eq!(wait["message"], NO_ROOM);
    assert_eq!(
        (&wait["pods"], &wait["pod"]),
        (&json!(2), &json!("mnist-worker-0"))
    );
    harness.operator.says("Unschedulable");
    // Another wording of the same reason makes no new event.
    shared().player().no_node(
        &harness.namespace,
        "mnist-worker-0",
        "0/1 nodes are available: 1 other words.",
    );
    harness.run(&["mnist-worker-0", "mnist-worker-1"]);
    harness.conditions("mnist", &["Created", "Running"]);
    // One of them runs first, so for a moment it runs and waits.
    shared()
        .api()
        .wait(&harness.path("mnist"), "nothing it waits for", |job| {
            job["status"].get("waiting").is_none().then_some(())
        });
    let told = events(&harness, "mnist", "Unschedulable");
    assert_eq!(told.len(), 1, "{told:?}");
    let kubeflows = format!("Error pod mnist-worker-0 condition message: {NO_ROOM} help: ");
    assert!(
        told[0].starts_with(&kubeflows) && told[0].contains("resources.requests"),
        "{told:?}"
    );
}

#[test]
fn a_job_beyond_its_quota_says_so_and_goes_on_when_there_is_room() {
    let harness = Harness::new("quota");
    let quotas = harness.namespace.path("api/v1", "resourcequotas");
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": { "name": "few" },
        "spec": { "hard": { "pods": "1" } },
    });
    shared().api().create(&quotas, &quota).unwrap();
    let few = format!("{quotas}/few");
    // A quota holds once its usage is counted; the test writes that itself.
    let counted = json!({ "status": { "hard": { "pods": "1" }, "used": { "pods": "0" } } });
    shared().api().patch(&format!("{few}/status"), &counted).unwrap();
    harness.create(&job("mnist", &json!({}), &[("Worker", 2, "Never")]));
    let wait = waiting(&harness, "mnist", "ExceededQuota");
    assert!(
        wait["message"].as_str().unwrap().contains("exceeded quota: few"),
        "{wait}"
    );
    is_explained(
        &harness,
        "mnist",
        &["the quota `few` of the namespace", "kubectl describe quota"],
    );
    shared().api().delete(&few).unwrap();
    harness.run(&["mnist-worker-0", "mnist-worker-1"]);
    let status = harness.conditions("mnist", &["Created", "Running"]);
    assert_eq!(status.get("waiting"), None, "it waits no longer");
    assert_eq!(events(&harness, "mnist", "ExceededQuota").len(), 1);
}

/// The summary of a job has these words: the cause and the remedy.
#[track_caller]
pub fn is_explained(harness: &Harness, name: &str, words: &[&str]) {
    shared()
        .api()
        .wait(&harness.path(name), &format!("{words:?}"), |job| {
            let summary = job["status"]["summary"].as_str()?;
            words.iter().all(|words| summary.contains(words)).then_some(())
        });
}

/// Waits until the API server refuses pods with these words: rules take a moment to be in force.
fn until_refused(harness: &Harness, words: &str) {
    let pods = harness.namespace.path("api/v1", "pods");
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "tried" },
        "spec": { "containers": [{ "name": "a", "image": "a" }] },
    });
    shared().api().wait(&pods, words, |_| {
        let refused = shared().api().create(&format!("{pods}?dryRun=All"), &pod).err()?;
        refused.message.contains(words).then_some(())
    });
}

/// Rules of the administrators: a policy that denies, and a webhook that nothing answers for.
#[test]
fn what_admission_refuses_is_told_with_its_words_and_a_remedy() {
    let harness = Harness::new("admission");
    let name = harness.namespace.name();
    let of_namespace = json!({ "matchLabels": { "kubernetes.io/metadata.name": name } });
    let rule =
        json!({ "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"] });
    let group = "/apis/admissionregistration.k8s.io/v1";
    let policies = format!("{group}/validatingadmissionpolicies");
    let bindings = format!("{group}/validatingadmissionpolicybindings");
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": { "name": name },
        "spec": {
            "matchConstraints": { "namespaceSelector": of_namespace, "resourceRules": [rule] },
            "validations": [{ "expression": "has(object.metadata.labels) && 'team' in object.metadata.labels", "message": "pods need the label team" }],
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": { "name": name },
        "spec": { "policyName": name, "validationActions": ["Deny"] },
    });
    shared().api().create(&policies, &policy).unwrap();
    shared().api().create(&bindings, &binding).unwrap();
    until_refused(&harness, "pods need the label team");
    harness.create(&job("mnist", &json!({}), &[("Worker", 1, "Never")]));
    let denied = &[
        "an admission rule",
        "pods need the label team",
        "change the template",
    ];
    is_explained(&harness, "mnist", denied);
    shared().api().delete(&format!("{bindings}/{name}")).unwrap();
    shared().api().delete(&format!("{policies}/{name}")).unwrap();

    let hooks = format!("{group}/validatingwebhookconfigurations");
    let hook = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": { "name": name },
        "webhooks": [{
            "name": "rules.example.org", "admissionReviewVersions": ["v1"], "sideEffects": "None", "timeoutSeconds": 1,
            "clientConfig": { "url": "https://127.0.0.1:1/" }, "namespaceSelector": of_namespace, "rules": [rule],
        }],
    });
    shared().api().create(&hooks, &hook).unwrap();
    until_refused(&harness, "rules.example.org");
    harness.create(&job("second", &json!({}), &[("Worker", 1, "Never")]));
    let unanswered = &[
        "a webhook of the cluster does not answer",
        "rules.example.org",
        "administrators",
    ];
    is_explained(&harness, "second", unanswered);
    shared().api().delete(&format!("{hooks}/{name}")).unwrap();
}

#[test]
fn a_service_of_another_owner_is_named_and_left_alone() {
    let harness = Harness::new("taken");
    let services = harness.namespace.path("api/v1", "services");
    let theirs = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": "mnist" },
        "spec": { "clusterIP": "None", "selector": { "app": "theirs" } },
    });
    let theirs = shared().api().create(&services, &theirs).unwrap();
    harness.create(&job("mnist", &json!({}), &[("Worker", 1, "Never")]));
    let wait = waiting(&harness, "mnist", "FailedCreateService");
    let words = wait["message"].as_str().unwrap_or_default();
    assert!(
        words.contains("services \"mnist\" already exists") && words.contains("was not made for this job"),
        "{words}"
    );
    assert_eq!(
        harness.names(),
        Vec::<String>::new(),
        "no pod without its address"
    );
    let path = format!("{services}/mnist");
    let now = shared().api().get(&path).unwrap();
    assert_eq!(
        now["metadata"]["resourceVersion"],
        theirs["metadata"]["resourceVersion"]
    );
    shared().api().delete(&path).unwrap();
    harness.run(&["mnist-worker-0"]);
    let status = harness.conditions("mnist", &["Created", "Running"]);
    assert_eq!(status.get("waiting"), None, "it waits no longer");
}

#[test]
fn an_edit_that_cannot_be_read_is_told_and_the_job_goes_on_as_it_was() {
    let mut harness = Harness::new("misedited");
    harness.create(&job("mnist", &json!({}), &[("Worker", 1, "Never")]));
    harness.run(&["mnist-worker-0"]);
    harness.conditions("mnist", &["Created", "Running"]);
    let scope =
        |scope: Value| json!({ "metadata": { "annotations": { "trainyard.dev/restart-scope": scope } } });
    harness.patch("mnist", &scope(json!("Sometimes")));
    let wait = waiting(&harness, "mnist", "InvalidTFJobSpec");
    let words = wait["message"].as_str().unwrap_or_default();
    assert!(
        words.contains("goes on as it was") && words.contains("restart-scope"),
        "{words}"
    );
    harness.conditions("mnist", &["Created", "Running"]);
    assert_eq!(harness.names(), ["mnist-worker-0"]);

    // One that has never seen the spec before says so too, instead of being silent for ever.
    harness.kill();
    harness.start();
    shared().api().wait(&harness.path("mnist"), "other words", |job| {
        let said = job["status"]["waiting"][0]["message"].as_str()?;
        said.contains("nothing is done about the job").then_some(())
    });
    harness.patch("mnist", &scope(Value::Null));
    shared()
        .api()
        .wait(&harness.path("mnist"), "no complaint", |job| {
            job["status"]["waiting"].is_null().then_some(())
        });
    let told = events(&harness, "mnist", "InvalidTFJobSpec");
    assert_eq!(told.len(), 1, "{told:?}");
}

/// Runs pods on a node of their own.
fn run_on(harness: &Harness, node: &str, pods: &[&str]) {
    shared().player().node(&Node::ready(node));
    for pod in pods {
        harness.pod(pod, "0.0");
        shared().player().bind(&harness.namespace, pod, node);
        shared().player().run(&harness.namespace, pod);
    }
}

#[test]
fn a_silent_node_is_named_with_its_pods_and_a_failed_probe_is_not_taken_for_one() {
    let harness = Harness::new("silent");
    let workers = ["mnist-worker-0", "mnist-worker-1"];
    harness.create(&job("mnist", &json!({}), &[("Worker", 3, "Never")]));
    harness.run(&["mnist-worker-2"]);
    run_on(&harness, "silent-a", &workers);
    harness.conditions("mnist", &["Created", "Running"]);
    shared().player().fail_probe(&harness.namespace, "mnist-worker-2");
    shared().player().silence("silent-a");
    let wait = shared()
        .api()
        .wait(&harness.path("mnist"), "both of them", |job| {
            let waiting = job["status"]["waiting"].as_array()?;
            let lost = waiting.iter().find(|wait| wait["reason"] == "NodeLost")?;
            (lost["pods"] == 2).then(|| lost.clone())
        });
    assert_eq!(
        (&wait["node"], &wait["pod"]),
        (&json!("silent-a"), &json!("mnist-worker-0"))
    );
    let words = wait["message"].as_str().unwrap_or_default();
    for remedy in [
        "kubectl delete node silent-a",
        "delete pod mnist-worker-0 --force",
        "lostNodeSeconds",
    ] {
        assert!(words.contains(remedy), "{words}");
    }
    harness.operator.says("NodeLost");
    let told = events(&harness, "mnist", "NodeLost");
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("node silent-a does not answer"), "{told:?}");

    // The remedy helps: its pods go, and are made again.
    shared().player().remove("silent-a");
    harness.pod("mnist-worker-0", "0.1");
    shared()
        .api()
        .wait(&harness.path("mnist"), "no silent node", |job| {
            let waiting = job["status"]["waiting"].as_array();
            let lost = waiting.is_some_and(|all| all.iter().any(|wait| wait["reason"] == "NodeLost"));
            (!lost).then_some(())
        });
}

#[test]
fn a_pod_that_stays_after_its_grace_is_told_though_nothing_happens_then() {
    let harness = Harness::new("undead");
    harness.create(&job("mnist", &json!({}), &[("Worker", 2, "Never")]));
    harness.run(&["mnist-worker-0", "mnist-worker-1"]);
    harness.conditions("mnist", &["Created", "Running"]);
    let deleted = harness.namespace.pod("mnist-worker-1") + "?gracePeriodSeconds=1";
    shared().api().delete(&deleted).unwrap();
    let wait = waiting(&harness, "mnist", "NodeLost");
    assert_eq!(
        (&wait["node"], &wait["pods"], &wait["pod"]),
        (&json!(super::NODE), &json!(1), &json!("mnist-worker-1"))
    );
    assert_eq!(events(&harness, "mnist", "NodeLost").len(), 1);
    shared()
        .player()
        .vanish(&harness.namespace, "mnist-worker-1", 143);
    shared()
        .api()
        .wait(&harness.path("mnist"), "no silent node", |job| {
            job["status"].get("waiting").is_none().then_some(())
        });
}

#[test]
fn a_server_without_workers_says_that_it_waits_for_one() {
    let harness = Harness::new("no-workers");
    harness.create(&job(
        "mnist",
        &json!({}),
        &[("PS", 1, "Never"), ("Worker", 0, "Never")],
    ));
    harness.run(&["mnist-ps-0"]);
    let wait = waiting(&harness, "mnist", "NoReplicas");
    let words = wait["message"].as_str().unwrap_or_default();
    assert!(words.contains("`worker` with `replicas: 0`"), "{words}");
    assert_eq!(events(&harness, "mnist", "NoReplicas").len(), 1);
    harness.patch(
        "mnist",
        &json!({ "spec": { "tfReplicaSpecs": { "Worker": { "replicas": 1 } } } }),
    );
    harness.run(&["mnist-worker-0"]);
    let status = harness.conditions("mnist", &["Created", "Running"]);
    assert_eq!(status.get("waiting"), None, "it waits no longer");
}

#[test]
fn what_a_cluster_says_is_one_line_of_the_log_in_both_formats() {
    let hostile = "no room\n2026-11-17T00:00:00Z info forged\r\u{1b}[2J\u{9b}31m\u{2028}\u{202e}";
    for format in ["text", "json"] {
        let harness = Harness::with(&format!("hostile-{format}"), &["--log-format", format]);
        harness.create(&job("mnist", &json!({}), &[("Worker", 1, "Never")]));
        harness.pod("mnist-worker-0", "0.0");
        shared()
            .player()
            .no_node(&harness.namespace, "mnist-worker-0", hostile);
        assert_eq!(waiting(&harness, "mnist", "Unschedulable")["message"], hostile);
        let line = harness.operator.says("no room");
        assert!(
            line.contains("forged") && line.contains("Unschedulable"),
            "{line}"
        );
        let hidden = |c: char| c != '\n' && trainyard_document::problem::is_hidden(c);
        assert!(
            !harness.operator.said().contains(hidden),
            "{:?}",
            harness.operator.said()
        );
        if format == "json" {
            let read: Value = serde_json::from_str(&line).unwrap();
            assert!(read["message"].as_str().unwrap().contains(hostile), "{read}");
        }
    }
}
