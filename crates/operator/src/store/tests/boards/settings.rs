//! The settings of a TensorBoard: of every kind, wrong ones, removed ones, a time to live; and what its pod says.

use proptest::prelude::*;
use trainyard_manifest::tensorboard::IMAGE;

use super::*;
use crate::board::WantedBoard;
use crate::board_pod::BoardPodSeen;
use crate::job::{JobSeen, Meaning};
use crate::kinds::tfjob::KIND as TFJOB;
use crate::kinds::volcano::KIND as VOLCANO;
use crate::kinds::{KINDS, Kind};

const ANNOTATION: &str = "trainyard.dev/tensorboard";

/// A job of a kind with this in its spec, and that annotation.
fn read(kind: &'static Kind, field: Option<&Value>, annotation: Option<&str>) -> JobSeen {
    let template = json!({ "spec": { "containers": [{ "name": "tensorflow", "image": "i" }] } });
    let mut spec = if kind == &TFJOB {
        json!({ "tfReplicaSpecs": { "Worker": { "template": template } } })
    } else if kind == &VOLCANO {
        json!({ "tasks": [{ "name": "worker", "replicas": 1, "template": template }] })
    } else {
        json!({ "replicaSpecs": [{ "type": "worker", "replicas": 1, "template": template }] })
    };
    if let Some(field) = field {
        spec["tensorboardSpec"] = field.clone();
    }
    let mut metadata = json!({ "name": "mnist", "namespace": "ml", "uid": "u", "generation": 1 });
    if let Some(annotation) = annotation {
        metadata["annotations"][ANNOTATION] = annotation.into();
    }
    let reading = Reading {
        kinds: KINDS.to_vec(),
        tensorboard: true,
        ..Reading::default()
    };
    let wire = serde_json::from_value(json!({ "metadata": metadata, "spec": spec })).unwrap();
    reading.read(kind, wire, None)
}

/// The TensorBoard of a job that can be run.
fn board(seen: &JobSeen) -> Option<&WantedBoard> {
    match &*seen.meaning {
        Meaning::Job(compiled) => compiled.board.as_deref(),
        other => panic!("it cannot be run: {other:?}"),
    }
}

#[test]
fn a_job_of_every_kind_may_ask_for_one() {
    let settings = json!({ "trainingLogFilesets": ["pvc://logs/1", "pvc://logs/2"] });
    for kind in KINDS.iter().copied() {
        let by_annotation = read(kind, None, Some(&settings.to_string()));
        let by_field = read(kind, Some(&settings), None);
        // Volcano's definition has no such field: what is written there is wrong, and the job runs.
        let both = [Some(&by_annotation), (kind != &VOLCANO).then_some(&by_field)];
        for seen in both.into_iter().flatten() {
            let objects = board(seen).unwrap().objects.as_ref().unwrap();
            let container = &objects.deployment["spec"]["template"]["spec"]["containers"][0];
            assert_eq!(container["image"], IMAGE);
            assert_eq!(
                container["command"][1],
                "--logdir_spec=0:/logs/logs/1,1:/logs/logs/2"
            );
        }
        assert!(board(&read(kind, None, None)).is_none());
    }
}

#[test]
fn settings_that_cannot_be_read_are_told_and_the_job_runs_and_one_that_exists_stays() {
    for kind in KINDS.iter().copied() {
        for text in [
            "",
            "image: [",
            "{\"image\": 3}",
            "logdir: {}",
            "trainingLogFilesets: [\"/tmp\"]",
        ] {
            let seen = read(kind, None, Some(text));
            let unmade = board(&seen).unwrap().objects.as_ref().unwrap_err();
            assert_eq!(unmade.reason, "Invalid", "{text}");
            assert!(unmade.message.contains(ANNOTATION), "{}", unmade.message);
        }
    }
    let (mut store, mut version) = (store(true), 10);
    store.job_seen(&T9K, asking(10, "i", &Value::Null));
    play(&mut store, &mut version, NOW);
    version = 500;
    edit(
        &mut store,
        version,
        &json!({ "image": "i", "trainingLogFilesets": ["/tmp"] }),
    );
    let all = play(&mut store, &mut version, NOW + 10);
    assert_eq!(boards(&all), Vec::<&BoardWrite>::new());
    let said = &status(&all)["tensorboard"];
    assert_eq!(said["reason"], "Invalid", "{said}");
    assert_eq!(status(&all)["waiting"], Value::Null, "the job waits for nothing");
}

/// Changes the settings of the job; null takes them away.
fn edit(store: &mut Store, version: u64, settings: &Value) {
    let stored = store.entries.values().next().unwrap().job.as_ref().unwrap();
    let mut wire = asking(version, "i", stored.status.as_ref().unwrap());
    wire.spec["tensorboardSpec"] = settings.clone();
    store.job_seen(&T9K, wire);
}

