//! W6: a memory that cannot be read is not the same as none.

use super::*;

/// A status with this memory, of a job that began long ago.
fn remembering(memory: &Value) -> Value {
    json!({
        "conditions": [{ "type": "Running", "status": "True" }], "startTime": "2026-01-01T00:00:00Z",
        "replicaStatuses": { "Worker": { "active": 2 } }, "trainyard": memory, "theirs": { "kept": 1 },
    })
}

fn newer() -> Value {
    json!({ "format": 99, "job": "job", "unknown": { "a": [1] } })
}

fn broken() -> Value {
    json!({ "format": 1, "job": "job", "held": "Frozen" })
}

/// A store that has just seen a job with this status, a pod that runs and one that has ended.
fn found(status: &Value) -> Store {
    let mut store = Store::new(Reading::default());
    store.service_seen(&TFJOB, service("s1"));
    store.job_seen(&TFJOB, job(10, 1, status));
    store.pod_seen(&TFJOB, pod(0, 20, "p0", &running()));
    store.pod_seen(&TFJOB, pod(1, 21, "p1", &exited(137)));
    store
}

#[test]
fn of_a_newer_format_nothing_is_written_and_nothing_done_and_it_is_told_once() {
    let mut store = found(&remembering(&newer()));
    let writes = store.next(NOW).unwrap();
    assert_eq!((&writes.status, writes.actions.len()), (&None, 0));
    assert_eq!(writes.events.len(), 1);
    assert_eq!(writes.events[0]["reason"], "NewerMemory");
    let note = writes.events[0]["note"].as_str().unwrap();
    assert!(
        note.contains("its format is 99") && note.contains("install that version"),
        "{note}"
    );
    let name = writes.events[0]["metadata"]["name"].clone();
    store.applied(report(&writes, 0, Vec::new()), NOW);
    store.pod_seen(&TFJOB, pod(0, 30, "p0", &exited(0)));
    store.pod_gone(&TFJOB, &pod(1, 31, "p1", &exited(137)));
    assert!(store.next(NOW + 100).is_none());
    assert_eq!(store.wake(), None);
    let again = found(&remembering(&newer())).next(NOW + 200).unwrap();
    assert_eq!(
        again.events[0]["metadata"]["name"], name,
        "after a restart it is the same event, of which there is one"
    );
}

#[test]
fn an_edit_that_cannot_be_read_does_not_write_a_status_of_a_newer_format_either() {
    let mut store = Store::new(Reading::default());
    let wire = json!({ "metadata": { "name": "mnist", "namespace": "ml", "uid": "job", "resourceVersion": "50",
        "generation": 2 }, "spec": { "tfReplicaSpecs": { "Worker": { "replicas": "two" } } },
        "status": remembering(&newer()) });
    store.job_seen(&TFJOB, serde_json::from_value(wire).unwrap());
    let writes = store.next(NOW).unwrap();
    assert_eq!((writes.status, writes.events.len()), (None, 1));
}

#[test]
fn a_memory_that_makes_no_sense_stays_as_it_is_and_the_job_says_what_it_waits_for() {
    let before = remembering(&broken());
    let mut store = found(&before);
    let writes = store.next(NOW).unwrap();
    assert_eq!(writes.actions.len(), 0);
    let mut status = writes.status.clone().unwrap();
    let waiting = status.as_object_mut().unwrap().shift_remove("waiting").unwrap();
    let summary = status.as_object_mut().unwrap().shift_remove("summary").unwrap();
    assert!(
        summary.as_str().unwrap().starts_with("UnreadableMemory: "),
        "{summary}"
    );
    assert_eq!(status.to_string(), before.to_string(), "every byte of the rest");
    assert_eq!(waiting[0]["reason"], "UnreadableMemory");
    let words = waiting[0]["message"].as_str().unwrap();
    assert!(
        words.contains("Frozen") && words.contains("delete the job"),
        "{words}"
    );
    assert_eq!(writes.events.len(), 1);
    store.applied(report(&writes, 30, Vec::new()), NOW);
    store.pod_gone(&TFJOB, &pod(1, 31, "p1", &exited(137)));
    assert!(store.next(NOW + 100).is_none(), "it says so already");
    // Repaired, it goes on from what it remembers.
    let mut repaired =
        remembering(&json!({ "format": 1, "job": "job", "started": 1_767_225_600, "paid": 3 }));
    repaired["waiting"] = waiting;
    store.job_seen(&TFJOB, job(40, 1, &repaired));
    let status = store.next(NOW + 100).unwrap().status.unwrap();
    assert_eq!(
        (status.get("waiting"), &status["trainyard"]["paid"]),
        (None, &json!(4))
    );
}

#[test]
fn a_job_that_has_ended_is_not_run_again_and_expires_though_its_memory_cannot_be_read() {
    let expires = |version: u64, status: &Value| {
        let mut wire = serde_json::to_value(json!({
            "metadata": { "name": "mnist", "namespace": "ml", "uid": "job", "resourceVersion": version.to_string(),
                "generation": 1 },
            "spec": {
                "runPolicy": { "ttlSecondsAfterFinished": 60, "cleanPodPolicy": "None" },
                "tfReplicaSpecs": { "Worker": { "replicas": 2, "template": { "spec": {
                    "containers": [{ "name": "tensorflow", "image": "i" }] } } } },
            },
        }))
        .unwrap();
        wire["status"] = status.clone();
        serde_json::from_value::<JobWire>(wire).unwrap()
    };
    for memory in [newer(), broken()] {
        let mut status = remembering(&memory);
        status["conditions"] = json!([{ "type": "Succeeded", "status": "True" }]);
        // A second after which NOW is.
        status["completionTime"] = "2027-01-15T07:59:59Z".into();
        let mut store = Store::new(Reading::default());
        store.service_seen(&TFJOB, service("s1"));
        store.job_seen(&TFJOB, expires(10, &status));
        let mut looks = (0..60).map(|second| (second, store.next(NOW + second)));
        let (second, writes) = looks
            .find_map(|(second, writes)| Some((second, writes?)))
            .unwrap();
        assert_eq!((second, writes.status.as_ref()), (59, None), "{memory}");
        assert_eq!(writes.actions, [Action::DeleteJob], "{memory}");
    }
}

#[test]
fn without_any_memory_it_is_as_it_was_a_job_of_another_operator_is_taken_over() {
    let mut status = remembering(&Value::Null);
    status.as_object_mut().unwrap().shift_remove("trainyard");
    let mut store = found(&status);
    let stored = store.next(NOW).unwrap().status.unwrap();
    assert_eq!(stored["startTime"], status["startTime"]);
    assert_eq!(stored["trainyard"]["format"], 1);
}
