use super::*;
use trainyard_core::{Exit, GangChoice, Memory, Placement, Stamp, TaskId, Time, Why};
use trainyard_dialect::read;
use trainyard_document::Source;

use crate::install::access::Place;

fn subject(policy: &Value, template: &Value) -> Subject {
    let text = json!({
        "apiVersion": "kubeflow.org/v1", "kind": "TFJob",
        "metadata": { "name": "mnist", "namespace": "research", "annotations": { "team": "vision" } },
        "spec": {
            "runPolicy": { "schedulingPolicy": policy },
            "tfReplicaSpecs": {
                "PS": { "replicas": 1, "template": template },
                "Worker": { "replicas": 2, "template": template },
            },
        },
    });
    let source = Source::from_bytes("job", text.to_string().as_bytes()).expect("text");
    let reading = read(&source);
    let job = reading.jobs().next().expect("a job");
    job.subject(None, None)
}

fn template() -> Value {
    let asks = json!({ "requests": { "cpu": "1500m", "memory": "1Gi" } });
    json!({ "spec": { "containers": [{ "name": "tensorflow", "image": "x", "resources": asks }] } })
}

fn with(scheduler: &GangScheduler, policy: &Value, template: &Value) -> Subject {
    let mut subject = subject(policy, template);
    subject.job.gang = Some(gang(scheduler, &subject.job));
    subject
}

fn plugin() -> GangScheduler {
    GangScheduler::Named("plugins".into())
}

/// The one group that a job has.
fn group(subject: &Subject) -> Value {
    let [group] = &groups(subject, None)[..] else {
        panic!("one group")
    };
    group.object.clone()
}

#[test]
fn schedulers_go_by_kubeflows_names() {
    let rows = [
        ("", Some("")),
        ("none", Some("")),
        ("None", Some("")),
        ("Volcano", Some("volcano")),
        ("my-scheduler", Some("my-scheduler")),
        ("my-scheduler, volcano,my-scheduler", Some("my-scheduler,volcano")),
        ("gates", Some("gates")),
        ("volcano,none", None),
        ("volcano,", None),
        ("My-Scheduler", None),
        ("t9k", Some("t9k")),
        ("volcano,native", Some("volcano,native")),
        ("volcano,t9k-scheduler,t9k", Some("volcano,t9k")),
        ("scheduler-plugins", Some("scheduler-plugins")),
        ("Kube-Batch", Some("kube-batch")),
    ];
    for (text, expected) in rows {
        let schedulers: Option<Schedulers> = text.parse().ok();
        let written = schedulers.as_ref().map(ToString::to_string);
        assert_eq!(written.as_deref(), expected, "{text}");
        assert!(
            written.is_none_or(|text| text.parse().ok() == schedulers),
            "{text}"
        );
    }
}

#[test]
fn a_job_may_choose_among_the_schedulers_that_the_operator_was_told_of() {
    let volcano = GangScheduler::Volcano;
    let other = GangScheduler::KubeBatch;
    let by = |one: &GangScheduler| Placing::Together(one.clone());
    let two = "volcano,plugins";
    let rows = [
        ("", GangChoice::Default, Placing::Alone),
        ("", GangChoice::Template(volcano.clone()), Placing::Alone),
        (
            "",
            GangChoice::Named(volcano.clone()),
            Placing::NotChosen(volcano.clone()),
        ),
        ("", GangChoice::None, Placing::Alone),
        (two, GangChoice::Default, by(&volcano)),
        (two, GangChoice::None, Placing::Alone),
        (two, GangChoice::Template(plugin()), by(&plugin())),
        (two, GangChoice::Template(other.clone()), by(&volcano)),
        (two, GangChoice::Named(plugin()), by(&plugin())),
        (
            two,
            GangChoice::Named(other.clone()),
            Placing::NotChosen(other.clone()),
        ),
        ("plugins,volcano", GangChoice::Default, by(&plugin())),
    ];
    for (told, choice, expected) in rows {
        let told: Schedulers = told.parse().unwrap();
        assert_eq!(
            told.placing(&choice, Began::NotYet),
            expected,
            "{told} {choice:?}"
        );
    }
}

