//! A definition of TFJob that is not ours drops what we remember: then nothing is done, and the job says so.

use std::time::Duration;

use serde_json::{Value, json};
use trainyard_cluster_tests::{Cluster, Namespace, Operator, Parts};

use super::job;

const DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/tfjobs.kubeflow.org";
/// Whether unknown fields of a status are kept, in the first version.
const KEEPS: &str = "x-kubernetes-preserve-unknown-fields";

/// Sets whether every version keeps what it does not know of a status, and waits until the server acts by it.
fn keeps_memory(namespace: &Namespace<'_>, keeps: bool) {
    let api = namespace.cluster().api();
    let mut definition = api.get(DEFINITION).unwrap();
    for version in definition["spec"]["versions"].as_array_mut().unwrap() {
        let status = &mut version["schema"]["openAPIV3Schema"]["properties"]["status"];
        let status = status.as_object_mut().unwrap();
        status.remove(KEEPS);
        if keeps {
            status.insert(KEEPS.into(), true.into());
        }
    }
    api.replace(DEFINITION, &definition).unwrap();
    let probe = namespace.path("apis/kubeflow.org/v1", "tfjobs/probe/status");
    let mut round = 0;
    loop {
        round += 1;
        // Not the field of memory: the operator would learn from the watch that memory is kept, perhaps after it no longer is.
        let stored = api.patch(&probe, &json!({ "status": { "probing": round } }));
        if stored.is_ok_and(|stored| (stored["status"]["probing"] == round) == keeps) {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn kinds(job: &Value) -> Vec<&str> {
    let conditions = job["status"]["conditions"].as_array();
    let conditions = conditions.into_iter().flatten();
    conditions
        .filter_map(|condition| condition["type"].as_str())
        .collect()
}

#[test]
fn a_job_whose_memory_is_dropped_says_so_and_goes_on_when_it_is_kept() {
    let cluster = Cluster::start(Parts::API);
    let namespace = cluster.namespace("pruned");
    let operator = Operator::of(&namespace);
    let jobs = namespace.path("apis/kubeflow.org/v1", "tfjobs");
    let mut probe = job(
        "probe",
        &json!({ "managedBy": "kueue.x-k8s.io/multikueue" }),
        &[("Worker", 1, "Never")],
    );
    probe["metadata"]["labels"] = json!({ "for": "probing" });
    cluster.api().create(&jobs, &probe).unwrap();
    keeps_memory(&namespace, false);

    let mnist = format!("{jobs}/mnist");
    cluster
        .api()
        .create(&jobs, &job("mnist", &json!({}), &[("Worker", 1, "Never")]))
        .unwrap();
    let stalled = cluster.api().wait(&mnist, "a condition that says so", |job| {
        let last = job["status"]["conditions"].as_array()?.last()?;
        (last["type"] == "Stalled").then(|| last.clone())
    });
    let said = stalled["message"].as_str().unwrap();
    assert!(said.contains("trainyard crd | kubectl apply"), "{said}");
    assert_eq!(namespace.pods(), Vec::<Value>::new(), "nothing else is done");
    operator.says("TFJobDefinitionTooOld");

    keeps_memory(&namespace, true);
    cluster
        .api()
        .wait(&namespace.pod("mnist-worker-0"), "its pod", |_| Some(()));
    cluster.api().wait(&mnist, "nothing that holds it up", |job| {
        (kinds(job) == ["Created"]).then_some(())
    });
}
