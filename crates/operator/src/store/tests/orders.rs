//! Orders by annotation.

use super::*;

fn ordered(version: u64, status: &Value, order: &str) -> JobWire {
    let mut wire = job(version, 1, status);
    let annotation = ("trainyard.dev/order".to_owned(), order.to_owned());
    wire.metadata.annotations = Some([annotation].into());
    wire
}

/// Two workers that run, and the status that says so.
fn running_with_status() -> (Store, Value) {
    let (mut store, _) = started();
    store.pod_seen(&TFJOB, pod(0, 20, "p0", &running()));
    store.pod_seen(&TFJOB, pod(1, 21, "p1", &running()));
    let writes = store.next(NOW).unwrap();
    let status = writes.status.clone().unwrap();
    store.applied(report(&writes, 30, Vec::new()), NOW);
    assert!(store.next(NOW).is_none());
    (store, status)
}

#[test]
fn a_restart_is_obeyed_once_for_as_long_as_the_annotation_is_there() {
    let (mut store, status) = running_with_status();
    store.job_seen(&TFJOB, ordered(40, &status, "one/Restart"));
    let writes = store.next(NOW).unwrap();
    let stored = writes.status.clone().unwrap();
    assert_eq!(stored["trainyard"]["orders"], json!(["one"]));
    assert_eq!(stored["trainyard"]["epoch"], 1);
    let stops = writes
        .actions
        .iter()
        .filter(|action| matches!(action, Action::Stop { .. }));
    assert_eq!(stops.count(), 2);
    let stopped = Report {
        stopped: vec![("p0".into(), false), ("p1".into(), false)],
        ..report(&writes, 41, Vec::new())
    };
    store.applied(stopped, NOW);
    for later in 0..5 {
        if let Some(writes) = store.next(NOW + later) {
            assert_eq!(writes.status, None, "obeyed once");
        }
    }
    // Another operator takes over, with the same annotation.
    let mut store = Store::new(Reading::default());
    store.service_seen(&TFJOB, service("s1"));
    store.job_seen(&TFJOB, ordered(42, &stored, "one/Restart"));
    let epoch = |writes: &Writes| {
        writes
            .status
            .as_ref()
            .map(|status| status["trainyard"]["epoch"].clone())
    };
    let next = store.next(NOW + 10).and_then(|writes| epoch(&writes));
    assert!(next.is_none_or(|epoch| epoch == 1), "obeyed once");
}

#[test]
fn a_stop_ends_the_job() {
    let (mut store, status) = running_with_status();
    store.job_seen(&TFJOB, ordered(40, &status, "two/Stop"));
    let writes = store.next(NOW).unwrap();
    let status = writes.status.unwrap();
    let last = status["conditions"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&last["type"], &last["status"]),
        (&json!("Failed"), &json!("True"))
    );
    assert_eq!(status["summary"], "stopped by an order");
}

#[test]
fn what_is_no_order_is_told_once_and_ignored() {
    let (mut store, status) = running_with_status();
    store.job_seen(&TFJOB, ordered(40, &status, "three/Explode"));
    let writes = store.next(NOW).unwrap();
    assert_eq!((writes.actions.len(), &writes.status), (0, &None));
    let [event] = &*writes.events else {
        panic!("{:?}", writes.events)
    };
    assert_eq!(event["reason"], "InvalidOrder");
    assert!(
        event["note"].as_str().unwrap().contains("three/Explode"),
        "{event}"
    );
    store.applied(report(&writes, 0, Vec::new()), NOW);
    assert!(store.next(NOW).is_none());
    store.job_seen(&TFJOB, ordered(41, &status, "four/Explode"));
    assert_eq!(store.next(NOW).unwrap().events.len(), 1, "another one");
}

#[test]
fn a_restart_is_not_obeyed_again_when_its_annotation_comes_back() {
    let (mut store, status) = running_with_status();
    let mut version = 40;
    // Stores what is written; gives the epoch.
    let mut settle = |store: &mut Store, wire: JobWire, status: &mut Value| {
        store.job_seen(&TFJOB, wire);
        for _ in 0..3 {
            let Some(writes) = store.next(NOW) else { break };
            version += 1;
            if let Some(written) = &writes.status {
                status.clone_from(written);
            }
            store.applied(report(&writes, version * 10, Vec::new()), NOW);
        }
        status["trainyard"]["epoch"].clone()
    };
    let mut stored = status;
    let mut version_seen = 10_000;
    let mut seen = |order: Option<&str>, status: &Value| {
        version_seen += 10_000;
        match order {
            Some(order) => ordered(version_seen, status, order),
            None => job(version_seen, 1, status),
        }
    };
    let rows = [
        (Some("one/Restart"), 1),
        (None, 1),
        (Some("one/Restart"), 1),
        (Some("one/Explode"), 1),
        (Some("one/Restart"), 1),
        (Some("two/Restart"), 2),
        (Some("one/Restart"), 2),
        (Some("two/Restart"), 2),
    ];
    for (order, epoch) in rows {
        let wire = seen(order, &stored);
        assert_eq!(settle(&mut store, wire, &mut stored), epoch, "{order:?}");
    }
    assert_eq!(stored["trainyard"]["orders"], json!(["one", "two"]));
    // Of very many orders the last stay.
    for number in 0..40 {
        let wire = seen(Some(&format!("many-{number}/Restart")), &stored);
        settle(&mut store, wire, &mut stored);
    }
    let kept = stored["trainyard"]["orders"].as_array().unwrap();
    assert_eq!(
        (kept.len(), &kept[0], &kept[15]),
        (16, &json!("many-24"), &json!("many-39"))
    );
}

