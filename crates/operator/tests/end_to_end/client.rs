//! Kubeflow's client for Python, unmodified, with our operator: `kubeflow-training` from `PyPI`.

use serde_json::Value;
use trainyard_cluster_tests::{Client, shared};

use super::Harness;

/// The steps are in `tests/client/played.py`; this plays the pods that they ask for.
#[test]
fn the_client_of_kubeflow_creates_waits_lists_changes_and_deletes_jobs() {
    let harness = Harness::new("client");
    Client::run(&harness.namespace, "played.py", |asked| {
        let words: Vec<&str> = asked.split_whitespace().collect();
        match words[..] {
            ["run", ref pods @ ..] => harness.run(pods),
            ["exit", pod, code] => harness.exit(pod, code.parse().unwrap()),
            _ => panic!("the script asks for `{asked}`"),
        }
    });
    // What belonged to the jobs goes with them. Pods that run are asked to end, as by a kubelet; others are gone at once.
    let runs = |pod: &&Value| pod["status"]["phase"] == "Running";
    for pod in harness.namespace.pods().iter().filter(runs) {
        harness.vanish(pod["metadata"]["name"].as_str().unwrap_or_default(), 143);
    }
    let services = harness.namespace.path("api/v1", "services");
    shared().api().wait(&services, "no Services", |list| {
        list["items"].as_array()?.is_empty().then_some(())
    });
    let pods = harness.namespace.path("api/v1", "pods");
    shared().api().wait(&pods, "no pods", |list| {
        list["items"].as_array()?.is_empty().then_some(())
    });
}
