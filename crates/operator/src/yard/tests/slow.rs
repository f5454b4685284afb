//! Pods that nobody places or prepares.

use super::*;

/// When the pods of these tests were made.
const MADE: Time = Time(NOW.0 - 2);

/// A job that runs but for one of its pods, which is so.
fn yard_with(status: &Value) -> Yard {
    let mut yard = made();
    yard.pod_seen(pod(0, 30, "p0", status));
    yard.pod_seen(pod(1, 31, "p1", &running()));
    while let Some(pass) = yard.next(NOW) {
        yard.reported(report(&pass, 40, Vec::new()), NOW);
    }
    yard
}

/// Nothing until then, and then these words, once and no louder than they have to be.
#[track_caller]
fn is_told(mut yard: Yard, at: Time, reason: &str, words: &str) {
    let early = Time(at.0 - 1);
    while let Some(pass) = yard.next(early) {
        let status = pass.status.clone().unwrap_or_default();
        assert_eq!(status["waiting"], Value::Null, "too early");
        yard.reported(report(&pass, 50, Vec::new()), early);
    }
    assert_eq!(yard.wake(), Some(at), "{reason}");
    let pass = yard.next(at).unwrap();
    let entry = &pass.status.as_ref().unwrap()["waiting"][0];
    assert_eq!(
        (&entry["reason"], &entry["pod"]),
        (&json!(reason), &json!("mnist-worker-0"))
    );
    assert!(entry["message"].as_str().unwrap().contains(words), "{entry}");
    let [event] = &*pass.events else {
        panic!("{:?}", pass.events)
    };
    let note = event["note"].as_str().unwrap();
    assert!(
        note.starts_with("pod mnist-worker-0: ") && note.contains(words),
        "{note}"
    );
    assert_eq!(event["type"], "Normal");
    yard.reported(report(&pass, 60, Vec::new()), at);
    assert!(yard.next(at + 600).is_none(), "once is enough");
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
    let yard = yard_with(&json!({ "phase": "Pending" }));
    is_told(yard, MADE + 60, "NotScheduled", "has said nothing about it");
}
