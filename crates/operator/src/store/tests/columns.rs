//! What `kubectl get` shows of a job of any kind.

use super::*;

/// The columns that the operator fills, of the next status that is written.
fn shown(store: &mut Store, now: Time) -> (Value, Value, Value) {
    let writes = store.next(now).unwrap();
    let status = writes.status.clone().unwrap();
    store.applied(report(&writes, writes.version + 100, Vec::new()), now);
    let column = |name: &str| status[name].clone();
    (column("ready"), column("restarts"), column("summary"))
}

/// A pod whose containers all answer.
fn ready() -> Value {
    json!({ "phase": "Running", "conditions": [{ "type": "Ready", "status": "True" }] })
}

#[test]
fn columns_say_how_many_tasks_are_ready_and_how_often_tasks_were_restarted() {
    let (mut store, status) = started();
    assert_eq!(
        (&status["ready"], &status["restarts"]),
        (&json!("0/2"), &json!(0))
    );
    store.pod_seen(&TFJOB, pod(0, 20, "p0", &ready()));
    store.pod_seen(&TFJOB, pod(1, 21, "p1", &running()));
    assert_eq!(
        shown(&mut store, NOW + 2).0,
        json!("1/2"),
        "one does not answer yet"
    );
    store.pod_seen(&TFJOB, pod(1, 120, "p1", &ready()));
    assert!(store.next(NOW + 4).is_none(), "counts wait for what comes next");
    assert_eq!(
        shown(&mut store, NOW + 6),
        (json!("2/2"), json!(0), json!("2 of 2 tasks ready"))
    );
    // Its code asks for a restart.
    store.pod_seen(&TFJOB, pod(1, 400, "p1", &exited(137)));
    let (all, restarts, _) = shown(&mut store, NOW + 10);
    assert_eq!((all, restarts), (json!("1/2"), json!(1)));
    store.pod_seen(&TFJOB, pod(0, 401, "p0", &exited(0)));
    assert_eq!(
        shown(&mut store, NOW + 20),
        (json!(null), json!(1), json!("succeeded")),
        "of a job that has ended nothing is to become ready"
    );
}

#[test]
fn a_restart_of_the_whole_job_counts_every_task_and_what_is_stopped_is_not_ready() {
    let (mut store, _) = started();
    store.pod_seen(&TFJOB, pod(0, 20, "p0", &ready()));
    store.pod_seen(&TFJOB, pod(1, 21, "p1", &ready()));
    let writes = store.next(NOW).unwrap();
    let status = writes.status.clone().unwrap();
    store.applied(report(&writes, 30, Vec::new()), NOW);
    let mut wire = job(40, 1, &status);
    let order = ("trainyard.dev/order".to_owned(), "one/Restart".to_owned());
    wire.metadata.annotations = Some([order].into());
    store.job_seen(&TFJOB, wire);
    assert_eq!(
        shown(&mut store, NOW + 2),
        (json!("0/2"), json!(2), json!("0 of 2 tasks ready"))
    );
}
