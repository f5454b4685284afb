//! What is told of a job whose pods fail or wait: the cause, the remedy, and one event per cause.

use super::*;

/// Applies everything that is to be written now; the last status, if one was, and the events as `reason: note`.
fn told(store: &mut Store, version: u64, now: Time) -> (Option<Value>, Vec<String>) {
    let (mut status, mut events) = (None, Vec::new());
    for attempt in 0..9 {
        let Some(writes) = store.next(now) else { break };
        let note = |event: &Value| {
            format!(
                "{}: {}",
                event["reason"].as_str().unwrap(),
                event["note"].as_str().unwrap()
            )
        };
        events.extend(writes.events.iter().map(note));
        status = writes.status.clone().or(status);
        store.applied(report(&writes, version + attempt, Vec::new()), now);
    }
    (status, events)
}

/// A pod of the second task with that main container, which the kubelet starts again.
fn in_place(version: u64, restarts: u32, state: &Value, last: &Value) -> PodSeen {
    let status = json!({ "phase": "Running", "containerStatuses": [
        { "name": "tensorflow", "restartCount": restarts, "state": state, "lastState": last },
    ] });
    let mut wire = wire_of(1, version, &status);
    wire["spec"]["restartPolicy"] = "OnFailure".into();
    serde_json::from_value(wire).unwrap()
}

/// The second task's pod as the API server shows it.
fn wire_of(index: u32, version: u64, status: &Value) -> Value {
    json!({
        "metadata": {
            "name": format!("mnist-worker-{index}"), "namespace": "ml", "uid": format!("p{index}"),
            "resourceVersion": version.to_string(), "creationTimestamp": "2027-01-15T07:59:00Z",
            "labels": {
                "trainyard.dev/job-name": "mnist", "trainyard.dev/role": "worker",
                "trainyard.dev/task-index": index.to_string(),
            },
            "annotations": { "trainyard.dev/stamp": "0.0" },
            "ownerReferences": [{ "apiVersion": "kubeflow.org/v1", "kind": "TFJob", "uid": "job", "controller": true }],
        },
        "spec": { "restartPolicy": "Never", "containers": [{ "name": "tensorflow" }] },
        "status": status,
    })
}

const WORDS: &str = "Traceback (most recent call last):\n  File \"/app/train.py\", line 2, in <module>\n    import pandas\nModuleNotFoundError: No module named 'pandas'\n";

fn failed(code: i32) -> Value {
    json!({ "terminated": { "exitCode": code, "reason": "Error", "message": WORDS,
        "startedAt": "2027-01-15T07:59:50Z", "finishedAt": "2027-01-15T07:59:55Z" } })
}

/// Seen: six events within minutes.
#[test]
fn a_kubelet_that_changes_between_two_words_makes_one_event() {
    let mut store = running_job();
    let mut all = Vec::new();
    for turn in 0..6_u32 {
        let (reason, message) = if turn % 2 == 0 {
            (
                "ErrImagePull",
                "failed to pull and unpack image \"nope:1\": nope:1: not found",
            )
        } else {
            (
                "ImagePullBackOff",
                "Back-off pulling image \"nope:1\": ErrImagePull: nope:1: not found",
            )
        };
        let status = json!({ "phase": "Pending", "containerStatuses": [
            { "name": "tensorflow", "state": { "waiting": { "reason": reason, "message": message } } },
        ] });
        let now = NOW + 10 + 40 * turn;
        let version = 100 + 20 * u64::from(turn);
        store.pod_seen(
            &TFJOB,
            serde_json::from_value(wire_of(1, version, &status)).unwrap(),
        );
        let (status, events) = told(&mut store, version + 1, now);
        if let Some(status) = status {
            assert_eq!(status["waiting"][0]["reason"], "ImagePullBackOff");
            assert_eq!(status["waiting"][0]["code"], "TR060", "{status}");
            let summary = "ImagePullBackOff: the image `nope:1` does not exist; help: correct `image`";
            assert!(
                status["summary"].as_str().unwrap().starts_with(summary),
                "{status}"
            );
        }
        all.extend(events);
    }
    assert_eq!(all.len(), 1, "{all:#?}");
    // Kubeflow's words, and then ours.
    let note =
        "ImagePullBackOff: Error pod mnist-worker-1 container tensorflow waiting message: failed to pull";
    assert!(
        all[0].starts_with(note) && all[0].contains("; help: correct `image`"),
        "{all:?}"
    );
}

