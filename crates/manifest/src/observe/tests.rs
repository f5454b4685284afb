//! Every way in which a pod's task can be, as the API server shows it.

use serde_json::{Value, json};
use trainyard_core::{Ending, Exit, Seen, Time, Why};

use super::*;

mod causes;

#[expect(clippy::needless_pass_by_value, reason = "a table of literals reads better")]
fn pod(phase: &str, rest: Value) -> Value {
    let mut pod = json!({
        "metadata": {
            "name": "mnist-worker-1", "namespace": "ml", "uid": "u1", "resourceVersion": "7",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {
                "trainyard.dev/job-name": "mnist", "trainyard.dev/role": "worker", "trainyard.dev/task-index": "1",
            },
            "annotations": { "trainyard.dev/stamp": "2.3" },
            "ownerReferences": [
                { "apiVersion": "kubeflow.org/v1", "kind": "TFJob", "uid": "other" },
                { "apiVersion": "kubeflow.org/v1", "kind": "TFJob", "uid": "job", "controller": true },
            ],
        },
        "spec": { "restartPolicy": "Never", "containers": [{ "name": "sidecar" }, { "name": "tensorflow" }] },
        "status": { "phase": phase },
    });
    merge(&mut pod, &rest);
    pod
}

fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}

fn terminated(code: i32, reason: &str) -> Value {
    json!({ "status": { "containerStatuses": [{
        "name": "tensorflow",
        "state": { "terminated": {
            "exitCode": code, "reason": reason,
            "startedAt": "2026-01-01T00:00:10Z", "finishedAt": "2026-01-01T00:01:10Z",
        } },
    }] } })
}

fn with(mut first: Value, second: &Value) -> Value {
    merge(&mut first, second);
    first
}

fn seen(pod: Value) -> TaskSeen {
    let pod: PodSeen = serde_json::from_value(pod).unwrap();
    pod.task.unwrap()
}

fn exit(pod: Value) -> Exit {
    let task = seen(pod);
    match task.state {
        Seen::Ended(exit) => exit,
        other => panic!("not ended: {other:?}"),
    }
}

/// Kubeflow's operator knows neither our labels nor stamps: its pods are the first lives of the job that owns them.
#[test]
fn a_pod_of_kubeflows_is_its_tasks_first_life() {
    let mut theirs = pod("Pending", json!({}));
    theirs["metadata"]["annotations"] = json!(null);
    theirs["metadata"]["labels"] = json!({
        "training.kubeflow.org/job-name": "mnist", "training.kubeflow.org/operator-name": "tfjob-controller",
        "training.kubeflow.org/replica-type": "worker", "training.kubeflow.org/replica-index": "1",
    });
    let seen: PodSeen = serde_json::from_value(theirs.clone()).unwrap();
    let task = seen.task.unwrap();
    assert_eq!((&*seen.job, task.id.to_string().as_str()), ("mnist", "worker-1"));
    assert_eq!(task.stamp, Stamp::default());
    // A stamp that cannot be read is another matter: it was ours.
    theirs["metadata"]["annotations"] = json!({ "trainyard.dev/stamp": "x" });
    let seen: PodSeen = serde_json::from_value(theirs).unwrap();
    assert_eq!(seen.task, None);
}

#[test]
fn who_it_is() {
    let seen: PodSeen = serde_json::from_value(pod("Pending", json!({}))).unwrap();
    assert_eq!(
        (&*seen.job, seen.owner.as_deref(), &*seen.version),
        ("mnist", Some("job"), "7")
    );
    let task = seen.task.unwrap();
    assert_eq!(task.id.to_string(), "worker-1");
    assert_eq!(task.stamp, Stamp { epoch: 2, attempt: 3 });
    assert_eq!(write_stamp(task.stamp), "2.3");
    assert_eq!(task.state, Seen::Waiting);
}

