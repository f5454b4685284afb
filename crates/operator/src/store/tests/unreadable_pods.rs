//! Pods that cannot be read.

use super::*;

#[test]
fn a_pod_of_the_job_that_cannot_be_read_is_told_in_its_status() {
    let (mut store, _) = started();
    let strange = pod(0, 20, "p0", &json!({ "phase": 7 }));
    assert!(strange.unreadable().is_some());
    store.pod_seen(&TFJOB, strange);
    store.pod_seen(&TFJOB, pod(1, 21, "p1", &running()));
    let writes = store.next(NOW).unwrap();
    let entry = &writes.status.as_ref().unwrap()["waiting"][0];
    assert_eq!(
        (&entry["reason"], &entry["pod"], &entry["pods"]),
        (&json!("UnreadablePod"), &json!("mnist-worker-0"), &json!(1))
    );
    let message = entry["message"].as_str().unwrap();
    assert!(
        message.starts_with("it cannot be read: invalid type: integer `7`"),
        "{message}"
    );
    let event = writes
        .events
        .iter()
        .find(|event| event["reason"] == "UnreadablePod")
        .unwrap();
    assert_eq!(event["type"], "Warning");
}
