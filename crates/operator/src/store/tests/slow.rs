//! Pods that no scheduler places or no node prepares.

use super::*;

/// When the pods of these tests were made.
const MADE: Time = Time(NOW.0 - 2);

/// A job that runs but for one of its pods, which is so.
fn yard_with(status: &Value) -> Store {
    let mut store = made();
    store.pod_seen(&TFJOB, pod(0, 30, "p0", status));
    store.pod_seen(&TFJOB, pod(1, 31, "p1", &running()));
    while let Some(writes) = store.next(NOW) {
        store.applied(report(&writes, 40, Vec::new()), NOW);
    }
    store
}

/// Nothing until then, and then these words, once and no louder than they have to be.
#[track_caller]
fn is_told(mut store: Store, at: Time, reason: &str, words: &str) {
    let early = Time(at.0 - 1);
    while let Some(writes) = store.next(early) {
        let status = writes.status.clone().unwrap_or_default();
        assert_eq!(status["waiting"], Value::Null, "too early");
        store.applied(report(&writes, 50, Vec::new()), early);
    }
    assert_eq!(store.wake(), Some(at), "{reason}");
    let writes = store.next(at).unwrap();
    let entry = &writes.status.as_ref().unwrap()["waiting"][0];
    assert_eq!(
        (&entry["reason"], &entry["pod"]),
        (&json!(reason), &json!("mnist-worker-0"))
    );
    assert!(entry["message"].as_str().unwrap().contains(words), "{entry}");
    let [event] = &*writes.events else {
        panic!("{:?}", writes.events)
    };
    let note = event["note"].as_str().unwrap();
    assert!(
        note.starts_with("pod mnist-worker-0: ") && note.contains(words),
        "{note}"
    );
    assert_eq!(event["type"], "Normal");
    store.applied(report(&writes, 60, Vec::new()), at);
    assert!(store.next(at + 600).is_none(), "once is enough");
}

#[test]
fn what_a_node_prepares_is_told_a_minute_after_it_got_it() {
    let got = "2027-01-15T08:05:00Z";
    let status = json!({ "phase": "Pending",
        "conditions": [{ "type": "PodScheduled", "status": "True", "lastTransitionTime": got }],
        "containerStatuses": [{ "name": "tensorflow", "state": { "waiting": { "reason": "ContainerCreating" } } }] });
    is_told(
        yard_with(&status),
        NOW + 360,
        "ContainerCreating",
        "`kubectl describe pod mnist-worker-0`",
    );
}

#[test]
fn what_no_scheduler_speaks_of_is_told_a_minute_after_it_was_made() {
    let store = yard_with(&json!({ "phase": "Pending" }));
    is_told(store, MADE + 60, "NotScheduled", "has said nothing about it");
}
