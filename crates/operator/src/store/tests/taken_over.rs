//! Jobs that another operator began, and definitions that begin to keep memory.

use super::*;

#[test]
fn the_memory_of_a_job_that_another_operator_began_is_stored() {
    let mut began = made();
    began.pod_seen(&TFJOB, pod(0, 30, "p0", &running()));
    let mut theirs = began.next(NOW).unwrap().status.unwrap();
    let fields = theirs.as_object_mut().unwrap();
    fields.retain(|field, _| field != MEMORY_FIELD);

    let mut store = Store::new(Reading::default());
    store.storage.insert(&TFJOB, Storage::Keeps);
    for name in ["mnist-worker-0", "mnist-worker-1"] {
        let theirs = ServiceSeen {
            name: name.into(),
            ..service(name)
        };
        store.service_seen(&TFJOB, theirs);
    }
    store.pod_seen(&TFJOB, pod(0, 30, "p0", &running()));
    store.pod_seen(&TFJOB, pod(1, 21, "p1", &json!({})));
    store.job_seen(&TFJOB, job(40, 1, &theirs));
    let writes = store.next(NOW).unwrap();
    let stored = writes.status.as_ref().unwrap();
    assert!(stored[MEMORY_FIELD].is_object(), "{stored}");
    assert_eq!(
        stored["conditions"], theirs["conditions"],
        "nothing else has changed"
    );
    assert_eq!(writes.actions, []);
    store.applied(report(&writes, 41, Vec::new()), NOW);
    assert!(store.next(NOW).is_none(), "stored once");
}

#[test]
fn every_job_is_reconciled_once_the_definition_keeps_memory() {
    let mut store = Store::new(Reading::default());
    store.storage.insert(&TFJOB, Storage::Drops);
    store.job_seen(&TFJOB, another("a"));
    store.job_seen(&TFJOB, another("b"));
    for version in 20..30 {
        let Some(writes) = store.next(NOW) else { break };
        assert_eq!(creates(&writes).len(), 0);
        // What the API server stores has no memory.
        let mut report = report(&writes, version, Vec::new());
        if let Some((_, status)) = &mut report.written {
            status[MEMORY_FIELD].take();
            status.as_object_mut().unwrap().remove(MEMORY_FIELD);
            report.error = Some(refusal(ApplyErrorKind::Pruned));
        }
        store.applied(report, NOW);
    }
    assert_eq!(store.queued(), 0);
    let (_, status) = started();
    store.job_seen(&TFJOB, job(50, 1, &status));
    assert_eq!(store.queued(), 3, "the one that was seen, and those that waited");
}
