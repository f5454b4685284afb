use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use trainyard_core::{
    AddressBook, Cluster, Exit, Memory, RoleName, Seen, Stamp, Subject, TaskSeen, Time, Why, addresses,
};
use trainyard_document::Source;

use super::*;
use crate::cluster_map::ClusterMap;
use crate::kinds::tfjob::API;
use crate::task_pod::Owner;

const NOW: &str = "2027-01-15T08:00:00Z";

/// A TFJob with these roles, whose templates are this one.
fn subject(template: &Value, policy: &Value) -> Subject {
    let text = json!({
        "apiVersion": "kubeflow.org/v1", "kind": "TFJob", "metadata": { "name": "mnist", "namespace": "ml" },
        "spec": {
            "runPolicy": policy,
            "tfReplicaSpecs": {
                "PS": { "replicas": 1, "template": template },
                "Worker": { "replicas": 3, "restartPolicy": "ExitCode", "template": template },
            },
        },
    });
    let source = Source::from_bytes("job", text.to_string().as_bytes()).unwrap();
    let reading = trainyard_dialect::read(&source);
    let mut subject = reading.jobs().next().unwrap().subject(None, None);
    subject.job.uid = "job-uid".into();
    subject
}

fn queued(subject: &Subject, class: Option<&str>) -> Queued {
    let book: AddressBook = addresses(&subject.job, None);
    let cluster = Cluster::of(&subject.job, &book);
    let map = ClusterMap::of(&subject.job, &book, &cluster);
    let owner = Owner {
        api: &API,
        name: "mnist".into(),
        uid: "job-uid".into(),
    };
    let pods = TaskPods::of(subject, &book, &cluster, &map, &owner);
    Queued::of(&API, &subject.job, "users", class, &pods)
}

fn template() -> Value {
    json!({ "metadata": { "labels": { "kueue.x-k8s.io/queue-name": "x" } }, "spec": {
        "nodeSelector": { "disk": "ssd" },
        "priorityClassName": "high",
        "volumes": [{ "name": "v", "secret": { "secretName": "s" } }],
        "containers": [{
            "name": "tensorflow", "image": "i", "env": [{ "name": "PASSWORD", "value": "hunter2" }],
            "resources": { "requests": { "cpu": "1" } },
        }],
    } })
}

fn plain() -> (Subject, Queued) {
    let subject = subject(&template(), &json!({}));
    let queued = queued(&subject, None);
    (subject, queued)
}

/// The Workload of a job, with this status.
fn workload(subject: &Subject, queued: &Queued, status: &Value) -> Value {
    let mut object = queued.object(&subject.job, false, 7);
    object["status"] = status.clone();
    object
}

fn annotations(object: &Value) -> BTreeMap<String, String> {
    serde_json::from_value(object["metadata"]["annotations"].clone()).unwrap()
}

fn state(object: &Value) -> WorkloadState {
    WorkloadState::of(Some(&annotations(object)), object)
}

fn conditions(list: &[(&str, &str)]) -> Vec<Value> {
    let one = |(kind, status): &(&str, &str)| {
        json!({
            "type": kind, "status": status, "reason": format!("{kind}Reason"), "message": format!("{kind} words"),
            "lastTransitionTime": "2027-01-15T07:00:00Z",
        })
    };
    list.iter().map(one).collect()
}

fn admission() -> Value {
    let set = |name: &str, count: u32| json!({ "name": name, "count": count, "flavors": { "cpu": "gold", "memory": "gold" } });
    json!({ "clusterQueue": "cq", "podSetAssignments": [set("ps", 1), set("worker", 3)] })
}

fn admitted() -> Value {
    json!({ "conditions": conditions(&[("QuotaReserved", "True"), ("Admitted", "True")]), "admission": admission() })
}

