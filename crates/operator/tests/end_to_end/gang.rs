//! Tasks that are placed together: the group, its pods, and what becomes of both. The scheduler is played; what real ones do is in
//! `gang_scenarios.rs`.

use serde_json::{Value, json};
use trainyard_cluster_tests::{Asked, Cluster, Crds, Node, Operator, Parts, shared};
use trainyard_core::GangScheduler;
use trainyard_manifest::gang::scheduler;

use super::{Harness, job};

const VOLCANO: &str = "apis/scheduling.volcano.sh/v1beta1";

/// Where Volcano's queues are.
pub const QUEUES: &str = "/apis/scheduling.volcano.sh/v1beta1/queues";

/// An operator whose jobs are placed by Volcano, which creates the queue `default` when it starts.
pub fn harness(name: &str) -> Harness {
    shared().install(Crds::Volcano);
    queue("default");
    Harness::with(name, &["--gang-scheduler-name", "volcano"])
}

/// Creates a queue, unless another test has.
pub fn queue(name: &str) {
    let queue = json!({ "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": { "name": name }, "spec": { "weight": 1 } });
    match shared().api().create(QUEUES, &queue) {
        Err(refused) if refused.code != 409 => panic!("{refused}"),
        _ => {}
    }
}

impl Harness {
    pub fn group_path(&self, name: &str) -> String {
        self.namespace.path(VOLCANO, &format!("podgroups/{name}"))
    }

    #[track_caller]
    pub fn group(&self, name: &str) -> Value {
        let made = |group: &Value| group["metadata"]["uid"].is_string().then(|| group.clone());
        self.api().wait(&self.group_path(name), "a group", made)
    }

    /// Does what Volcano does about a group.
    #[track_caller]
    fn judge(&self, name: &str, status: &Value) {
        let group = self.group(name);
        let change = json!({ "metadata": { "uid": group["metadata"]["uid"] }, "status": status });
        self.api().patch(&self.group_path(name), &change).unwrap();
    }

    /// Waits until a job says this of its group; gives the words.
    #[track_caller]
    pub fn told_of_group(&self, job: &str, words: &str) -> String {
        self.api().wait(&self.path(job), words, |job| {
            let mut all = job["status"]["waiting"].as_array()?.iter();
            let wait = all.find(|wait| wait["reason"] == "PodGroupPending")?;
            let said = wait["message"].as_str()?;
            let help = wait["help"].as_str().unwrap_or_default();
            said.contains(words).then(|| format!("{said}; help: {help}"))
        })
    }

    /// Waits until every right that an operator has for its gang scheduler was used.
    #[track_caller]
    pub fn uses_its_rights(&self, named: &GangScheduler) {
        for right in scheduler(named).unwrap().uses {
            for verb in right.verbs {
                let is_it = |asked: &Asked| {
                    asked.resource == right.resource && asked.group == right.group && asked.verb == *verb
                };
                let what = format!("{verb} {}.{}", right.resource, right.group);
                self.operator.account().wait_until_asked(&what, is_it);
            }
        }
    }

    #[track_caller]
    pub fn let_in(&self, name: &str) {
        self.judge(name, &json!({ "phase": "Inqueue" }));
    }
}