/// Memory is spent on what a status shows.
#[test]
fn containers_are_kept_where_there_are_several_and_the_kind_shows_them() {
    let containers = |kind: (&str, &str), rest: &Value| {
        let mut pod = pod("Running", json!({}));
        pod["metadata"]["ownerReferences"][1]["apiVersion"] = kind.0.into();
        pod["metadata"]["ownerReferences"][1]["kind"] = kind.1.into();
        merge(&mut pod, rest);
        let seen: PodSeen = serde_json::from_value(pod).unwrap();
        let shown = |one: &ContainerSeen| format!("{} {:?}", one.name, one.state);
        let kept = seen.containers?;
        Some(kept.0.iter().map(shown).collect::<Vec<_>>())
    };
    let t9k = ("batch.tensorstack.dev/v1beta1", "TensorFlowTrainingJob");
    let states = json!({
        "spec": { "initContainers": [{ "name": "first" }, { "name": "mesh", "restartPolicy": "Always" }] },
        "status": {
            "containerStatuses": [
                { "name": "tensorflow", "state": { "running": {} } },
                { "name": "sidecar", "state": { "terminated": { "exitCode": 7 } } },
            ],
            "initContainerStatuses": [{ "name": "first", "state": { "terminated": { "exitCode": 0 } } }],
        },
    });
    assert_eq!(
        containers(t9k, &states).unwrap(),
        [
            "tensorflow Running",
            "sidecar Terminated(Some(7))",
            "mesh Waiting"
        ]
    );
    assert_eq!(
        containers(t9k, &json!({})).unwrap(),
        ["tensorflow Waiting", "sidecar Waiting"]
    );
    let alone = json!({ "spec": { "containers": [{ "name": "tensorflow" }] } });
    assert_eq!(containers(t9k, &alone), None);
    assert_eq!(containers(("kubeflow.org/v1", "TFJob"), &states), None);
    let many: Vec<Value> = (0..500)
        .map(|number| json!({ "name": format!("c{number}") }))
        .collect();
    let many = containers(t9k, &json!({ "spec": { "containers": many } })).unwrap();
    assert_eq!((many.len(), &*many[0]), (32, "c0 Waiting"));
}

/// F5: what a forged pod may say of itself, each with the rest as it should be.
#[test]
fn a_pod_is_a_tasks_only_by_its_name_and_numbers_and_roles_are_written_in_one_way() {
    let task = |name: &str, role: &str, index: &str| {
        let mut forged = pod("Running", json!({}));
        forged["metadata"]["name"] = name.into();
        forged["metadata"]["labels"]["trainyard.dev/role"] = role.into();
        forged["metadata"]["labels"]["trainyard.dev/task-index"] = index.into();
        let seen: PodSeen = serde_json::from_value(forged).unwrap();
        seen.task.map(|task| task.id.to_string())
    };
    assert_eq!(task("mnist-worker-1", "worker", "1").as_deref(), Some("worker-1"));
    // Scaled away, or of a role that was removed: it is to be stopped.
    for (name, role, index) in [
        ("mnist-worker-99999", "worker", "99999"),
        ("mnist-evaluator-0", "evaluator", "0"),
    ] {
        assert!(task(name, role, index).is_some(), "{name}");
    }
    for (name, role, index) in [
        ("forged", "worker", "1"),
        ("mnist-worker-0", "worker", "1"),
        ("other-worker-1", "worker", "1"),
        ("mnist-worker-01", "worker", "01"),
        ("mnist-worker-1", "worker", "01"),
        ("mnist-worker-1", "worker", "+1"),
        ("mnist-worker-+1", "worker", "+1"),
        ("mnist-worker-1", "worker", " 1"),
        ("mnist-worker-1", "worker", ""),
        ("mnist-worker--1", "worker", "-1"),
        ("mnist-worker-4294967295", "worker", "4294967295"),
        ("mnist-worker-4294967296", "worker", "4294967296"),
        ("mnist-worker-100000", "worker", "100000"),
        ("mnist-nonsense-1", "nonsense", "1"),
        ("mnist-Worker-1", "Worker", "1"),
        ("mnist-other-1", "other", "1"),
        ("mnist--1", "", "1"),
    ] {
        assert_eq!(task(name, role, index), None, "{name} {role:?} {index:?}");
    }
}

