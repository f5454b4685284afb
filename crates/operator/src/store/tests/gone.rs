//! Pods and Services that go, also while no watch is open.

use super::*;
use crate::workload::WorkloadSeen;

#[test]
fn a_pod_that_went_while_its_pass_was_under_way_is_made_again() {
    let (mut store, _) = started();
    let writes = store.next(NOW).unwrap();
    store.pod_seen(&TFJOB, pod(0, 20, "p0", &json!({})));
    store.pod_gone(&TFJOB, &pod(0, 21, "p0", &json!({})));
    let made = vec![pod(0, 20, "p0", &json!({})), pod(1, 22, "p1", &json!({}))];
    store.applied(report(&writes, 0, made), NOW);
    assert_eq!(store.counts(), (1, 1));
}

#[test]
fn a_success_stands_though_its_pod_is_deleted_in_the_same_second() {
    let (mut store, _) = started();
    store.pod_seen(&TFJOB, pod(0, 20, "p0", &running()));
    store.pod_seen(&TFJOB, pod(1, 21, "p1", &running()));
    let deleted = |version: u64| {
        let mut pod = pod(1, version, "p1", &exited(0));
        let task = pod.task.as_mut().unwrap();
        if let trainyard_core::Seen::Ended(exit) = &mut task.state {
            exit.asked = true;
        }
        pod
    };
    store.pod_seen(&TFJOB, pod(1, 22, "p1", &exited(0)));
    store.pod_seen(&TFJOB, deleted(23));
    store.pod_gone(&TFJOB, &deleted(24));
    let status = store.next(NOW + 10).unwrap().status.unwrap();
    assert_eq!(status["trainyard"]["roles"]["worker"]["done"], "1");
}

#[test]
fn a_service_that_went_while_its_pass_was_under_way_is_made_again() {
    let mut store = second_job();
    let writes = store.next(NOW).unwrap();
    store.service_seen(&TFJOB, service("s2"));
    store.service_gone(&TFJOB, &service("s2"));
    let made = vec![pod(0, 20, "p0", &json!({})), pod(1, 22, "p1", &json!({}))];
    let report = Report {
        services: vec![service("s2")],
        ..report(&writes, 0, made)
    };
    store.applied(report, NOW);
    let writes = store.next(NOW).unwrap();
    assert_eq!(writes.actions, [Action::Ensure(Fixture::Addresses)]);
}

#[test]
fn a_service_that_we_removed_does_not_come_back_with_a_watch_that_is_behind() {
    let mut store = Store::new(Reading::default());
    store.job_seen(&TFJOB, job(10, 1, &Value::Null));
    let writes = store.next(NOW).unwrap();
    let removed = Report {
        services: Vec::new(),
        removed: vec!["s1".into()],
        ..report(&writes, 11, Vec::new())
    };
    store.service_seen(&TFJOB, service("s1"));
    store.applied(removed, NOW);
    store.service_seen(&TFJOB, service("s1"));
    let writes = store.next(NOW).unwrap();
    assert_eq!(writes.actions[0], Action::Ensure(Fixture::Addresses));
}

#[test]
fn a_pod_that_vanishes_is_remembered_until_its_end_is_stored() {
    let (mut store, _) = started();
    store.pod_seen(&TFJOB, pod(1, 20, "p1", &exited(137)));
    store.pod_seen(&TFJOB, pod(0, 21, "p0", &running()));
    store.pod_gone(&TFJOB, &pod(1, 22, "p1", &exited(137)));
    // The apply that answers it fails; nothing may be forgotten.
    let writes = store.next(NOW).unwrap();
    let paid = |writes: &Writes| writes.status.as_ref().unwrap()["trainyard"]["paid"].clone();
    assert_eq!(paid(&writes), 1);
    let refused = Report {
        written: None,
        error: Some(refusal(ApplyErrorKind::Other)),
        ..report(&writes, 0, Vec::new())
    };
    store.applied(refused, NOW);
    assert!(store.next(NOW).is_none(), "not at once again");
    let writes = store.next(NOW + 1).unwrap();
    assert_eq!(paid(&writes), 1);
    store.applied(report(&writes, 30, Vec::new()), NOW);
    let writes = store.next(NOW + 60).unwrap();
    assert_eq!(
        writes
            .status
            .map_or_else(|| json!(1), |status| status["trainyard"]["paid"].clone()),
        1,
        "charged once"
    );
}

