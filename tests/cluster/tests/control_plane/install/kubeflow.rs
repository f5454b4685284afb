//! Installing over Kubeflow's operator: it is asked to go first, stored jobs stay, and running ones go on undisturbed.

use std::fs;
use std::process::{Child, Command};

use serde_json::{Value, json};
use trainyard_cluster_tests::{Cluster, Crds, Namespace, Node};
use trainyard_manifest::install::{NAME, NAMESPACE};
use trainyard_tools::KUBEFLOW;

use super::{alone, trainyard};

const NODE: &str = "yard";

/// A program that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The operator, with the rights that were installed.
fn operator(cluster: &Cluster) -> Running {
    let child = Command::new(trainyard_tools::trainyard().unwrap())
        .arg("operator")
        .env("KUBECONFIG", cluster.account(NAMESPACE, NAME).kubeconfig())
        .env("NO_PROXY", "*")
        .spawn()
        .unwrap();
    Running(child)
}

/// Kubeflow's operator as it is installed, but for its roles: the definition, the Deployment, the webhooks.
fn install_kubeflow(cluster: &Cluster) {
    cluster.install(Crds::Kubeflow);
    let folder = KUBEFLOW.folder().unwrap().join("manifests/base");
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "kubeflow" } });
    cluster
        .kubectl()
        .run_with(&["apply", "--filename", "-"], &namespace.to_string())
        .good();
    for (file, name) in [
        ("deployment.yaml", ""),
        // As their kustomization names it.
        (
            "webhook/manifests.yaml",
            "validator.training-operator.kubeflow.org",
        ),
    ] {
        let text = fs::read_to_string(folder.join(file)).unwrap();
        let text = text.replace("name: validating-webhook-configuration", &format!("name: {name}"));
        let apply = [
            "--namespace",
            "kubeflow",
            "apply",
            "--server-side",
            "--force-conflicts",
            "--filename",
            "-",
        ];
        cluster.kubectl().run_with(&apply, &text).good();
    }
    // The tests create jobs before it is removed, and no webhook server answers.
    let ignore: Vec<Value> = (0..5)
        .map(|at| json!({ "op": "replace", "path": format!("/webhooks/{at}/failurePolicy"), "value": "Ignore" }))
        .collect();
    let ignore = Value::from(ignore).to_string();
    let patch = [
        "patch",
        "validatingwebhookconfiguration",
        "validator.training-operator.kubeflow.org",
        "--type",
        "json",
    ];
    cluster
        .kubectl()
        .run(&[&patch[..], &["--patch", &ignore]].concat())
        .good();
}

/// What a hint says to type, typed.
fn obey(cluster: &Cluster, errors: &str) {
    let commands = errors.split('`').filter(|words| words.starts_with("kubectl "));
    let mut count = 0;
    for command in commands {
        let kubectl = cluster.kubectl().program().display().to_string();
        let line = command.replacen("kubectl", &kubectl, 1);
        let done = Command::new("sh")
            .args(["-c", &line])
            .env("KUBECONFIG", cluster.kubeconfig())
            .status()
            .unwrap();
        assert!(done.success(), "{command}");
        count += 1;
    }
    assert_eq!(count, 2, "{errors}");
}

/// A job as Kubeflow's operator leaves it: with a status, and no memory of ours.
fn job(namespace: &Namespace<'_>, name: &str, conditions: &[&str]) -> Value {
    let template = json!({ "spec": { "containers": [{ "name": "tensorflow", "image": "trainer" }] } });
    let role =
        |replicas: u32| json!({ "replicas": replicas, "restartPolicy": "OnFailure", "template": template });
    let jobs = namespace.path("apis/kubeflow.org/v1", "tfjobs");
    let object = json!({
        "apiVersion": "kubeflow.org/v1", "kind": "TFJob", "metadata": { "name": name },
        "spec": { "runPolicy": { "cleanPodPolicy": "None" }, "tfReplicaSpecs": { "Chief": role(1), "Worker": role(2) } },
    });
    let api = namespace.cluster().api();
    let mut stored = api.create(&jobs, &object).unwrap();
    let time = "2026-01-02T03:04:05Z";
    let conditions: Vec<Value> = conditions
        .iter()
        .map(|kind| {
            json!({
                "type": kind, "status": "True", "reason": format!("TFJob{kind}"), "message": "by Kubeflow",
                "lastUpdateTime": time, "lastTransitionTime": time,
            })
        })
        .collect();
    stored["status"] = json!({
        "conditions": conditions, "startTime": time, "replicaStatuses": { "Chief": { "active": 1 }, "Worker": { "active": 2 } },
    });
    api.replace(&format!("{jobs}/{name}/status"), &stored).unwrap()
}

/// A pod and a Service as Kubeflow's operator makes them for a replica: owned by the job, found by labels, without our stamp.
fn replica(namespace: &Namespace<'_>, job: &Value, role: &str, index: u32) -> String {
    let of = job["metadata"]["name"].as_str().unwrap();
    let name = format!("{of}-{role}-{index}");
    let labels = json!({
        "training.kubeflow.org/job-name": of, "training.kubeflow.org/operator-name": "tfjob-controller",
        "training.kubeflow.org/replica-type": role, "training.kubeflow.org/replica-index": index.to_string(),
    });
    let metadata = json!({ "name": name, "labels": labels, "ownerReferences": [{
        "apiVersion": "kubeflow.org/v1", "kind": "TFJob", "name": of, "uid": job["metadata"]["uid"],
        "controller": true, "blockOwnerDeletion": true,
    }] });
    let api = namespace.cluster().api();
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": metadata,
        "spec": { "clusterIP": "None", "selector": labels, "ports": [{ "name": "tfjob-port", "port": 2222 }] },
    });
    api.create(&namespace.path("api/v1", "services"), &service)
        .unwrap();
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": metadata,
        "spec": { "restartPolicy": "OnFailure", "containers": [{ "name": "tensorflow", "image": "trainer" }] },
    });
    api.create(&namespace.path("api/v1", "pods"), &pod).unwrap();
    let player = namespace.cluster().player();
    player.bind(namespace, &name, NODE);
    player.run(namespace, &name);
    name
}