#[test]
fn a_workload_has_a_pod_set_per_role_and_no_secret_of_the_job() {
    let (subject, queued) = plain();
    let object = queued.object(&subject.job, false, 7);
    let sets = object["spec"]["podSets"].as_array().unwrap();
    let shown: Vec<_> = sets.iter().map(|set| (&set["name"], &set["count"])).collect();
    assert_eq!(shown, [(&json!("ps"), &json!(1)), (&json!("worker"), &json!(3))]);
    assert_eq!(object["spec"]["queueName"], "users");
    assert_eq!(object["metadata"]["labels"]["kueue.x-k8s.io/job-uid"], "job-uid");
    let spec = &sets[1]["template"]["spec"];
    assert_eq!(spec["nodeSelector"], json!({ "disk": "ssd" }));
    assert_eq!(spec["containers"][0]["resources"]["requests"]["cpu"], "1");
    let text = object.to_string();
    for unwanted in ["hunter2", "TF_CONFIG", "volumes", "queue-name"] {
        assert!(!text.contains(unwanted), "{unwanted}: {text}");
    }
    assert!(is_ours(Some(&annotations(&object)), &queued.name));
    assert!(!is_ours(Some(&annotations(&object)), "another"));
    assert!(!is_ours(None, &queued.name));
}

#[test]
fn the_priority_is_that_of_the_label_then_of_the_policy_then_of_the_pods() {
    let class = |policy: Value, template: &Value, label: Option<&str>| {
        queued(&subject(template, &policy), label).priority
    };
    let policy = || json!({ "schedulingPolicy": { "priorityClass": "urgent" } });
    let bare = json!({ "spec": { "containers": [{ "name": "tensorflow", "image": "i" }] } });
    assert_eq!(
        class(policy(), &template(), Some("prod")),
        Some(PriorityClass::Workload("prod".into()))
    );
    assert_eq!(
        class(policy(), &template(), None),
        Some(PriorityClass::Pod("urgent".into()))
    );
    assert_eq!(
        class(json!({}), &template(), Some("")),
        Some(PriorityClass::Pod("high".into()))
    );
    assert_eq!(class(json!({}), &bare, None), None);
    let none = queued(&subject(&bare, &json!({})), None);
    let object = none.object(&subject(&bare, &json!({})).job, false, 0);
    assert!(object["spec"].get("priorityClassRef").is_none());
    assert!(none.correction(false, 0)["spec"]["priorityClassRef"].is_null());
}

#[test]
fn a_job_runs_only_between_its_admission_and_its_eviction() {
    let rows = [
        (vec![], false, Phase::Pending),
        (vec![("QuotaReserved", "False")], false, Phase::Pending),
        (vec![("QuotaReserved", "True")], true, Phase::Reserved),
        (
            vec![("QuotaReserved", "True"), ("Admitted", "False")],
            true,
            Phase::Reserved,
        ),
        (
            vec![("QuotaReserved", "True"), ("Admitted", "True")],
            true,
            Phase::Admitted,
        ),
        (
            vec![("QuotaReserved", "True"), ("Admitted", "True")],
            false,
            Phase::Reserved,
        ),
        (
            vec![
                ("QuotaReserved", "True"),
                ("Admitted", "True"),
                ("Evicted", "False"),
            ],
            true,
            Phase::Admitted,
        ),
        (
            vec![
                ("QuotaReserved", "True"),
                ("Admitted", "True"),
                ("Evicted", "True"),
            ],
            true,
            Phase::Evicted,
        ),
        (
            vec![
                ("QuotaReserved", "False"),
                ("Admitted", "True"),
                ("Evicted", "True"),
            ],
            false,
            Phase::Pending,
        ),
        (
            vec![
                ("QuotaReserved", "True"),
                ("Admitted", "True"),
                ("Finished", "True"),
            ],
            true,
            Phase::Finished,
        ),
    ];
    let (subject, queued) = plain();
    for (list, has_admission, phase) in rows {
        let mut status = json!({ "conditions": conditions(&list) });
        if has_admission {
            status["admission"] = admission();
        }
        let seen = state(&workload(&subject, &queued, &status));
        assert_eq!(seen.phase, phase, "{status}");
    }
}