/// A master is a role of TFJob and not of TensorFlowTrainingJob, so a pod that says so is a task of the first alone.
#[test]
fn roles_are_those_of_the_owners_kind() {
    let mut master = pod("Running", json!({}));
    master["metadata"]["name"] = json!("mnist-master-1");
    master["metadata"]["labels"]["trainyard.dev/role"] = json!("master");
    let mut other = master.clone();
    let t9k = json!({ "apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "TensorFlowTrainingJob" });
    for owner in other["metadata"]["ownerReferences"].as_array_mut().unwrap() {
        merge(owner, &t9k);
    }
    let read = |pod: &Value| serde_json::from_value::<PodSeen>(pod.clone()).unwrap();
    assert!(read(&master).task.is_some());
    assert_eq!(read(&other).owner.as_deref(), Some("job"));
    assert!(read(&other).task.is_none());
    other["metadata"]["name"] = json!("mnist-chief-1");
    other["metadata"]["labels"]["trainyard.dev/role"] = json!("chief");
    assert!(read(&other).task.is_some());
}

#[test]
fn a_pod_is_owned_by_the_job_that_controls_it_and_by_nothing_else() {
    let owner = |reference: Value| {
        let mut owned = pod("Running", json!({}));
        owned["metadata"]["ownerReferences"] = json!([reference]);
        let seen: PodSeen = serde_json::from_value(owned).unwrap();
        seen.owner
    };
    let reference = |version: &str, kind: &str, controller: bool| json!({ "apiVersion": version, "kind": kind, "uid": "job", "controller": controller });
    for version in ["kubeflow.org/v1", "kubeflow.org/v1beta2"] {
        assert_eq!(owner(reference(version, "TFJob", true)).as_deref(), Some("job"));
    }
    for (version, kind, controller) in [
        ("kubeflow.org/v1", "TFJob", false),
        ("kubeflow.org/v1", "PyTorchJob", true),
        ("batch/v1", "TFJob", true),
        ("kubeflow.org", "TFJob", true),
        ("v1", "ReplicationController", true),
    ] {
        assert_eq!(
            owner(reference(version, kind, controller)),
            None,
            "{version} {kind}"
        );
    }
    assert_eq!(owner(json!({ "uid": "job", "controller": true })), None);
}

#[test]
fn nulls_and_strangers_stop_nobody() {
    let stranger = json!({ "metadata": { "name": "x", "labels": null, "ownerReferences": null }, "status": {
        "conditions": null, "containerStatuses": [{ "name": "a", "state": null }] } });
    let seen: PodSeen = serde_json::from_value(stranger).unwrap();
    assert_eq!(seen.task, None);
}

#[test]
fn running_and_ready() {
    let ready = json!({ "status": { "conditions": [{ "type": "Ready", "status": "True" }] } });
    assert_eq!(
        seen(pod("Running", json!({}))).state,
        Seen::Running { ready: false }
    );
    assert_eq!(seen(pod("Running", ready)).state, Seen::Running { ready: true });
    assert_eq!(
        seen(pod("Unknown", json!({}))).state,
        Seen::Running { ready: false }
    );
}

#[test]
fn ends_of_the_programs_own() {
    let done = exit(pod("Succeeded", terminated(0, "Completed")));
    assert_eq!(Ending::of(Some(&done)), Ending::Succeeded);
    assert_eq!(done.ran, 60);
    let failed = exit(pod("Failed", terminated(3, "Error")));
    assert_eq!(Ending::of(Some(&failed)), Ending::Failed(Some(3)));
    let memory = exit(pod("Failed", terminated(137, "OOMKilled")));
    assert_eq!(memory.why, Why::OutOfMemory);
    let never = exit(pod("Failed", terminated(128, "StartError")));
    assert_eq!(Ending::of(Some(&never)), Ending::NotStarted);
}

#[test]
fn a_sidecar_does_not_keep_the_task_alive() {
    let sidecar = |state: Value| {
        let mut status = terminated(0, "Completed");
        let containers = status["status"]["containerStatuses"].as_array_mut().unwrap();
        containers.push(json!({ "name": "sidecar", "state": state }));
        let task = seen(pod("Running", status));
        assert!(matches!(task.state, Seen::Ended(_)));
        task.lingers
    };
    assert!(sidecar(json!({ "running": {} })));
    assert!(sidecar(json!({ "waiting": {} })));
    assert!(!sidecar(json!({ "terminated": { "exitCode": 143 } })));
}

#[test]
fn a_pod_that_the_kubelet_is_about_to_call_ended_does_not_linger() {
    let task = seen(pod("Running", terminated(0, "Completed")));
    assert!(!task.lingers && matches!(task.state, Seen::Ended(_)));
}

#[test]
fn what_the_kubelet_restarts_has_not_ended() {
    let policy = |policy: &str| json!({ "spec": { "restartPolicy": policy } });
    let failed = with(terminated(1, "Error"), &policy("OnFailure"));
    assert_eq!(
        seen(pod("Running", failed.clone())).state,
        Seen::Running { ready: false }
    );
    assert!(matches!(seen(pod("Failed", failed)).state, Seen::Ended(_)));
    let done = with(terminated(0, "Completed"), &policy("OnFailure"));
    assert!(matches!(seen(pod("Running", done)).state, Seen::Ended(_)));
    let always = with(terminated(0, "Completed"), &policy("Always"));
    assert_eq!(seen(pod("Running", always)).state, Seen::Running { ready: false });
}

#[test]
fn restarts_in_place_are_counted_over_all_containers() {
    let again = json!({ "status": {
        "initContainerStatuses": [{ "name": "fetch", "restartCount": 2 }],
        "containerStatuses": [{
            "name": "tensorflow", "restartCount": 3,
            "state": { "running": {} },
            "lastState": { "terminated": { "exitCode": 9, "startedAt": "2026-01-01T00:00:10Z",
                "finishedAt": "2026-01-01T00:00:12Z" } },
        }],
    } });
    let task = seen(pod("Running", again));
    assert_eq!(task.in_place, 5);
    assert_eq!(task.last.unwrap().code, Some(9));
}

#[test]
fn an_end_that_was_asked_for_is_no_end_of_its_own() {
    // Deleted at 00:01:00 with 30 s of grace; the program ended ten seconds after that, with 0.
    let deleted = json!({ "metadata": {
        "deletionTimestamp": "2026-01-01T00:01:30Z", "deletionGracePeriodSeconds": 30 } });
    let drained = exit(pod("Succeeded", with(terminated(0, "Completed"), &deleted)));
    assert_eq!(Ending::of(Some(&drained)), Ending::Disrupted);
    // The same program had ended before it was asked to stop.
    let later = json!({ "metadata": {
        "deletionTimestamp": "2026-01-01T00:02:30Z", "deletionGracePeriodSeconds": 30 } });
    let collected = exit(pod("Succeeded", with(terminated(0, "Completed"), &later)));
    assert_eq!(Ending::of(Some(&collected)), Ending::Succeeded);
    // The kubelet, the scheduler or a drain said so.
    let target = json!({ "status": { "conditions": [{ "type": "DisruptionTarget", "status": "True" }] } });
    let shut = exit(pod("Failed", with(terminated(143, "Error"), &target)));
    assert_eq!(Ending::of(Some(&shut)), Ending::Disrupted);
}

#[test]
fn pods_without_containers() {
    let rejected = json!({ "status": { "reason": "OutOfcpu" } });
    assert_eq!(
        Ending::of(Some(&exit(pod("Failed", rejected)))),
        Ending::Disrupted
    );
    // Its own emptyDir grew over its limit: the user's fault, and never a success.
    let greedy = json!({ "status": { "reason": "Evicted" } });
    let killed = exit(pod("Failed", with(terminated(137, "Error"), &greedy)));
    assert_eq!(Ending::of(Some(&killed)), Ending::Failed(Some(137)));
    // A node that was short of memory did not take it.
    assert_eq!(
        Ending::of(Some(&exit(pod("Failed", greedy.clone())))),
        Ending::Disrupted
    );
    let quiet = exit(pod("Succeeded", with(terminated(0, "Completed"), &greedy)));
    assert_eq!(Ending::of(Some(&quiet)), Ending::Failed(None));
    // Evicted because its node had no memory left.
    let target = json!({ "status": { "reason": "Evicted",
        "conditions": [{ "type": "DisruptionTarget", "status": "True" }] } });
    assert_eq!(Ending::of(Some(&exit(pod("Failed", target)))), Ending::Disrupted);
}

#[test]
fn gone_keeps_the_end_that_was_seen() {
    let ended: PodSeen = serde_json::from_value(pod("Failed", terminated(3, "Error"))).unwrap();
    let Seen::Gone(Some(exit)) = ended.gone().unwrap().state else {
        panic!()
    };
    assert_eq!(exit.code, Some(3));
    let running: PodSeen = serde_json::from_value(pod("Running", json!({}))).unwrap();
    assert_eq!(running.gone().unwrap().state, Seen::Gone(None));
}

fn waits(rest: Value) -> Option<Waits> {
    serde_json::from_value::<PodSeen>(pod("Pending", rest))
        .unwrap()
        .waits
}

/// Containers that wait for these, by name.
fn waiting(containers: &[(&str, &str)]) -> Vec<Value> {
    let one = |(name, reason): &(&str, &str)| json!({ "name": name, "state": { "waiting": { "reason": reason, "message": "m" } } });
    containers.iter().map(one).collect()
}

#[test]
fn what_it_waits_for_in_the_clusters_words() {
    let unplaced = waits(
        json!({ "status": { "conditions": [{ "type": "PodScheduled", "status": "False",
        "reason": "Unschedulable", "message": "0/3 nodes are available" }] } }),
    );
    let said = |reason: &str, message: &str, container: Option<&str>| {
        Some(Waits::Said {
            reason: reason.into(),
            message: message.into(),
            container: container.map(Into::into),
        })
    };
    assert_eq!(unplaced, said("Unschedulable", "0/3 nodes are available", None));
    // What is wrong comes before what takes its time, whichever is first.
    let (pull, creating) = (("tensorflow", "ErrImagePull"), ("proxy", "ContainerCreating"));
    for both in [[pull, creating], [creating, pull]] {
        let status = json!({ "status": { "containerStatuses": waiting(&both) } });
        assert_eq!(waits(status), said("ErrImagePull", "m", Some("tensorflow")));
    }
}

#[test]
fn what_it_waits_for_without_a_word() {
    let placed =
        json!([{ "type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-01T00:05:00Z" }]);
    let at = time("2026-01-01T00:05:00Z");
    let preparing = Some(Waits::Preparing {
        since: at,
        has_sandbox: false,
        needs: None,
    });
    let with = |init: Value, containers: Vec<Value>| {
        let status =
            json!({ "conditions": placed, "initContainerStatuses": init, "containerStatuses": containers });
        waits(json!({ "status": status }))
    };
    let none = || json!([]);
    assert_eq!(with(none(), Vec::new()), preparing, "a kubelet that says nothing");
    let creating = waiting(&[("tensorflow", "ContainerCreating")]);
    assert_eq!(with(none(), creating), preparing);
    let initializing = || waiting(&[("tensorflow", "PodInitializing")]);
    let first = json!(waiting(&[("init", "PodInitializing")]));
    assert_eq!(with(first, initializing()), preparing, "nothing has begun");
    let runs = json!([{ "name": "init", "state": { "running": {} } }]);
    assert_eq!(
        with(runs, initializing()),
        None,
        "what runs before it takes its time"
    );

    let scheduler = json!({ "spec": { "schedulerName": "theirs" } });
    let unplaced = Waits::Unplaced {
        scheduler: "theirs".into(),
    };
    assert_eq!(waits(scheduler), Some(unplaced));
    let bound = json!({ "spec": { "nodeName": "n" } });
    assert_eq!(
        waits(bound),
        Some(Waits::Preparing {
            since: None,
            has_sandbox: false,
            needs: None
        })
    );
}

/// A pod that runs on a node, as far as its kubelet said last.
fn placed(rest: &Value) -> Option<Waits> {
    let runs = json!({ "spec": { "nodeName": "gpu-7" }, "status": {
        "containerStatuses": [{ "name": "tensorflow", "state": { "running": {} } }],
        "conditions": [{ "type": "ContainersReady", "status": "True" }, { "type": "Ready", "status": "True" }],
    } });
    let pod = pod("Running", with(runs, rest));
    serde_json::from_value::<PodSeen>(pod).unwrap().waits
}

#[test]
fn a_node_that_does_not_answer_is_told_from_a_probe_that_fails() {
    let conditions = |containers: &str, reason: Value| {
        let at = "2026-01-01T00:05:00Z";
        json!({ "status": { "conditions": [
            { "type": "ContainersReady", "status": containers, "reason": reason },
            { "type": "Ready", "status": "False", "reason": reason, "lastTransitionTime": at },
        ] } })
    };
    assert_eq!(placed(&json!({})), None);
    let silent = |since: &str| {
        let since = time(since).unwrap();
        Some(Waits::Silent {
            node: "gpu-7".into(),
            since,
        })
    };
    // As the node lifecycle controller leaves it, in both ways of writing no reason.
    for none in [json!(null), json!("")] {
        let marked = conditions("True", none);
        assert_eq!(placed(&marked), silent("2026-01-01T00:05:00Z"));
        // The program had ended by then: its kubelet said so.
        let ended = with(terminated(0, "Completed"), &marked);
        assert_eq!(placed(&ended), None);
    }
    assert_eq!(placed(&conditions("False", json!("ContainersNotReady"))), None);
    assert_eq!(placed(&conditions("True", json!("ReadinessGatesNotReady"))), None);
    // A kubelet that gives no reasons, as some played ones.
    assert_eq!(placed(&conditions("False", json!(null))), None);

    // Being deleted, with or without an eviction: the kubelet has a moment more than its grace.
    let deleted = json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:05:30Z", "deletionGracePeriodSeconds": 30 } });
    assert_eq!(placed(&deleted), silent("2026-01-01T00:05:40Z"));
    let both = with(deleted, &conditions("True", json!(null)));
    assert_eq!(placed(&both), silent("2026-01-01T00:05:40Z"));
}

#[test]
fn a_pod_should_have_stopped_when_its_grace_is_over() {
    let deleted = json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:05:30Z", "deletionGracePeriodSeconds": 30 } });
    let task = seen(pod("Running", deleted));
    assert_eq!(task.stopping, time("2026-01-01T00:05:30Z"));
}

#[test]
fn times_with_fractions() {
    assert_eq!(time("2026-01-01T00:00:10.123456Z"), time("2026-01-01T00:00:10Z"));
    assert_eq!(time("1970-01-01T00:00:00Z"), Some(Time(0)));
}

#[expect(clippy::needless_pass_by_value, reason = "a table of literals reads better")]
fn init(state: Value) -> Value {
    json!({
        "spec": { "initContainers": [{ "name": "proxy", "restartPolicy": "Always" }, { "name": "fetch" }] },
        "status": {
            "initContainerStatuses": [
                { "name": "proxy", "state": { "terminated": { "exitCode": 143, "reason": "Error" } } },
                { "name": "fetch", "state": state },
            ],
            "containerStatuses": [{ "name": "tensorflow", "state": { "waiting": { "reason": "PodInitializing" } } }],
        },
    })
}

fn ended_at(code: i32, reason: &str, started: &str) -> Value {
    json!({ "terminated": {
        "exitCode": code, "reason": reason, "startedAt": started, "finishedAt": "2026-01-01T00:01:10Z",
        "message": "Traceback (most recent call last):\n  …\nValueError: no such bucket\n\n",
    } })
}

/// As a real kubelet showed them (`initContainerStatuses`, no `status.reason`).
#[test]
fn a_failed_init_container_is_the_tasks_failure_with_its_code_and_name() {
    let failed = exit(pod("Failed", init(ended_at(3, "Error", "2026-01-01T00:00:10Z"))));
    assert_eq!(Ending::of(Some(&failed)), Ending::Failed(Some(3)));
    assert_eq!(
        (failed.container.as_deref(), failed.never_ran, failed.ran),
        (Some("fetch"), true, 0)
    );
    assert_eq!(failed.message.as_deref(), Some("ValueError: no such bucket"));

    let missing = exit(pod(
        "Failed",
        init(ended_at(128, "StartError", "1970-01-01T00:00:00Z")),
    ));
    assert_eq!(Ending::of(Some(&missing)), Ending::NotStarted);
    assert_eq!(missing.container.as_deref(), Some("fetch"));

    let drained = with(
        init(ended_at(143, "Error", "2026-01-01T00:00:10Z")),
        &json!({ "status": { "conditions": [{ "type": "DisruptionTarget", "status": "True" }] } }),
    );
    assert_eq!(Ending::of(Some(&exit(pod("Failed", drained)))), Ending::Disrupted);
}

/// Under `OnFailure` and `Always` the kubelet starts it again, and the pod never ends by it.
#[test]
fn an_init_container_that_is_restarted_in_place_is_counted_and_leaves_its_last_end() {
    let waiting = json!({ "waiting": { "reason": "CrashLoopBackOff" } });
    let mut pending = pod("Pending", init(waiting));
    let fetch = &mut pending["status"]["initContainerStatuses"][1];
    fetch["restartCount"] = 2.into();
    fetch["lastState"] = ended_at(1, "Error", "2026-01-01T00:00:10Z");
    let seen = seen(pending);
    assert_eq!((&seen.state, seen.in_place), (&Seen::Waiting, 2));
    let last = seen.last.unwrap();
    assert_eq!(
        (last.code, last.container.as_deref(), last.never_ran),
        (Some(1), Some("fetch"), true)
    );
}

/// A kubelet that rejects a pod writes nothing but a phase, a reason and a message.
#[test]
fn a_rejection_is_a_disruption_only_with_evidence_and_says_why() {
    let reasons = [
        "OutOfcpu",
        "OutOfmemory",
        "OutOfpods",
        "NodeAffinity",
        "NodePorts",
        "UnexpectedAdmissionError",
        "TopologyAffinityError",
        "Evicted",
    ];
    for reason in reasons {
        let status = json!({ "status": { "reason": reason, "message": "Pod was rejected: no room" } });
        let read: PodSeen = serde_json::from_value(pod("Failed", status.clone())).unwrap();
        let told = matches!(&read.waits, Some(Waits::Said { reason: told, .. }) if **told == *reason);
        assert!(told, "{reason}: {:?}", read.waits);
        let rejected = exit(pod("Failed", status.clone()));
        assert!(
            rejected.is_rejection() && rejected.never_ran,
            "{reason}: {rejected:?}"
        );
        assert_eq!(
            Ending::of(Some(&rejected)),
            Ending::Disrupted,
            "free, for a while"
        );
        let message = format!("{reason}: Pod was rejected: no room");
        assert_eq!(rejected.message.as_deref(), Some(&*message));

        let target =
            json!({ "status": { "conditions": [{ "type": "DisruptionTarget", "status": "True" }] } });
        let disrupted = exit(pod("Failed", with(status, &target)));
        assert!(
            !disrupted.is_rejection() && disrupted.asked,
            "{reason}: {disrupted:?}"
        );
    }
    // A node that was declared out of service: the container is still said to run.
    let lost =
        json!({ "status": { "containerStatuses": [{ "name": "tensorflow", "state": { "running": {} } }] } });
    let lost = exit(pod("Failed", lost));
    assert_eq!(
        (Ending::of(Some(&lost)), lost.is_rejection()),
        (Ending::Disrupted, false)
    );
}

#[test]
fn a_stamp_is_digits_and_one_that_is_too_large_stays_too_large() {
    let table = [
        ("2.3", Some((2, 3))),
        ("4294967295.0", Some((u32::MAX, 0))),
        ("99999999999999999999.1", Some((u32::MAX, 1))),
        ("+2.3", None),
        ("2.", None),
        ("-1.0", None),
        ("2.3.4", None),
    ];
    for (text, expected) in table {
        let read = read_stamp(text).map(|stamp| (stamp.epoch, stamp.attempt));
        assert_eq!(read, expected, "{text}");
    }
}

#[test]
fn a_condition_about_gates_that_are_gone_is_not_told() {
    let waits = |scheduler: &str, gates: &[Value]| {
        let blocked = json!({ "type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": "blocked" });
        let spec = json!({ "schedulerName": scheduler, "schedulingGates": gates });
        let pod = pod(
            "Pending",
            json!({ "spec": spec, "status": { "conditions": [blocked] } }),
        );
        serde_json::from_value::<PodSeen>(pod).unwrap().waits
    };
    let theirs = [json!({ "name": "theirs" })];
    assert!(matches!(
        waits("default-scheduler", &theirs),
        Some(Waits::Said { .. })
    ));
    assert_eq!(waits("default-scheduler", &[]), None);
    let scheduler = "mine".into();
    assert_eq!(waits("mine", &[]), Some(Waits::Unplaced { scheduler }));
}

#[test]
fn how_far_a_pod_is_on_its_way_to_a_node() {
    let gates = |names: &[&str]| {
        let gates: Vec<Value> = names.iter().map(|name| json!({ "name": name })).collect();
        json!({ "spec": { "schedulingGates": gates, "priority": 1e30 } })
    };
    let scheduled = |status: &str| {
        let when = "2026-01-01T00:00:30Z";
        json!({ "conditions": [{ "type": "PodScheduled", "status": status, "lastTransitionTime": when }] })
    };
    let bound = json!({ "spec": { "nodeName": "n" }, "status": scheduled("True") });
    let unlike = json!({ "spec": { "nodeName": "n" }, "status": scheduled("False") });
    let rows = [
        (gates(&["trainyard.dev/gang"]), Placement::Gated),
        (gates(&["trainyard.dev/gang", "theirs"]), Placement::Blocked),
        (gates(&["theirs"]), Placement::Blocked),
        (gates(&[]), Placement::Unplaced),
        (
            json!({ "spec": { "schedulingGates": null, "nodeName": "" } }),
            Placement::Unplaced,
        ),
        (bound, Placement::Placed(Some(Time(1_767_225_630)))),
        (unlike, Placement::Placed(None)),
    ];
    for (rest, expected) in rows {
        assert_eq!(seen(pod("Pending", rest.clone())).placement, expected, "{rest}");
    }
    let read: PodSeen = serde_json::from_value(pod("Pending", gates(&[]))).unwrap();
    assert_eq!(read.priority, i32::MAX);
}
