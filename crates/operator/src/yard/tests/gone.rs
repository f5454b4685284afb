//! Pods and Services that go, also while nobody looks.

use super::*;

#[test]
fn a_pod_that_went_while_its_pass_was_under_way_is_made_again() {
    let (mut yard, _) = started();
    let pass = yard.next(NOW).unwrap();
    yard.pod_seen(pod(0, 20, "p0", &json!({})));
    yard.pod_gone(&pod(0, 21, "p0", &json!({})));
    let made = vec![pod(0, 20, "p0", &json!({})), pod(1, 22, "p1", &json!({}))];
    yard.reported(report(&pass, 0, made), NOW);
    assert_eq!(yard.counts(), (1, 1));
}

#[test]
fn a_success_stands_though_its_pod_is_deleted_in_the_same_second() {
    let (mut yard, _) = started();
    yard.pod_seen(pod(0, 20, "p0", &running()));
    yard.pod_seen(pod(1, 21, "p1", &running()));
    let deleted = |version: u64| {
        let mut pod = pod(1, version, "p1", &exited(0));
        let task = pod.task.as_mut().unwrap();
        if let trainyard_core::Seen::Ended(exit) = &mut task.state {
            exit.asked = true;
        }
        pod
    };
    yard.pod_seen(pod(1, 22, "p1", &exited(0)));
    yard.pod_seen(deleted(23));
    yard.pod_gone(&deleted(24));
    let status = yard.next(NOW + 10).unwrap().status.unwrap();
    assert_eq!(status["trainyard"]["roles"]["worker"]["done"], "1");
}

#[test]
fn a_service_that_went_while_its_pass_was_under_way_is_made_again() {
    let mut yard = second_job();
    let pass = yard.next(NOW).unwrap();
    yard.service_seen(service("s2"));
    yard.service_gone(&service("s2"));
    let made = vec![pod(0, 20, "p0", &json!({})), pod(1, 22, "p1", &json!({}))];
    let report = Report {
        services: vec![service("s2")],
        ..report(&pass, 0, made)
    };
    yard.reported(report, NOW);
    let pass = yard.next(NOW).unwrap();
    assert_eq!(pass.actions, [Action::Ensure(Fixture::Addresses)]);
}

#[test]
fn a_service_that_we_removed_does_not_come_back_with_a_watch_that_is_behind() {
    let mut yard = Yard::new(Reading::default());
    yard.job_seen(job(10, 1, &Value::Null));
    let pass = yard.next(NOW).unwrap();
    let removed = Report {
        services: Vec::new(),
        removed: vec!["s1".into()],
        ..report(&pass, 11, Vec::new())
    };
    yard.service_seen(service("s1"));
    yard.reported(removed, NOW);
    yard.service_seen(service("s1"));
    let pass = yard.next(NOW).unwrap();
    assert_eq!(pass.actions[0], Action::Ensure(Fixture::Addresses));
}

#[test]
fn a_pod_that_vanishes_is_remembered_until_its_end_is_stored() {
    let (mut yard, _) = started();
    yard.pod_seen(pod(1, 20, "p1", &exited(137)));
    yard.pod_seen(pod(0, 21, "p0", &running()));
    yard.pod_gone(&pod(1, 22, "p1", &exited(137)));
    // The pass that answers it fails; nothing may be forgotten.
    let pass = yard.next(NOW).unwrap();
    let paid = |pass: &Pass| pass.status.as_ref().unwrap()["trainyard"]["paid"].clone();
    assert_eq!(paid(&pass), 1);
    let refused = Report {
        written: None,
        trouble: Some(refusal(Sort::Other)),
        ..report(&pass, 0, Vec::new())
    };
    yard.reported(refused, NOW);
    assert!(yard.next(NOW).is_none(), "not at once again");
    let pass = yard.next(NOW + 1).unwrap();
    assert_eq!(paid(&pass), 1);
    yard.reported(report(&pass, 30, Vec::new()), NOW);
    let pass = yard.next(NOW + 60).unwrap();
    assert_eq!(
        pass.status
            .map_or_else(|| json!(1), |status| status["trainyard"]["paid"].clone()),
        1,
        "charged once"
    );
}

#[test]
fn a_list_that_lacks_a_pod_means_that_it_is_gone() {
    let (mut yard, _) = started();
    yard.pod_seen(pod(0, 20, "p0", &running()));
    yard.pod_seen(pod(1, 21, "p1", &running()));
    yard.pods_begin();
    yard.pod_seen(pod(0, 22, "p0", &running()));
    yard.pods_end();
    assert_eq!(yard.counts(), (1, 1));
}

#[test]
fn a_pod_made_while_a_list_is_read_is_kept() {
    let (mut yard, _) = started();
    let pass = yard.next(NOW).unwrap();
    yard.pods_begin();
    yard.reported(
        report(
            &pass,
            0,
            vec![pod(0, 20, "p0", &json!({})), pod(1, 21, "p1", &json!({}))],
        ),
        NOW,
    );
    yard.pods_end();
    assert_eq!(yard.counts(), (1, 2));
}

#[test]
fn a_service_that_somebody_deleted_is_made_again() {
    let mut yard = running_job();
    yard.service_gone(&service("s0"));
    assert!(yard.next(NOW).is_none(), "it was another one of that name");
    yard.service_gone(&service("s1"));
    let pass = yard.next(NOW).unwrap();
    assert_eq!(pass.actions, [Action::Ensure(Fixture::Addresses)]);
    assert_eq!(pass.missing, [Needed::Service("mnist".into())]);
}

#[test]
fn a_service_that_was_made_while_a_list_was_read_is_not_missed() {
    let mut yard = running_job();
    yard.services_begin();
    yard.services_end();
    let pass = yard.next(NOW).unwrap();
    assert_eq!(
        pass.actions,
        [Action::Ensure(Fixture::Addresses)],
        "it was not in the list"
    );
    yard.services_begin();
    yard.reported(report(&pass, 31, Vec::new()), NOW);
    yard.services_end();
    assert!(yard.next(NOW).is_none(), "it was made after the list began");
}