fn uid(namespace: &Namespace<'_>, pod: &str) -> Value {
    namespace.cluster().api().get(&namespace.pod(pod)).unwrap()["metadata"]["uid"].take()
}

/// The job's stored form, without what the server counts.
fn told(job: &Value) -> Value {
    json!({ "spec": job["spec"], "status": job["status"], "uid": job["metadata"]["uid"] })
}

#[test]
fn stored_jobs_stay_and_running_ones_go_on() {
    let (cluster, _guard) = alone();
    install_kubeflow(cluster);
    cluster.player().node(&Node::ready(NODE));
    let namespace = cluster.namespace("moved");
    let finished = job(&namespace, "finished", &["Created", "Succeeded"]);
    let running = job(&namespace, "running", &["Created", "Running"]);
    // No pod can be named after it.
    let long = job(&namespace, &"l".repeat(60), &["Created"]);
    let pods = [("chief", 0), ("worker", 0), ("worker", 1)];
    let pods = pods.map(|(role, index)| replica(&namespace, &running, role, index));

    // Two operators for one kind undo each other's work: both obstacles are told, and nothing is touched.
    let refused = trainyard(cluster, &["install"]);
    assert!(!refused.success, "{}", refused.output);
    assert_eq!(refused.output, "");
    assert!(
        refused.errors.contains("deployment `kubeflow/training-operator`"),
        "{}",
        refused.errors
    );
    assert!(
        refused
            .errors
            .contains("validator.tfjob.training-operator.kubeflow.org"),
        "{}",
        refused.errors
    );
    let deployment = format!("/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{NAME}");
    assert_eq!(cluster.api().get(&deployment).unwrap_err().code, 404);
    obey(cluster, &refused.errors);
    let installed = trainyard(cluster, &["install"]).good();
    assert!(
        installed.contains("tfjobs.kubeflow.org configured"),
        "{installed}"
    );

    for version in ["v1", "v1beta1"] {
        for before in [&finished, &running] {
            let name = before["metadata"]["name"].as_str().unwrap();
            let path = namespace.path(&format!("apis/kubeflow.org/{version}"), &format!("tfjobs/{name}"));
            assert_eq!(
                told(&cluster.api().get(&path).unwrap()),
                told(before),
                "{version} of {name}"
            );
        }
    }
    let before = pods.clone().map(|pod| uid(&namespace, &pod));
    let _operator = operator(cluster);
    goes_on(&namespace);
    let long = format!("tfjobs/{}", long["metadata"]["name"].as_str().unwrap());
    let long = namespace.path("apis/kubeflow.org/v1", &long);
    cluster.api().wait(&long, "what is wrong with it", |job| {
        let last = job["status"]["conditions"].as_array()?.last()?;
        (last["reason"] == "InvalidTFJobSpec").then_some(())
    });
    let after = pods.map(|pod| uid(&namespace, &pod));
    assert_eq!(before[..2], after[..2], "what ran goes on running");
    let path = namespace.path("apis/kubeflow.org/v1", "tfjobs/finished");
    let now = cluster.api().get(&path).unwrap();
    assert_eq!(now["status"]["conditions"], finished["status"]["conditions"]);
    let pods = namespace.pods();
    let names: Vec<&str> = pods
        .iter()
        .filter_map(|pod| pod["metadata"]["name"].as_str())
        .collect();
    assert_eq!(
        names,
        ["running-chief-0", "running-worker-0", "running-worker-1"],
        "what has ended is not run again"
    );
    trainyard(cluster, &["uninstall"]).good();
}

/// A worker that Kubeflow started is drained and comes back, with Kubeflow's addresses; then the chief ends the job.
fn goes_on(namespace: &Namespace<'_>) {
    let cluster = namespace.cluster();
    let path = namespace.path("apis/kubeflow.org/v1", "tfjobs/running");
    cluster.api().wait(&path, "a memory of ours", |job| {
        job["status"]["trainyard"].is_object().then_some(())
    });
    let job = cluster.api().get(&path).unwrap();
    assert_eq!(
        job["status"]["startTime"], "2026-01-02T03:04:05Z",
        "it began when it began"
    );
    cluster.player().evict(namespace, "running-worker-1");
    cluster.player().vanish(namespace, "running-worker-1", 143);
    let made = |pod: &Value| {
        let stamp = &pod["metadata"]["annotations"]["trainyard.dev/stamp"];
        (*stamp == "0.1").then(|| pod["spec"]["containers"][0]["env"].clone())
    };
    let env = cluster
        .api()
        .wait(&namespace.pod("running-worker-1"), "its next life", made);
    let config = env
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["name"] == "TF_CONFIG")
        .unwrap();
    let config: Value = serde_json::from_str(config["value"].as_str().unwrap()).unwrap();
    let address = format!("running-worker-0.{}.svc:2222", namespace.name());
    assert_eq!(
        config["cluster"]["worker"][0],
        address.as_str(),
        "its peers are known by these names alone"
    );
    cluster.player().exit(namespace, "running-chief-0", 0);
    cluster.api().wait(&path, "success", |job| {
        let last = job["status"]["conditions"].as_array()?.last()?;
        (last["type"] == "Succeeded").then_some(())
    });
}
