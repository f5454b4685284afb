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

/// A yard that has just seen a job with this status, a pod that runs and one that has ended.
fn found(status: &Value) -> Yard {
    let mut yard = Yard::new(Reading::default());
    yard.service_seen(service("s1"));
    yard.job_seen(job(10, 1, status));
    yard.pod_seen(pod(0, 20, "p0", &running()));
    yard.pod_seen(pod(1, 21, "p1", &exited(137)));
    yard
}

#[test]
fn of_a_newer_format_nothing_is_written_and_nothing_done_and_it_is_told_once() {
    let mut yard = found(&remembering(&newer()));
    let pass = yard.next(NOW).unwrap();
    assert_eq!((&pass.status, pass.actions.len()), (&None, 0));
    assert_eq!(pass.events.len(), 1);
    assert_eq!(pass.events[0]["reason"], "NewerMemory");
    let note = pass.events[0]["note"].as_str().unwrap();
    assert!(
        note.contains("its format is 99") && note.contains("install that version"),
        "{note}"
    );
    let name = pass.events[0]["metadata"]["name"].clone();
    yard.reported(report(&pass, 0, Vec::new()), NOW);
    yard.pod_seen(pod(0, 30, "p0", &exited(0)));
    yard.pod_gone(&pod(1, 31, "p1", &exited(137)));
    assert!(yard.next(NOW + 100).is_none());
    assert_eq!(yard.wake(), None);
    let again = found(&remembering(&newer())).next(NOW + 200).unwrap();
    assert_eq!(
        again.events[0]["metadata"]["name"], name,
        "after a restart it is the same event, of which there is one"
    );
}

#[test]
fn an_edit_that_cannot_be_read_does_not_write_a_status_of_a_newer_format_either() {
    let mut yard = Yard::new(Reading::default());
    let wire = json!({ "metadata": { "name": "mnist", "namespace": "ml", "uid": "job", "resourceVersion": "50",
        "generation": 2 }, "spec": { "tfReplicaSpecs": { "Worker": { "replicas": "two" } } },
        "status": remembering(&newer()) });
    yard.job_seen(serde_json::from_value(wire).unwrap());
    let pass = yard.next(NOW).unwrap();
    assert_eq!((pass.status, pass.events.len()), (None, 1));
}

#[test]
fn a_memory_that_makes_no_sense_stays_as_it_is_and_the_job_says_what_it_waits_for() {
    let before = remembering(&broken());
    let mut yard = found(&before);
    let pass = yard.next(NOW).unwrap();
    assert_eq!(pass.actions.len(), 0);
    let mut status = pass.status.clone().unwrap();
    let waiting = status.as_object_mut().unwrap().shift_remove("waiting").unwrap();
    assert_eq!(status.to_string(), before.to_string(), "every byte of the rest");
    assert_eq!(waiting[0]["reason"], "UnreadableMemory");
    let words = waiting[0]["message"].as_str().unwrap();
    assert!(
        words.contains("Frozen") && words.contains("delete the job"),
        "{words}"
    );
    assert_eq!(pass.events.len(), 1);
    yard.reported(report(&pass, 30, Vec::new()), NOW);
    yard.pod_gone(&pod(1, 31, "p1", &exited(137)));
    assert!(yard.next(NOW + 100).is_none(), "it says so already");
    // Repaired, it goes on from what it remembers.
    let mut repaired =
        remembering(&json!({ "format": 1, "job": "job", "started": 1_767_225_600, "paid": 3 }));
    repaired["waiting"] = waiting;
    yard.job_seen(job(40, 1, &repaired));
    let status = yard.next(NOW + 100).unwrap().status.unwrap();
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
        let mut yard = Yard::new(Reading::default());
        yard.service_seen(service("s1"));
        yard.job_seen(expires(10, &status));
        let mut looks = (0..60).map(|second| (second, yard.next(NOW + second)));
        let (second, pass) = looks.find_map(|(second, pass)| Some((second, pass?))).unwrap();
        assert_eq!((second, pass.status.as_ref()), (59, None), "{memory}");
        assert_eq!(pass.actions, [Action::DeleteJob], "{memory}");
    }
}

#[test]
fn without_any_memory_it_is_as_it_was_a_job_of_another_operator_is_taken_over() {
    let mut status = remembering(&Value::Null);
    status.as_object_mut().unwrap().shift_remove("trainyard");
    let mut yard = found(&status);
    let stored = yard.next(NOW).unwrap().status.unwrap();
    assert_eq!(stored["startTime"], status["startTime"]);
    assert_eq!(stored["trainyard"]["format"], 1);
}
