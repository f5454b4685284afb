//! What the API server refuses is tried again, and holds up nothing else.

use super::*;

#[test]
fn a_job_whose_pods_are_refused_says_so_before_it_tries_again() {
    let mut yard = second_job();
    let pass = yard.next(NOW).unwrap();
    let refused = Report {
        trouble: Some(refusal(Sort::Creating)),
        ..report(&pass, 0, Vec::new())
    };
    yard.reported(refused, NOW);
    assert!(yard.next(NOW + 1).unwrap().status.is_some());
}

/// A job of which one pod runs and the other one has just been refused, so often that it is tried again after a minute.
fn refused_job() -> Yard {
    refused().0
}

/// The same, and what its status says by then.
fn refused() -> (Yard, Value) {
    let (mut yard, mut status) = started();
    let pass = yard.next(NOW).unwrap();
    yard.reported(report(&pass, 0, vec![pod(0, 20, "p0", &running())]), NOW);
    for attempt in 0..8 {
        let later = NOW + 60 * attempt;
        while let Some(pass) = yard.next(later) {
            let trouble = (!creates(&pass).is_empty()).then(|| refusal(Sort::Creating));
            let version = 30 + u64::from(attempt);
            status = pass.status.clone().unwrap_or(status);
            yard.reported(
                Report {
                    trouble,
                    ..report(&pass, version, Vec::new())
                },
                later,
            );
        }
    }
    (yard, status)
}

#[test]
fn what_was_refused_and_is_wanted_no_longer_is_not_waited_for() {
    let (mut yard, status) = refused();
    let mut smaller = job(90, 2, &status);
    smaller.scale(1);
    yard.job_seen(smaller);
    let now = NOW + 7 * 60 + 1;
    let told = (0..120).find_map(|after| yard.next(now + after)).unwrap();
    assert_eq!(creates(&told), Vec::<String>::new());
    assert_eq!(told.status.unwrap().get("waiting"), None);
}

#[test]
fn what_was_refused_before_a_restart_stands_until_it_is_made_and_is_told_once() {
    let (_, status) = refused();
    assert_eq!(status["waiting"][0]["reason"], "FailedCreatePod", "{status:#}");
    let mut yard = Yard::new(Reading::default());
    yard.service_seen(service("s1"));
    yard.pod_seen(pod(0, 20, "p0", &running()));
    yard.job_seen(job(90, 1, &status));
    let now = NOW + 8 * 60;
    let pass = yard.next(now).unwrap();
    assert_eq!(creates(&pass), ["worker-1"]);
    assert_eq!(pass.status, None, "there is nothing new to say");
    let refused = Report {
        trouble: Some(refusal(Sort::Creating)),
        ..report(&pass, 0, Vec::new())
    };
    yard.reported(refused, now);
    assert!(
        yard.next(now).is_none(),
        "nothing new, and tried again after a second"
    );

    let later = now + 60;
    let pass = yard.next(later).unwrap();
    assert_eq!((creates(&pass).len(), &pass.status), (1, &None));
    yard.reported(report(&pass, 0, vec![pod(1, 95, "p1", &running())]), later);
    let told = (0..60).find_map(|after| yard.next(later + after)).unwrap();
    assert_eq!(told.status.unwrap().get("waiting"), None);
}

#[test]
fn a_job_that_ends_does_not_wait_for_a_pod_that_was_refused() {
    let mut yard = refused_job();
    let now = NOW + 7 * 60 + 1;
    assert!(yard.next(now).is_none(), "tried again after a minute");
    yard.pod_seen(pod(0, 50, "p0", &exited(0)));
    let pass = yard.next(now).unwrap();
    assert!(creates(&pass).is_empty());
    let status = pass.status.unwrap();
    let conditions = status["conditions"].as_array().unwrap();
    assert_eq!(conditions.last().unwrap()["type"], "Succeeded");
}

#[test]
fn saying_something_does_not_shorten_the_wait_after_a_refusal() {
    let mut yard = refused_job();
    let now = NOW + 7 * 60 + 1;
    yard.pod_seen(pod(0, 50, "p0", &json!({ "phase": "Pending" })));
    for (later, version) in (0..10).zip(60..) {
        while let Some(pass) = yard.next(now + later) {
            assert!(creates(&pass).is_empty());
            yard.reported(report(&pass, version, Vec::new()), now + later);
        }
    }
}

