//! Pods whose node does not answer.

use trainyard_manifest::observe::Waits;

use super::*;

/// A pod for which its node does not answer since then; deleted, if it should have stopped.
fn silent(index: u32, version: u64, since: Time, over: Option<Time>) -> PodSeen {
    let mut pod = pod(index, version, &format!("p{index}"), &running());
    pod.waits = Some(Waits::Silent {
        node: "gpu-7".into(),
        since,
    });
    if let Some(task) = &mut pod.task {
        task.stopping = over;
    }
    pod
}

/// Lets the store do what it wants to do now; nothing may be waited for.
#[track_caller]
fn quiet(store: &mut Store, now: Time, mut version: u64) {
    while let Some(writes) = store.next(now) {
        let status = writes.status.clone().unwrap_or_default();
        assert_eq!(status["waiting"], Value::Null, "too early");
        version += 1;
        store.applied(report(&writes, version, Vec::new()), now);
    }
}

#[test]
fn it_is_told_when_it_is_due_though_no_pod_changes() {
    let mut store = running_job();
    store.pod_seen(&TFJOB, silent(1, 31, NOW + 70, Some(NOW + 60)));
    quiet(&mut store, NOW, 40);
    quiet(&mut store, NOW + 69, 50);
    assert_eq!(store.wake(), Some(NOW + 70));
    let writes = store.next(NOW + 70).unwrap();
    let entry = &writes.status.as_ref().unwrap()["waiting"][0];
    assert_eq!(
        (&entry["reason"], &entry["node"], &entry["pod"], &entry["pods"]),
        (
            &json!("NodeLost"),
            &json!("gpu-7"),
            &json!("mnist-worker-1"),
            &json!(1)
        )
    );
    let [event] = &*writes.events else {
        panic!("{:?}", writes.events)
    };
    assert_eq!(
        (&event["reason"], &event["type"], &event["note"]),
        (&json!("NodeLost"), &json!("Warning"), &entry["message"])
    );
    store.applied(report(&writes, 60, Vec::new()), NOW + 70);
    assert!(store.next(NOW + 600).is_none(), "once is enough");

    // Its kubelet is back.
    store.pod_seen(&TFJOB, pod(1, 70, "p1", &running()));
    let status = store.next(NOW + 600).unwrap().status.unwrap();
    assert_eq!(status["waiting"], Value::Null);
}

#[test]
fn it_is_given_up_where_the_job_says_so_and_once() {
    let mut store = Store::new(Reading::default());
    let mut patient = job(10, 1, &Value::Null);
    patient.policy("lostNodeSeconds", 300);
    store.job_seen(&TFJOB, patient);
    let writes = store.next(NOW).unwrap();
    store.applied(report(&writes, 11, Vec::new()), NOW);
    store.pod_seen(&TFJOB, pod(0, 20, "p0", &running()));
    store.pod_seen(&TFJOB, silent(1, 21, NOW + 70, Some(NOW + 60)));
    quiet(&mut store, NOW, 40);
    let mut stops = 0;
    for second in [70, 359, 360, 361, 400] {
        let now = NOW + second;
        while let Some(writes) = store.next(now) {
            let stopped = |action: &Action| match action {
                Action::Stop { instance, force, .. } => Some((Arc::clone(instance), *force)),
                _ => None,
            };
            let stopped: Vec<_> = writes.actions.iter().filter_map(stopped).collect();
            stops += stopped.len();
            assert!(stopped.is_empty() || second == 360, "in second {second}");
            let report = Report {
                stopped,
                ..report(&writes, 100 + u64::from(second), Vec::new())
            };
            store.applied(report, now);
        }
    }
    assert_eq!(stops, 1, "the watch will tell that it is gone");
    store.pod_gone(&TFJOB, &silent(1, 900, NOW + 70, Some(NOW + 60)));
    // It is stored that it starts again, and it does when its wait is over.
    let writes = store.next(NOW + 420).unwrap();
    let mut created = creates(&writes);
    if created.is_empty() {
        store.applied(report(&writes, 910, Vec::new()), NOW + 420);
        created = store
            .next(NOW + 900)
            .map(|writes| creates(&writes))
            .unwrap_or_default();
    }
    assert_eq!(created, ["worker-1"]);
}