/// Seen: such a job read `Running` and `2 of 2 tasks ready` for most of the time.
#[test]
fn a_crash_loop_is_told_from_its_second_failure_until_it_runs_for_a_minute() {
    let mut store = running_job();
    let backoff = json!({ "waiting": { "reason": "CrashLoopBackOff", "message": "back-off 10s restarting failed container" } });
    let runs = |at: &str| json!({ "running": { "startedAt": at } });
    let mut all = Vec::new();
    for (turn, restarts, state, is_told) in [
        (0, 1, runs("2027-01-15T08:00:00Z"), false),
        (10, 1, failed(1), true),
        (11, 1, backoff, true),
        (20, 2, runs("2027-01-15T08:00:20Z"), true),
    ] {
        let version = 100 + 20 * u64::from(turn);
        store.pod_seen(&TFJOB, in_place(version, restarts, &state, &failed(1)));
        let (status, events) = told(&mut store, version + 1, NOW + turn);
        if let Some(status) = status {
            let told = status["waiting"][0]["reason"] == "CrashLoopBackOff";
            assert_eq!(told, is_told, "{turn}: {status}");
            let summary = status["summary"].as_str().unwrap();
            let words = [
                "fails again and again",
                "No module named 'pandas' (train.py:2)",
                "; help: ",
            ];
            assert!(
                !is_told || words.iter().all(|word| summary.contains(word)),
                "{summary}"
            );
        }
        all.extend(events.into_iter().filter(|event| event.starts_with("CrashLoop")));
    }
    assert_eq!(all.len(), 1, "{all:#?}");
    assert!(
        all[0].contains("kubectl logs mnist-worker-1 -c tensorflow -n ml --previous"),
        "{all:?}"
    );
    assert_eq!(store.wake(), Some(NOW + 80), "a minute after it was started");
    let (status, _) = told(&mut store, 900, NOW + 80);
    assert_eq!(status.unwrap().get("waiting"), None, "it runs");
}

#[test]
fn volumes_are_named_after_ten_seconds_and_a_claim_alone_has_a_minute() {
    for (volume, seconds, words) in [
        (json!({ "secret": { "secretName": "keys" } }), 10, "Secret `keys`"),
        (
            json!({ "configMap": { "name": "settings" } }),
            10,
            "ConfigMap `settings`",
        ),
        (
            json!({ "persistentVolumeClaim": { "claimName": "data" } }),
            60,
            "PersistentVolumeClaim `data`",
        ),
    ] {
        let mut store = running_job();
        let placed =
            json!({ "type": "PodScheduled", "status": "True", "lastTransitionTime": "2027-01-15T08:00:00Z" });
        let unmounted = json!({ "type": "PodReadyToStartContainers", "status": "False" });
        let mut wire = wire_of(
            1,
            100,
            &json!({ "phase": "Pending", "conditions": [placed, unmounted] }),
        );
        wire["spec"]["nodeName"] = "n".into();
        wire["spec"]["volumes"] = json!([volume]);
        store.pod_seen(&TFJOB, serde_json::from_value(wire).unwrap());
        told(&mut store, 101, NOW + 3);
        // Counts alone wait for two seconds.
        told(&mut store, 120, NOW + 5);
        assert_eq!(store.wake(), Some(NOW + seconds), "{words}");
        let (status, events) = told(&mut store, 200, NOW + seconds);
        let status = status.unwrap();
        assert_eq!(status["waiting"][0]["reason"], "VolumesNotReady");
        let summary = status["summary"].as_str().unwrap();
        assert!(
            summary.contains(words) && summary.contains("; help: create what is missing"),
            "{summary}"
        );
        assert!(events.iter().any(|event| event.contains(words)), "{events:?}");
    }
}

