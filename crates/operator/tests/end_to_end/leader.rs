//! Of several operators one acts, and when it goes another does.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trainyard_cluster_tests::{Namespace, Operator, shared};

use super::{Harness, install, job};

/// Waits until the Lease has a holder that `wanted` accepts, and returns its identity.
#[track_caller]
pub fn leader(namespace: &Namespace<'_>, wanted: impl Fn(&str) -> bool) -> String {
    let path = namespace.path("apis/coordination.k8s.io/v1", "leases/trainyard-operator");
    shared().api().wait(&path, "a leader", |lease: &Value| {
        let holder = lease["spec"]["holderIdentity"].as_str()?;
        wanted(holder).then(|| holder.to_owned())
    })
}

pub fn is(holder: &str, operator: &Operator) -> bool {
    holder.contains(&format!("_{}_", operator.id()))
}

#[test]
fn one_of_two_acts_and_the_other_takes_over() {
    let mut harness = Harness::with("leader", &["--leader-elect"]);
    leader(&harness.namespace, |holder| is(holder, &harness.operator));
    let mut second = Operator::with(&harness.namespace, &["--leader-elect"]);
    second.says("standing by");
    harness.create(&job("first", &json!({}), &[("Worker", 1, "Never")]));
    harness.pod("first-worker-0", "0.0");

    // Killed: the Lease is not released, so it has to expire.
    harness.kill();
    leader(&harness.namespace, |holder| is(holder, &second));
    harness.create(&job("second", &json!({}), &[("Worker", 1, "Never")]));
    harness.pod("second-worker-0", "0.0");

    // Stopped: the Lease is released, and the other does not wait until it expires.
    harness.start();
    harness.operator.says("standing by");
    let begun = Instant::now();
    assert!(second.stop(), "it ends well when it is told to");
    leader(&harness.namespace, |holder| is(holder, &harness.operator));
    let took = begun.elapsed();
    assert!(
        took < Duration::from_secs(10),
        "it waited for the Lease to run out: {took:?}"
    );
    harness.create(&job("third", &json!({}), &[("Worker", 1, "Never")]));
    harness.pod("third-worker-0", "0.0");
}

#[test]
fn a_new_leader_knows_the_pods_that_were_created_while_it_stood_by() {
    let mut harness = Harness::with("heir", &["--leader-elect"]);
    leader(&harness.namespace, |holder| is(holder, &harness.operator));
    let heir = Operator::with(&harness.namespace, &["--leader-elect"]);
    // It has listed all pods.
    heir.says("ready");
    harness.create(&job(
        "kept",
        &json!({ "cleanPodPolicy": "None" }),
        &[("Worker", 2, "ExitCode")],
    ));
    let made = ["kept-worker-0", "kept-worker-1"].map(|name| harness.pod(name, "0.0"));
    harness.run(&["kept-worker-0", "kept-worker-1"]);
    harness.conditions("kept", &["Created", "Running"]);
    assert!(harness.operator.stop(), "it ends well when it is told to");
    leader(&harness.namespace, |holder| is(holder, &heir));
    for pod in ["kept-worker-1", "kept-worker-0"] {
        harness.exit(pod, 0);
    }
    harness.conditions("kept", &["Created", "!Running", "Succeeded"]);
    let now = ["kept-worker-0", "kept-worker-1"].map(|name| harness.pod(name, "0.0"));
    assert_eq!(
        made.map(|pod| pod["metadata"]["uid"].clone()),
        now.map(|pod| pod["metadata"]["uid"].clone())
    );
}

#[test]
fn one_that_has_lost_the_lease_stops_at_once() {
    let mut harness = Harness::with("lost", &["--leader-elect"]);
    leader(&harness.namespace, |holder| !holder.is_empty());
    let path = harness
        .namespace
        .path("apis/coordination.k8s.io/v1", "leases/trainyard-operator");
    let taken = json!({ "spec": { "holderIdentity": "another-operator" } });
    shared().api().patch(&path, &taken).unwrap();
    assert_eq!(harness.operator.wait(), Some(1));
    harness.operator.says("another operator may act now");
}

#[test]
fn one_that_cannot_have_the_lease_says_so() {
    install();
    let namespace = shared().namespace("leaseless");
    let elsewhere = ["--leader-elect", "--leader-election-namespace", "nowhere"];
    let operator = Operator::with(&namespace, &elsewhere).in_vain();
    operator.says("cannot acquire the Lease");
}
