//! What the yard promises `step`, without a cluster: the tests play the API server.

mod ended;
mod fair;
mod first;
mod forged;
mod gone;
mod no_replicas;
mod panics;
mod refusals;
mod silent;
mod slow;
mod strangers;
mod unread;
mod unreadable;

use serde_json::{Value, json};
use trainyard_core::{Action, Fixture, Time};
use trainyard_manifest::observe::PodSeen;

use super::*;
use crate::api::Refused;
use crate::pass::{Sort, Trouble};
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

/// A yard in which the job has started: its status is stored, its Service exists, and no pod does yet.
fn started() -> (Yard, Value) {
    let mut yard = Yard::new(Reading::default());
    yard.job_seen(job(10, 1, &Value::Null));
    let pass = yard.next(NOW).unwrap();
    let status = pass.status.clone().unwrap();
    yard.reported(report(&pass, 11, Vec::new()), NOW);
    (yard, status)
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

/// The answer to a pass: its status stored as that version, its fixtures there, and these pods.
fn report(pass: &Pass, version: u64, made: Vec<PodSeen>) -> Report {
    Report {
        written: pass.status.clone().map(|status| (version, status)),
        made,
        services: vec![service("s1")],
        ..Report::of(pass.key.clone(), Arc::clone(&pass.uid))
    }
}

fn creates(pass: &Pass) -> Vec<String> {
    let task = |action: &Action| match action {
        Action::Create { task, .. } => Some(task.to_string()),
        _ => None,
    };
    pass.actions.iter().filter_map(task).collect()
}

/// The next job, in a yard that has seen the API server keep what is remembered of the one before.
fn second_job() -> Yard {
    let (mut yard, _) = started();
    yard.job_gone(&job(11, 1, &Value::Null));
    yard.service_gone(&service("s1"));
    yard.job_seen(job(12, 1, &Value::Null));
    yard
}

fn another(name: &str) -> JobWire {
    let mut wire = job(10, 1, &Value::Null);
    wire.metadata.name = Some(name.into());
    wire.metadata.uid = Some(name.into());
    wire
}

#[test]
fn a_job_that_was_told_to_go_is_told_once() {
    let mut yard = running_job();
    yard.pod_seen(pod(0, 50, "p0", &exited(0)));
    let pass = yard.next(NOW).unwrap();
    let report = Report {
        written: None,
        deleted: true,
        ..report(&pass, 0, Vec::new())
    };
    yard.reported(report, NOW);
    assert!(
        yard.next(NOW)
            .is_none_or(|pass| pass.status.is_none() && pass.actions.is_empty())
    );
}

#[test]
fn who_stands_by_keeps_no_list_and_looks_at_everything_when_it_leads() {
    let mut yard = Yard::new(Reading::default());
    yard.job_seen(another("a"));
    yard.job_seen(another("b"));
    yard.stand_by();
    assert_eq!(yard.queued(), 0);
    yard.job_gone(&another("b"));
    yard.stand_up();
    assert_eq!(&*yard.next(NOW).unwrap().key.name, "a");
}

fn refusal(sort: Sort) -> Trouble {
    Trouble {
        doing: "do something",
        sort,
        refused: Refused {
            code: 500,
            reason: String::new(),
            message: "no".into(),
        },
    }
}

#[test]
fn what_we_made_is_not_made_again() {
    let (mut yard, _) = started();
    let pass = yard.next(NOW).unwrap();
    assert_eq!(creates(&pass), ["worker-0", "worker-1"]);
    let made = vec![pod(0, 12, "p0", &json!({})), pod(1, 13, "p1", &json!({}))];
    yard.reported(report(&pass, 0, made), NOW);
    assert!(yard.next(NOW).is_none_or(|pass| creates(&pass).is_empty()));
}

#[test]
fn an_older_job_is_not_believed() {
    let (mut yard, status) = started();
    yard.job_seen(job(10, 1, &Value::Null));
    let pass = yard.next(NOW).unwrap();
    assert_eq!(pass.version, 11, "our own write is newer than the watch");
    assert!(
        pass.status
            .is_none_or(|written| written["trainyard"] == status["trainyard"])
    );
}

#[test]
fn an_older_pod_is_not_believed() {
    let (mut yard, _) = started();
    yard.pod_seen(pod(0, 20, "p0", &exited(0)));
    yard.pod_seen(pod(0, 19, "p0", &running()));
    let pass = yard.next(NOW).unwrap();
    assert_eq!(pass.status.unwrap()["conditions"][1]["type"], "Succeeded");
}

#[test]
fn nothing_is_left_of_a_job_that_is_gone() {
    let (mut yard, _) = started();
    yard.pod_seen(pod(0, 20, "p0", &running()));
    yard.job_gone(&job(30, 1, &Value::Null));
    yard.pod_gone(&pod(0, 31, "p0", &running()));
    yard.service_gone(&service("s1"));
    assert_eq!(yard.counts(), (0, 0));
    assert!(yard.next(NOW).is_none());
    assert!(yard.plots.is_empty());
}

#[test]
fn a_job_that_cannot_be_read_says_so_once_and_stops_nobody() {
    let mut yard = Yard::new(Reading::default());
    let broken = json!({ "metadata": { "name": "bad", "namespace": "ml", "uid": "b", "resourceVersion": "1",
        "generation": 1 }, "spec": { "tfReplicaSpecs": { "Worker": { "replicas": "two" } } } });
    yard.job_seen(serde_json::from_value(broken).unwrap());
    yard.job_seen(job(10, 1, &Value::Null));
    let pass = yard.next(NOW).unwrap();
    let condition = &pass.status.as_ref().unwrap()["conditions"][0];
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
    assert_eq!(pass.events.len(), 1);
    yard.reported(report(&pass, 5, Vec::new()), NOW);
    assert_eq!(&*yard.next(NOW).unwrap().key.name, "mnist");
    assert!(yard.next(NOW).is_none());
}

#[test]
fn an_edit_that_cannot_be_read_does_not_end_a_job_that_runs() {
    let (mut yard, status) = started();
    let broken = |uid: &str| {
        let wire = json!({ "metadata": { "name": "mnist", "namespace": "ml", "uid": uid, "resourceVersion": "50",
            "generation": 2 }, "spec": { "tfReplicaSpecs": { "Worker": { "replicas": "two" } } }, "status": status });
        serde_json::from_value::<JobWire>(wire).unwrap()
    };
    yard.job_seen(broken("job"));
    let pass = yard.next(NOW).unwrap();
    assert_eq!(
        creates(&pass),
        ["worker-0", "worker-1"],
        "the last spec that could be read goes on"
    );
    // After a restart nobody knows that spec any more: the job is left alone, and says so once.
    let mut yard = Yard::new(Reading::default());
    yard.job_seen(broken("job"));
    let pass = yard.next(NOW).unwrap();
    assert!(pass.actions.is_empty());
    let said = pass.status.as_ref().unwrap();
    assert_eq!(said["conditions"], status["conditions"]);
    assert_eq!(said["trainyard"], status["trainyard"]);
    assert_eq!(said["waiting"][0]["reason"], "InvalidTFJobSpec");
    assert_eq!(pass.events.len(), 1);
    yard.reported(report(&pass, 51, Vec::new()), NOW);
    assert!(yard.next(NOW).is_none());
}

#[test]
fn nothing_is_left_of_a_job_that_goes_during_a_pass() {
    let mut yard = Yard::new(Reading::default());
    yard.job_seen(job(10, 1, &Value::Null));
    let pass = yard.next(NOW).unwrap();
    yard.job_gone(&job(11, 1, &Value::Null));
    yard.reported(report(&pass, 12, Vec::new()), NOW);
    assert!(yard.plots.is_empty());
}

#[test]
fn somebody_elses_job_is_left_alone() {
    let mut yard = Yard::new(Reading::default());
    let mut wire = job(10, 1, &Value::Null);
    wire.manage("kueue.x-k8s.io/multikueue");
    yard.job_seen(wire);
    assert!(yard.next(NOW).is_none());
}

/// A yard in which both pods have been made and nothing runs.
fn made() -> Yard {
    let (mut yard, _) = started();
    let pass = yard.next(NOW).unwrap();
    let pods = vec![pod(0, 20, "p0", &json!({})), pod(1, 21, "p1", &json!({}))];
    yard.reported(report(&pass, 0, pods), NOW);
    yard
}

#[test]
fn that_pods_were_made_is_written_with_the_next_news_only() {
    let mut yard = made();
    assert!(yard.next(NOW).is_none());
    assert!(yard.next(NOW + 50).is_none());
    yard.pod_seen(pod(0, 30, "p0", &running()));
    let status = yard.next(NOW + 50).unwrap().status.unwrap();
    assert_eq!(status["trainyard"]["roles"]["worker"]["born"], 2);
}

#[test]
fn a_failure_that_a_clock_ahead_of_ours_has_dated_counts_after_a_second() {
    let mut yard = running_job();
    let mut failed = exited(1);
    failed["containerStatuses"][0]["state"]["terminated"]["finishedAt"] = "2040-01-01T00:00:00Z".into();
    yard.pod_seen(pod(0, 31, "p0", &failed));
    assert!(yard.next(NOW).is_none());
    assert_eq!(yard.wake(), Some(NOW + 1));
    let status = yard.next(NOW + 1).unwrap().status.unwrap();
    assert_eq!(status["firstFailure"]["exitCode"], 1, "{status}");
}

#[test]
fn counts_alone_wait_for_what_comes_next_but_not_long() {
    let mut yard = made();
    // Running is a condition: it is told at once. The second worker is a number.
    yard.pod_seen(pod(0, 30, "p0", &running()));
    let pass = yard.next(NOW).unwrap();
    yard.reported(report(&pass, 40, Vec::new()), NOW);
    yard.pod_seen(pod(1, 41, "p1", &running()));
    assert!(yard.next(NOW + 10).is_none());
    assert_eq!(yard.wake(), Some(NOW + 12));
    assert!(yard.next(NOW + 11).is_none());
    let pass = yard.next(NOW + 12).unwrap();
    assert_eq!(
        pass.status.as_ref().unwrap()["replicaStatuses"]["Worker"]["active"],
        2
    );
    yard.reported(report(&pass, 50, Vec::new()), NOW + 12);
    // A worker that is done is a number as well; the end of the job is not, and says both.
    yard.pod_seen(pod(1, 51, "p1", &exited(0)));
    assert!(yard.next(NOW + 20).is_none());
    yard.pod_seen(pod(0, 52, "p0", &exited(0)));
    let status = yard.next(NOW + 20).unwrap().status.unwrap();
    assert_eq!(status["replicaStatuses"]["Worker"], json!({ "succeeded": 2 }));
    assert_eq!(status["trainyard"]["roles"]["worker"]["done"], "0-1");
}

/// A job whose pods run, with its Service, of which nothing is to be done.
fn running_job() -> Yard {
    let (mut yard, _) = started();
    yard.pod_seen(pod(0, 20, "p0", &running()));
    yard.pod_seen(pod(1, 21, "p1", &running()));
    let pass = yard.next(NOW).unwrap();
    yard.reported(report(&pass, 30, Vec::new()), NOW);
    assert!(yard.next(NOW).is_none());
    yard
}
