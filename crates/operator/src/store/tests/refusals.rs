//! What the API server refuses is tried again, and holds up nothing else.

use super::*;

#[test]
fn a_job_whose_pods_are_refused_says_so_before_it_tries_again() {
    let mut store = second_job();
    let writes = store.next(NOW).unwrap();
    let refused = Report {
        error: Some(refusal(ApplyErrorKind::Creating(Created::Pod))),
        ..report(&writes, 0, Vec::new())
    };
    store.applied(refused, NOW);
    assert!(store.next(NOW + 1).unwrap().status.is_some());
}

/// A job of which one pod runs and the other one has just been refused, so often that it is tried again after a minute.
fn refused_job() -> Store {
    refused().0
}

/// The same, and what its status says by then.
fn refused() -> (Store, Value) {
    let (mut store, mut status) = started();
    let writes = store.next(NOW).unwrap();
    store.applied(report(&writes, 0, vec![pod(0, 20, "p0", &running())]), NOW);
    for attempt in 0..8 {
        let later = NOW + 60 * attempt;
        while let Some(writes) = store.next(later) {
            let error =
                (!creates(&writes).is_empty()).then(|| refusal(ApplyErrorKind::Creating(Created::Pod)));
            let version = 30 + u64::from(attempt);
            status = writes.status.clone().unwrap_or(status);
            store.applied(
                Report {
                    error,
                    ..report(&writes, version, Vec::new())
                },
                later,
            );
        }
    }
    (store, status)
}

#[test]
fn what_was_refused_and_is_wanted_no_longer_is_not_waited_for() {
    let (mut store, status) = refused();
    let mut smaller = job(90, 2, &status);
    smaller.scale(1);
    store.job_seen(&TFJOB, smaller);
    let now = NOW + 7 * 60 + 1;
    let told = (0..120).find_map(|after| store.next(now + after)).unwrap();
    assert_eq!(creates(&told), Vec::<String>::new());
    assert_eq!(told.status.unwrap().get("waiting"), None);
}

#[test]
fn what_was_refused_before_a_restart_stands_until_it_is_made_and_is_told_once() {
    let (_, status) = refused();
    assert_eq!(status["waiting"][0]["reason"], "FailedCreatePod", "{status:#}");
    let mut store = Store::new(Reading::default());
    store.service_seen(&TFJOB, service("s1"));
    store.pod_seen(&TFJOB, pod(0, 20, "p0", &running()));
    store.job_seen(&TFJOB, job(90, 1, &status));
    let now = NOW + 8 * 60;
    let writes = store.next(now).unwrap();
    assert_eq!(creates(&writes), ["worker-1"]);
    assert_eq!(writes.status, None, "there is nothing new to say");
    let refused = Report {
        error: Some(refusal(ApplyErrorKind::Creating(Created::Pod))),
        ..report(&writes, 0, Vec::new())
    };
    store.applied(refused, now);
    assert!(
        store.next(now).is_none(),
        "nothing new, and tried again after a second"
    );

    let later = now + 60;
    let writes = store.next(later).unwrap();
    assert_eq!((creates(&writes).len(), &writes.status), (1, &None));
    store.applied(report(&writes, 0, vec![pod(1, 95, "p1", &running())]), later);
    let told = (0..60).find_map(|after| store.next(later + after)).unwrap();
    assert_eq!(told.status.unwrap().get("waiting"), None);
}

#[test]
fn a_job_that_ends_does_not_wait_for_a_pod_that_was_refused() {
    let mut store = refused_job();
    let now = NOW + 7 * 60 + 1;
    assert!(store.next(now).is_none(), "tried again after a minute");
    store.pod_seen(&TFJOB, pod(0, 50, "p0", &exited(0)));
    let writes = store.next(now).unwrap();
    assert!(creates(&writes).is_empty());
    let status = writes.status.unwrap();
    let conditions = status["conditions"].as_array().unwrap();
    assert_eq!(conditions.last().unwrap()["type"], "Succeeded");
}

#[test]
fn saying_something_does_not_shorten_the_wait_after_a_refusal() {
    let mut store = refused_job();
    let now = NOW + 7 * 60 + 1;
    store.pod_seen(&TFJOB, pod(0, 50, "p0", &json!({ "phase": "Pending" })));
    for (later, version) in (0..10).zip(60..) {
        while let Some(writes) = store.next(now + later) {
            assert!(creates(&writes).is_empty());
            store.applied(report(&writes, version, Vec::new()), now + later);
        }
    }
}

#[test]
fn a_new_job_does_not_pay_for_one_of_its_name() {
    let mut store = refused_job();
    store.job_gone(&TFJOB, &job(90, 1, &Value::Null));
    let mut wire = job(91, 1, &Value::Null);
    wire.metadata.uid = Some("new".into());
    store.job_seen(&TFJOB, wire);
    let writes = store.next(NOW + 7 * 60 + 1).unwrap();
    assert_eq!(creates(&writes).len(), 2);
}

/// The pod of a deleted job, which has the name of one that is refused.
fn old_pod() -> PodSeen {
    let mut old = pod(1, 25, "old", &running());
    old.owner = Some("deleted".into());
    old
}

