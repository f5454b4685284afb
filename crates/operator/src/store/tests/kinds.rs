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

#[test]
fn a_job_whose_first_pods_are_being_created_has_begun() {
    let mut store = both();
    store.storage.insert(&TFJOB, Storage::Keeps);
    store.job_seen(&TFJOB, tfjob(LATE));
    let writes = store.next(NOW).unwrap();
    assert_eq!((creates(&writes).len(), &writes.status), (2, &None));
    store.job_seen(&T9K, training_job(EARLY));
    let all = settle(&mut store, NOW);
    assert_eq!(all.len(), 1, "{all:#?}");
    assert!(waits(&all, &T9K), "{all:#?}");

    // All of it was refused: the older one has the name, and learns so.
    let refused = Report {
        error: Some(refusal(ApplyErrorKind::Creating(Created::Pod))),
        ..Report::of(writes.key.clone(), Arc::clone(&writes.uid))
    };
    store.applied(refused, NOW);
    let all = settle(&mut store, NOW + 60);
    assert!(waits(&all, &TFJOB) && !waits(&all, &T9K), "{all:#?}");
    let begins = |writes: &Writes| writes.key.kind == &T9K && !writes.actions.is_empty();
    assert!(all.iter().any(begins), "{all:#?}");
}

#[test]
fn a_job_that_is_read_again_keeps_its_name() {
    let mut store = both();
    store.job_seen(&TFJOB, tfjob(LATE));
    settle(&mut store, NOW);
    store.job_seen(&T9K, training_job(EARLY));
    settle(&mut store, NOW);
    let [key, other] = [&TFJOB, &T9K].map(|kind| JobKey {
        kind,
        namespace: "ml".into(),
        name: "mnist".into(),
    });
    store.panicked(key.clone(), "no".into(), NOW);
    assert_eq!(
        store.name_holder(&other).as_ref(),
        Some(&key),
        "it waits to be read"
    );
    let writes = store.next(NOW + 2).unwrap();
    assert!(writes.reread, "{writes:?}");
    assert_eq!(store.name_holder(&other).as_ref(), Some(&key), "it is being read");
    store.job_gone(&TFJOB, &tfjob(LATE));
    assert_eq!(store.name_holder(&other), None, "it is gone");

    // One that waited does not get the name by a panic.
    let mut store = both();
    store.job_seen(&TFJOB, tfjob(EARLY));
    store.job_seen(&T9K, training_job(LATE));
    settle(&mut store, NOW);
    store.panicked(other.clone(), "no".into(), NOW);
    assert_eq!(store.name_holder(&key), None);
}

/// Each refused apply has the namesakes reconciled.
#[test]
fn a_namesake_whose_status_is_refused_waits_before_it_tries_again() {
    let mut store = both();
    store.job_seen(&TFJOB, tfjob(LATE));
    store.job_seen(&T9K, training_job(EARLY));
    let mut tries = 0;
    while let Some(writes) = store.next(NOW) {
        tries += 1;
        assert!(tries <= 2, "one try per job, then a wait: {writes:?}");
        let refused = Report {
            error: Some(refusal(ApplyErrorKind::Other)),
            ..Report::of(writes.key.clone(), Arc::clone(&writes.uid))
        };
        store.applied(refused, NOW);
    }
    assert_eq!(tries, 2);
}
