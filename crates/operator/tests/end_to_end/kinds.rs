//! Jobs of two kinds: one that is not offered to users yet shows that a kind is a module.

use std::sync::Arc;

use serde_json::{Value, json};
use trainyard_cluster_tests::{Crds, Namespace, shared};
use trainyard_operator::kinds::{t9k, tfjob};
use trainyard_operator::notice::{Notice, Observer};

use super::panics::operated;
use super::{NODE, install, job, shown};

struct Silent;

impl Observer for Silent {
    fn notice(&self, _: &Notice<'_>) {}
}

/// Installs the definition of the second kind, as the kind itself gives it.
fn install_both() {
    install();
    shared().install(Crds::of(t9k::KIND.api));
}

fn training_job(name: &str) -> Value {
    let template = json!({ "spec": { "containers": [{ "name": "tensorflow", "image": "trainer" }] } });
    json!({
        "apiVersion": t9k::KIND.api.api_version, "kind": t9k::KIND.api.kind, "metadata": { "name": name },
        "spec": { "replicaSpecs": [
            { "type": "chief", "replicas": 1, "template": template },
            { "type": "worker", "replicas": 1, "template": template },
        ] },
    })
}

fn jobs(namespace: &Namespace<'_>) -> String {
    namespace.path(
        &format!("apis/{}", t9k::KIND.api.api_version),
        t9k::KIND.api.plural,
    )
}

fn run(namespace: &Namespace<'_>, pod: &str) {
    shared().api().wait(&namespace.pod(pod), "a pod", |_| Some(()));
    shared().player().bind(namespace, pod, NODE);
    shared().player().run(namespace, pod);
}

#[test]
fn a_training_job_runs_to_its_end() {
    install_both();
    let namespace = shared().namespace("second-kind");
    operated(&namespace, &[&tfjob::KIND, &t9k::KIND], Arc::new(Silent), || {
        let api = shared().api();
        api.create(&jobs(&namespace), &training_job("digits")).unwrap();
        let path = format!("{}/digits", jobs(&namespace));
        for pod in ["digits-chief-0", "digits-worker-0"] {
            run(&namespace, pod);
        }
        let running = api.wait(&path, "running", |job| {
            (job["status"]["phase"] == "Running").then(|| job["status"].clone())
        });
        assert_eq!(running["summary"], "2 of 2 tasks ready", "{running:#}");
        let pod = api.get(&namespace.pod("digits-chief-0")).unwrap();
        let owner = &pod["metadata"]["ownerReferences"][0];
        assert_eq!(owner["kind"], "TensorFlowTrainingJob");
        for pod in ["digits-chief-0", "digits-worker-0"] {
            shared().player().exit(&namespace, pod, 0);
        }
        let ended = api.wait(&path, "an end", |job| {
            (job["status"]["phase"] == "Succeeded").then(|| job["status"].clone())
        });
        assert_eq!(ended["summary"], "succeeded");
        assert!(ended["trainyard"]["verdict"].is_object(), "{ended:#}");
        let events = namespace.path("apis/events.k8s.io/v1", "events");
        api.wait(&events, "an event", |all| {
            let mut events = all["items"].as_array()?.iter();
            let about = |event: &&Value| event["regarding"]["kind"] == "TensorFlowTrainingJob";
            events
                .find(|event| about(event) && event["reason"] == "Succeeded")
                .map(|_| ())
        });
    });
}

#[test]
fn the_second_of_two_jobs_with_one_name_waits_until_the_first_is_gone() {
    install_both();
    let namespace = shared().namespace("namesakes");
    operated(&namespace, &[&tfjob::KIND, &t9k::KIND], Arc::new(Silent), || {
        let api = shared().api();
        api.create(&jobs(&namespace), &training_job("twin")).unwrap();
        for pod in ["twin-chief-0", "twin-worker-0"] {
            run(&namespace, pod);
        }
        let tfjobs = namespace.path("apis/kubeflow.org/v1", "tfjobs");
        api.create(&tfjobs, &job("twin", &json!({}), &[("Worker", 1, "Never")]))
            .unwrap();
        let path = format!("{tfjobs}/twin");
        let wait = api.wait(&path, "that its name is taken", |job| {
            let wait = &job["status"]["waiting"][0];
            (wait["reason"] == "NameTaken").then(|| wait["message"].clone())
        });
        let wait = wait.as_str().unwrap();
        assert!(
            wait.contains("the TensorFlowTrainingJob twin has the names"),
            "{wait}"
        );
        let pods = namespace.pods();
        let owned = |pod: &&Value| pod["metadata"]["ownerReferences"][0]["kind"] == "TFJob";
        assert_eq!(pods.iter().filter(owned).count(), 0);

        let other = format!("{}/twin", jobs(&namespace));
        api.delete(&other).unwrap();
        for pod in ["twin-chief-0", "twin-worker-0"] {
            shared().api().delete(&namespace.pod(pod)).unwrap();
            shared().player().vanish(&namespace, pod, 143);
        }
        let service = namespace.path("api/v1", "services/twin");
        // The garbage collector may have been first.
        if let Err(refused) = api.delete(&service) {
            assert_eq!(refused.code, 404, "{refused:?}");
        }
        api.wait(&namespace.pod("twin-worker-0"), "its own pod", |pod| {
            (pod["metadata"]["ownerReferences"][0]["kind"] == "TFJob").then_some(())
        });
    });
}

#[test]
fn an_order_restarts_a_job_once_and_another_stops_it() {
    let mut harness = super::Harness::new("orders");
    harness.create(&job("told", &json!({}), &[("Worker", 1, "Never")]));
    harness.run(&["told-worker-0"]);
    harness.conditions("told", &["Created", "Running"]);
    harness.patch(
        "told",
        &json!({ "metadata": { "annotations": { "trainyard.dev/order": "first/Restart" } } }),
    );
    harness.vanish("told-worker-0", 143);
    harness.pod("told-worker-0", "1.0");
    harness.run_on_a_node("told-worker-0");
    // An operator that starts later finds the order and has obeyed it.
    harness.kill();
    harness.start();
    harness.patch(
        "told",
        &json!({ "metadata": { "annotations": { "trainyard.dev/order": "second/Stop" } } }),
    );
    let path = harness.path("told");
    let status = harness.api().wait(&path, "an end", |job| {
        let conditions = job["status"]["conditions"].as_array()?;
        let ended = conditions.iter().any(|one| shown(one) == "Failed");
        ended.then(|| job["status"].clone())
    });
    assert_eq!(status["trainyard"]["epoch"], 1, "restarted once: {status:#}");
    assert_eq!(status["trainyard"]["orders"], json!(["first", "second"]));
    assert_eq!(status["summary"], "stopped by an order");
}
