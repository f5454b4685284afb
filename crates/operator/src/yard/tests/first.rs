//! The first status of a job and its first pods, and which of them comes first.

use super::*;
use crate::yard::line::PUT_OFF;

/// Three new jobs, of which the first one is on its way to find out whether memory is kept.
fn scouting() -> (Yard, Pass) {
    let mut yard = Yard::new(Reading::default());
    for name in ["a", "b", "c"] {
        yard.job_seen(another(name));
    }
    let scout = yard.next(NOW).unwrap();
    (yard, scout)
}

#[test]
fn the_first_status_of_all_comes_alone_then_what_tasks_are_found_by_then_pods() {
    let mut yard = Yard::new(Reading::default());
    yard.job_seen(job(10, 1, &Value::Null));
    let pass = yard.next(NOW).unwrap();
    let status = pass.status.as_ref().unwrap();
    assert_eq!(status["conditions"][0]["type"], "Created");
    assert_eq!(status["trainyard"]["job"], "job");
    assert_eq!(pass.version, 10);
    assert!(pass.actions.is_empty());
    assert!(yard.next(NOW).is_none(), "one pass at a time");
    let stored = Report {
        services: Vec::new(),
        ..report(&pass, 11, Vec::new())
    };
    yard.reported(stored, NOW);
    let pass = yard.next(NOW).unwrap();
    assert_eq!(pass.actions[0], Action::Ensure(Fixture::Addresses));
    assert_eq!(creates(&pass), ["worker-0", "worker-1"]);
}

#[test]
fn the_first_pods_of_a_job_come_before_its_first_status() {
    let mut yard = second_job();
    let pass = yard.next(NOW).unwrap();
    assert_eq!((&pass.status, pass.events.len()), (&None, 0));
    assert_eq!(creates(&pass), ["worker-0", "worker-1"]);
    let made = vec![pod(0, 13, "p0", &json!({})), pod(1, 14, "p1", &json!({}))];
    yard.reported(report(&pass, 0, made), NOW);
    let pass = yard.next(NOW).unwrap();
    let status = pass.status.as_ref().unwrap();
    assert_eq!(status["conditions"][0]["type"], "Created");
    assert_eq!(
        status["startTime"], "2027-01-15T07:59:58Z",
        "when its first pod was made"
    );
    assert!(pass.actions.is_empty());
}

#[test]
fn one_job_finds_out_whether_memory_is_kept_and_the_others_wait_for_it() {
    let (mut yard, scout) = scouting();
    assert!(scout.status.is_some());
    assert!(yard.next(NOW).is_none());
    assert_eq!(yard.queued(), 2);
    yard.reported(report(&scout, 11, Vec::new()), NOW);
    for name in ["b", "c"] {
        let pass = yard.next(NOW).unwrap();
        assert_eq!((&*pass.key.name, pass.status.is_some()), (name, false));
    }
}

/// A user who takes the memory out of the status of one job must not make the first pods of all others wait for a scout.
#[test]
fn a_memory_that_is_missing_in_one_status_says_nothing_about_the_others() {
    let (mut yard, status) = started();
    let other = |version: u64, status: &Value| {
        let mut wire = job(version, 1, status);
        wire.metadata.name = Some("other".into());
        wire.metadata.uid = Some("other".into());
        wire.manage("kueue.x-k8s.io/multikueue");
        wire
    };
    yard.job_seen(other(20, &status));
    yard.job_seen(other(21, &json!({})));
    yard.job_gone(&job(22, 1, &Value::Null));
    yard.job_seen(another("new"));
    let pass = std::iter::from_fn(|| yard.next(NOW)).find(|pass| &*pass.key.name == "new");
    assert!(pass.unwrap().status.is_none(), "its pods come first");
}

#[test]
fn a_scout_that_is_refused_is_followed_by_another() {
    let (mut yard, scout) = scouting();
    let refused = Report {
        written: None,
        trouble: Some(refusal(Sort::Other)),
        ..report(&scout, 0, Vec::new())
    };
    yard.reported(refused, NOW);
    let pass = yard.next(NOW).unwrap();
    assert_eq!((&*pass.key.name, pass.status.is_some()), ("b", true));
    assert!(yard.next(NOW).is_none());
}

