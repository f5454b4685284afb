//! The examples, by `kubectl create` as they are.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::Yard;
use crate::training::accuracy;

/// What every training must reach on digits that it has not seen.
pub const GOOD: f64 = 0.9;

fn example(name: &str) -> String {
    let file = trainyard_tools::root().join("examples").join(name);
    fs::read_to_string(file).unwrap()
}

#[test]
fn a_chief_workers_and_a_server_find_each_other_by_name_and_train() {
    let Some(yard) = Yard::new("servers") else { return };
    yard.create(&example("digits.yaml"));
    let status = yard.succeeds("digits");
    // The server and the workers never end by themselves.
    yard.pods_are(&["digits-chief-0"]);
    let log = yard.log("digits-chief-0");
    assert!(accuracy(&log) >= GOOD, "{log}");
    assert!(log.contains("the weights are on /job:ps/"), "{log}");
    assert_eq!(status["replicaStatuses"]["Chief"]["succeeded"], 1);
    let namespace = yard.namespace.name();
    let config = tf_config(&yard.namespace.pods()[0]);
    assert_eq!(
        config["cluster"]["ps"][0],
        format!("digits-ps-0.digits.{namespace}.svc:2222")
    );
}

/// What the pod was told of its place.
fn tf_config(pod: &Value) -> Value {
    let variables = pod["spec"]["containers"][0]["env"].as_array().unwrap();
    let mut values = variables.iter().filter(|one| one["name"] == "TF_CONFIG");
    let value = values.next().and_then(|one| one["value"].as_str()).unwrap();
    serde_json::from_str(value).unwrap()
}

/// A claim as the examples want it: a directory of the node.
const CHECKPOINTS: &str = "
apiVersion: v1
kind: PersistentVolume
metadata: {name: NAMESPACE}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteMany]
  storageClassName: ''
  claimRef: {namespace: NAMESPACE, name: digits-checkpoints}
  hostPath: {path: PLACE, type: DirectoryOrCreate}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: digits-checkpoints}
spec:
  accessModes: [ReadWriteMany]
  storageClassName: ''
  resources: {requests: {storage: 1Gi}}
";

/// Creates the claim; where its directory is.
pub fn claim_checkpoints(yard: &Yard) -> PathBuf {
    let namespace = yard.namespace.name();
    let place = yard.namespace.cluster().place().join(namespace);
    let claim = CHECKPOINTS
        .replace("NAMESPACE", namespace)
        .replace("PLACE", &place.display().to_string());
    yard.create(&claim);
    place
}

const WORKERS: [&str; 3] = [
    "digits-mirrored-worker-0",
    "digits-mirrored-worker-1",
    "digits-mirrored-worker-2",
];

#[test]
fn mirrored_workers_lose_two_of_them_and_go_on_from_their_checkpoints() {
    let Some(yard) = Yard::new("mirrored") else { return };
    let place = claim_checkpoints(&yard);
    // As long as it takes to take a worker away.
    yard.create(&example("digits-mirrored.yaml").replace("--steps=400", "--steps=1500"));

    // Worker 1 ends itself with 137 at step 250. The others cannot go on alone: all are restarted.
    yard.restarted("digits-mirrored", 1);
    yard.until_logged(WORKERS[0], "resumed at step 200");
    yard.until_logged(WORKERS[0], "step 300 ");

    // A user deletes worker 2 by force.
    let delete = ["delete", "pod", WORKERS[2], "--force", "--grace-period=0"];
    yard.namespace.kubectl(&delete).good();
    yard.restarted("digits-mirrored", 2);

    let status = yard.succeeds("digits-mirrored");
    assert_eq!(status["replicaStatuses"]["Worker"]["succeeded"], 3);
    let logs = WORKERS.map(|worker| yard.log(worker));
    for log in &logs {
        assert!(accuracy(log) >= GOOD, "{log}");
        assert!(
            steps(log)[0] > 300,
            "what was trained is not trained again: {log}"
        );
        assert_eq!(steps(log), steps(&logs[0]));
    }
    assert!(!place.join("unfinished").exists(), "the next run begins anew");
}

/// The steps that a worker tells of in its last life.
pub fn steps(log: &str) -> Vec<u32> {
    let lines = log.lines().filter_map(|line| line.strip_prefix("step "));
    lines
        .filter_map(|line| line.split_once(' ')?.0.parse().ok())
        .collect()
}
