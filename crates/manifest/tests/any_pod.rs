//! Any JSON in a pod's metadata, spec and status is read, or refused alone: a list of pods never fails because of one.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Map, Number, Value, json};
use trainyard_manifest::observe::PodSeen;

/// Names that mean something to the reader, so that strange values stand where it looks.
const FIELDS: &[&str] = &[
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "controller",
    "kind",
    "trainyard.dev/job-name",
    "trainyard.dev/role",
    "trainyard.dev/task-index",
    "trainyard.dev/stamp",
    "restartPolicy",
    "schedulerName",
    "nodeName",
    "containers",
    "phase",
    "reason",
    "message",
    "conditions",
    "type",
    "status",
    "lastTransitionTime",
    "containerStatuses",
    "initContainerStatuses",
    "restartCount",
    "state",
    "lastState",
    "running",
    "waiting",
    "terminated",
    "exitCode",
    "startedAt",
    "finishedAt",
    "volumes",
    "secret",
    "secretName",
    "configMap",
    "persistentVolumeClaim",
    "claimName",
    "projected",
    "sources",
    "optional",
    "livenessProbe",
];

const TEXTS: &[&str] = &[
    "",
    "worker",
    "tensorflow",
    "Failed",
    "Running",
    "Always",
    "True",
    "0",
    "-1",
    "4294967296",
    "0.0",
    "4294967295.4294967295",
    "1969-12-31T23:59:59Z",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z",
    "2026-01-01T00:00:00.5+23:59",
    "2026-01-01T00:00:00é",
];

fn any_number() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<f64>().prop_map(|number| Number::from_f64(number).map_or(Value::Null, Value::Number)),
        prop::sample::select(vec![
            json!(-1),
            json!(i64::MIN),
            json!(u64::MAX),
            json!(1e300),
            json!(-0.0)
        ]),
    ]
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any_number(),
        prop::sample::select(TEXTS).prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    let name = prop_oneof![
        9 => prop::sample::select(FIELDS).prop_map(String::from),
        1 => ".{0,4}"
    ];
    leaf.prop_recursive(6, 96, 8, move |inner| {
        prop_oneof![
            1 => vec(inner.clone(), 0..4).prop_map(Value::Array),
            3 => btree_map(name.clone(), inner, 0..8).prop_map(|map| Value::Object(map.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn pod() -> Value {
    json!({
        "metadata": {
            "name": "mnist-worker-1", "namespace": "ml", "uid": "u1", "resourceVersion": "7",
            "labels": {
                "trainyard.dev/job-name": "mnist", "trainyard.dev/role": "worker", "trainyard.dev/task-index": "1",
            },
            "ownerReferences": [{ "uid": "job", "controller": true }],
        },
        "spec": { "restartPolicy": "Never", "containers": [{ "name": "tensorflow" }] },
        "status": { "phase": "Running" },
    })
}

proptest! {
    #[test]
    fn any_pod_is_read_or_refused_alone(metadata in any_json(), spec in any_json(), status in any_json()) {
        let strange = json!({ "metadata": metadata, "spec": spec, "status": status });
        let list = json!([pod(), strange, pod()]).to_string();
        let read: Vec<PodSeen> = serde_json::from_str(&list).unwrap();
        for well in [&read[0], &read[2]] {
            prop_assert!(well.task.is_some() && well.unreadable().is_none());
        }
    }

    /// What stands in a container's status is read as the nearest number that there is: clients that may write a pod's status write
    /// any number of 32 bits, and the API server keeps it.
    #[test]
    fn any_number_of_a_well_formed_status_is_read(restarts in any_number(), code in any_number(), grace in any_number()) {
        let mut pod = pod();
        pod["metadata"]["deletionGracePeriodSeconds"] = grace;
        pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        let terminated = json!({ "terminated": { "exitCode": code } });
        pod["status"] = json!({ "phase": "Failed", "containerStatuses": [
            { "name": "tensorflow", "restartCount": restarts, "state": terminated, "lastState": terminated },
        ] });
        let seen: PodSeen = serde_json::from_value(pod).unwrap();
        prop_assert!(seen.task.is_some(), "{seen:?}");
    }
}

#[test]
fn numbers_are_clamped() {
    let restarts = |count: Value| {
        let mut pod = pod();
        pod["status"]["containerStatuses"] = json!([{ "name": "tensorflow", "restartCount": count }]);
        let seen: PodSeen = serde_json::from_value(pod).unwrap();
        seen.task.unwrap().in_place
    };
    let rows = [
        (json!(-1), 0),
        (json!(i64::MIN), 0),
        (json!(3), 3),
        (json!(u64::MAX), u32::MAX),
        (json!(4_294_967_296_u64), u32::MAX),
        (json!(null), 0),
    ];
    for (count, expected) in rows {
        assert_eq!(restarts(count.clone()), expected, "{count}");
    }
}

#[test]
fn a_pod_that_cannot_be_read_says_which_it_is_and_why() {
    let mut pod = pod();
    pod["status"]["phase"] = json!(["Running"]);
    let seen: PodSeen = serde_json::from_value(pod).unwrap();
    let why = seen.unreadable().unwrap();
    assert!(why.contains("expected a string"), "{why}");
    assert_eq!(
        (&*seen.name, &*seen.namespace, &*seen.uid),
        ("mnist-worker-1", "ml", "u1")
    );
    assert_eq!(
        (&*seen.job, seen.owner.as_deref(), &*seen.version),
        ("mnist", Some("job"), "7")
    );
    assert!(seen.task.is_none());
}
