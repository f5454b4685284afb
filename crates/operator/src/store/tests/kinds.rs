//! Jobs of two kinds with one name.

use super::*;
use crate::kinds::t9k::KIND as T9K;

fn both() -> Store {
    Store::new(Reading {
        kinds: vec![&TFJOB, &T9K],
        ..Reading::default()
    })
}

fn training_job(created: &str) -> JobWire {
    let template = json!({ "spec": { "containers": [{ "name": "tensorflow", "image": "i" }] } });
    let wire = json!({
        "metadata": {
            "name": "mnist", "namespace": "ml", "uid": "t9k", "resourceVersion": "5", "generation": 1,
            "creationTimestamp": created,
        },
        "spec": { "replicaSpecs": [{ "type": "worker", "replicas": 1, "template": template }] },
    });
    serde_json::from_value(wire).unwrap()
}

const EARLY: &str = "2020-01-01T00:00:00Z";
const LATE: &str = "2027-01-01T00:00:00Z";

fn tfjob(created: &str) -> JobWire {
    let mut wire = job(10, 1, &Value::Null);
    wire.metadata.creation_timestamp = serde_json::from_value(json!(created)).unwrap();
    wire
}

/// Applies everything; gives the writes by kind.
fn settle(store: &mut Store, now: Time) -> Vec<Writes> {
    let mut all = Vec::new();
    for version in 100..104 {
        let Some(writes) = store.next(now) else { break };
        let report = Report {
            written: writes.status.clone().map(|status| (version, status)),
            ..Report::of(writes.key.clone(), Arc::clone(&writes.uid))
        };
        store.applied(report, now);
        all.push(writes);
    }
    all
}

fn waits(all: &[Writes], kind: &'static Kind) -> bool {
    let of_kind: Vec<&Writes> = all.iter().filter(|writes| writes.key.kind == kind).collect();
    let told = of_kind.iter().any(|writes| {
        let reason = writes
            .status
            .as_ref()
            .map(|status| &status["waiting"][0]["reason"]);
        reason == Some(&json!("NameTaken"))
    });
    assert!(
        !told || of_kind.iter().all(|writes| writes.actions.is_empty()),
        "{of_kind:?}"
    );
    told
}

#[test]
fn the_younger_of_two_namesakes_waits_and_does_nothing_until_the_other_is_gone() {
    let mut store = both();
    store.job_seen(&TFJOB, tfjob(LATE));
    store.job_seen(&T9K, training_job(EARLY));
    let all = settle(&mut store, NOW);
    assert_eq!(
        (waits(&all, &TFJOB), waits(&all, &T9K)),
        (true, false),
        "{all:#?}"
    );
    assert!(
        all.iter()
            .any(|writes| writes.key.kind == &T9K && !writes.actions.is_empty())
    );
    let told = all.iter().find(|writes| writes.key.kind == &TFJOB).unwrap();
    let message = &told.status.as_ref().unwrap()["waiting"][0]["message"];
    let message = message.as_str().unwrap();
    assert!(
        message.contains("the TensorFlowTrainingJob mnist has the names"),
        "{message}"
    );
    assert!(
        settle(&mut store, NOW)
            .iter()
            .all(|writes| writes.key.kind != &TFJOB),
        "told once"
    );

    store.job_gone(&T9K, &training_job(EARLY));
    let all = settle(&mut store, NOW + 60);
    assert!(!waits(&all, &TFJOB));
    assert!(all.iter().any(|writes| !creates(writes).is_empty()), "{all:#?}");
}

#[test]
fn a_job_that_has_begun_keeps_its_name_against_an_older_one() {
    let mut store = both();
    store.job_seen(&TFJOB, tfjob(LATE));
    settle(&mut store, NOW);
    store.job_seen(&T9K, training_job(EARLY));
    let all = settle(&mut store, NOW);
    assert_eq!(
        (waits(&all, &TFJOB), waits(&all, &T9K)),
        (false, true),
        "{all:#?}"
    );
}

#[test]
fn a_pod_of_another_kind_is_not_the_jobs_whatever_its_uid() {
    let mut store = both();
    store.job_seen(&TFJOB, job(10, 1, &Value::Null));
    settle(&mut store, NOW);
    let mut forged = pod(0, 20, "p0", &running());
    forged.owner_kind = Some(T9K.api);
    store.pod_seen(&TFJOB, forged);
    let entry = store.entries.values().next().unwrap();
    assert!(entry.pods.values().all(|held| held.pod.owner.is_none()));
}
