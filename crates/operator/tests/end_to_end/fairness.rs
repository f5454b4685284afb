//! One namespace's load does not keep another one waiting.

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trainyard_cluster_tests::{Cluster, Crds, Parts};

use super::job;

/// Requests per second. The load below takes a minute then, on any machine.
const RATE: usize = 10;
const LOAD: [(&str, u32); 3] = [("a", 200), ("b", 200), ("c", 200)];

struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn pods(cluster: &Cluster, namespace: &str) -> Vec<Value> {
    let path = format!("/api/v1/namespaces/{namespace}/pods");
    cluster.api().list(&path).unwrap()
}

fn until<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_mins(1), "waited in vain: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// An operator of all namespaces would run the jobs of other tests, so it has a cluster of its own.
#[test]
fn a_small_job_does_not_wait_for_the_large_ones_of_another_namespace() {
    let cluster = Cluster::start(Parts::API);
    cluster.install(Crds::TfJob);
    for name in ["load", "other"] {
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
        cluster.api().create("/api/v1/namespaces", &namespace).unwrap();
    }
    let create = |namespace: &str, name: &str, workers: u32| {
        let path = format!("/apis/kubeflow.org/v1/namespaces/{namespace}/tfjobs");
        let job = job(name, &json!({}), &[("Worker", workers, "Never")]);
        cluster.api().create(&path, &job).unwrap();
    };
    for (name, workers) in LOAD {
        create("load", name, workers);
    }
    let program = trainyard_tools::trainyard().unwrap_or_else(|missing| panic!("{missing}"));
    let started = Command::new(program)
        .args([
            "operator",
            "--kube-api-burst",
            "1",
            "--kube-api-qps",
            &RATE.to_string(),
        ])
        .env("KUBECONFIG", cluster.kubeconfig())
        .env("NO_PROXY", "*")
        .stderr(Stdio::null())
        .spawn();
    let _operator = Ended(started.unwrap());
    until("the load is under way", || {
        (pods(&cluster, "load").len() >= 2 * RATE).then_some(())
    });
    for number in 0..3 {
        let before = pods(&cluster, "load").len();
        create("other", &format!("small-{number}"), 1);
        until("its pod", || {
            (pods(&cluster, "other").len() > number).then_some(())
        });
        let made = pods(&cluster, "load").len() - before;
        // Its Service and its pod, each after a request or two of the load's; and what passes while the tests look.
        assert!(made <= 2 * RATE, "{made} pods of the load came first");
    }
}