#[test]
fn a_new_job_does_not_pay_for_one_of_its_name() {
    let mut yard = refused_job();
    yard.job_gone(&job(90, 1, &Value::Null));
    let mut wire = job(91, 1, &Value::Null);
    wire.metadata.uid = Some("new".into());
    yard.job_seen(wire);
    let pass = yard.next(NOW + 7 * 60 + 1).unwrap();
    assert_eq!(creates(&pass).len(), 2);
}

/// The pod of a deleted job, which has the name of one that is refused.
fn old_pod() -> PodSeen {
    let mut old = pod(1, 25, "old", &running());
    old.owner = Some("deleted".into());
    old
}

#[test]
fn a_pod_that_was_in_the_way_and_is_gone_is_not_waited_for_any_longer() {
    let mut yard = refused_job();
    let now = NOW + 7 * 60 + 1;
    yard.pod_seen(old_pod());
    while let Some(pass) = yard.next(now) {
        assert!(creates(&pass).is_empty(), "tried again after a minute");
        yard.reported(report(&pass, 60, Vec::new()), now);
    }
    yard.pod_gone(&old_pod());
    assert_eq!(creates(&yard.next(now).unwrap()), ["worker-1"]);
}

#[test]
fn a_pod_that_goes_while_it_is_found_in_the_way_is_not_waited_for() {
    let mut yard = refused_job();
    let now = NOW + 8 * 60 + 1;
    yard.pod_seen(old_pod());
    let pass = yard.next(now).unwrap();
    assert_eq!(creates(&pass), ["worker-1"]);
    yard.pod_gone(&old_pod());
    let refused = Report {
        trouble: Some(refusal(Sort::Creating)),
        ..report(&pass, 60, Vec::new())
    };
    yard.reported(refused, now);
    assert_eq!(creates(&yard.next(now).unwrap()), ["worker-1"]);
}

#[test]
fn a_service_that_was_in_the_way_and_is_gone_is_not_waited_for_any_longer() {
    let (mut yard, _) = started();
    yard.service_gone(&service("s1"));
    let old = ServiceSeen {
        owner: Some("deleted".into()),
        ..service("old")
    };
    yard.service_seen(old.clone());
    let pass = yard.next(NOW).unwrap();
    let refused = Report {
        services: Vec::new(),
        trouble: Some(refusal(Sort::Creating)),
        ..report(&pass, 12, Vec::new())
    };
    yard.reported(refused, NOW);
    assert!(yard.next(NOW).is_none(), "tried again after a second");
    yard.service_gone(&old);
    assert_eq!(creates(&yard.next(NOW).unwrap()).len(), 2);
}

#[test]
fn a_pod_that_goes_while_something_is_told_is_not_waited_for() {
    let mut yard = refused_job();
    let now = NOW + 7 * 60 + 1;
    yard.pod_seen(old_pod());
    yard.pod_seen(pod(0, 50, "p0", &json!({ "phase": "Pending" })));
    yard.pod_seen(pod(0, 51, "p0", &running()));
    while let Some(pass) = yard.next(now) {
        yard.reported(report(&pass, 60, Vec::new()), now);
    }
    // What is told now is that a pod has ended; what was refused is put off.
    yard.pod_seen(pod(0, 61, "p0", &exited(137)));
    let pass = (0..5).find_map(|later| yard.next(now + later)).unwrap();
    assert!(creates(&pass).iter().all(|task| task != "worker-1"), "put off");
    yard.pod_gone(&old_pod());
    yard.reported(report(&pass, 62, Vec::new()), now + 5);
    let next = yard.next(now + 5).unwrap();
    assert!(
        creates(&next).contains(&"worker-1".to_owned()),
        "{:?}",
        next.actions
    );
}

#[test]
fn the_way_is_clear_when_the_last_of_the_old_pods_is_gone() {
    let mut yard = refused_job();
    let now = NOW + 7 * 60 + 1;
    let mut other = old_pod();
    (other.name, other.uid) = ("mnist-ps-0".into(), "old ps".into());
    for old in [old_pod(), other.clone()] {
        yard.pod_seen(old);
    }
    while let Some(pass) = yard.next(now) {
        yard.reported(report(&pass, 60, Vec::new()), now);
    }
    yard.pod_gone(&old_pod());
    assert!(yard.next(now).is_none_or(|pass| creates(&pass).is_empty()));
    yard.pod_gone(&other);
    assert_eq!(creates(&yard.next(now).unwrap()), ["worker-1"]);
}
