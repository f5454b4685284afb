//! F5: pods that have a job's labels and its UID, and are none of its tasks'.

use super::*;

/// A pod of worker 0 with a mistake in it; everything else is as it should be.
fn forged(status: &Value, mistake: impl FnOnce(&mut Value)) -> PodSeen {
    let mut wire = json!({
        "metadata": {
            "name": "forged", "namespace": "ml", "uid": "forged", "resourceVersion": "40",
            "creationTimestamp": "2027-01-15T07:59:58Z",
            "labels": {
                "trainyard.dev/job-name": "mnist", "trainyard.dev/role": "worker", "trainyard.dev/task-index": "0",
            },
            "annotations": { "trainyard.dev/stamp": "0.0" },
            "ownerReferences": [{
                "apiVersion": "kubeflow.org/v1", "kind": "TFJob", "uid": "job", "controller": true,
            }],
        },
        "spec": { "restartPolicy": "Never", "containers": [{ "name": "tensorflow" }] },
        "status": status,
    });
    mistake(&mut wire);
    serde_json::from_value(wire).unwrap()
}

/// Plays everything that is to be done at that time, and says what was done: statuses, actions and reasons of events.
fn played(store: &mut Store, now: Time) -> (Vec<Value>, Vec<Action>, Vec<Value>) {
    let (mut statuses, mut actions, mut reasons) = (Vec::new(), Vec::new(), Vec::new());
    while let Some(writes) = store.next(now) {
        let stop = |action: &Action| match action {
            Action::Stop { instance, force, .. } => Some((Arc::clone(instance), *force)),
            _ => None,
        };
        let done = Report {
            stopped: writes.actions.iter().filter_map(stop).collect(),
            ..report(&writes, now.0, Vec::new())
        };
        store.applied(done, now);
        statuses.extend(writes.status);
        actions.extend(writes.actions);
        reasons.extend(writes.events.iter().map(|event| event["reason"].clone()));
    }
    (statuses, actions, reasons)
}

#[test]
fn a_forged_pod_decides_nothing_is_not_touched_and_is_told_once() {
    type Mistake = fn(&mut Value);
    let mistakes: [(&str, Mistake); 4] = [
        ("another name", |_| {}),
        ("a role that there is not", |wire| {
            wire["metadata"]["name"] = "mnist-nonsense-0".into();
            wire["metadata"]["labels"]["trainyard.dev/role"] = "nonsense".into();
        }),
        ("a number that no job has", |wire| {
            wire["metadata"]["name"] = "mnist-worker-4294967295".into();
            wire["metadata"]["labels"]["trainyard.dev/task-index"] = "4294967295".into();
        }),
        ("the largest stamp", |wire| {
            wire["metadata"]["annotations"]["trainyard.dev/stamp"] = "4294967295.4294967295".into();
        }),
    ];
    for (what, mistake) in mistakes {
        for code in [0, 1, 137] {
            let mut store = running_job();
            store.pod_seen(&TFJOB, forged(&exited(code), mistake));
            let (statuses, actions, reasons) = played(&mut store, NOW + 100);
            assert_eq!(
                (statuses, actions),
                (Vec::new(), Vec::new()),
                "{what}, exit {code}"
            );
            assert_eq!(reasons, ["UnknownPod"], "{what}");
            // It goes, another comes: nothing is remembered of either.
            store.pod_gone(&TFJOB, &forged(&exited(code), mistake));
            let mut another = forged(&exited(code), mistake);
            (another.name, another.uid) = ("another".into(), "another".into());
            store.pod_seen(&TFJOB, another);
            let after = played(&mut store, NOW + 200);
            assert_eq!(after, (Vec::new(), Vec::new(), Vec::new()), "{what}");
        }
    }
}

#[test]
fn a_real_pod_that_is_deleted_is_made_again_whatever_a_forged_one_says() {
    let mut store = running_job();
    store.pod_seen(&TFJOB, forged(&exited(0), |_| {}));
    played(&mut store, NOW + 10);
    store.pod_gone(&TFJOB, &pod(0, 50, "p0", &running()));
    // It may wait for a while before it is made again.
    let mut passes: Vec<Writes> = Vec::new();
    for second in 20..400 {
        if let Some(writes) = store.next(NOW + second) {
            store.applied(report(&writes, (NOW + second).0, Vec::new()), NOW + second);
            passes.push(writes);
        }
    }
    let made: Vec<String> = passes.iter().flat_map(creates).collect();
    assert!(made.contains(&"worker-0".to_owned()), "{made:?}");
    let statuses = passes.iter().filter_map(|writes| writes.status.as_ref());
    let ended = statuses.filter(|status| status["completionTime"].is_string());
    assert_eq!(ended.count(), 0);
}

#[test]
fn lost_memory_is_not_rebuilt_from_forged_pods() {
    let mut store = Store::new(Reading::default());
    store.job_seen(&TFJOB, job(10, 1, &Value::Null));
    store.pod_seen(
        &TFJOB,
        forged(&running(), |wire| {
            wire["metadata"]["annotations"]["trainyard.dev/stamp"] = "7.7".into();
        }),
    );
    let status = store.next(NOW).unwrap().status.unwrap();
    assert_eq!(
        status["trainyard"],
        json!({ "format": 1, "job": "job", "started": NOW.0 })
    );
}

#[test]
fn pods_that_were_scaled_away_are_still_stopped() {
    let mut store = running_job();
    let mut surplus = pod(5, 40, "p5", &running());
    surplus.name = "mnist-worker-5".into();
    store.pod_seen(&TFJOB, surplus);
    let (_, actions, reasons) = played(&mut store, NOW + 10);
    assert!(
        matches!(&actions[..], [Action::Stop { instance, .. }] if **instance == *"p5"),
        "{actions:?}"
    );
    assert_eq!(reasons, Vec::<Value>::new());
}

/// It has a task's name, and says that it is another one's: that task waits for it to go.
#[test]
fn a_forged_pod_that_was_in_the_way_and_is_gone_is_not_waited_for_any_longer() {
    let (mut store, _) = started();
    let in_the_way = forged(&running(), |wire| {
        wire["metadata"]["name"] = "mnist-worker-1".into();
    });
    store.pod_seen(&TFJOB, in_the_way.clone());
    let mut now = NOW;
    for version in 50..58 {
        now = now + 60;
        while let Some(writes) = store.next(now) {
            let error = creates(&writes)
                .contains(&"worker-1".to_owned())
                .then(|| refusal(ApplyErrorKind::Creating(Created::Pod)));
            let made = if creates(&writes).contains(&"worker-0".to_owned()) {
                vec![pod(0, 45, "p0", &running())]
            } else {
                Vec::new()
            };
            store.applied(
                Report {
                    error,
                    ..report(&writes, version, made)
                },
                now,
            );
        }
    }
    now = now + 1;
    assert!(store.next(now).is_none(), "tried again after a minute");
    store.pod_gone(&TFJOB, &in_the_way);
    assert_eq!(creates(&store.next(now).unwrap()), ["worker-1"]);
}