/// The Deployment of the only job.
fn deployment(store: &Store) -> BoardSeen {
    let entry = store.entries.values().next().unwrap();
    entry.board.of(entry.job.as_ref().unwrap()).unwrap().clone()
}

#[test]
fn without_settings_it_is_deleted_by_its_uid() {
    let (mut store, mut version) = (store(true), 10);
    store.job_seen(&T9K, asking(10, "i", &Value::Null));
    play(&mut store, &mut version, NOW);
    let uid = deployment(&store).uid;
    version = 500;
    edit(&mut store, version, &Value::Null);
    let all = play(&mut store, &mut version, NOW + 10);
    assert_eq!(boards(&all), [&BoardWrite::Remove { uid, service: true }]);
    assert_eq!(status(&all)["tensorboard"], Value::Null);
}

#[test]
fn a_paused_job_keeps_it() {
    let (mut store, mut version) = (store(true), 10);
    store.job_seen(&T9K, asking(10, "i", &Value::Null));
    play(&mut store, &mut version, NOW);
    let stored = store.entries.values().next().unwrap().job.as_ref().unwrap();
    version = 500;
    let mut wire = asking(version, "i", stored.status.as_ref().unwrap());
    wire.spec["runMode"] = json!({ "pause": { "enabled": true } });
    store.job_seen(&T9K, wire);
    let all = passes(&mut store, &mut version, NOW + 10, 5);
    assert_eq!(status(&all)["phase"], "Paused");
    assert_eq!(boards(&all), Vec::<&BoardWrite>::new());
    assert_eq!(status(&all)["tensorboard"]["dependent"]["kind"], "Deployment");
}

/// The job with this time to live of its TensorBoard, whose only task has ended at `NOW`.
fn ended(ttl: &Value) -> (Store, u64) {
    let (mut store, mut version) = (store(true), 10);
    store.job_seen(&T9K, asking(10, "i", &Value::Null));
    play(&mut store, &mut version, NOW);
    version = 500;
    let settings = json!({ "trainingLogFilesets": ["pvc://logs"], "ttlSecondsAfterFinished": ttl });
    edit(&mut store, version, &settings);
    play(&mut store, &mut version, NOW);
    let mut wire = pod_wire(1000);
    wire["status"] = exited(0);
    let pod: PodSeen = serde_json::from_value(wire).unwrap();
    store.pod_seen(&T9K, pod.for_kind(T9K.api));
    version = 1001;
    for second in 0..10 {
        play(&mut store, &mut version, NOW + second);
    }
    (store, version)
}

#[test]
fn its_time_to_live_counts_from_the_jobs_end() {
    let (mut store, mut version) = ended(&json!(60));
    let uid = deployment(&store).uid;
    let before = play(&mut store, &mut version, NOW + 55);
    assert_eq!(boards(&before), Vec::<&BoardWrite>::new());
    let all = play(&mut store, &mut version, NOW + 75);
    assert_eq!(boards(&all), [&BoardWrite::Remove { uid, service: true }]);
    let all = play(&mut store, &mut version, NOW + 80);
    let said = &status(&all)["tensorboard"];
    assert_eq!(
        (&said["reason"], &said["ready"]),
        (&json!("Expired"), &json!(false))
    );
    let later = play(&mut store, &mut version, NOW + 1000);
    assert_eq!(boards(&later), Vec::<&BoardWrite>::new(), "it stays away");
}

#[test]
fn without_a_time_to_live_it_stays_after_the_end() {
    let (mut store, mut version) = ended(&Value::Null);
    let all = play(&mut store, &mut version, NOW + 1_000_000);
    assert_eq!(boards(&all), Vec::<&BoardWrite>::new());
    assert!(!deployment(&store).deleting);
}

/// The pod of the TensorBoard with this status.
fn board_pod(version: u64, owner: &str, node: Option<&str>, status: &Value) -> Option<BoardPodSeen> {
    let wire = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": "mnist-tensorboard-1-x", "namespace": "ml", "uid": "bp", "resourceVersion": version.to_string(),
            "labels": { "trainyard.dev/tensorboard": "mnist" },
            "ownerReferences": [{ "apiVersion": "apps/v1", "kind": owner, "name": "mnist-tensorboard-1", "uid": "rs", "controller": true }],
        },
        "spec": { "nodeName": node, "containers": [{ "name": "tensorboard" }] },
        "status": status,
    });
    BoardPodSeen::of(&serde_json::from_value(wire).unwrap())
}