#[test]
fn where_memory_is_dropped_no_pod_is_made_before_a_status() {
    let mut yard = second_job();
    let pass = yard.next(NOW).unwrap();
    let made = vec![pod(0, 13, "p0", &json!({})), pod(1, 14, "p1", &json!({}))];
    yard.reported(report(&pass, 0, made), NOW);
    let pass = yard.next(NOW).unwrap();
    let pruned = Report {
        written: Some((15, json!({}))),
        trouble: Some(refusal(Sort::Pruned)),
        ..report(&pass, 0, Vec::new())
    };
    yard.reported(pruned, NOW);
    yard.job_gone(&job(16, 1, &Value::Null));
    for uid in ["p0", "p1"] {
        let index = u32::from(uid == "p1");
        yard.pod_gone(&pod(index, 17, uid, &json!({})));
    }
    yard.job_seen(job(18, 1, &Value::Null));
    assert!(yard.next(NOW + 60).unwrap().status.is_some());
}

/// A yard that reads a list, with a job whose first pods are being made.
fn starting_while_listing() -> (Yard, Report) {
    let mut yard = second_job();
    // Of the job before it nothing is left in line.
    yard.stand_by();
    yard.stand_up();
    yard.jobs_begin();
    yard.job_seen(job(12, 1, &Value::Null));
    let pass = yard.next(NOW).unwrap();
    let made = vec![pod(0, 13, "p0", &json!({})), pod(1, 14, "p1", &json!({}))];
    (yard, report(&pass, 0, made))
}

/// A yard that reads a list, with a job that has just got its first pods.
fn untold_while_listing() -> Yard {
    let (mut yard, report) = starting_while_listing();
    yard.reported(report, NOW);
    yard
}

#[test]
fn a_first_status_waits_until_every_listed_job_has_its_pods() {
    let mut yard = untold_while_listing();
    assert!(yard.next(NOW).is_none(), "there may be more without pods");
    yard.job_seen(another("late"));
    yard.jobs_end();
    let late = yard.next(NOW).unwrap();
    assert_eq!((&*late.key.name, late.status.is_some()), ("late", false));
    assert!(yard.next(NOW).is_none(), "its pods are still being made");
    // Whose pods are refused is not waited for.
    let refused = Report {
        trouble: Some(refusal(Sort::Creating)),
        ..report(&late, 0, Vec::new())
    };
    yard.reported(refused, NOW);
    let pass = yard.next(NOW).unwrap();
    assert_eq!((&*pass.key.name, pass.status.is_some()), ("mnist", true));
}

#[test]
fn a_first_status_does_not_wait_for_ever() {
    let mut yard = untold_while_listing();
    assert_eq!(yard.wake(), Some(NOW + PUT_OFF));
    yard.job_seen(another("late"));
    let pass = yard.next(NOW + PUT_OFF).unwrap();
    assert_eq!((&*pass.key.name, pass.status.is_some()), ("mnist", true));
}

#[test]
fn a_job_that_had_news_while_its_pods_were_made_is_looked_at_at_once() {
    let (mut yard, report) = starting_while_listing();
    yard.pod_seen(pod(0, 15, "p0", &running()));
    assert!(yard.next(NOW).is_none(), "one pass at a time");
    yard.reported(report, NOW);
    let pass = yard.next(NOW).unwrap();
    assert_eq!((&*pass.key.name, pass.status.is_some()), ("mnist", true));
}

#[test]
fn a_job_whose_pods_have_news_does_not_wait_to_be_looked_at() {
    let mut yard = untold_while_listing();
    yard.pod_seen(pod(0, 15, "p0", &running()));
    let pass = yard.next(NOW).unwrap();
    assert_eq!((&*pass.key.name, pass.status.is_some()), ("mnist", true));
}
