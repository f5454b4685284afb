//! What the store promises `step`, without a cluster: the tests play the API server.

mod adversary;
mod boards;
mod causes;
mod columns;
mod ended;
mod extras;
mod fair;
mod first;
mod forged;
mod gates;
mod gone;
mod kinds;
mod lost_nodes;
mod no_replicas;
mod orders;
mod other_manager;
mod panics;
mod policies;
mod refusals;
mod slow;
mod strangers;
mod taken_over;
mod unreadable_memory;
mod unreadable_pods;
mod workloads;

use serde_json::{Value, json};
use trainyard_core::{Action, Fixture, Time};
use trainyard_manifest::observe::PodSeen;

use super::*;
use crate::api::ApiError;
use crate::apply::{ApplyError, ApplyErrorKind, Created};
use crate::kinds::tfjob::KIND as TFJOB;
use crate::watched::ServiceSeen;

const NOW: Time = Time(1_800_000_000);

fn job(version: u64, generation: i64, status: &Value) -> JobWire {
    let template = json!({ "spec": { "containers": [{ "name": "tensorflow", "image": "i" }] } });
    let wire = json!({
        "metadata": {
            "name": "mnist", "namespace": "ml", "uid": "job", "resourceVersion": version.to_string(),
            "generation": generation,
        },
        "spec": { "tfReplicaSpecs": { "Worker": { "replicas": 2, "restartPolicy": "ExitCode", "template": template } } },
        "status": status,
    });
    serde_json::from_value(wire).unwrap()
}

fn pod(index: u32, version: u64, uid: &str, status: &Value) -> PodSeen {
    let wire = json!({
        "metadata": {
            "name": format!("mnist-worker-{index}"), "namespace": "ml", "uid": uid,
            "resourceVersion": version.to_string(), "creationTimestamp": "2027-01-15T07:59:58Z",
            "labels": {
                "trainyard.dev/job-name": "mnist", "trainyard.dev/role": "worker",
                "trainyard.dev/task-index": index.to_string(),
            },
            "annotations": { "trainyard.dev/stamp": "0.0" },
            "ownerReferences": [{
                "apiVersion": "kubeflow.org/v1", "kind": "TFJob", "uid": "job", "controller": true,
            }],
        },
        "spec": { "restartPolicy": "Never", "containers": [{ "name": "tensorflow" }] },
        "status": status,
    });
    serde_json::from_value(wire).unwrap()
}

fn running() -> Value {
    json!({ "phase": "Running" })
}

fn exited(code: i32) -> Value {
    let phase = if code == 0 { "Succeeded" } else { "Failed" };
    json!({ "phase": phase, "containerStatuses": [{ "name": "tensorflow", "state": { "terminated": {
        "exitCode": code, "startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:01:00Z" } } }] })
}

/// A store in which the job has started: its status is stored, its Service exists, and no pod does yet.
fn started() -> (Store, Value) {
    let mut store = Store::new(Reading::default());
    store.job_seen(&TFJOB, job(10, 1, &Value::Null));
    let writes = store.next(NOW).unwrap();
    let status = writes.status.clone().unwrap();
    store.applied(report(&writes, 11, Vec::new()), NOW);
    (store, status)
}

/// The job's Service.
fn service(uid: &str) -> ServiceSeen {
    ServiceSeen {
        name: "mnist".into(),
        namespace: "ml".into(),
        uid: uid.into(),
        job: "mnist".into(),
        owner: Some("job".into()),
    }
}

/// The answer to an apply: its status stored as that version, its fixtures there, and these pods.
fn report(writes: &Writes, version: u64, made: Vec<PodSeen>) -> Report {
    Report {
        written: writes.status.clone().map(|status| (version, status)),
        made,
        services: vec![service("s1")],
        ..Report::of(writes.key.clone(), Arc::clone(&writes.uid))
    }
}

fn creates(writes: &Writes) -> Vec<String> {
    let task = |action: &Action| match action {
        Action::Create { task, .. } => Some(task.to_string()),
        _ => None,
    };
    writes.actions.iter().filter_map(task).collect()
}

/// The next job, in a store that has seen the API server keep what is remembered of the one before.
fn second_job() -> Store {
    let (mut store, _) = started();
    store.job_gone(&TFJOB, &job(11, 1, &Value::Null));
    store.service_gone(&TFJOB, &service("s1"));
    store.job_seen(&TFJOB, job(12, 1, &Value::Null));
    store
}

fn another(name: &str) -> JobWire {
    let mut wire = job(10, 1, &Value::Null);
    wire.metadata.name = Some(name.into());
    wire.metadata.uid = Some(name.into());
    wire
}

#[test]
fn a_job_that_was_told_to_go_is_told_once() {
    let mut store = running_job();
    store.pod_seen(&TFJOB, pod(0, 50, "p0", &exited(0)));
    let writes = store.next(NOW).unwrap();
    let report = Report {
        written: None,
        deleted: true,
        ..report(&writes, 0, Vec::new())
    };
    store.applied(report, NOW);
    assert!(
        store
            .next(NOW)
            .is_none_or(|writes| writes.status.is_none() && writes.actions.is_empty())
    );
}

