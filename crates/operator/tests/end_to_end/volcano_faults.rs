//! A Volcano job ends the same whatever goes wrong with a write: with the objects that its pods need, when it is scaled, and when a
//! Command orders something.

use serde_json::{Value, json};
use trainyard_cluster_tests::fake_kubelet::{FakeKubelet, History};
use trainyard_cluster_tests::faulty::{Fault, FaultyProxy, Write};
use trainyard_cluster_tests::{Crds, Namespace, shared};
use trainyard_operator::kinds::volcano::KIND;

use super::faults::{Run, Told, each_is_the_same, until, without_times};
use super::install;
use super::volcano::{JOBS, history, job};

const VOLCANO: Run = Run {
    jobs: (JOBS, "jobs"),
    options: &["--kinds", "volcano"],
    before: |_| (),
    play,
};

/// What goes wrong with writes that no other kind of job has.
const FAULTS: [Fault; 4] = [
    Fault::Refuse(409),
    Fault::Refuse(500),
    Fault::Deny(504),
    Fault::HangUp,
];

#[test]
fn a_volcano_job_ends_the_same_whatever_goes_wrong_with_a_write() {
    install();
    shared().install(Crds::of(KIND.api));
    let undisturbed = VOLCANO.run(None, outcome).unwrap();
    let writes = Write::ALL.into_iter().chain(Write::MORE);
    for write in writes.clone() {
        assert!(
            undisturbed.writes.contains(&write),
            "no {write:?}: {undisturbed:#?}"
        );
    }
    let kills = [Fault::KillUnanswered, Fault::KillAnswered];
    let killed = writes.flat_map(|write| kills.map(|fault| (Some(write), fault)));
    let more = Write::MORE.into_iter();
    let more = more.flat_map(|write| FAULTS.map(|fault| (Some(write), fault)));
    each_is_the_same(killed.chain(more).collect(), |plan| {
        undisturbed.differences(VOLCANO.run(Some(plan), outcome))
    });
}

fn outcome(seen: &History, way: &FaultyProxy) -> Told {
    let status = seen.job("mnist").map(|job| job.last()["status"].clone());
    let status = status.unwrap_or_default();
    let mut memory = without_times(&status["trainyard"]);
    // The UID of the Command is part of it.
    memory["orders"] = memory["orders"].as_array().map_or(0, Vec::len).into();
    let counts = ["retryCount", "version", "succeeded", "taskStatusCount", "objects"];
    let counts: Vec<&Value> = counts.iter().map(|field| &status[field]).collect();
    let own = [
        ("phases", format!("{:?}", history(&status))),
        ("memory", memory.to_string()),
        ("counts", format!("{counts:?}")),
    ];
    Told::of(seen, way, own)
}

/// The job runs, is scaled up, is restarted by a Command, and completes when its workers have; then it is deleted.
fn play(namespace: &Namespace<'_>, kubelet: &FakeKubelet, way: &FaultyProxy) -> Result<(), String> {
    let api = shared().api();
    let jobs = namespace.path(JOBS, "jobs");
    let spec = json!({ "plugins": { "env": [], "svc": [] }, "ttlSecondsAfterFinished": 6 });
    let mut mnist = job("mnist", &spec, &[("ps", 1), ("worker", 1)]);
    mnist["spec"]["tasks"][1]["policies"] = json!([{ "event": "TaskCompleted", "action": "CompleteJob" }]);
    let uid = api.create(&jobs, &mnist).unwrap()["metadata"]["uid"].take();
    let run = |pods: &[&str], stamp: &str| {
        until(kubelet, &format!("{pods:?} of {stamp}"), |seen| {
            let all = pods.iter().all(|name| runs(seen, name, stamp));
            all && seen
                .job("mnist")
                .is_some_and(|job| job.last()["status"]["state"]["phase"] == "Running")
        })
    };
    run(&["mnist-ps-0", "mnist-worker-0"], "0.0")?;
    mnist["spec"]["tasks"][1]["replicas"] = 2.into();
    let scaled = json!({ "spec": { "tasks": mnist["spec"]["tasks"] } });
    api.patch(&format!("{jobs}/mnist"), &scaled).unwrap();
    let all = ["mnist-ps-0", "mnist-worker-0", "mnist-worker-1"];
    run(&all, "0.0")?;
    let command = json!({
        "apiVersion": "bus.volcano.sh/v1alpha1", "kind": "Command", "metadata": { "name": "again" }, "action": "RestartJob",
        "target": { "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "mnist", "uid": uid },
    });
    let commands = namespace.path("apis/bus.volcano.sh/v1alpha1", "commands");
    api.create(&commands, &command).unwrap();
    run(&all, "1.0")?;
    until(kubelet, "the Command deleted", |_| {
        way.done().iter().any(|done| done.write == Write::OrderDelete)
    })?;
    for worker in &all[1..] {
        shared().player().exit(namespace, worker, 0);
    }
    until(kubelet, "the end of the job", |seen| {
        let asked = way.done().iter().any(|done| done.write == Write::JobDelete);
        asked && seen.job("mnist").is_some_and(|job| job.gone.is_some())
    })?;
    for object in ["configmaps/mnist-svc", "services/mnist"] {
        let left = api.get(&namespace.path("api/v1", object));
        if left.is_ok() {
            return Err(format!("{object} is left"));
        }
    }
    Ok(())
}

fn runs(seen: &History, name: &str, stamp: &str) -> bool {
    seen.all("pods").any(|pod| {
        let last = pod.last();
        pod.name == name
            && last["metadata"]["annotations"]["trainyard.dev/stamp"] == stamp
            && last["status"]["phase"] == "Running"
    })
}