#[test]
fn a_job_is_placed_as_it_began_whatever_it_or_the_operator_says_later() {
    let two: Schedulers = "volcano,plugins".parse().unwrap();
    let rows = [
        (GangChoice::Default, None, Placing::Alone),
        (GangChoice::Named(plugin()), None, Placing::Alone),
        (
            GangChoice::Named(GangScheduler::Volcano),
            Some("plugins"),
            Placing::Together(plugin()),
        ),
        (
            GangChoice::None,
            Some("volcano"),
            Placing::Together(GangScheduler::Volcano),
        ),
        (
            GangChoice::Named(GangScheduler::KubeBatch),
            Some("kube-batch"),
            Placing::Alone,
        ),
    ];
    for (choice, began, expected) in rows {
        assert_eq!(
            two.placing(&choice, Began::As(began)),
            expected,
            "{choice:?} {began:?}"
        );
    }
}

#[test]
fn nodes_are_read_for_gates_alone_by_a_right_without_a_namespace() {
    for (chosen, expected) in [("gates", 1), ("volcano,gates", 1), ("volcano,native", 0)] {
        let chosen: Schedulers = chosen.parse().unwrap();
        let uses = chosen.uses();
        let nodes: Vec<_> = uses.iter().filter(|used| used.resource == "nodes").collect();
        assert_eq!(nodes.len(), expected);
        let reads = |used: &&Use| used.place == Place::Cluster && used.verbs == ["list", "watch"];
        assert!(nodes.iter().all(reads));
    }
}

#[test]
fn each_api_and_right_is_there_once() {
    let two: Schedulers = "volcano,plugins,others".parse().unwrap();
    let resources: Vec<String> = two.apis().iter().map(|api| api.resource()).collect();
    assert_eq!(
        resources,
        ["podgroups.scheduling.volcano.sh", "podgroups.scheduling.x-k8s.io"]
    );
    assert_eq!(two.uses().len(), 3, "groups of both, and queues of one");
    let queues: Vec<String> = two.queues().iter().map(|api| api.resource()).collect();
    assert_eq!(queues, ["queues.scheduling.volcano.sh"]);
    assert!(Schedulers::default().apis().is_empty());
}

#[test]
fn a_group_holds_all_tasks_unless_the_job_says_otherwise() {
    let all = with(&GangScheduler::Volcano, &Value::Null, &template());
    assert_eq!(
        group(&all),
        json!({
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "PodGroup",
            "metadata": { "name": "mnist", "namespace": "research", "annotations": { "team": "vision", "trainyard.dev/group": "mnist" } },
            "spec": {
                "minMember": 3, "queue": "default",
                "minResources": { "cpu": "4500m", "memory": "3221225472" },
            },
        })
    );
    let policy = json!({
        "minAvailable": 2, "queue": "night", "priorityClass": "low", "minResources": { "cpu": "2" },
        "scheduleTimeoutSeconds": 30,
    });
    let some = with(&GangScheduler::Volcano, &policy, &template());
    assert_eq!(
        group(&some)["spec"],
        json!({ "minMember": 2, "queue": "night", "priorityClassName": "low", "minResources": { "cpu": "2" } })
    );
    let some = with(&plugin(), &policy, &template());
    let group = group(&some);
    assert_eq!(group["apiVersion"], "scheduling.x-k8s.io/v1alpha1");
    assert_eq!(
        group["spec"],
        json!({ "minMember": 2, "minResources": { "cpu": "2" }, "scheduleTimeoutSeconds": 30 })
    );
    assert!(!some.job.gang.expect("a gang").hold, "the plugin looks at pods");
}

#[test]
fn the_group_of_kube_batch_says_nothing_of_resources_and_its_phase_decides() {
    let policy = json!({
        "minAvailable": 2, "queue": "night", "priorityClass": "low", "minResources": { "cpu": "2" },
        "scheduleTimeoutSeconds": 30,
    });
    let subject = with(&GangScheduler::KubeBatch, &policy, &template());
    let group = group(&subject);
    assert_eq!(group["apiVersion"], "scheduling.incubator.k8s.io/v1alpha1");
    assert_eq!(
        group["spec"],
        json!({ "minMember": 2, "queue": "night", "priorityClassName": "low" })
    );
    assert!(
        !subject.job.gang.as_ref().expect("a gang").hold,
        "it looks at pods"
    );
    let mut pod = json!({ "metadata": {}, "spec": {} });
    mark(&mut pod, &subject.job, &subject.job.roles[1]);
    assert_eq!(
        pod["metadata"]["annotations"],
        json!({ "scheduling.k8s.io/group-name": "mnist" })
    );
    assert_eq!(pod["spec"]["schedulerName"], "kube-batch");
    // The condition stays after the group was placed.
    let full = json!([{ "type": "Unschedulable", "status": "True", "message": "no room" }]);
    let state = scheduler(&GangScheduler::KubeBatch).expect("a module").apis[0].state;
    for (phase, expected) in [
        ("Pending", GroupState::Waiting(Some("no room".into()))),
        ("Running", GroupState::Open),
        ("Unknown", GroupState::Broken),
    ] {
        assert_eq!(state(&json!({ "phase": phase, "conditions": full })), expected);
    }
}

