//! The first status of a job and its first pods, and which of them comes first.

use super::*;
use crate::store::queue::PUT_OFF;

#[test]
fn until_memory_is_known_to_be_kept_a_status_comes_first() {
    let mut store = Store::new(Reading::default());
    for name in ["a", "b"] {
        store.job_seen(&TFJOB, another(name));
    }
    let first = store.next(NOW).unwrap();
    let status = first.status.as_ref().unwrap();
    assert_eq!(status["conditions"][0]["type"], "Created");
    assert_eq!(status["trainyard"]["job"], "a");
    assert_eq!(first.version, 10);
    assert_eq!(first.actions[0], Action::Ensure(Fixture::Addresses));
    assert_eq!(creates(&first), ["worker-0", "worker-1"]);
    assert!(
        store.next(NOW).unwrap().status.is_some(),
        "nothing waits for the answer"
    );
    assert!(store.next(NOW).is_none(), "one job has one apply in flight");
    store.applied(report(&first, 11, Vec::new()), NOW);
    store.job_seen(&TFJOB, another("c"));
    let third = std::iter::from_fn(|| store.next(NOW)).find(|writes| &*writes.key.name == "c");
    assert!(third.unwrap().status.is_none(), "its pods come first");
}

#[test]
fn the_first_pods_of_a_job_come_before_its_first_status() {
    let mut store = second_job();
    let writes = store.next(NOW).unwrap();
    assert_eq!((&writes.status, writes.events.len()), (&None, 0));
    assert_eq!(creates(&writes), ["worker-0", "worker-1"]);
    let made = vec![pod(0, 13, "p0", &json!({})), pod(1, 14, "p1", &json!({}))];
    store.applied(report(&writes, 0, made), NOW);
    let writes = store.next(NOW).unwrap();
    let status = writes.status.as_ref().unwrap();
    assert_eq!(status["conditions"][0]["type"], "Created");
    assert_eq!(
        status["startTime"], "2027-01-15T07:59:58Z",
        "when its first pod was made"
    );
    assert!(writes.actions.is_empty());
}

/// A user who takes the memory out of the status of one job must not make the first pods of all others wait for a probe.
#[test]
fn a_memory_that_is_missing_in_one_status_says_nothing_about_the_others() {
    let (mut store, status) = started();
    let other = |version: u64, status: &Value| {
        let mut wire = job(version, 1, status);
        wire.metadata.name = Some("other".into());
        wire.metadata.uid = Some("other".into());
        wire.manage("kueue.x-k8s.io/multikueue");
        wire
    };
    store.job_seen(&TFJOB, other(20, &status));
    store.job_seen(&TFJOB, other(21, &json!({})));
    store.job_gone(&TFJOB, &job(22, 1, &Value::Null));
    store.job_seen(&TFJOB, another("new"));
    let writes = std::iter::from_fn(|| store.next(NOW)).find(|writes| &*writes.key.name == "new");
    assert!(writes.unwrap().status.is_none(), "its pods come first");
}

#[test]
fn where_memory_is_dropped_no_pod_is_made_before_a_status() {
    let mut store = second_job();
    let writes = store.next(NOW).unwrap();
    let made = vec![pod(0, 13, "p0", &json!({})), pod(1, 14, "p1", &json!({}))];
    store.applied(report(&writes, 0, made), NOW);
    let writes = store.next(NOW).unwrap();
    let pruned = Report {
        written: Some((15, json!({}))),
        error: Some(refusal(ApplyErrorKind::Pruned)),
        ..report(&writes, 0, Vec::new())
    };
    store.applied(pruned, NOW);
    store.job_gone(&TFJOB, &job(16, 1, &Value::Null));
    for uid in ["p0", "p1"] {
        let index = u32::from(uid == "p1");
        store.pod_gone(&TFJOB, &pod(index, 17, uid, &json!({})));
    }
    store.job_seen(&TFJOB, job(18, 1, &Value::Null));
    assert!(store.next(NOW + 60).unwrap().status.is_some());
}

/// A store that reads a list, with a job whose first pods are being made.
fn starting_while_listing() -> (Store, Report) {
    let mut store = second_job();
    // Of the job before it nothing is left in line.
    store.stop_leading();
    store.start_leading();
    store.list_begins(Source::Jobs(&TFJOB));
    store.job_seen(&TFJOB, job(12, 1, &Value::Null));
    let writes = store.next(NOW).unwrap();
    let made = vec![pod(0, 13, "p0", &json!({})), pod(1, 14, "p1", &json!({}))];
    (store, report(&writes, 0, made))
}

/// A store that reads a list, with a job that has just got its first pods.
fn untold_while_listing() -> Store {
    let (mut store, report) = starting_while_listing();
    store.applied(report, NOW);
    store
}

#[test]
fn a_first_status_waits_until_every_listed_job_has_its_pods() {
    let mut store = untold_while_listing();
    assert!(store.next(NOW).is_none(), "there may be more without pods");
    store.job_seen(&TFJOB, another("late"));
    store.list_ends(Source::Jobs(&TFJOB));
    let late = store.next(NOW).unwrap();
    assert_eq!((&*late.key.name, late.status.is_some()), ("late", false));
    assert!(store.next(NOW).is_none(), "its pods are still being made");
    // Whose pods are refused is not waited for.
    let refused = Report {
        error: Some(refusal(ApplyErrorKind::Creating(Created::Pod))),
        ..report(&late, 0, Vec::new())
    };
    store.applied(refused, NOW);
    let writes = store.next(NOW).unwrap();
    assert_eq!((&*writes.key.name, writes.status.is_some()), ("mnist", true));
}

#[test]
fn a_first_status_does_not_wait_for_ever() {
    let mut store = untold_while_listing();
    assert_eq!(store.wake(), Some(NOW + PUT_OFF));
    store.job_seen(&TFJOB, another("late"));
    let writes = store.next(NOW + PUT_OFF).unwrap();
    assert_eq!((&*writes.key.name, writes.status.is_some()), ("mnist", true));
}

#[test]
fn a_job_that_had_news_while_its_pods_were_made_is_looked_at_at_once() {
    let (mut store, report) = starting_while_listing();
    store.pod_seen(&TFJOB, pod(0, 15, "p0", &running()));
    assert!(store.next(NOW).is_none(), "one writes at a time");
    store.applied(report, NOW);
    let writes = store.next(NOW).unwrap();
    assert_eq!((&*writes.key.name, writes.status.is_some()), ("mnist", true));
}

#[test]
fn a_job_whose_pods_have_news_does_not_wait_to_be_looked_at() {
    let mut store = untold_while_listing();
    store.pod_seen(&TFJOB, pod(0, 15, "p0", &running()));
    let writes = store.next(NOW).unwrap();
    assert_eq!((&*writes.key.name, writes.status.is_some()), ("mnist", true));
}
