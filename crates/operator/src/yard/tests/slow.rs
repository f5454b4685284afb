//! Pods that nobody places or prepares.

use super::*;

/// When the pods of these tests were made.
const MADE: Time = Time(NOW.0 - 2);

/// What is said of a job at that time, one of whose pods is so.
fn said(status: &Value, now: Time) -> Option<Value> {
    let (mut yard, _) = started();
    for index in 0..2 {
        let status = if index == 0 { status } else { &running() };
        yard.pod_seen(pod(index, 20, &format!("p{index}"), status));
    }
    let pass = yard.next(now)?;
    Some(pass.status?["waiting"][0].clone())
}

#[test]
fn a_minute_is_ordinary_and_then_it_is_told() {
    let creating = json!({ "phase": "Pending", "conditions": [{ "type": "PodScheduled", "status": "True" }],
        "containerStatuses": [{ "name": "tensorflow", "state": { "waiting": { "reason": "ContainerCreating" } } }] });
    let unseen = json!({ "phase": "Pending" });
    for (status, reason, words) in [
        (
            &creating,
            "ContainerCreating",
            "`kubectl describe pod mnist-worker-0`",
        ),
        (&unseen, "NotScheduled", "no scheduler has looked at it"),
    ] {
        let early = said(status, MADE + 59).unwrap_or_default();
        assert_eq!(early, Value::Null, "{reason}");
        let late = said(status, MADE + 60).unwrap();
        assert_eq!(
            (&late["reason"], &late["pod"]),
            (&json!(reason), &json!("mnist-worker-0"))
        );
        assert!(late["message"].as_str().unwrap().contains(words), "{late}");
    }
}