/// What the status says once the pod of the TensorBoard has this status, and its Deployment has waited for long.
fn note(late: bool, node: Option<&str>, pod: &Value) -> String {
    let (mut store, mut version) = (store(true), 10);
    store.job_seen(&T9K, asking(10, "i", &Value::Null));
    play(&mut store, &mut version, NOW);
    let mut known = deployment(&store);
    known.version = 100;
    known.trouble = late.then(|| "has timed out progressing.".into());
    store.board_seen(&T9K, known);
    store.board_pod_seen(&T9K, board_pod(7, "ReplicaSet", node, pod).unwrap());
    let all = play(&mut store, &mut version, NOW + 10);
    assert_eq!(status(&all)["waiting"], Value::Null, "the job waits for nothing");
    status(&all)["tensorboard"]["note"].as_str().unwrap().to_owned()
}

#[test]
fn what_keeps_its_pod_is_told_by_name_with_what_helps() {
    let unplaced = |message: &str| {
        json!({ "phase": "Pending", "conditions": [
            { "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message },
        ] })
    };
    let waiting = |reason: &str, ready: &str| {
        json!({
            "phase": "Pending",
            "conditions": [{ "type": "PodScheduled", "status": "True" }, { "type": "PodReadyToStartContainers", "status": ready }],
            "containerStatuses": [{ "name": "tensorboard", "state": { "waiting": { "reason": reason, "message": "no such tag" } } }],
        })
    };
    let missing = "0/2 nodes are available: persistentvolumeclaim \"logs\" not found.";
    let one_node =
        "node `n1` has not mounted `logs`: a claim of ReadWriteOnce can be mounted on one node at a time";
    let rows = [
        (
            false,
            None,
            unplaced(missing),
            "the claim `logs` does not exist in namespace `ml`: create it",
        ),
        (
            false,
            None,
            unplaced("2 Insufficient memory"),
            "cannot be placed: 2 Insufficient memory",
        ),
        (
            false,
            Some("n1"),
            waiting("ErrImagePull", "True"),
            "does not start: ErrImagePull: no such tag",
        ),
        (
            false,
            Some("n1"),
            waiting("ContainerCreating", "False"),
            "is not ready yet",
        ),
        (true, Some("n1"), waiting("ContainerCreating", "False"), one_node),
        (
            true,
            Some("n1"),
            waiting("ContainerCreating", "True"),
            "has timed out progressing",
        ),
    ];
    for (late, node, pod, expected) in rows {
        let told = note(late, node, &pod);
        assert!(told.contains(expected), "{told}");
    }
    assert!(
        board_pod(1, "Job", None, &Value::Null).is_none(),
        "no Deployment made it"
    );
}

/// Any JSON, with whole ranges of numbers and any text.
fn anything() -> impl Strategy<Value = Value> {
    let addresses = prop::sample::select(vec![
        "pvc://logs",
        "pvc://",
        "t9k://pvc/logs/../..",
        "hostPath:///",
        "hostPath://x",
        "t9k://minio/s/b",
        "pvc://a,b:c",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        addresses.prop_map(Value::from),
    ];
    let keys = prop::sample::select(vec![
        "image",
        "trainingLogFilesets",
        "logDir",
        "pvc",
        "name",
        "subPath",
        "s3",
        "http",
        "uri",
        "url",
        "suspend",
        "runMode",
        "scheduler",
        "resources",
        "ttlSecondsAfterFinished",
        "limits",
        "x",
    ]);
    leaf.prop_recursive(4, 32, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((keys.clone(), inner), 0..6).prop_map(|entries| entries
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// The job is one that can be run, and its TensorBoard, if it has one, is written or told: nothing panics.
    #[test]
    fn no_settings_keep_a_job_from_running(settings in anything(), text in any::<String>()) {
        for kind in KINDS.iter().copied() {
            for seen in [
                read(kind, Some(&settings), None),
                read(kind, None, Some(&settings.to_string())),
                read(kind, None, Some(&text)),
            ] {
                if let Some(Ok(objects)) = board(&seen).map(|board| &board.objects) {
                    prop_assert!(objects.deployment["spec"]["template"]["spec"]["containers"][0]["image"].is_string());
                    prop_assert!(objects.expires(&seen).is_none(), "the job has not ended");
                }
            }
        }
    }

    /// Whatever the status of its pod says, something is told or nothing.
    #[test]
    fn any_pod_of_a_tensorboard_is_read(status in anything(), conditions in anything(), containers in anything()) {
        let mut status = status;
        if status.is_object() {
            status["conditions"] = conditions;
            status["containerStatuses"] = containers;
        }
        let _ = board_pod(1, "ReplicaSet", Some("n"), &status);
    }
}
