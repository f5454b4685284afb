//! Jobs of which no task is wanted.

use super::*;

/// A job with so many workers, suspended or not.
fn with(replicas: u32, suspend: bool, version: &str, status: &Value) -> JobWire {
    let template = json!({ "spec": { "containers": [{ "name": "tensorflow", "image": "trainer" }] } });
    let policy = json!({ "suspend": suspend, "schedulingPolicy": { "minAvailable": 2 } });
    let wire = json!({
        "metadata": { "name": "none", "namespace": "ml", "uid": "n", "resourceVersion": version, "generation": version.parse::<i64>().unwrap() },
        "spec": { "runPolicy": policy, "tfReplicaSpecs": { "Worker": { "replicas": replicas, "template": template } } },
        "status": status,
    });
    serde_json::from_value(wire).unwrap()
}

/// What the status of a new job without replicas says, and the events about it.
fn told(reading: Reading) -> (Store, Value, Vec<Value>) {
    let apis = reading.gang.apis();
    let mut store = Store::new(reading);
    for api in apis {
        store.groups_begin(api);
        store.groups_end(api);
    }
    store.job_seen(&TFJOB, with(0, false, "10", &Value::Null));
    let writes = store.next(NOW).unwrap();
    let status = writes.status.clone().unwrap();
    let mut events = writes.events.clone();
    events.retain(|event| event["reason"] == "NoReplicas");
    store.applied(report(&writes, 11, Vec::new()), NOW);
    assert!(store.next(NOW).is_none());
    (store, status, events)
}

#[test]
fn it_is_told_once_and_until_there_is_a_replica() {
    let (mut store, status, events) = told(Reading::default());
    let said = "every role has `replicas: 0`: nothing runs before one of them is raised";
    assert_eq!(
        status["waiting"],
        json!([{ "reason": "NoReplicas", "message": said }])
    );
    assert_eq!(events.len(), 1);
    assert_eq!(
        (&events[0]["note"], &events[0]["type"]),
        (&json!(said), &json!("Normal"))
    );

    // The next operator does not say it again.
    let mut next = Store::new(Reading::default());
    next.job_seen(&TFJOB, with(0, false, "11", &status));
    assert!(next.next(NOW).is_none());

    store.job_seen(&TFJOB, with(1, false, "12", &status));
    let writes = store.next(NOW).unwrap();
    assert_eq!(creates(&writes), ["worker-0"]);
    assert_eq!(writes.status.unwrap()["waiting"], Value::Null);
}

#[test]
fn a_suspended_job_waits_for_nothing() {
    let mut store = Store::new(Reading::default());
    store.job_seen(&TFJOB, with(0, true, "10", &Value::Null));
    let status = store.next(NOW).unwrap().status.unwrap();
    assert_eq!(status["waiting"], Value::Null);
}

#[test]
fn nothing_is_said_of_a_group_for_nobody() {
    let reading = Reading {
        gang: "volcano".parse().unwrap(),
        ..Reading::default()
    };
    let (_, status, _) = told(reading);
    let reasons: Vec<&Value> = status["waiting"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["reason"])
        .collect();
    assert_eq!(reasons, ["NoReplicas"]);
}

/// A parameter server that runs, and so many workers beside it.
fn beside_a_server(workers: u32, policy: &str) -> JobWire {
    let template = json!({ "spec": { "containers": [{ "name": "tensorflow", "image": "trainer" }] } });
    let wire = json!({
        "metadata": { "name": "none", "namespace": "ml", "uid": "n", "resourceVersion": "10", "generation": 1 },
        "spec": { "successPolicy": policy, "tfReplicaSpecs": {
            "PS": { "replicas": 1, "template": template },
            "Worker": { "replicas": workers, "template": template },
        } },
    });
    serde_json::from_value(wire).unwrap()
}

#[test]
fn a_server_alone_cannot_complete_the_job() {
    for policy in ["", "AllWorkers"] {
        for (workers, waits) in [(0, true), (1, false)] {
            let mut store = Store::new(Reading::default());
            store.job_seen(&TFJOB, beside_a_server(workers, policy));
            let writes = store.next(NOW).unwrap();
            let status = writes.status.unwrap();
            let told = status["waiting"][0]["reason"] == "NoReplicas";
            assert_eq!(told, waits, "{workers} {policy}: {status}");
            let message = status["waiting"][0]["message"].as_str().unwrap_or_default();
            assert_eq!(
                message.contains("`worker` with `replicas: 0`"),
                waits,
                "{message}"
            );
        }
    }
}

#[test]
fn a_job_that_needs_no_service_has_none_to_remove() {
    let mut store = Store::new(Reading {
        per_replica: true,
        ..Reading::default()
    });
    store.job_seen(&TFJOB, with(0, true, "10", &Value::Null));
    for version in 11..14 {
        let Some(writes) = store.next(NOW) else { return };
        assert_eq!(writes.actions, [], "there is nothing of the job's to remove");
        let report = Report {
            services: Vec::new(),
            ..report(&writes, version, Vec::new())
        };
        store.applied(report, NOW);
    }
    panic!("it is written again and again");
}