#[test]
fn a_failed_job_has_kubeflows_words_first_and_then_the_cause_the_help_and_the_log() {
    let mut store = running_job();
    let status =
        json!({ "phase": "Failed", "containerStatuses": [{ "name": "tensorflow", "state": failed(1) }] });
    store.pod_seen(&TFJOB, serde_json::from_value(wire_of(1, 100, &status)).unwrap());
    let (status, events) = told(&mut store, 101, NOW + 5);
    let status = status.unwrap();
    assert_eq!(status["firstFailure"]["cause"]["code"], "TR001", "{status}");
    let event = events
        .iter()
        .find(|event| event.starts_with("TFJobFailed: "))
        .unwrap();
    let kubeflows = "TFJobFailed: job \"mnist\" is failing because \"Worker\" replica(s) failed. ";
    let ours = event.strip_prefix(kubeflows).unwrap();
    let cause = "worker-1: ModuleNotFoundError: No module named 'pandas' (train.py:2); help: ";
    assert!(ours.starts_with(cause), "{ours}");
    assert!(
        ours.ends_with("; log: `kubectl logs mnist-worker-1 -c tensorflow -n ml`"),
        "{ours}"
    );
    let summary = status["summary"].as_str().unwrap();
    assert!(summary.starts_with(&format!("failed: {cause}")), "{summary}");
}

/// The last status of a job of that kind whose only task has failed, and its events.
fn of_kind(kind: &'static Kind, spec: &Value) -> (Value, Vec<String>) {
    let mut store = Store::new(Reading {
        kinds: vec![kind],
        ..Reading::default()
    });
    let wire = json!({
        "metadata": { "name": "mnist", "namespace": "ml", "uid": "job", "resourceVersion": "10", "generation": 1 },
        "spec": spec,
    });
    store.job_seen(kind, serde_json::from_value(wire).unwrap());
    told(&mut store, 11, NOW);
    let failed =
        json!({ "phase": "Failed", "containerStatuses": [{ "name": "tensorflow", "state": failed(1) }] });
    let mut wire = wire_of(0, 100, &failed);
    let owner = &mut wire["metadata"]["ownerReferences"][0];
    owner["apiVersion"] = kind.api.api_version.into();
    owner["kind"] = kind.api.kind.into();
    store.pod_seen(kind, serde_json::from_value(wire).unwrap());
    let (mut last, mut all) = (Value::Null, Vec::new());
    for (turn, seconds) in [2_u32, 5, 10, 30].into_iter().enumerate() {
        let (status, events) = told(&mut store, 200 + 20 * turn as u64, NOW + seconds);
        last = status.unwrap_or(last);
        all.extend(events);
    }
    (last, all)
}

#[test]
fn other_kinds_name_the_cause_in_their_own_messages() {
    let template = json!({ "spec": { "containers": [{ "name": "tensorflow", "image": "i" }] } });
    let t9k = json!({ "replicaSpecs": [{ "type": "worker", "replicas": 1, "template": template }] });
    let volcano =
        json!({ "minAvailable": 1, "tasks": [{ "name": "worker", "replicas": 1, "template": template }] });
    let cause = "ModuleNotFoundError: No module named 'pandas' (train.py:2); help: ";
    for (kind, spec) in [
        (&crate::kinds::t9k::KIND, t9k),
        (&crate::kinds::volcano::KIND, volcano),
    ] {
        let (status, events) = of_kind(kind, &spec);
        assert_eq!(
            status["firstFailure"]["cause"]["code"], "TR001",
            "{kind:?}: {status:#}"
        );
        let failed = events.iter().find(|event| event.starts_with("Failed: "));
        let failed = failed.unwrap_or_else(|| panic!("{kind:?}: {events:#?}"));
        assert!(failed.contains(cause), "{failed}");
        assert!(
            failed.contains("`kubectl logs mnist-worker-0 -c tensorflow -n ml`"),
            "{failed}"
        );
        assert!(status["summary"].as_str().unwrap().contains(cause), "{status:#}");
    }
}
