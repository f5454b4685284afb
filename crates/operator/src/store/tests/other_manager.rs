//! Jobs whose status another controller writes.

use super::*;

/// The job as the API server shows it after `manager` has written that status.
fn written(manager: &str, version: u64, status: &Value) -> JobWire {
    let mut wire = job(version, 1, status);
    let fields = json!([{ "manager": manager, "subresource": "status", "time": "2027-01-15T08:00:00Z" }]);
    wire.metadata.managed_fields = serde_json::from_value(fields).unwrap();
    wire
}

/// What Kubeflow's operator makes of a status: it knows no field of ours.
fn without_ours(status: &Value) -> Value {
    let mut status = status.clone();
    let fields = status.as_object_mut().unwrap();
    for ours in ["trainyard", "waiting", "summary", "ready", "restarts"] {
        fields.shift_remove(ours);
    }
    status
}

#[test]
fn the_operator_stops_with_a_job_whose_status_another_controller_writes() {
    let mut store = running_job();
    let stored = store.entries.values().next().unwrap().job.clone().unwrap();
    let theirs = without_ours(stored.status.as_ref().unwrap());
    store.job_seen(&TFJOB, written("manager", 90, &theirs));
    // A task would be restarted.
    store.pod_seen(&TFJOB, pod(0, 91, "p0", &exited(137)));
    let writes = store.next(NOW + 60).unwrap();
    assert!(writes.actions.is_empty(), "{writes:?}");
    let status = writes.status.clone().unwrap();
    let condition = status["conditions"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&condition["type"], &condition["status"], &condition["reason"]),
        (&json!("Stalled"), &json!("True"), &json!("OtherManager"))
    );
    assert_eq!(status["waiting"][0]["reason"], "OtherManager");
    assert_eq!(writes.version, 90);
    store.applied(report(&writes, 92, Vec::new()), NOW + 60);
    assert!(store.next(NOW + 600).is_none());
    assert_eq!(store.wake(), None, "nothing is done by itself");

    // It writes over our words: they are not written again, and nothing is done either.
    store.job_seen(&TFJOB, written("manager", 93, &theirs));
    assert!(store.next(NOW + 1_200).is_none());

    // An operator that starts later knows by what the status says, until a user takes that out.
    let mut later = Store::new(Reading::default());
    later.job_seen(&TFJOB, written("trainyard", 92, &status));
    later.pod_seen(&TFJOB, pod(0, 91, "p0", &exited(137)));
    assert!(later.next(NOW + 60).is_none());
    let mut released = status.clone();
    released["waiting"] = Value::Null;
    released["trainyard"] = stored.status.as_ref().unwrap()["trainyard"].clone();
    later.job_seen(&TFJOB, written("kubectl-patch", 94, &released));
    let writes = later.next(NOW + 60).unwrap();
    let status = writes.status.clone().unwrap();
    let conditions = status["conditions"].as_array().unwrap();
    assert!(
        conditions.iter().all(|condition| condition["type"] != "Stalled"),
        "{status:#}"
    );
    assert!(status["trainyard"].is_object());

    // Should it come back, that is told again.
    later.applied(report(&writes, 95, Vec::new()), NOW + 60);
    later.job_seen(&TFJOB, written("manager", 97, &theirs));
    let writes = later.next(NOW + 120).unwrap();
    assert!(writes.actions.is_empty(), "{writes:?}");
    assert_eq!(writes.status.unwrap()["waiting"][0]["reason"], "OtherManager");
}

#[test]
fn one_job_does_not_stop_another() {
    let mut store = running_job();
    let stored = store.entries.values().next().unwrap().job.clone().unwrap();
    store.job_seen(&TFJOB, written("manager", 90, stored.status.as_ref().unwrap()));
    store.job_seen(&TFJOB, another("other"));
    let mut made = false;
    while let Some(writes) = store.next(NOW) {
        assert!(
            &*writes.key.name == "other" || writes.actions.is_empty(),
            "{writes:?}"
        );
        made |= !creates(&writes).is_empty();
        store.applied(report(&writes, 100, Vec::new()), NOW);
        if made {
            break;
        }
    }
    assert!(made);
}

#[test]
fn what_people_write_into_a_status_stops_nothing() {
    for manager in ["kubectl-edit", "unknown", "trainyard"] {
        let mut store = running_job();
        let stored = store.entries.values().next().unwrap().job.clone().unwrap();
        let mut edited = stored.status.unwrap();
        edited["note"] = "mine".into();
        store.job_seen(&TFJOB, written(manager, 90, &edited));
        store.pod_seen(&TFJOB, pod(0, 91, "p0", &exited(137)));
        let writes = store.next(NOW + 60).unwrap();
        assert!(!writes.actions.is_empty(), "{manager}: {writes:?}");
    }
}