#[test]
fn who_stands_by_keeps_no_list_and_looks_at_everything_when_it_leads() {
    let mut store = Store::new(Reading::default());
    store.job_seen(&TFJOB, another("a"));
    store.job_seen(&TFJOB, another("b"));
    store.stop_leading();
    assert_eq!(store.queued(), 0);
    store.job_gone(&TFJOB, &another("b"));
    store.start_leading();
    assert_eq!(&*store.next(NOW).unwrap().key.name, "a");
}

fn refusal(kind: ApplyErrorKind) -> ApplyError {
    ApplyError {
        doing: "do something",
        kind,
        refused: ApiError {
            is_quota: false,
            code: 500,
            reason: String::new(),
            message: "no".into(),
        },
    }
}

#[test]
fn what_we_made_is_not_made_again() {
    let (mut store, _) = started();
    let writes = store.next(NOW).unwrap();
    assert_eq!(creates(&writes), ["worker-0", "worker-1"]);
    let made = vec![pod(0, 12, "p0", &json!({})), pod(1, 13, "p1", &json!({}))];
    store.applied(report(&writes, 0, made), NOW);
    assert!(store.next(NOW).is_none_or(|writes| creates(&writes).is_empty()));
}

#[test]
fn an_older_job_is_not_believed() {
    let (mut store, status) = started();
    store.job_seen(&TFJOB, job(10, 1, &Value::Null));
    let writes = store.next(NOW).unwrap();
    assert_eq!(writes.version, 11, "our own write is newer than the watch");
    assert!(
        writes
            .status
            .is_none_or(|written| written["trainyard"] == status["trainyard"])
    );
}

#[test]
fn an_older_pod_is_not_believed() {
    let (mut store, _) = started();
    store.pod_seen(&TFJOB, pod(0, 20, "p0", &exited(0)));
    store.pod_seen(&TFJOB, pod(0, 19, "p0", &running()));
    let writes = store.next(NOW).unwrap();
    assert_eq!(writes.status.unwrap()["conditions"][1]["type"], "Succeeded");
}

#[test]
fn nothing_is_left_of_a_job_that_is_gone() {
    let (mut store, _) = started();
    store.pod_seen(&TFJOB, pod(0, 20, "p0", &running()));
    store.job_gone(&TFJOB, &job(30, 1, &Value::Null));
    store.pod_gone(&TFJOB, &pod(0, 31, "p0", &running()));
    store.service_gone(&TFJOB, &service("s1"));
    assert_eq!(store.counts(), (0, 0));
    assert!(store.next(NOW).is_none());
    assert!(store.entries.is_empty());
}

#[test]
fn a_job_that_cannot_be_read_says_so_once_and_stops_nobody() {
    let mut store = Store::new(Reading::default());
    let broken = json!({ "metadata": { "name": "bad", "namespace": "ml", "uid": "b", "resourceVersion": "1",
        "generation": 1 }, "spec": { "tfReplicaSpecs": { "Worker": { "replicas": "two" } } } });
    store.job_seen(&TFJOB, serde_json::from_value(broken).unwrap());
    store.job_seen(&TFJOB, job(10, 1, &Value::Null));
    let writes = store.next(NOW).unwrap();
    let condition = &writes.status.as_ref().unwrap()["conditions"][0];
    assert_eq!(
        (&condition["type"], &condition["reason"]),
        (&json!("Failed"), &json!("InvalidTFJobSpec"))
    );
    let message = condition["message"].as_str().unwrap();
    assert!(
        message.contains("spec.tfReplicaSpecs.Worker.replicas"),
        "{message}"
    );
    assert!(!message.contains("allowed"), "it says what it expects: {message}");
    assert_eq!(writes.events.len(), 1);
    store.applied(report(&writes, 5, Vec::new()), NOW);
    assert_eq!(&*store.next(NOW).unwrap().key.name, "mnist");
    assert!(store.next(NOW).is_none());
}

#[test]
fn an_edit_that_cannot_be_read_does_not_end_a_job_that_runs() {
    let (mut store, status) = started();
    let broken = |uid: &str| {
        let wire = json!({ "metadata": { "name": "mnist", "namespace": "ml", "uid": uid, "resourceVersion": "50",
            "generation": 2 }, "spec": { "tfReplicaSpecs": { "Worker": { "replicas": "two" } } }, "status": status });
        serde_json::from_value::<JobWire>(wire).unwrap()
    };
    store.job_seen(&TFJOB, broken("job"));
    let writes = store.next(NOW).unwrap();
    assert_eq!(
        creates(&writes),
        ["worker-0", "worker-1"],
        "the last spec that could be read goes on"
    );
    // After a restart of the operator that spec is not known any more: the job is left alone, and says so once.
    let mut store = Store::new(Reading::default());
    store.job_seen(&TFJOB, broken("job"));
    let writes = store.next(NOW).unwrap();
    assert!(writes.actions.is_empty());
    let said = writes.status.as_ref().unwrap();
    assert_eq!(said["conditions"], status["conditions"]);
    assert_eq!(said["trainyard"], status["trainyard"]);
    assert_eq!(said["waiting"][0]["reason"], "InvalidTFJobSpec");
    assert_eq!(writes.events.len(), 1);
    store.applied(report(&writes, 51, Vec::new()), NOW);
    assert!(store.next(NOW).is_none());
}