#[test]
fn the_group_of_t9ks_scheduler_has_a_queue_a_number_and_no_resources() {
    let policy =
        json!({ "minAvailable": 2, "queue": "night", "priorityClass": "70", "minResources": { "cpu": "2" } });
    let some = with(&GangScheduler::T9k, &policy, &template());
    let spec = group(&some)["spec"].clone();
    assert_eq!(spec, json!({ "minMember": 2, "queue": "night", "priority": 70 }));
    for (class, priority) in [("high", 0), ("101", 0), ("-1", 0), ("100", 100)] {
        let named = with(
            &GangScheduler::T9k,
            &json!({ "priorityClass": class }),
            &template(),
        );
        assert_eq!(group(&named)["spec"]["priority"], priority, "{class}");
    }
    let mut all = with(&GangScheduler::T9k, &Value::Null, &template());
    if let Some(gang) = &mut all.job.gang {
        gang.per_role = [(all.job.roles[1].name.clone(), 2)].into();
    }
    let expected = json!({ "minMember": 3, "queue": "default", "priority": 0, "roles": [{ "name": "worker", "minMember": 2 }] });
    assert_eq!(group(&all)["spec"], expected);
    // A pod that has failed is no member, and one that has succeeded is.
    for (succeeded, failed, expected) in [(1, 0, 3), (0, 1, 2), (1, 2, 1), (0, 3, 1)] {
        let ended = Ended { succeeded, failed };
        let members = groups(&all, Some(ended))[0].object["spec"]["minMember"].clone();
        assert_eq!(members, expected, "{ended:?}");
    }

    let mut pod = json!({ "metadata": {}, "spec": {} });
    mark(&mut pod, &all.job, &all.job.roles[1]);
    let marks = json!({
        "scheduler.tensorstack.dev/group-name": "mnist",
        "scheduler.tensorstack.dev/queue": "default",
        "scheduler.tensorstack.dev/role": "worker",
    });
    assert_eq!(pod["metadata"]["labels"], marks);
    assert_eq!(pod["spec"]["schedulerName"], "t9k-scheduler");
}

/// Count, class and mode of Kubernetes' own group.
fn native(subject: &Subject, succeeded: u32, failed: u32) -> Value {
    let ended = Ended { succeeded, failed };
    groups(subject, Some(ended))[0].object["spec"].clone()
}

#[test]
fn a_group_of_kubernetes_counts_what_has_not_ended() {
    let all = with(&GangScheduler::Native, &Value::Null, &template());
    let made = group(&all);
    assert_eq!(
        (&made["apiVersion"], &made["metadata"]["name"]),
        (&json!("scheduling.k8s.io/v1beta1"), &json!("mnist"))
    );
    assert_eq!(
        made["spec"],
        json!({ "schedulingPolicy": { "gang": { "minCount": 3 } } })
    );
    assert_eq!(members(&made["spec"]), Some(3));
    let some = with(&GangScheduler::Native, &json!({ "minAvailable": 2 }), &template());
    for (subject, succeeded, failed, expected) in [
        (&all, 1, 0, 2),
        (&all, 1, 1, 1),
        (&all, 3, 0, 1),
        (&some, 0, 0, 2),
        (&some, 1, 0, 2),
        (&some, 1, 1, 1),
    ] {
        assert_eq!(
            members(&native(subject, succeeded, failed)),
            Some(expected),
            "{succeeded} {failed}"
        );
    }
    // The plugin counts the same.
    let plugged = with(&plugin(), &Value::Null, &template());
    assert_eq!(members(&native(&plugged, 1, 1)), Some(1));
    // Only the count can be changed.
    let api = scheduler(&GangScheduler::Native).unwrap().apis[0];
    let wanted = GroupWanted {
        api,
        object: json!({ "spec": native(&all, 1, 0) }),
    };
    let seen = json!({
        "schedulingPolicy": { "gang": { "minCount": 3 } }, "disruptionMode": { "single": {} }, "priority": 0,
    });
    assert_eq!(
        wanted.correction(&seen),
        Some(json!({ "schedulingPolicy": { "gang": { "minCount": 2 } } }))
    );
}