/// Orders by objects.
mod objects {
    use super::*;
    use crate::kinds::volcano::KIND as VOLCANO;
    use crate::order::{OrderSeen, OrderText};

    fn volcano_job(version: u64, status: &Value) -> JobWire {
        let template =
            json!({ "spec": { "restartPolicy": "Never", "containers": [{ "name": "c", "image": "i" }] } });
        let wire = json!({
            "metadata": {
                "name": "mnist", "namespace": "ml", "uid": "job", "resourceVersion": version.to_string(), "generation": 1,
                "creationTimestamp": "2027-01-15T07:00:00Z",
            },
            "spec": { "tasks": [{ "name": "worker", "replicas": 1, "template": template }] },
            "status": status,
        });
        serde_json::from_value(wire).unwrap()
    }

    fn command(version: u64, action: &str, job_uid: Option<&str>) -> OrderSeen {
        OrderSeen {
            name: format!("c{version}").into(),
            namespace: "ml".into(),
            uid: format!("u{version}").into(),
            version,
            created: NOW,
            text: OrderText {
                job: "mnist".into(),
                job_uid: job_uid.map(Into::into),
                action: action.into(),
            },
        }
    }

    fn store(status: &Value) -> Store {
        let mut store = Store::new(Reading {
            kinds: vec![&VOLCANO],
            ..Reading::default()
        });
        store.storage.insert(&VOLCANO, Storage::Keeps);
        store.job_seen(&VOLCANO, volcano_job(10, status));
        store
    }

    fn applied(store: &mut Store, writes: &Writes, version: u64) {
        let answered = writes.actions.iter().filter_map(|action| match action {
            Action::Answered(id) => writes.orders.get(id).map(|(_, uid)| Arc::clone(uid)),
            _ => None,
        });
        let report = Report {
            answered: answered.collect(),
            ..report(writes, version, Vec::new())
        };
        store.applied(report, NOW);
    }

    fn orders(writes: &Writes) -> Vec<&str> {
        let mut orders = Vec::new();
        for action in &writes.actions {
            if let Action::Answered(id) = action {
                orders.push(&**id);
            }
        }
        orders
    }

    #[test]
    fn commands_are_obeyed_one_after_the_other_and_each_is_remembered_before_it_is_deleted() {
        let mut store = store(&Value::Null);
        store.order_seen(&VOLCANO, command(30, "ResumeJob", Some("job")));
        store.order_seen(&VOLCANO, command(20, "AbortJob", None));
        store.order_seen(&VOLCANO, command(5, "TerminateJob", Some("another")));
        let writes = store.next(NOW).unwrap();
        assert_eq!(orders(&writes), ["object/u20"], "the oldest that is for this job");
        let status = writes.status.clone().unwrap();
        assert_eq!(status["trainyard"]["held"], "Aborted");
        assert_eq!(status["trainyard"]["orders"], json!(["object/u20"]));
        assert_eq!(writes.orders["object/u20"], ("c20".into(), "u20".into()));

        // It was stored, and the operator died before the Command was deleted.
        let mut later = self::store(&status);
        later.order_seen(&VOLCANO, command(20, "AbortJob", None));
        let again = later.next(NOW).unwrap();
        assert_eq!(orders(&again), ["object/u20"], "it is deleted");
        assert_eq!(again.status, None, "and not obeyed again");
        applied(&mut later, &again, 0);
        assert!(later.next(NOW).is_none_or(|writes| orders(&writes).is_empty()));

        applied(&mut store, &writes, 40);
        let writes = store.next(NOW).unwrap();
        assert_eq!(orders(&writes), ["object/u30"]);
        let status = writes.status.clone().unwrap();
        assert_eq!(status["trainyard"]["held"], Value::Null);
        assert_eq!(status["retryCount"], 1);
    }

    #[test]
    fn a_command_from_before_the_job_is_not_for_it_unless_it_says_so() {
        let mut store = store(&Value::Null);
        let mut old = command(3, "AbortJob", None);
        old.created = Time(1);
        store.order_seen(&VOLCANO, old.clone());
        let writes = store.next(NOW).unwrap();
        assert_eq!(orders(&writes), Vec::<&str>::new());
        applied(&mut store, &writes, 40);
        old.text.job_uid = Some("job".into());
        old.version = 41;
        store.order_seen(&VOLCANO, old);
        let writes = store.next(NOW).unwrap();
        assert_eq!(orders(&writes), ["object/u3"]);
    }
}
