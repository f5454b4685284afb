//! The operator as `trainyard install` puts it on a cluster: pods with next to no rights, which run a job.

use serde_json::Value;
use trainyard_cluster_tests::{Cluster, Namespace, with_node};
use trainyard_manifest::install::{NAME, NAMESPACE};

use crate::PATIENCE;

const JOB: &str = "
apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: small}
spec:
  runPolicy: {cleanPodPolicy: Running}
  tfReplicaSpecs:
    PS:
      replicas: 1
      template: {spec: {containers: [{name: tensorflow, image: busybox, imagePullPolicy: IfNotPresent, command: [sleep, '3600']}]}}
    Worker:
      replicas: 2
      template: {spec: {containers: [{name: tensorflow, image: busybox, imagePullPolicy: IfNotPresent, command: [sh, -c, 'echo $TF_CONFIG']}]}}
";

/// For one namespace: other tests have operators of their own for theirs.
fn install(cluster: &Cluster, namespace: &Namespace<'_>) {
    let said = std::process::Command::new(trainyard_tools::trainyard().unwrap())
        .args(["install", "--watch-namespace", namespace.name()])
        .env("KUBECONFIG", cluster.kubeconfig())
        .env("NO_PROXY", "*")
        .output()
        .unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
}

/// All of them are ready, those too that only wait for the lease.
#[track_caller]
fn rolled_out(cluster: &Cluster) {
    let path = format!("/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{NAME}");
    let ready = |deployment: &Value| (deployment["status"]["readyReplicas"] == 2).then_some(());
    cluster
        .api()
        .wait_for(PATIENCE, &path, "two operators that are ready", ready);
}

fn succeeded(namespace: &Namespace<'_>, job: &str) {
    let path = namespace.path("apis/kubeflow.org/v1", &format!("tfjobs/{job}"));
    let done = |job: &Value| {
        let last = job["status"]["conditions"].as_array()?.last()?;
        (last["type"] == "Succeeded").then_some(())
    };
    namespace
        .cluster()
        .api()
        .wait_for(PATIENCE, &path, "success", done);
}

#[test]
fn what_is_installed_runs_a_job() {
    let Some(cluster) = with_node() else { return };
    let namespace = cluster.namespace("installed");
    install(cluster, &namespace);
    rolled_out(cluster);
    namespace.apply(JOB).good();
    succeeded(&namespace, "small");
    let config = namespace.kubectl(&["logs", "small-worker-0"]).good();
    assert!(config.contains("small-worker-1.small"), "{config}");
    // Its server is stopped, and goes with the kubelet's word that it has.
    cluster.api().wait_until_gone(&namespace.pod("small-ps-0"));
    let account = cluster.account(NAMESPACE, NAME);
    let refused: Vec<_> = account
        .asked()
        .into_iter()
        .filter(|asked| !asked.allowed)
        .collect();
    assert!(refused.is_empty(), "{refused:#?}");
}
