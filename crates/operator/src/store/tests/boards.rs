//! `TensorBoard`s: beside the job, never before it.

mod settings;

use super::*;
use crate::apply::board::{BoardReport, BoardWrite};
use crate::kinds::t9k::KIND as T9K;
use crate::watched::BoardSeen;

/// A job that asks for a TensorBoard with this image.
fn asking(version: u64, image: &str, status: &Value) -> JobWire {
    let template = json!({ "spec": { "containers": [{ "name": "tensorflow", "image": "i" }] } });
    let wire = json!({
        "metadata": {
            "name": "mnist", "namespace": "ml", "uid": "job", "resourceVersion": version.to_string(),
            "generation": version,
        },
        "spec": {
            "tensorboardSpec": { "image": image, "trainingLogFilesets": ["pvc://logs/run", "t9k://minio/s/b/p"] },
            "replicaSpecs": [{ "type": "worker", "replicas": 1, "template": template }],
        },
        "status": status,
    });
    serde_json::from_value(wire).unwrap()
}

fn store(tensorboard: bool) -> Store {
    let mut store = Store::new(Reading {
        kinds: vec![&T9K],
        tensorboard,
        ..Reading::default()
    });
    if tensorboard {
        store.boards_known(&T9K);
    }
    store
}

/// The answer to an apply: its status stored as that version, and its fixtures and its TensorBoard there.
fn done(writes: &Writes, version: u64) -> Report {
    let made = match &writes.board {
        Some(BoardWrite::Create { deployment: true, .. }) => Some(seen(writes, version)),
        _ => None,
    };
    let removed = match &writes.board {
        Some(BoardWrite::Remove { uid, .. }) => Some(Arc::clone(uid)),
        _ => None,
    };
    let pods = creates(writes).iter().map(|_| worker(version)).collect();
    Report {
        board: writes.board.as_ref().map(|_| BoardReport {
            made,
            removed,
            has_service: Some(true),
            refused: None,
        }),
        ..report(writes, version, pods)
    }
}

/// The pod of its only task.
fn worker(version: u64) -> PodSeen {
    let pod: PodSeen = serde_json::from_value(pod_wire(version)).unwrap();
    pod.for_kind(T9K.api)
}

fn pod_wire(version: u64) -> Value {
    json!({
        "metadata": {
            "name": "mnist-worker-0", "namespace": "ml", "uid": "p0", "resourceVersion": version.to_string(),
            "creationTimestamp": "2027-01-15T07:59:58Z",
            "labels": {
                "trainyard.dev/job-name": "mnist", "trainyard.dev/role": "worker", "trainyard.dev/task-index": "0",
            },
            "annotations": { "trainyard.dev/stamp": "0.0" },
            "ownerReferences": [{
                "apiVersion": T9K.api.api_version, "kind": T9K.api.kind, "uid": "job", "controller": true,
            }],
        },
        "spec": { "restartPolicy": "Never", "containers": [{ "name": "tensorflow" }] },
        "status": running(),
    })
}

/// The Deployment that an apply creates.
fn seen(writes: &Writes, version: u64) -> BoardSeen {
    let crate::job::Meaning::Job(compiled) = &*writes.meaning else {
        panic!("it can be read")
    };
    let objects = compiled.board.as_ref().unwrap().objects.as_ref().unwrap();
    BoardSeen {
        name: "mnist-tensorboard".into(),
        namespace: "ml".into(),
        uid: format!("d{version}").into(),
        version,
        job: "mnist".into(),
        owner: Some("job".into()),
        content: Some(Arc::clone(&objects.content)),
        deleting: false,
        is_ready: false,
        trouble: None,
    }
}

/// Everything that is done from now on, until there is nothing to do; each apply succeeds.
fn play(store: &mut Store, version: &mut u64, now: Time) -> Vec<Writes> {
    let all = passes(store, version, now, 20);
    assert!(all.len() < 20, "{all:#?}");
    all
}

/// So many applies at most, each of which succeeds.
fn passes(store: &mut Store, version: &mut u64, now: Time, most: usize) -> Vec<Writes> {
    let mut all = Vec::new();
    while all.len() < most
        && let Some(writes) = store.next(now)
    {
        *version += 1;
        store.applied(done(&writes, *version), now);
        if writes
            .actions
            .iter()
            .any(|action| matches!(action, Action::Stop { .. }))
        {
            store.pod_gone(&T9K, &worker(*version));
        }
        all.push(writes);
    }
    all
}

/// The last status that was written.
fn status(all: &[Writes]) -> &Value {
    let last = all.iter().rev().find_map(|writes| writes.status.as_ref());
    last.expect("a status")
}

/// Which of the writes are about the TensorBoard.
fn boards(all: &[Writes]) -> Vec<&BoardWrite> {
    all.iter().filter_map(|writes| writes.board.as_ref()).collect()
}

const CREATE: BoardWrite = BoardWrite::Create {
    service: true,
    deployment: true,
};