#[test]
fn a_list_that_lacks_a_pod_means_that_it_is_gone() {
    let (mut store, _) = started();
    store.pod_seen(&TFJOB, pod(0, 20, "p0", &running()));
    store.pod_seen(&TFJOB, pod(1, 21, "p1", &running()));
    store.list_begins(Source::Pods(&TFJOB));
    store.pod_seen(&TFJOB, pod(0, 22, "p0", &running()));
    store.list_ends(Source::Pods(&TFJOB));
    assert_eq!(store.counts(), (1, 1));
}

#[test]
fn a_pod_made_while_a_list_is_read_is_kept() {
    let (mut store, _) = started();
    let writes = store.next(NOW).unwrap();
    store.list_begins(Source::Pods(&TFJOB));
    store.applied(
        report(
            &writes,
            0,
            vec![pod(0, 20, "p0", &json!({})), pod(1, 21, "p1", &json!({}))],
        ),
        NOW,
    );
    store.list_ends(Source::Pods(&TFJOB));
    assert_eq!(store.counts(), (1, 2));
}

#[test]
fn a_service_that_somebody_deleted_is_made_again() {
    let mut store = running_job();
    store.service_gone(&TFJOB, &service("s0"));
    assert!(store.next(NOW).is_none(), "it was another one of that name");
    store.service_gone(&TFJOB, &service("s1"));
    let writes = store.next(NOW).unwrap();
    assert_eq!(writes.actions, [Action::Ensure(Fixture::Addresses)]);
    assert_eq!(writes.missing, [NeededObject::Service("mnist".into())]);
}

#[test]
fn a_service_that_was_made_while_a_list_was_read_is_not_missed() {
    let mut store = running_job();
    store.list_begins(Source::Services(&TFJOB));
    store.list_ends(Source::Services(&TFJOB));
    let writes = store.next(NOW).unwrap();
    assert_eq!(
        writes.actions,
        [Action::Ensure(Fixture::Addresses)],
        "it was not in the list"
    );
    store.list_begins(Source::Services(&TFJOB));
    store.applied(report(&writes, 31, Vec::new()), NOW);
    store.list_ends(Source::Services(&TFJOB));
    assert!(store.next(NOW).is_none(), "it was made after the list began");
}

/// A Workload that names a job of that name as its controller.
fn workload(job: &str, version: u64) -> WorkloadSeen {
    let object = json!({
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
        "metadata": {
            "name": "w", "namespace": "ml", "uid": "w1", "resourceVersion": version.to_string(),
            "ownerReferences": [{ "apiVersion": "kubeflow.org/v1", "kind": "TFJob", "name": job, "uid": "u", "controller": true }],
        },
    });
    WorkloadSeen::of(&serde_json::from_value(object).unwrap()).unwrap()
}

#[test]
fn an_object_whose_labels_are_edited_is_held_by_the_job_that_it_names_last_alone() {
    let (mut store, _) = started();
    for round in 0..100 {
        let mut edited = pod(0, 20 + round, "p0", &running());
        edited.job = format!("job-{round}").into();
        store.pod_seen(&TFJOB, edited);
        let mut edited = service("s9");
        edited.job = format!("job-{round}").into();
        store.service_seen(&TFJOB, edited);
        store.workload_seen(workload(&format!("job-{round}"), 20 + round));
    }
    assert_eq!((store.counts().1, store.entries.len()), (1, 2));
    store.list_begins(Source::Pods(&TFJOB));
    store.list_ends(Source::Pods(&TFJOB));
    store.list_begins(Source::Services(&TFJOB));
    store.list_ends(Source::Services(&TFJOB));
    store.list_begins(Source::Workloads);
    store.list_ends(Source::Workloads);
    assert_eq!((store.counts().1, store.entries.len()), (0, 1), "nothing is left");
}
