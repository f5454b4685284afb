//! What is kept of a job that has ended.

use super::*;
use crate::job::Meaning;

const CANARY: &str = "canary-of-a-large-spec";

/// A job with a megabyte in its template, its annotations and its labels.
fn large(version: u64, generation: i64, status: &Value, clean: &str) -> JobWire {
    let much = CANARY.repeat(1_000_000 / CANARY.len());
    let template = json!({ "spec": { "containers": [{
        "name": "tensorflow", "image": "i", "env": [{ "name": "MUCH", "value": much }],
        "resources": { "limits": { format!("example.com/{CANARY}"): "1" } },
    }] } });
    let wire = json!({
        "metadata": {
            "name": "mnist", "namespace": "ml", "uid": "job", "resourceVersion": version.to_string(),
            "generation": generation, "annotations": { "note": CANARY }, "labels": { CANARY: "a" },
        },
        "spec": {
            "runPolicy": { "cleanPodPolicy": clean, "ttlSecondsAfterFinished": 100 },
            "tfReplicaSpecs": { "Worker": { "replicas": 2, "template": template } },
        },
        "status": status,
    });
    serde_json::from_value(wire).unwrap()
}

/// A store in which such a job has just succeeded, and the status that says so.
fn ended(clean: &str) -> (Store, Value) {
    let mut store = Store::new(Reading::default());
    store.job_seen(&TFJOB, large(10, 1, &Value::Null, clean));
    let writes = store.next(NOW).unwrap();
    store.applied(report(&writes, 11, Vec::new()), NOW);
    let writes = store.next(NOW).unwrap();
    assert_eq!(creates(&writes), ["worker-0", "worker-1"]);
    let pods = vec![pod(0, 20, "p0", &running()), pod(1, 21, "p1", &running())];
    store.applied(report(&writes, 22, pods), NOW);
    assert!(
        format!("{store:?}").len() > 1_000_000,
        "its pods may have to be made again"
    );
    for index in [0, 1] {
        store.pod_seen(
            &TFJOB,
            pod(index, 30 + u64::from(index), &format!("p{index}"), &exited(0)),
        );
    }
    let writes = store.next(NOW).unwrap();
    let status = writes.status.clone().unwrap();
    assert_eq!(status["conditions"][1]["type"], "Succeeded");
    let stops = writes.actions.iter().filter_map(|action| match action {
        Action::Stop { instance, force, .. } => Some((Arc::clone(instance), *force)),
        _ => None,
    });
    let done = Report {
        stopped: stops.collect(),
        ..report(&writes, 40, Vec::new())
    };
    store.applied(done, NOW);
    (store, status)
}

#[track_caller]
fn is_small(store: &Store) {
    let kept = format!("{store:?}");
    assert!(!kept.contains(CANARY), "{kept}");
    assert!(kept.len() < 16_000, "{} bytes are kept", kept.len());
}

#[test]
fn little_is_kept_of_a_job_that_has_ended() {
    let (store, status) = ended("None");
    is_small(&store);
    // After a restart of ours, and for one who stands by.
    let mut store = Store::new(Reading::default());
    store.job_seen(&TFJOB, large(41, 1, &status, "None"));
    is_small(&store);
    // A write by others, and an edit.
    store.job_seen(&TFJOB, large(42, 1, &status, "None"));
    store.job_seen(&TFJOB, large(43, 2, &status, "None"));
    is_small(&store);
}

#[test]
fn a_job_that_has_ended_is_cleaned_up_and_deleted_when_its_time_is_over() {
    let (mut store, _) = ended("All");
    is_small(&store);
    for index in [0, 1] {
        store.pod_gone(&TFJOB, &pod(index, 50, &format!("p{index}"), &exited(0)));
    }
    let writes = store.next(NOW).unwrap();
    assert_eq!(writes.actions, [Action::Remove(Fixture::Addresses)]);
    assert_eq!(writes.services, [("mnist".into(), "s1".into())]);
    let removed = Report {
        removed: vec!["s1".into()],
        services: Vec::new(),
        ..report(&writes, 51, Vec::new())
    };
    store.applied(removed, NOW);
    assert!(store.next(NOW).is_none(), "once is enough");
    let over = Time(store.wake().unwrap().0);
    assert_eq!(over, NOW + 100);
    assert_eq!(store.next(over).unwrap().actions, [Action::DeleteJob]);
}

#[test]
fn a_job_that_is_to_run_after_all_is_read_again() {
    let (mut store, status) = ended("None");
    // A user has rewritten the status: the job is at its beginning.
    let mut forged = status;
    forged["trainyard"]["verdict"] = Value::Null;
    forged["trainyard"]["roles"] = json!({});
    forged["conditions"] = json!([]);
    for index in [0, 1] {
        store.pod_gone(&TFJOB, &pod(index, 50, &format!("p{index}"), &exited(0)));
    }
    store.job_seen(&TFJOB, large(60, 1, &forged, "None"));
    let writes = store.next(NOW).unwrap();
    assert!(writes.reread, "{writes:?}");
    let again = crate::apply::reread::Reread {
        job: Some(large(60, 1, &forged, "None")),
        ..Default::default()
    };
    store.applied(
        Report {
            reread: Some(again),
            ..Report::of(writes.key.clone(), Arc::clone(&writes.uid))
        },
        NOW,
    );
    let writes = store.next(NOW).unwrap();
    let Meaning::Job(compiled) = &*writes.meaning else {
        panic!("it can be read")
    };
    assert!(!compiled.shrunk);
    assert_eq!(creates(&writes).len(), 2, "{writes:?}");
}

#[test]
fn little_is_kept_of_what_is_wrong_with_a_job() {
    let mut wire = large(10, 1, &Value::Null, "None");
    let bad: Vec<Value> = (0..5_000)
        .map(|number| json!({ "name": format!("{CANARY}-{number}") }))
        .collect();
    wire.spec["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"] = bad.into();
    let mut store = Store::new(Reading::default());
    store.job_seen(&TFJOB, wire);
    let status = store.next(NOW).unwrap().status.unwrap();
    assert_eq!(status["conditions"][0]["reason"], "InvalidTFJobSpec");
    assert!(format!("{store:?}").len() < 16_000);
}