#[test]
fn it_is_created_after_the_pods_and_told_in_the_status() {
    let (mut store, mut version) = (store(true), 10);
    store.job_seen(&T9K, asking(10, "i", &Value::Null));
    let all = play(&mut store, &mut version, NOW);
    assert_eq!(boards(&all), [&CREATE]);
    let (board, pods) = (
        all.iter().position(|writes| writes.board.is_some()),
        all.iter().position(|writes| !creates(writes).is_empty()),
    );
    assert!(pods.is_some() && board > pods, "{all:#?}");
    let created = all.iter().find(|writes| writes.board.is_some()).unwrap();
    assert!(
        created.actions.is_empty() && created.status.is_none(),
        "{created:?}"
    );
    let deployment = store.entries.values().next().unwrap();
    let mut ready = deployment
        .board
        .of(deployment.job.as_ref().unwrap())
        .unwrap()
        .clone();
    (ready.is_ready, ready.version) = (true, 100);
    store.board_seen(&T9K, ready);
    let all = play(&mut store, &mut version, NOW + 10);
    let said = &status(&all)["tensorboard"];
    assert_eq!(said["ready"], true, "{said}");
    assert_eq!(said["url"], "http://mnist-tensorboard.ml.svc:6006/");
    assert_eq!(said["reason"], "DependentReady");
    let note = said["note"].as_str().unwrap();
    assert!(
        note.starts_with("TensorBoard [mnist-tensorboard] is ready"),
        "{note}"
    );
    assert!(note.contains("left out: t9k://minio/s/b/p"), "{note}");
    assert_eq!(said["dependent"]["kind"], "Deployment");
}

#[test]
fn what_is_refused_is_told_and_tried_again_and_the_job_goes_on() {
    let mut store = store(true);
    store.job_seen(&T9K, asking(10, "i", &Value::Null));
    let (mut tries, mut version, mut told, mut pods) = (Vec::new(), 10, String::new(), 0);
    for second in 0..9 {
        let now = NOW + second;
        while let Some(writes) = store.next(now) {
            version += 1;
            assert!(version < 100, "{writes:#?}");
            let mut report = done(&writes, version);
            if let Some(board) = &mut report.board {
                tries.push(second);
                *board = BoardReport {
                    refused: Some(ApiError::unsent("quota".into())),
                    ..BoardReport::default()
                };
            }
            pods += creates(&writes).len();
            if let Some(status) = &writes.status {
                assert_eq!(status["waiting"], Value::Null, "the job waits for nothing");
                told = status["tensorboard"]["note"].to_string();
            }
            store.applied(report, now);
        }
    }
    assert_eq!(tries, [0, 1, 3, 7]);
    assert!(told.contains("is refused: quota"), "{told}");
    assert!(pods > 0);
}

#[test]
fn one_that_is_deleted_is_created_again_and_one_of_other_settings_is_replaced() {
    let (mut store, mut version) = (store(true), 10);
    store.job_seen(&T9K, asking(10, "i", &Value::Null));
    let all = play(&mut store, &mut version, NOW);
    let created = all.iter().find(|writes| writes.board.is_some()).unwrap();
    let entry = store.entries.values().next().unwrap();
    let known = entry.board.of(entry.job.as_ref().unwrap()).unwrap().clone();
    assert_eq!(known.content, seen(created, 0).content);
    store.board_gone(&T9K, &known);
    let again = play(&mut store, &mut version, NOW + 5);
    let only = BoardWrite::Create {
        service: false,
        deployment: true,
    };
    assert_eq!(boards(&again), [&only]);
    let stored = store.entries.values().next().unwrap().job.as_ref().unwrap();
    let edited = asking(500, "other", stored.status.as_ref().unwrap());
    let uid = Arc::clone(
        &store
            .entries
            .values()
            .next()
            .unwrap()
            .board
            .deployments
            .all()
            .next()
            .unwrap()
            .uid,
    );
    store.job_seen(&T9K, edited);
    version = 500;
    let replaced = play(&mut store, &mut version, NOW + 10);
    let remove = BoardWrite::Remove { uid, service: false };
    assert_eq!(boards(&replaced), [&remove, &only]);
}

#[test]
fn a_deployment_of_another_owner_is_not_the_jobs() {
    let (mut store, mut version) = (store(true), 10);
    store.job_seen(&T9K, asking(10, "i", &Value::Null));
    let foreign = BoardSeen {
        name: "mnist-tensorboard".into(),
        namespace: "ml".into(),
        uid: "f".into(),
        version: 1,
        job: "mnist".into(),
        owner: Some("another".into()),
        content: None,
        deleting: false,
        is_ready: true,
        trouble: None,
    };
    store.board_seen(&T9K, foreign);
    let all = play(&mut store, &mut version, NOW);
    assert_eq!(boards(&all), [&CREATE], "neither adopted nor deleted");
}

#[test]
fn without_the_flag_the_job_says_so_and_runs() {
    let (mut store, mut version) = (store(false), 10);
    store.job_seen(&T9K, asking(10, "i", &Value::Null));
    let all = play(&mut store, &mut version, NOW);
    assert_eq!(boards(&all), Vec::<&BoardWrite>::new());
    assert!(all.iter().any(|writes| !creates(writes).is_empty()));
    let said = &status(&all)["tensorboard"];
    assert_eq!(
        (&said["ready"], &said["reason"]),
        (&json!(false), &json!("NotEnabled"))
    );
    assert!(
        said["note"]
            .as_str()
            .unwrap()
            .contains("install it again with `--tensorboard`"),
        "{said}"
    );
}

#[test]
fn before_deployments_are_listed_none_is_created() {
    let mut store = Store::new(Reading {
        kinds: vec![&T9K],
        tensorboard: true,
        ..Reading::default()
    });
    let mut version = 10;
    store.job_seen(&T9K, asking(10, "i", &Value::Null));
    let all = play(&mut store, &mut version, NOW);
    assert_eq!(boards(&all), Vec::<&BoardWrite>::new());
    assert!(
        all.iter().any(|writes| !creates(writes).is_empty()),
        "the job runs"
    );
    store.list_begins(Source::Boards(&T9K));
    store.list_ends(Source::Boards(&T9K));
    let all = play(&mut store, &mut version, NOW);
    assert_eq!(boards(&all), [&CREATE]);
}
