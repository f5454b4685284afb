//! A job of T9k's ends the same when the operator is killed after any kind of write: a replica is started again, the job is paused and
//! resumed, ends, and is cleaned up.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use trainyard_cluster_tests::fake_kubelet::{FakeKubelet, History, ProgramEnd, Script};
use trainyard_cluster_tests::faulty::{Fault, FaultyProxy, Write};
use trainyard_cluster_tests::{Crds, Namespace, shared};
use trainyard_manifest::kinds::t9k::API;

use super::super::faults::{Run, Told, each_is_the_same, until, without_times};
use super::super::install;
use super::super::played::T9K;
use super::{jobs, training_job};

/// What is written for such a job. It has no time to live, so it is never deleted.
const WRITES: [Write; 5] = [
    Write::Status,
    Write::Service,
    Write::Pod,
    Write::PodDelete,
    Write::Event,
];

const RUN: Run = Run {
    jobs: T9K.jobs,
    options: &["--kinds", "tensorflowtrainingjob"],
    before: |_| (),
    play,
};

#[test]
fn a_training_job_ends_the_same_whenever_the_operator_is_killed() {
    install();
    shared().install(Crds::of(&API));
    let undisturbed = RUN.run(None, outcome).unwrap();
    for write in WRITES {
        assert!(
            undisturbed.writes.contains(&write),
            "no {write:?}: {undisturbed:#?}"
        );
    }
    let kills = [Fault::KillUnanswered, Fault::KillAnswered];
    let plans = WRITES
        .into_iter()
        .flat_map(|write| kills.map(|fault| (Some(write), fault)));
    each_is_the_same(plans.collect(), |plan| {
        undisturbed.differences(RUN.run(Some(plan), outcome))
    });
}

fn play(namespace: &Namespace<'_>, kubelet: &FakeKubelet, _: &FaultyProxy) -> Result<(), String> {
    let dies = Script {
        ends: [(0, (1, ProgramEnd::Code(137)))].into(),
        ..Script::default()
    };
    kubelet.script("mnist-worker-1", dies);
    let resume = json!([{ "type": "worker", "args": ["--restore"] }]);
    let rest = json!({
        "runPolicy": { "cleanUpPolicy": "Unfinished", "backoffLimit": 1 },
        "runMode": { "pause": { "enabled": false, "resumeSpecs": resume } },
    });
    let roles = [("ps", 1, "ExitCode"), ("worker", 2, "ExitCode")];
    let api = shared().api();
    api.create(&jobs(namespace), &training_job("mnist", &rest, &roles))
        .unwrap();
    let path = format!("{}/mnist", jobs(namespace));
    let pause = |enabled: bool| json!({ "spec": { "runMode": { "pause": { "enabled": enabled } } } });
    until(kubelet, "the second life of worker-1", |history| {
        let lives = [("ps-0", "0.0"), ("worker-0", "0.0"), ("worker-1", "0.1")];
        lives.iter().all(|(task, stamp)| is_running(history, task, stamp)) && phase(history) == "Running"
    })?;
    api.patch(&path, &pause(true)).unwrap();
    until(kubelet, "a pause", |history| {
        let gone = history.all("pods").all(|pod| pod.gone.is_some());
        gone && phase(history) == "Paused" && count(history, "deleted") == 3
    })?;
    api.patch(&path, &pause(false)).unwrap();
    until(kubelet, "the job running again", |history| {
        let tasks = ["ps-0", "worker-0", "worker-1"];
        tasks.iter().all(|task| is_running(history, task, "1.0")) && phase(history) == "Running"
    })?;
    shared().player().exit(namespace, "mnist-worker-0", 0);
    until(kubelet, "the end of the job", |history| {
        let left = history.all("pods").filter(|pod| pod.gone.is_none()).count();
        phase(history) == "Succeeded" && left == 1 && count(history, "deleted") == 2
    })
}

fn status(history: &History) -> Value {
    let job = history.job("mnist");
    job.map(|job| job.last()["status"].clone()).unwrap_or_default()
}

fn phase(history: &History) -> String {
    status(history)["phase"].as_str().unwrap_or_default().to_owned()
}

fn count(history: &History, state: &str) -> u64 {
    status(history)["aggregate"][state].as_u64().unwrap_or_default()
}

fn is_running(history: &History, task: &str, stamp: &str) -> bool {
    history.all("pods").any(|pod| {
        let last = pod.last();
        pod.name == format!("mnist-{task}")
            && last["metadata"]["annotations"]["trainyard.dev/stamp"] == stamp
            && last["status"]["phase"] == "Running"
    })
}

fn outcome(history: &History, way: &FaultyProxy) -> Told {
    let status = status(history);
    let arguments = history.all("pods").map(|pod| {
        let last = pod.last();
        let stamp = &last["metadata"]["annotations"]["trainyard.dev/stamp"];
        let args = last["spec"]["containers"][0]["args"].clone();
        (format!("{} {stamp}", pod.name), args)
    });
    let arguments: BTreeMap<String, Value> = arguments.collect();
    let conditions = without(&status["conditions"], "lastTransitionTime");
    let own = [
        ("conditions", conditions.to_string()),
        ("tasks", without(&status["tasks"], "uid").to_string()),
        (
            "counts",
            json!([status["aggregate"], status["backoffCount"]]).to_string(),
        ),
        ("memory", without_times(&status["trainyard"]).to_string()),
        ("arguments", format!("{arguments:?}")),
    ];
    Told::of(history, way, own)
}

/// The same without a field that differs from run to run.
fn without(value: &Value, field: &str) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(key, _)| *key != field);
            kept.map(|(key, value)| (key.clone(), without(value, field)))
                .collect()
        }
        Value::Array(items) => items.iter().map(|item| without(item, field)).collect(),
        other => other.clone(),
    }
}