#[test]
fn nothing_is_left_of_a_job_that_goes_during_a_pass() {
    let mut store = Store::new(Reading::default());
    store.job_seen(&TFJOB, job(10, 1, &Value::Null));
    let writes = store.next(NOW).unwrap();
    store.job_gone(&TFJOB, &job(11, 1, &Value::Null));
    store.applied(report(&writes, 12, Vec::new()), NOW);
    assert!(store.entries.is_empty());
}

#[test]
fn somebody_elses_job_is_left_alone() {
    let mut store = Store::new(Reading::default());
    let mut wire = job(10, 1, &Value::Null);
    wire.manage("kueue.x-k8s.io/multikueue");
    store.job_seen(&TFJOB, wire);
    assert!(store.next(NOW).is_none());
}

/// A store in which both pods have been made and nothing runs.
fn made() -> Store {
    let (mut store, _) = started();
    let writes = store.next(NOW).unwrap();
    let pods = vec![pod(0, 20, "p0", &json!({})), pod(1, 21, "p1", &json!({}))];
    store.applied(report(&writes, 0, pods), NOW);
    store
}

#[test]
fn that_pods_were_made_is_written_with_the_next_news_only() {
    let mut store = made();
    assert!(store.next(NOW).is_none());
    assert!(store.next(NOW + 50).is_none());
    store.pod_seen(&TFJOB, pod(0, 30, "p0", &running()));
    let status = store.next(NOW + 50).unwrap().status.unwrap();
    assert_eq!(status["trainyard"]["roles"]["worker"]["born"], 2);
}

#[test]
fn a_failure_that_a_clock_ahead_of_ours_has_dated_counts_after_a_second() {
    let mut store = running_job();
    let mut failed = exited(1);
    failed["containerStatuses"][0]["state"]["terminated"]["finishedAt"] = "2040-01-01T00:00:00Z".into();
    store.pod_seen(&TFJOB, pod(0, 31, "p0", &failed));
    assert!(store.next(NOW).is_none());
    assert_eq!(store.wake(), Some(NOW + 1));
    let status = store.next(NOW + 1).unwrap().status.unwrap();
    assert_eq!(status["firstFailure"]["exitCode"], 1, "{status}");
}

#[test]
fn counts_alone_wait_for_what_comes_next_but_not_long() {
    let mut store = made();
    // Running is a condition: it is told at once. The second worker is a number.
    store.pod_seen(&TFJOB, pod(0, 30, "p0", &running()));
    let writes = store.next(NOW).unwrap();
    store.applied(report(&writes, 40, Vec::new()), NOW);
    store.pod_seen(&TFJOB, pod(1, 41, "p1", &running()));
    assert!(store.next(NOW + 10).is_none());
    assert_eq!(store.wake(), Some(NOW + 12));
    assert!(store.next(NOW + 11).is_none());
    let writes = store.next(NOW + 12).unwrap();
    assert_eq!(
        writes.status.as_ref().unwrap()["replicaStatuses"]["Worker"]["active"],
        2
    );
    store.applied(report(&writes, 50, Vec::new()), NOW + 12);
    // A worker that is done is a number as well; the end of the job is not, and says both.
    let mut done = exited(0);
    done["containerStatuses"][0]["state"]["terminated"]["finishedAt"] = "2027-01-15T08:00:19Z".into();
    store.pod_seen(&TFJOB, pod(1, 51, "p1", &done));
    assert!(store.next(NOW + 20).is_none());
    assert_eq!(
        store.wake(),
        Some(NOW + 21),
        "stored within two seconds of its end"
    );
    store.pod_seen(&TFJOB, pod(0, 52, "p0", &done));
    let status = store.next(NOW + 20).unwrap().status.unwrap();
    assert_eq!(status["replicaStatuses"]["Worker"], json!({ "succeeded": 2 }));
    assert_eq!(status["trainyard"]["roles"]["worker"]["done"], "0-1");
}

/// A job whose pods run, with its Service, of which nothing is to be done.
fn running_job() -> Store {
    let (mut store, _) = started();
    store.pod_seen(&TFJOB, pod(0, 20, "p0", &running()));
    store.pod_seen(&TFJOB, pod(1, 21, "p1", &running()));
    let writes = store.next(NOW).unwrap();
    store.applied(report(&writes, 30, Vec::new()), NOW);
    assert!(store.next(NOW).is_none());
    store
}