#[test]
fn why_it_waits_is_told_in_the_words_of_kueue() {
    let (subject, queued) = plain();
    let words = |status: Value| {
        let seen = state(&workload(&subject, &queued, &status));
        seen.words.map(|words| words.to_string())
    };
    let is = |list: &[(&str, &str)]| words(json!({ "conditions": conditions(list) }));
    assert_eq!(is(&[]), None);
    assert_eq!(is(&[("QuotaReserved", "False")]).unwrap(), "QuotaReserved words");
    assert_eq!(
        is(&[("QuotaReserved", "True"), ("Evicted", "True")]).unwrap(),
        "Evicted words"
    );
    let checks = json!([{ "name": "a", "state": "Ready", "message": "fine" }, { "state": "Pending", "message": "asks for nodes" }]);
    let reserved =
        json!({ "conditions": conditions(&[("QuotaReserved", "True")]), "admissionChecks": checks });
    assert_eq!(words(reserved).unwrap(), "asks for nodes");
}

#[test]
fn a_pending_workload_follows_its_job_and_one_with_quota_only_where_it_must() {
    let (first, before) = plain();
    let seen = state(&workload(&first, &before, &json!({})));
    assert!(before.is_same(&seen, false) && before.has_same_pods(&seen, false));
    let mut larger = first.clone();
    larger.job.roles[1].replicas = 5;
    let larger = queued(&larger, None);
    assert!(!larger.is_same(&seen, false));
    assert!(larger.has_same_pods(&seen, false), "how many is asked elsewhere");
    let mut hungry = template();
    hungry["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "4".into();
    assert!(!queued(&subject(&hungry, &json!({})), None).has_same_pods(&seen, false));
    let mut other = template();
    other["spec"]["containers"][0]["env"][0]["value"] = "other".into();
    assert!(queued(&subject(&other, &json!({})), None).is_same(&seen, false));
    assert!(!queued(&first, Some("prod")).is_same(&seen, false));
}

fn flavors() -> BTreeMap<String, Value> {
    let gold = json!({ "spec": {
        "nodeLabels": { "pool": "gold" },
        "tolerations": [{ "key": "dedicated", "operator": "Exists" }],
        "nodeTaints": [{ "key": "no", "effect": "NoSchedule" }],
    } });
    BTreeMap::from([("gold".to_owned(), gold)])
}

#[test]
fn pods_go_where_their_flavor_says_and_stay_themselves() {
    let (subject, queued) = plain();
    let mut status = admitted();
    status["admissionChecks"] = json!([{ "state": "Ready", "podSetUpdates": [{
        "name": "worker",
        "labels": { "a": "b", "trainyard.dev/role": "ps", "kueue.x-k8s.io/queue-name": "x" },
        "annotations": { "trainyard.dev/stamp": "9.9", "c": "d" },
        "nodeSelector": { "zone": "1" },
        "tolerations": [{ "key": "t" }, 7],
    }] }]);
    let object = workload(&subject, &queued, &status);
    assert_eq!(Placement::flavors(&object), ["gold".to_owned()].into());
    let placement = Placement::of(&object, &flavors()).unwrap();
    let mut placed = object.clone();
    placed["metadata"]["annotations"][PLACEMENT] = placement.text().into();
    let seen = state(&placed);
    assert_eq!(seen.placement.as_deref(), Some(&placement), "it is read back");
    let mut again = placed.clone();
    again["status"]["conditions"][0]["lastTransitionTime"] = "2027-01-15T09:00:00Z".into();
    assert_eq!(state(&again).placement, None, "another admission");
    let mut pod = json!({
        "metadata": { "labels": { "trainyard.dev/role": "worker" }, "annotations": { "trainyard.dev/stamp": "0.0" } },
        "spec": { "nodeSelector": { "disk": "ssd" }, "tolerations": [{ "key": "t" }] },
    });
    placement.mark(&mut pod, &subject.job.roles[1], "wl");
    assert_eq!(
        pod,
        json!({
            "metadata": {
                "labels": { "trainyard.dev/role": "worker", "kueue.x-k8s.io/podset": "worker", "a": "b" },
                "annotations": { "trainyard.dev/stamp": "0.0", "kueue.x-k8s.io/workload": "wl", "c": "d" },
            },
            "spec": {
                "nodeSelector": { "disk": "ssd", "pool": "gold", "zone": "1" },
                "tolerations": [{ "key": "t" }, { "key": "dedicated", "operator": "Exists" }],
            },
        })
    );
}

#[test]
fn a_job_that_no_node_suits_is_told_so() {
    let (subject, queued) = plain();
    let object = workload(&subject, &queued, &admitted());
    let mut flavors = flavors();
    flavors.get_mut("gold").unwrap()["spec"]["nodeLabels"]["disk"] = "hdd".into();
    let refused = Placement::of(&object, &flavors).unwrap_err();
    assert!(
        refused.contains("`disk=hdd` only, and asks for `disk=ssd`"),
        "{refused}"
    );
}

#[test]
fn an_eviction_is_ended_by_one_status_that_gives_everything_back() {
    let (subject, queued) = plain();
    let mut status = admitted();
    let list = [
        ("QuotaReserved", "True"),
        ("Admitted", "True"),
        ("Evicted", "True"),
        ("PodsReady", "True"),
    ];
    status["conditions"] = conditions(&list).into();
    status["conditions"][2]["reason"] = "Preempted".into();
    status["reclaimablePods"] = json!([{ "name": "worker", "count": 1 }]);
    status["requeueState"] = json!({ "count": 1 });
    let object = workload(&subject, &queued, &status);
    let change = Amendment {
        release: true,
        reclaimable: Some(BTreeMap::new()),
        ..Amendment::default()
    };
    let after = amended(&object, &change, NOW).unwrap();
    assert!(after.get("admission").is_none());
    assert_eq!(after["reclaimablePods"], json!([]));
    assert_eq!(after["requeueState"], json!({ "count": 1 }), "Kueue's own");
    let is = |kind: &str| {
        let found = state::condition(&after, kind).unwrap();
        (
            found["status"].as_str().unwrap().to_owned(),
            found["reason"].as_str().unwrap().to_owned(),
        )
    };
    let said = |status: &str, reason: &str| (status.to_owned(), reason.to_owned());
    assert_eq!(is("QuotaReserved"), said("False", "Pending"));
    assert_eq!(is("Admitted"), said("False", "NoReservation"));
    assert_eq!(is("PodsReady"), said("False", "WaitForStart"));
    assert_eq!(is("Requeued"), said("True", "Preempted"));
    assert_eq!(is("Evicted"), said("True", "Preempted"));
    let mut again = object.clone();
    again["status"] = after;
    assert_eq!(amended(&again, &change, "later"), None, "nothing is left to do");
    again["status"]["conditions"][2]["reason"] = "PodsReadyTimeout".into();
    let later = amended(&again, &change, NOW).unwrap();
    assert_eq!(
        state::condition(&later, "Requeued").unwrap()["status"],
        "False",
        "Kueue decides when"
    );
    let untouched = workload(&subject, &queued, &admitted());
    let only = Amendment {
        release: true,
        ..Amendment::default()
    };
    assert_eq!(amended(&untouched, &only, NOW), None, "it was not evicted");
}

#[test]
fn kueue_is_told_when_pods_are_ready_fail_and_recover() {
    let mut object = json!({ "status": { "conditions": [] } });
    let mut said = Vec::new();
    for ready in [false, true, true, false, true, false, true] {
        let change = Amendment {
            ready: Some(ready),
            ..Amendment::default()
        };
        if let Some(status) = amended(&object, &change, NOW) {
            said.push(status["conditions"][0]["reason"].as_str().unwrap().to_owned());
            object["status"] = status;
        }
    }
    let expected = [
        "WaitForStart",
        "Started",
        "WaitForRecovery",
        "Recovered",
        "WaitForRecovery",
        "Recovered",
    ];
    assert_eq!(said, expected);
    let end = Amendment {
        finished: Some((true, "done".into())),
        ..Amendment::default()
    };
    let status = amended(&object, &end, NOW).unwrap();
    assert_eq!(
        state(&json!({ "metadata": { "annotations": {} }, "status": status })).phase,
        Phase::Finished
    );
}

fn running(role: &str, index: u32) -> TaskSeen {
    TaskSeen {
        id: TaskId::new(role, index),
        stamp: Stamp::default(),
        instance: format!("{role}-{index}").as_str().into(),
        state: Seen::Running { ready: true },
        created: Time(1),
        in_place: 0,
        last: None,
        stopping: None,
        lingers: false,
        placement: trainyard_core::Placement::default(),
    }
}

fn exit(code: i32) -> Exit {
    Exit {
        code: Some(code),
        why: Why::Itself,
        asked: false,
        at: Time(5),
        ran: 1,
        never_ran: false,
        rejected: false,
        container: None,
        message: None,
        cause: None,
    }
}

fn counts(list: &[(&str, u32)]) -> BTreeMap<Arc<str>, u32> {
    list.iter()
        .map(|(name, count)| ((*name).into(), *count))
        .collect()
}

#[test]
fn quota_of_tasks_that_have_finished_for_good_is_given_back_and_not_taken_again() {
    let (subject, queued) = plain();
    let mut memory = Memory::new(&subject.job);
    let all = [
        running("ps", 0),
        running("worker", 0),
        running("worker", 1),
        running("worker", 2),
    ];
    let mut seen = state(&workload(&subject, &queued, &admitted()));
    let holding = Holding::of(&subject.job, Some(&memory), &all);
    assert!(holding.ready && holding.alive && holding.is_covered(&seen));
    assert_eq!(holding.reclaimable(&seen, true), counts(&[]));
    memory
        .roles
        .entry(RoleName::new("worker"))
        .or_default()
        .done
        .insert(1);
    let lingering = Holding::of(&subject.job, Some(&memory), &all);
    assert_eq!(
        lingering.reclaimable(&seen, true),
        counts(&[]),
        "its pod still runs"
    );
    let left = [running("ps", 0), running("worker", 0), running("worker", 2)];
    let holding = Holding::of(&subject.job, Some(&memory), &left);
    assert_eq!(holding.reclaimable(&seen, true), counts(&[("worker", 1)]));
    seen.reclaimed = counts(&[("worker", 2)]);
    assert_eq!(
        holding.reclaimable(&seen, true),
        counts(&[("worker", 2)]),
        "never less"
    );
    assert!(!holding.is_covered(&seen), "it has given back what it needs");
    assert_eq!(holding.reclaimable(&seen, false), counts(&[("worker", 1)]));
    let mut ended = left.clone();
    ended[2].state = Seen::Ended(exit(0));
    assert!(
        Holding::of(&subject.job, Some(&memory), &ended).ready,
        "it succeeded"
    );
    ended[2].state = Seen::Ended(exit(1));
    assert!(!Holding::of(&subject.job, Some(&memory), &ended).ready);
    let none = Holding::of(&subject.job, Some(&memory), &[]);
    assert!(!none.alive && !none.ready);
}

#[test]
fn a_job_that_restarts_as_a_whole_keeps_its_quota() {
    let (mut subject, queued) = plain();
    let seen = state(&workload(&subject, &queued, &admitted()));
    let mut memory = Memory::new(&subject.job);
    memory
        .roles
        .entry(RoleName::new("worker"))
        .or_default()
        .done
        .insert(1);
    let mut rule = subject.job.rules[0].clone();
    rule.then = trainyard_core::Then::Restart {
        scope: trainyard_core::Scope::Job,
        paid: true,
    };
    subject.job.rules.push(rule);
    let holding = Holding::of(&subject.job, Some(&memory), &[]);
    assert_eq!(holding.reclaimable(&seen, true), counts(&[]));
}

fn anything() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        Just("True".to_owned()),
        Just("worker".to_owned()),
        Just("Evicted".to_owned()),
        ".*",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word.prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        let key = prop_oneof![
            Just("name".to_owned()),
            Just("count".to_owned()),
            Just("conditions".to_owned()),
            Just("type".to_owned()),
            Just("status".to_owned()),
            "[a-z]{0,4}",
        ];
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(key, inner, 0..4).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// A status in which some fields are as Kueue writes them and others are anything.
fn strange_status() -> impl Strategy<Value = Value> {
    let fields = (anything(), anything(), anything(), anything());
    (fields, any::<[bool; 5]>(), any::<i64>()).prop_map(|((one, two, three, four), real, count)| {
        let mut status = admitted();
        let list = [
            ("QuotaReserved", "True"),
            ("Admitted", "True"),
            ("Evicted", if real[4] { "True" } else { "False" }),
        ];
        status["conditions"] = conditions(&list).into();
        status["admission"]["podSetAssignments"][1]["count"] = count.into();
        if !real[0] {
            status["conditions"] = one;
        }
        if !real[1] {
            status["admission"] = two;
        }
        if !real[2] {
            status["reclaimablePods"] = three;
        }
        if !real[3] {
            status["admissionChecks"] =
                json!([{ "podSetUpdates": [{ "name": "worker", "labels": four, "nodeSelector": four }] }]);
        }
        status
    })
}

proptest! {
    #[test]
    fn no_status_makes_a_job_run_without_quota_or_breaks_what_is_written(
        status in strange_status(),
        note in prop_oneof![".*", Just("{\"admission\":\"\",\"podSets\":{}}".to_owned())],
        done in any::<bool>(),
    ) {
        let (subject, queued) = plain();
        let mut object = workload(&subject, &queued, &status);
        object["metadata"]["annotations"][PLACEMENT] = note.into();
        let seen = state(&object);
        let mut memory = Memory::new(&subject.job);
        if done {
            memory.roles.entry(RoleName::new("worker")).or_default().done.insert(0);
        }
        let holding = Holding::of(&subject.job, Some(&memory), &[]);
        if holding.is_covered(&seen) {
            let assigned = seen.assigned.get("worker").copied().unwrap_or_default();
            prop_assert!(assigned >= 3 - u32::from(done));
        }
        for reserved in [false, true] {
            for (name, count) in holding.reclaimable(&seen, reserved) {
                let of = if reserved { &seen.assigned } else { &seen.counts };
                prop_assert!(count <= of[&name]);
            }
        }
        let change = Amendment {
            release: true,
            ready: Some(done),
            reclaimable: Some(holding.reclaimable(&seen, true)),
            finished: None,
        };
        if let Some(after) = amended(&object, &change, NOW) {
            let again = json!({ "metadata": object["metadata"], "spec": object["spec"], "status": after });
            let released = state(&again);
            prop_assert!(released.phase != Phase::Evicted, "{after}");
        }
        if let Ok(placement) = Placement::of(&object, &flavors()) {
            let mut pod = json!({
                "metadata": { "labels": { "trainyard.dev/role": "worker" }, "annotations": { "trainyard.dev/stamp": "0.0" } },
                "spec": { "nodeSelector": { "disk": "ssd" } },
            });
            placement.mark(&mut pod, &subject.job.roles[1], "wl");
            prop_assert_eq!(&pod["metadata"]["labels"]["trainyard.dev/role"], "worker");
            prop_assert_eq!(&pod["metadata"]["annotations"]["trainyard.dev/stamp"], "0.0");
            prop_assert_eq!(&pod["spec"]["nodeSelector"]["disk"], "ssd");
            prop_assert!(pod["metadata"]["labels"].get(QUEUE_LABEL).is_none());
        }
    }
}