#[test]
fn a_group_of_kubernetes_and_its_pods_have_one_priority_class() {
    let mut classed = template();
    classed["spec"]["priorityClassName"] = "high".into();
    let policy = |class: &str| json!({ "priorityClass": class });
    let rows = [
        (Value::Null, template(), Value::Null, Value::Null),
        (policy("low"), template(), json!("low"), json!("low")),
        (Value::Null, classed.clone(), json!("high"), json!("high")),
        // It is kept, and the scheduler says what is wrong.
        (policy("low"), classed, json!("low"), json!("high")),
        (policy("50"), template(), Value::Null, Value::Null),
    ];
    for (policy, template, of_group, of_pod) in rows {
        let subject = with(&GangScheduler::Native, &policy, &template);
        assert_eq!(group(&subject)["spec"]["priorityClassName"], of_group, "{policy}");
        let mut pod = template;
        mark(&mut pod, &subject.job, &subject.job.roles[0]);
        assert_eq!(pod["spec"]["priorityClassName"], of_pod, "{policy}");
        assert_eq!(pod["spec"]["schedulingGroup"], json!({ "podGroupName": "mnist" }));
        assert_eq!(pod["spec"]["schedulerName"], Value::Null);
        assert_eq!(other_scheduler(&subject), None);
    }
    let mut unlike = with(&GangScheduler::Native, &Value::Null, &template());
    unlike.job.roles[0].template =
        trainyard_core::Template(r#"{"spec":{"priorityClassName":"high"}}"#.into());
    assert_eq!(group(&unlike)["spec"]["priorityClassName"], Value::Null);

    let mut theirs = template();
    theirs["spec"]["schedulingGroup"] = json!({ "podGroupName": "theirs" });
    let joined = with(&GangScheduler::Native, &Value::Null, &theirs);
    assert!(groups(&joined, None).is_empty());
    mark(&mut theirs, &joined.job, &joined.job.roles[0]);
    assert_eq!(theirs["spec"]["schedulingGroup"]["podGroupName"], "theirs");
}

#[test]
fn a_group_of_kubernetes_is_disrupted_as_a_whole_where_the_job_restarts_as_one() {
    let mut subject = with(&GangScheduler::Native, &Value::Null, &template());
    assert_eq!(native(&subject, 0, 0)["disruptionMode"], Value::Null);
    for rule in &mut subject.job.rules {
        if let trainyard_core::Then::Restart { scope, .. } = &mut rule.then {
            *scope = trainyard_core::Scope::Job;
        }
    }
    assert_eq!(native(&subject, 0, 0)["disruptionMode"], json!({ "all": {} }));
}

#[test]
fn the_condition_of_a_group_of_kubernetes_says_how_far_it_is() {
    let api = scheduler(&GangScheduler::Native).unwrap().apis[0];
    let said = |status: &str| {
        json!({ "conditions": [
            { "type": "DisruptionTarget", "status": "True", "message": "preempted" },
            { "type": "PodGroupInitiallyScheduled", "status": status, "message": "minCount (3) cannot be satisfied" },
        ] })
    };
    let words = Some("minCount (3) cannot be satisfied".into());
    let rows = [
        (json!(null), GroupState::Silent),
        (json!({}), GroupState::Silent),
        (said("False"), GroupState::Waiting(words)),
        (said("True"), GroupState::Open),
    ];
    for (status, expected) in rows {
        assert_eq!((api.state)(&status), expected, "{status}");
    }
}

#[test]
fn the_largest_pods_are_created_first() {
    let mut subject = subject(&Value::Null, &template());
    let mut order = |asks: [&[(&str, i64)]; 2]| {
        for (role, ask) in subject.job.roles.iter_mut().zip(asks) {
            role.ask = ask.iter().map(|(name, milli)| ((*name).into(), *milli)).collect();
        }
        let names = |roles: &Vec<trainyard_core::RoleName>| {
            roles
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(",")
        };
        largest_first(&subject.job).iter().map(names).collect::<Vec<_>>()
    };
    assert_eq!(order([&[("cpu", 1000)], &[("cpu", 4000)]]), ["worker", "ps"]);
    assert_eq!(order([&[("cpu", 4000)], &[("cpu", 1000)]]), ["ps", "worker"]);
    assert_eq!(
        order([&[("cpu", 4000)], &[("cpu", 4000), ("gpu", 1000)]]),
        ["worker", "ps"]
    );
    assert_eq!(order([&[("cpu", 2000)], &[("cpu", 2000)]]), ["ps,worker"]);
    assert_eq!(order([&[], &[]]), ["ps,worker"]);
    assert_eq!(
        order([&[("cpu", i64::MAX)], &[("cpu", i64::MIN)]]),
        ["ps", "worker"]
    );
}

#[test]
fn t9ks_conditions_say_whether_a_group_was_let_in() {
    let api = scheduler(&GangScheduler::T9k).unwrap().apis[0];
    let few =
        json!({ "type": "SufficientGroupMember", "status": "False", "reason": "InsufficientMemberPods" });
    let enough =
        json!({ "type": "SufficientGroupMember", "status": "True", "reason": "SufficientMemberPods" });
    let held = json!({ "type": "GroupScheduled", "status": "False", "message": "no room" });
    let placed = json!({ "type": "GroupScheduled", "status": "True", "message": "Resources have been allocated to PodGroup" });
    let waiting = |words: &str| GroupState::Waiting(Some(words.into()));
    let rows = [
        (json!([]), GroupState::Waiting(None)),
        (json!("none"), GroupState::Waiting(None)),
        (json!([few, held]), waiting("InsufficientMemberPods")),
        (json!([enough, held]), waiting("no room")),
        (json!([enough]), GroupState::Waiting(None)),
        (json!([few, placed]), GroupState::Open),
    ];
    for (conditions, expected) in rows {
        let status = json!({ "conditions": conditions });
        assert_eq!((api.state)(&status), expected, "{status}");
    }
}

#[test]
fn what_has_ended_is_counted_once_and_only_of_the_tasks_that_the_job_has() {
    let subject = subject(&Value::Null, &template());
    let mut memory = Memory::new(&subject.job);
    memory.epoch = 1;
    let role = subject.job.roles[1].name.clone();
    let worker = memory.roles.entry(role).or_default();
    worker.done = [0, 7].into_iter().collect();
    let ended = |role: &str, index: u32, epoch: u32, code: i32| TaskSeen {
        id: TaskId::new(role, index),
        state: Seen::Ended(Exit {
            code: Some(code),
            why: Why::Itself,
            asked: false,
            at: Time(1),
            ran: 1,
            never_ran: false,
            rejected: false,
            container: None,
            message: None,
            cause: None,
        }),
        ..task(epoch, false)
    };
    let count = |tasks: &[TaskSeen]| {
        let Ended { succeeded, failed } = Ended::of(&subject.job, Some(&memory), tasks);
        (succeeded, failed)
    };
    assert_eq!(count(&[]), (1, 0), "worker-7 is none of its tasks");
    assert_eq!(count(&[ended("worker", 0, 1, 0)]), (1, 0), "it is remembered");
    assert_eq!(count(&[ended("worker", 1, 1, 0), ended("ps", 0, 1, 9)]), (2, 1));
    let others = [
        ended("worker", 1, 0, 0),
        ended("worker", 9, 1, 0),
        ended("chief", 0, 1, 0),
    ];
    assert_eq!(
        count(&others),
        (1, 0),
        "another epoch, and tasks that the job does not have"
    );
    let first = Ended::of(&subject.job, None, &[ended("worker", 1, 0, 0)]);
    assert_eq!(
        first,
        Ended {
            succeeded: 1,
            failed: 0
        }
    );
}

#[test]
fn a_group_that_templates_name_is_joined_and_not_made() {
    let mut template = template();
    template["metadata"] = json!({ "annotations": { "scheduling.k8s.io/group-name": "theirs" } });
    let subject = with(&GangScheduler::Volcano, &Value::Null, &template);
    assert!(groups(&subject, None).is_empty());
    assert!(!subject.job.gang.as_ref().expect("a gang").hold);
    let mut pod = template;
    mark(&mut pod, &subject.job, &subject.job.roles[0]);
    assert_eq!(
        pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"],
        "theirs"
    );
    assert_eq!(pod["spec"]["schedulerName"], "volcano");
}

#[test]
fn pods_are_marked_and_another_scheduler_is_kept() {
    let subject = with(&GangScheduler::Volcano, &Value::Null, &template());
    let mut pod = json!({ "metadata": {}, "spec": {} });
    mark(&mut pod, &subject.job, &subject.job.roles[1]);
    let expected = json!({ "scheduling.k8s.io/group-name": "mnist", "volcano.sh/task-spec": "worker" });
    assert_eq!(pod["metadata"]["annotations"], expected);
    assert_eq!(other_scheduler(&subject), None);

    let mut template = template();
    template["spec"]["schedulerName"] = "theirs".into();
    let subject = with(&plugin(), &Value::Null, &template);
    let mut pod = template;
    mark(&mut pod, &subject.job, &subject.job.roles[0]);
    assert_eq!(
        pod["metadata"]["labels"],
        json!({ "scheduling.x-k8s.io/pod-group": "mnist" })
    );
    assert_eq!(pod["spec"]["schedulerName"], "theirs");
    assert_eq!(other_scheduler(&subject).as_deref(), Some("theirs"));
}

#[test]
fn pods_of_a_gang_by_gates_have_our_gate_first_and_keep_their_scheduler() {
    let policy = json!({ "priorityClass": "high" });
    let gated = |change: Value| {
        let mut template = template();
        let spec = template["spec"].as_object_mut().expect("a spec");
        spec.extend(change.as_object().expect("fields").clone());
        let subject = with(&GangScheduler::Gates, &policy, &template);
        assert!(groups(&subject, None).is_empty() && other_scheduler(&subject).is_none());
        assert!(!subject.job.gang.as_ref().expect("a gang").hold);
        let mut pod = template;
        mark(&mut pod, &subject.job, &subject.job.roles[0]);
        pod["spec"].take()
    };
    let gate = |name: &str| json!({ "name": name });
    let plain = gated(json!({}));
    assert_eq!(plain["schedulingGates"], json!([gate(GATE)]));
    assert_eq!(plain["priorityClassName"], "high");
    assert_eq!(plain.get("schedulerName"), None);
    let theirs = json!([gate("theirs"), gate(GATE)]);
    let other = gated(json!({ "schedulingGates": theirs, "priorityClassName": "low", "schedulerName": "s" }));
    assert_eq!(other["schedulingGates"], json!([gate(GATE), gate("theirs")]));
    assert_eq!(
        (&other["priorityClassName"], &other["schedulerName"]),
        (&json!("low"), &json!("s"))
    );
    let there = gated(json!({ "nodeName": "n" }));
    assert_eq!(there.get("schedulingGates"), None);
}

/// A task of this epoch that runs, or is on its way out.
fn task(epoch: u32, stopping: bool) -> TaskSeen {
    TaskSeen {
        id: TaskId::new("worker", 0),
        stamp: Stamp { epoch, attempt: 0 },
        instance: "i".into(),
        state: Seen::Running { ready: true },
        created: Time(0),
        in_place: 0,
        last: None,
        stopping: stopping.then_some(Time(2)),
        lingers: false,
        placement: Placement::default(),
    }
}

#[test]
fn a_gang_is_what_its_groups_are_together() {
    let waiting = GroupState::Waiting(None);
    let rows = [
        (0, vec![], GangSeen::Open),
        (1, vec![], GangSeen::Absent),
        (2, vec![GroupState::Open], GangSeen::Absent),
        (2, vec![GroupState::Broken, waiting.clone()], GangSeen::Held),
        (1, vec![waiting], GangSeen::Held),
        (2, vec![GroupState::Open, GroupState::Open], GangSeen::Open),
        (
            2,
            vec![GroupState::Open, GroupState::Broken],
            GangSeen::Broken { epoch: 3 },
        ),
    ];
    for (wanted, states, expected) in rows {
        assert_eq!(
            seen(wanted, states.iter(), &[task(3, false)]),
            expected,
            "{states:?}"
        );
    }
}

#[test]
fn a_broken_gang_is_of_the_epoch_whose_tasks_run() {
    let rows = [
        (vec![task(2, false)], GangSeen::Broken { epoch: 2 }),
        (vec![], GangSeen::Held),
        (vec![task(2, true)], GangSeen::Held),
        (vec![task(1, true), task(2, false)], GangSeen::Broken { epoch: 2 }),
    ];
    for (tasks, expected) in rows {
        assert_eq!(
            seen(1, [GroupState::Broken].iter(), &tasks),
            expected,
            "{tasks:?}"
        );
    }
}

#[test]
fn a_status_says_whether_a_group_was_let_in() {
    let [volcano, plugin] =
        [GangScheduler::Volcano, plugin()].map(|named| scheduler(&named).unwrap().apis[0]);
    let full = json!([{ "type": "Unschedulable", "status": "True", "message": "no room" }]);
    let past = json!([{ "type": "Unschedulable", "status": "False", "message": "no room" }]);
    let rows = [
        (json!(null), GroupState::Waiting(None)),
        (json!({ "phase": "" }), GroupState::Waiting(None)),
        (
            json!({ "phase": "Pending", "conditions": full }),
            GroupState::Waiting(Some("no room".into())),
        ),
        (
            json!({ "phase": "Pending", "conditions": past }),
            GroupState::Waiting(None),
        ),
        (
            json!({ "phase": "Inqueue", "conditions": past }),
            GroupState::Open,
        ),
        (
            json!({ "phase": "Running", "conditions": full }),
            GroupState::Open,
        ),
    ];
    for (status, expected) in rows {
        assert_eq!((volcano.state)(&status), expected, "{status}");
        assert_eq!((plugin.state)(&status), expected, "{status}");
    }
    let let_in = json!({ "phase": "Inqueue", "conditions": full });
    assert_eq!((volcano.state)(&let_in), GroupState::Placing("no room".into()));
    assert_eq!((plugin.state)(&let_in), GroupState::Open);
    let placing = [GroupState::Placing("no room".into())];
    assert_eq!(seen(1, placing.iter(), &[]), GangSeen::Open);
    let unknown = json!({ "phase": "Unknown" });
    assert_eq!((volcano.state)(&unknown), GroupState::Broken);
    assert_eq!((plugin.state)(&unknown), GroupState::Open);
}

#[test]
fn a_start_order_that_the_group_waits_for_is_refused() {
    let mut subject = with(&GangScheduler::Volcano, &Value::Null, &template());
    assert_eq!(deadlock(&subject.job), None);
    let servers = subject.job.roles[0].name.clone();
    subject.job.roles[1].after = Some(trainyard_core::After {
        roles: vec![(servers, 1)],
        any: false,
    });
    let words = deadlock(&subject.job).expect("a deadlock");
    assert!(
        words.contains("only 1 tasks") && words.contains("needs 3"),
        "{words}"
    );
}

#[test]
fn a_group_is_corrected_but_for_its_queue() {
    let object = json!({ "spec": { "minMember": 2, "queue": "day", "minResources": { "cpu": "2", "memory": "524288000" } } });
    let rows = [
        (
            json!({ "minMember": 2, "queue": "night", "minResources": { "cpu": "2", "memory": "524288000" }, "more": 1 }),
            None,
        ),
        (
            json!({ "minMember": 2, "priorityClassName": "", "minResources": { "cpu": "2000m", "memory": "524288k" } }),
            None,
        ),
        (
            json!({ "minMember": 2, "priorityClassName": "high", "minResources": { "cpu": 2, "memory": "500Mi" } }),
            Some(json!({ "priorityClassName": null })),
        ),
        (
            json!({ "minMember": 3, "minResources": { "cpu": "3", "gpu": "1" } }),
            Some(
                json!({ "minMember": 2, "minResources": { "cpu": "2", "memory": "524288000", "gpu": null } }),
            ),
        ),
    ];
    let api = scheduler(&GangScheduler::Volcano).unwrap().apis[0];
    let wanted = GroupWanted { api, object };
    for (seen, expected) in rows {
        assert_eq!(wanted.correction(&seen), expected, "{seen}");
    }
}