#[test]
fn a_pod_that_was_in_the_way_and_is_gone_is_not_waited_for_any_longer() {
    let mut store = refused_job();
    let now = NOW + 7 * 60 + 1;
    store.pod_seen(&TFJOB, old_pod());
    while let Some(writes) = store.next(now) {
        assert!(creates(&writes).is_empty(), "tried again after a minute");
        store.applied(report(&writes, 60, Vec::new()), now);
    }
    store.pod_gone(&TFJOB, &old_pod());
    assert_eq!(creates(&store.next(now).unwrap()), ["worker-1"]);
}

/// On a busy API server the status that says what is in the way is refused because the operator's version of the job is old.
#[test]
fn a_status_that_was_refused_meanwhile_does_not_hide_what_the_pods_waited_for() {
    let mut store = refused_job();
    let now = NOW + 7 * 60 + 1;
    store.pod_seen(&TFJOB, old_pod());
    store.pod_seen(&TFJOB, pod(0, 50, "p0", &json!({ "phase": "Pending" })));
    let writes = (0..10).find_map(|later| store.next(now + later)).unwrap();
    assert!(creates(&writes).is_empty(), "tried again after a minute");
    let refused = Report {
        error: Some(refusal(ApplyErrorKind::Other)),
        ..report(&writes, 0, Vec::new())
    };
    store.applied(refused, now + 10);
    store.pod_gone(&TFJOB, &old_pod());
    assert_eq!(creates(&store.next(now + 10).unwrap()), ["worker-1"]);
}

#[test]
fn a_pod_that_goes_while_it_is_found_in_the_way_is_not_waited_for() {
    let mut store = refused_job();
    let now = NOW + 8 * 60 + 1;
    store.pod_seen(&TFJOB, old_pod());
    let writes = store.next(now).unwrap();
    assert_eq!(creates(&writes), ["worker-1"]);
    store.pod_gone(&TFJOB, &old_pod());
    let refused = Report {
        error: Some(refusal(ApplyErrorKind::Creating(Created::Pod))),
        ..report(&writes, 60, Vec::new())
    };
    store.applied(refused, now);
    assert_eq!(creates(&store.next(now).unwrap()), ["worker-1"]);
}

#[test]
fn a_service_that_was_in_the_way_and_is_gone_is_not_waited_for_any_longer() {
    let (mut store, _) = started();
    store.service_gone(&TFJOB, &service("s1"));
    let old = ServiceSeen {
        owner: Some("deleted".into()),
        ..service("old")
    };
    store.service_seen(&TFJOB, old.clone());
    let writes = store.next(NOW).unwrap();
    let refused = Report {
        services: Vec::new(),
        error: Some(refusal(ApplyErrorKind::Creating(Created::Pod))),
        ..report(&writes, 12, Vec::new())
    };
    store.applied(refused, NOW);
    assert!(store.next(NOW).is_none(), "tried again after a second");
    store.service_gone(&TFJOB, &old);
    assert_eq!(creates(&store.next(NOW).unwrap()).len(), 2);
}

#[test]
fn a_pod_that_goes_while_something_is_told_is_not_waited_for() {
    let mut store = refused_job();
    let now = NOW + 7 * 60 + 1;
    store.pod_seen(&TFJOB, old_pod());
    store.pod_seen(&TFJOB, pod(0, 50, "p0", &json!({ "phase": "Pending" })));
    store.pod_seen(&TFJOB, pod(0, 51, "p0", &running()));
    while let Some(writes) = store.next(now) {
        store.applied(report(&writes, 60, Vec::new()), now);
    }
    // What is told now is that a pod has ended; what was refused is put off.
    store.pod_seen(&TFJOB, pod(0, 61, "p0", &exited(137)));
    let writes = (0..5).find_map(|later| store.next(now + later)).unwrap();
    assert!(creates(&writes).iter().all(|task| task != "worker-1"), "put off");
    store.pod_gone(&TFJOB, &old_pod());
    store.applied(report(&writes, 62, Vec::new()), now + 5);
    let next = store.next(now + 5).unwrap();
    assert!(
        creates(&next).contains(&"worker-1".to_owned()),
        "{:?}",
        next.actions
    );
}

#[test]
fn the_way_is_clear_when_the_last_of_the_old_pods_is_gone() {
    let mut store = refused_job();
    let now = NOW + 7 * 60 + 1;
    let mut other = old_pod();
    (other.name, other.uid) = ("mnist-ps-0".into(), "old ps".into());
    for old in [old_pod(), other.clone()] {
        store.pod_seen(&TFJOB, old);
    }
    while let Some(writes) = store.next(now) {
        store.applied(report(&writes, 60, Vec::new()), now);
    }
    store.pod_gone(&TFJOB, &old_pod());
    assert!(store.next(now).is_none_or(|writes| creates(&writes).is_empty()));
    store.pod_gone(&TFJOB, &other);
    assert_eq!(creates(&store.next(now).unwrap()), ["worker-1"]);
}
