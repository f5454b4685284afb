//! Of several operators one acts, and when it goes another does.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trainyard_cluster_tests::{Operator, shared};

use super::{Yard, install, job};

/// Who holds the Lease; waits until it is somebody that `wanted` likes.
#[track_caller]
fn leader(yard: &Yard, wanted: impl Fn(&str) -> bool) -> String {
    let path = yard
        .namespace
        .path("apis/coordination.k8s.io/v1", "leases/trainyard-operator");
    shared().api().wait(&path, "a leader", |lease: &Value| {
        let holder = lease["spec"]["holderIdentity"].as_str()?;
        wanted(holder).then(|| holder.to_owned())
    })
}

fn is(holder: &str, operator: &Operator) -> bool {
    holder.contains(&format!("_{}_", operator.id()))
}

#[test]
fn one_of_two_acts_and_the_other_takes_over() {
    let mut yard = Yard::with("leader", &["--leader-elect"]);
    leader(&yard, |holder| is(holder, &yard.operator));
    let mut second = Operator::with(&yard.namespace, &["--leader-elect"]);
    second.says("standing by");
    yard.create(&job("first", &json!({}), &[("Worker", 1, "Never")]));
    yard.pod("first-worker-0", "0.0");

    // Killed: nobody gives the Lease back, so it has to run out.
    yard.kill();
    leader(&yard, |holder| is(holder, &second));
    yard.create(&job("second", &json!({}), &[("Worker", 1, "Never")]));
    yard.pod("second-worker-0", "0.0");

    // Stopped: it is given back, and nobody waits for it to run out.
    yard.start();
    yard.operator.says("standing by");
    let begun = Instant::now();
    assert!(second.stop(), "it ends well when it is told to");
    leader(&yard, |holder| is(holder, &yard.operator));
    let took = begun.elapsed();
    assert!(
        took < Duration::from_secs(10),
        "it waited for the Lease to run out: {took:?}"
    );
    yard.create(&job("third", &json!({}), &[("Worker", 1, "Never")]));
    yard.pod("third-worker-0", "0.0");
}

#[test]
fn who_takes_over_right_after_its_start_knows_what_was_made_meanwhile() {
    let mut yard = Yard::with("heir", &["--leader-elect"]);
    leader(&yard, |holder| is(holder, &yard.operator));
    let heir = Operator::with(&yard.namespace, &["--leader-elect"]);
    // It has listed all pods.
    heir.says("ready");
    yard.create(&job(
        "kept",
        &json!({ "cleanPodPolicy": "None" }),
        &[("Worker", 2, "ExitCode")],
    ));
    let made = ["kept-worker-0", "kept-worker-1"].map(|name| yard.pod(name, "0.0"));
    yard.run(&["kept-worker-0", "kept-worker-1"]);
    yard.conditions("kept", &["Created", "Running"]);
    assert!(yard.operator.stop(), "it ends well when it is told to");
    leader(&yard, |holder| is(holder, &heir));
    for pod in ["kept-worker-1", "kept-worker-0"] {
        yard.exit(pod, 0);
    }
    yard.conditions("kept", &["Created", "!Running", "Succeeded"]);
    let now = ["kept-worker-0", "kept-worker-1"].map(|name| yard.pod(name, "0.0"));
    assert_eq!(
        made.map(|pod| pod["metadata"]["uid"].clone()),
        now.map(|pod| pod["metadata"]["uid"].clone())
    );
}

#[test]
fn one_that_has_lost_the_lease_stops_at_once() {
    let mut yard = Yard::with("lost", &["--leader-elect"]);
    leader(&yard, |holder| !holder.is_empty());
    let path = yard
        .namespace
        .path("apis/coordination.k8s.io/v1", "leases/trainyard-operator");
    let taken = json!({ "spec": { "holderIdentity": "somebody-else" } });
    shared().api().patch(&path, &taken).unwrap();
    assert_eq!(yard.operator.wait(), Some(1));
    yard.operator.says("another operator may act now");
}

#[test]
fn one_that_cannot_have_the_lease_says_so() {
    install();
    let namespace = shared().namespace("leaseless");
    let elsewhere = ["--leader-elect", "--leader-election-namespace", "nowhere"];
    let operator = Operator::with(&namespace, &elsewhere).in_vain();
    operator.says("the Lease cannot be had");
}