#[test]
fn pods_are_made_when_their_group_is_let_in_and_the_group_goes_with_the_end() {
    let harness = harness("gang");
    harness.create(&job(
        "three",
        &json!({}),
        &[("PS", 1, "Never"), ("Worker", 2, "Never")],
    ));
    harness.conditions("three", &["Created"]);
    let group = harness.group("three");
    assert_eq!(group["spec"], json!({ "minMember": 3, "queue": "default" }));
    let owner = &group["metadata"]["ownerReferences"][0];
    assert_eq!(
        (&owner["kind"], &owner["controller"]),
        (&json!("TFJob"), &json!(true))
    );
    harness.judge(
        "three",
        &json!({
            "phase": "Pending",
            "conditions": [{ "type": "Unschedulable", "status": "True", "message": "queue resource quota insufficient" }],
        }),
    );
    let waits = |job: &Value| {
        let waiting = &job["status"]["waiting"][0];
        (waiting["reason"] == "PodGroupPending")
            .then(|| waiting["message"].as_str().unwrap_or_default().to_owned())
    };
    let words = harness
        .api()
        .wait(&harness.path("three"), "what it waits for", waits);
    assert_eq!(words, "PodGroup three waits: queue resource quota insufficient");
    assert!(
        harness.names().is_empty(),
        "nothing is made before the group is let in"
    );

    harness.let_in("three");
    let pod = harness.pod("three-ps-0", "0.0");
    assert_eq!(pod["spec"]["schedulerName"], "volcano");
    assert_eq!(pod["metadata"]["managedFields"][0]["manager"], "trainyard");
    let annotations = &pod["metadata"]["annotations"];
    assert_eq!(annotations["scheduling.k8s.io/group-name"], "three");
    assert_eq!(annotations["volcano.sh/task-spec"], "ps");
    harness.run(&["three-ps-0", "three-worker-0", "three-worker-1"]);
    harness.conditions("three", &["Created", "Running"]);
    // The job runs when its first pod does; what its scheduler said stays until the last one has a node.
    let done = |job: &Value| job["status"]["waiting"].is_null().then_some(());
    harness
        .api()
        .wait(&harness.path("three"), "nothing to wait for", done);
    harness.exit("three-worker-1", 0);
    harness.exit("three-worker-0", 0);
    harness.conditions("three", &["Created", "!Running", "Succeeded"]);
    harness.api().wait_until_gone(&harness.group_path("three"));
}

#[test]
fn a_group_follows_its_job() {
    let harness = harness("gang-edit");
    let policy = json!({ "schedulingPolicy": { "minAvailable": 2, "queue": "night" } });
    harness.create(&job("edited", &policy, &[("Worker", 2, "Never")]));
    harness.let_in("edited");
    harness.run(&["edited-worker-0", "edited-worker-1"]);
    let members = |count: u32| {
        move |group: &Value| (group["spec"]["minMember"] == count).then(|| group["spec"].clone())
    };
    harness.patch(
        "edited",
        &json!({ "spec": { "runPolicy": { "schedulingPolicy": { "minAvailable": 1 } } } }),
    );
    let spec = harness
        .api()
        .wait(&harness.group_path("edited"), "one member", members(1));
    assert_eq!(spec["queue"], "night");

    // A group that a user deletes is created again.
    let before = harness.group("edited")["metadata"]["uid"].clone();
    harness.api().delete(&harness.group_path("edited")).unwrap();
    let again = |group: &Value| {
        let uid = &group["metadata"]["uid"];
        (uid.is_string() && *uid != before).then_some(())
    };
    harness
        .api()
        .wait(&harness.group_path("edited"), "another group", again);

    // It goes although it is not as it should be any more.
    let held = json!({ "suspend": true, "schedulingPolicy": { "minAvailable": 2 } });
    harness.patch("edited", &json!({ "spec": { "runPolicy": held } }));
    harness.vanish("edited-worker-0", 143);
    harness.vanish("edited-worker-1", 143);
    harness.api().wait_until_gone(&harness.group_path("edited"));
    harness.patch(
        "edited",
        &json!({ "spec": { "runPolicy": { "suspend": false } } }),
    );
    harness.let_in("edited");
    harness.pod("edited-worker-0", "1.0");

    harness.uses_its_rights(&GangScheduler::Volcano);
}

#[test]
fn a_group_of_another_owner_is_joined_and_left_alone() {
    let harness = harness("gang-theirs");
    let theirs = json!({
        "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": { "name": "theirs" },
        "spec": { "minMember": 7, "queue": "theirs" },
    });
    harness
        .api()
        .create(&harness.namespace.path(VOLCANO, "podgroups"), &theirs)
        .unwrap();
    harness.create(&job(
        "theirs",
        &json!({ "cleanPodPolicy": "All" }),
        &[("Worker", 1, "Never")],
    ));
    harness.let_in("theirs");
    harness.run(&["theirs-worker-0"]);
    harness.conditions("theirs", &["Created", "Running"]);
    harness.exit("theirs-worker-0", 0);
    harness.conditions("theirs", &["Created", "!Running", "Succeeded"]);
    harness
        .api()
        .wait_until_gone(&harness.namespace.pod("theirs-worker-0"));
    let group = harness.group("theirs");
    assert_eq!(group["spec"], theirs["spec"]);
    assert_eq!(group["metadata"]["ownerReferences"], json!(null));
}

#[test]
fn another_scheduler_of_a_template_is_kept_and_told() {
    let harness = harness("gang-other");
    let mut other = job("other", &json!({}), &[("Worker", 1, "Never")]);
    other["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["schedulerName"] = json!("theirs");
    harness.create(&other);
    harness.let_in("other");
    let pod = harness.pod("other-worker-0", "0.0");
    assert_eq!(pod["spec"]["schedulerName"], "theirs");
    let events = harness.namespace.path("apis/events.k8s.io/v1", "events");
    let told = |events: &Value| {
        let mut all = events["items"].as_array()?.iter();
        all.any(|event| event["reason"] == "SetPodTemplateSchedulerName")
            .then_some(())
    };
    harness.api().wait(&events, "an event about it", told);
}

#[test]
fn a_start_order_that_the_group_would_wait_for_is_refused() {
    let harness = harness("gang-order");
    let policy = json!({ "startOrder": ["PS", "Worker"] });
    harness.create(&job(
        "ordered",
        &policy,
        &[("PS", 1, "Never"), ("Worker", 2, "Never")],
    ));
    let status = harness.conditions("ordered", &["Failed"]);
    let words = status["conditions"][0]["message"].as_str().unwrap_or_default();
    assert!(
        words.contains("startOrder") && words.contains("the gang needs 3"),
        "{words}"
    );
}

#[test]
fn where_groups_are_unknown_it_is_said_and_it_goes_on_when_they_are_known() {
    let harness = Harness::with("gang-unknown", &["--gang-scheduler-name", "coscheduler"]);
    harness.operator.says("podgroups.scheduling.x-k8s.io");
    harness.create(&job("late", &json!({}), &[("Worker", 1, "Never")]));
    harness.create(&choosing("alone", Some("none"), None));
    harness.pod("alone-worker-0", "0.0");
    let waits = |job: &Value| {
        let wait = &job["status"]["waiting"][0];
        (wait["reason"] == "GangSchedulerNotInstalled").then_some(())
    };
    harness.api().wait(&harness.path("late"), "why it waits", waits);
    shared().install(Crds::Coscheduling);
    let pod = harness.pod("late-worker-0", "0.0");
    assert_eq!(pod["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"], "late");
    assert_eq!(pod["spec"]["schedulerName"], "coscheduler");
}

/// The API server of the tests has no such groups, and would drop `schedulingGroup` of pods without a word.
#[test]
fn where_kubernetes_own_groups_are_off_no_pod_is_created_and_it_is_told() {
    let harness = Harness::with("gang-off", &["--gang-scheduler-name", "native"]);
    harness.create(&job("off", &json!({}), &[("Worker", 1, "Never")]));
    let waits = |job: &Value| {
        let wait = &job["status"]["waiting"][0];
        (wait["reason"] == "GangSchedulerNotInstalled").then(|| wait["message"].to_string())
    };
    let words = harness.api().wait(&harness.path("off"), "why it waits", waits);
    let help = ["GenericWorkload=true", "scheduling.k8s.io/v1beta1=true"];
    assert!(help.iter().all(|flag| words.contains(flag)), "{words}");
    harness.create(&choosing("alone", Some("none"), None));
    harness.pod("alone-worker-0", "0.0");
    assert_eq!(harness.names(), ["alone-worker-0"]);
}

#[test]
fn without_gangs_a_job_for_a_gang_scheduler_is_run_all_the_same() {
    let harness = Harness::new("gangless");
    let policy = json!({ "schedulingPolicy": { "minAvailable": 1 } });
    let mut alone = job("alone", &policy, &[("Worker", 1, "Never")]);
    alone["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["schedulerName"] = json!("volcano");
    harness.create(&alone);
    harness.run(&["alone-worker-0"]);
    harness.conditions("alone", &["Created", "Running"]);
}

/// A job of one worker that asks for a gang scheduler, if it does.
fn choosing(name: &str, gang: Option<&str>, scheduler_name: Option<&str>) -> Value {
    let mut job = job(name, &json!({}), &[("Worker", 1, "Never")]);
    if let Some(gang) = gang {
        job["metadata"]["annotations"] = json!({ "trainyard.dev/gang": gang });
    }
    if let Some(scheduler) = scheduler_name {
        job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["schedulerName"] = scheduler.into();
    }
    job
}

#[test]
fn jobs_choose_between_two_schedulers_of_one_operator() {
    // On a cluster of its own: another test waits for definitions that are missing at first.
    let cluster = Cluster::start(Parts::API);
    for crds in [Crds::TfJob, Crds::Volcano, Crds::Coscheduling] {
        cluster.install(crds);
    }
    let namespace = cluster.namespace("gang-two");
    let operator = Operator::with(&namespace, &["--gang-scheduler-name", "volcano,coscheduler"]);
    let api = cluster.api();
    let jobs = namespace.path("apis/kubeflow.org/v1", "tfjobs");
    for job in [
        choosing("first", None, None),
        choosing("second", Some("coscheduler"), None),
        choosing("third", None, Some("coscheduler")),
        choosing("fourth", Some("none"), None),
        choosing("fifth", Some("kube-batch"), None),
    ] {
        api.create(&jobs, &job).unwrap();
    }
    let pod = |name: &str| {
        let made = |pod: &Value| pod["metadata"]["uid"].is_string().then(|| pod.clone());
        api.wait(&namespace.pod(&format!("{name}-worker-0")), "its pod", made)
    };
    for name in ["second", "third"] {
        let pod = pod(name);
        assert_eq!(pod["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"], *name);
        assert_eq!(pod["spec"]["schedulerName"], "coscheduler");
    }
    let alone = pod("fourth");
    assert_eq!(alone["spec"]["schedulerName"], "default-scheduler");

    let first = namespace.path(VOLCANO, "podgroups/first");
    let made = |group: &Value| group["metadata"]["uid"].is_string().then_some(());
    api.wait(&first, "Volcano's group", made);
    api.patch(&first, &json!({ "status": { "phase": "Inqueue" } }))
        .unwrap();
    let marks = &pod("first")["metadata"]["annotations"];
    assert_eq!(marks["scheduling.k8s.io/group-name"], "first");
    let plugin = "apis/scheduling.x-k8s.io/v1alpha1";
    for (version, expected) in [(VOLCANO, &["first"][..]), (plugin, &["second", "third"])] {
        let groups = api.get(&namespace.path(version, "podgroups")).unwrap();
        let names: Vec<&Value> = groups["items"].as_array().unwrap().iter().collect();
        let names: Vec<&Value> = names.iter().map(|group| &group["metadata"]["name"]).collect();
        assert_eq!(names, expected, "{version}");
    }

    let fifth = namespace.path("apis/kubeflow.org/v1", "tfjobs/fifth");
    let waits = |job: &Value| {
        let wait = &job["status"]["waiting"][0];
        (wait["reason"] == "GangSchedulerNotChosen").then(|| wait["message"].to_string())
    };
    let words = api.wait(&fifth, "why it waits", waits);
    assert!(
        words.contains("`kube-batch`") && words.contains("`volcano,coscheduler`"),
        "{words}"
    );
    assert_eq!(namespace.pods().len(), 4, "it has no pod");
    let other = json!({ "metadata": { "annotations": { "trainyard.dev/gang": "coscheduler" } } });
    api.patch(&fifth, &other).unwrap();
    assert_eq!(pod("fifth")["spec"]["schedulerName"], "coscheduler");

    // The group of one job goes, and those of the others stay.
    cluster.player().node(&Node::ready("one"));
    cluster.player().bind(&namespace, "second-worker-0", "one");
    cluster.player().exit(&namespace, "second-worker-0", 0);
    api.wait_until_gone(&namespace.path(plugin, "podgroups/second"));
    api.get(&namespace.path(plugin, "podgroups/third")).unwrap();
    drop(operator);
}
