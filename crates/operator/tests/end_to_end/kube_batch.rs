//! Jobs that are placed by kube-batch: its groups and marks, played as its source says; and with kube-batch 0.5.0 itself, under
//! `cargo xtask test --peers`.

use std::path::Path;

use serde_json::{Value, json};
use trainyard_cluster_tests::{Cluster, Crds, KubeBatch, Namespace, Node, Operator, Parts, shared};
use trainyard_core::GangScheduler;
use trainyard_document::{Source, parse};

use super::{Harness, job};

const GROUPS: &str = "apis/scheduling.incubator.k8s.io/v1alpha1";
const FLAGS: [&str; 2] = ["--gang-scheduler-name", "kube-batch"];

/// The tutorial's manifest: a PodGroup of six, and a job whose templates name it.
fn tutorial() -> Vec<Value> {
    let file = Path::new("tests/fixtures/ok/tfjob/kube-batch-with-own-podgroup.yaml");
    let source = Source::read(&trainyard_tools::root().join(file).to_string_lossy()).unwrap();
    let (documents, problems) = parse(&source);
    assert!(problems.is_empty(), "{problems:?}");
    documents.iter().map(|document| document.root.to_json()).collect()
}

/// Creates the tutorial's objects; gives the group.
fn create_tutorial(namespace: &Namespace<'_>, change: impl Fn(&mut Value)) -> Value {
    let api = namespace.cluster().api();
    let [group, mut job] = <[Value; 2]>::try_from(tutorial()).unwrap();
    let group = api.create(&namespace.path(GROUPS, "podgroups"), &group).unwrap();
    change(&mut job["spec"]["tfReplicaSpecs"]);
    api.create(&namespace.path("apis/kubeflow.org/v1", "tfjobs"), &job)
        .unwrap();
    group
}

/// The names of all groups.
fn groups(namespace: &Namespace<'_>) -> Vec<String> {
    let groups = namespace
        .cluster()
        .api()
        .list(&namespace.path(GROUPS, "podgroups"));
    let name = |group: &Value| group["metadata"]["name"].as_str().unwrap().to_owned();
    groups.unwrap().iter().map(name).collect()
}

/// Waits until the status says this about the group, or nothing any more.
#[track_caller]
fn told(namespace: &Namespace<'_>, job: &str, words: Option<&str>) {
    let path = namespace.path("apis/kubeflow.org/v1", &format!("tfjobs/{job}"));
    namespace
        .cluster()
        .api()
        .wait(&path, "what it waits for", |object| {
            let all = object["status"]["waiting"].as_array();
            let mut all = all.into_iter().flatten();
            let about = all.find(|wait| wait["reason"] == "PodGroupPending");
            match (words, about) {
                (None, None) => object["status"]["trainyard"].is_object().then_some(()),
                (Some(words), Some(wait)) => wait["message"].as_str()?.contains(words).then_some(()),
                _ => None,
            }
        });
}

#[test]
fn a_job_for_kube_batch_has_its_group_and_says_what_the_phase_says() {
    shared().install(Crds::KubeBatch);
    let harness = Harness::with("kube-batch", &FLAGS);
    let policy = json!({ "cleanPodPolicy": "All", "schedulingPolicy": { "minAvailable": 2, "minResources": { "cpu": "2" } } });
    harness.create(&job(
        "three",
        &policy,
        &[("PS", 1, "Never"), ("Worker", 2, "Never")],
    ));
    let pod = harness.pod("three-ps-0", "0.0");
    assert_eq!(pod["spec"]["schedulerName"], "kube-batch");
    assert_eq!(
        pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"],
        "three"
    );
    let path = harness.namespace.path(GROUPS, "podgroups/three");
    let group = harness.api().get(&path).unwrap();
    assert_eq!(group["spec"], json!({ "minMember": 2, "queue": "default" }));
    assert_eq!(group["metadata"]["ownerReferences"][0]["kind"], "TFJob");

    // Its definition has no subresource `status`, and the condition stays after the group was placed.
    let full = json!([{
        "type": "Unschedulable", "status": "True", "reason": "NotEnoughResources",
        "message": "2/3 tasks in gang unschedulable: 0 nodes are available",
    }]);
    let judged = |phase: &str| json!({ "status": { "phase": phase, "conditions": full } });
    harness.api().patch(&path, &judged("Pending")).unwrap();
    told(
        &harness.namespace,
        "three",
        Some("2/3 tasks in gang unschedulable"),
    );
    harness.api().patch(&path, &judged("Running")).unwrap();
    told(&harness.namespace, "three", None);

    let fewer = json!({ "spec": { "runPolicy": { "schedulingPolicy": { "minAvailable": 1 } } } });
    harness.patch("three", &fewer);
    harness.api().wait(&path, "one member", |group| {
        (group["spec"]["minMember"] == 1).then_some(())
    });
    harness.run(&["three-ps-0", "three-worker-0", "three-worker-1"]);
    harness.exit("three-worker-0", 0);
    harness.api().wait_until_gone(&path);
    harness.uses_its_rights(&GangScheduler::KubeBatch);
}

/// kube-batch ignores such a group, and says nothing.
#[test]
fn a_queue_that_does_not_exist_is_told_of_our_group_and_of_the_tutorials() {
    shared().install(Crds::KubeBatch);
    let harness = Harness::with("kube-batch-queue", &FLAGS);
    let policy = json!({ "schedulingPolicy": { "queue": "kube-batch-night" } });
    harness.create(&job("night", &policy, &[("Worker", 1, "Never")]));
    told(
        &harness.namespace,
        "night",
        Some("there is no queue `kube-batch-night`"),
    );
    let [mut group, job] = <[Value; 2]>::try_from(tutorial()).unwrap();
    group["spec"]["queue"] = "kube-batch-night".into();
    let api = harness.api();
    api.create(&harness.namespace.path(GROUPS, "podgroups"), &group)
        .unwrap();
    harness.create(&job);
    let tutorial = "dist-mnist-for-e2e-test";
    let pod = format!("{tutorial}-worker-0");
    harness.pod(&pod, "0.0");
    told(
        &harness.namespace,
        tutorial,
        Some(
            "PodGroup tfjob-group, which was not made for this job and is left as it is, waits: there is no queue",
        ),
    );
    // Of the other API that it reads.
    let queue = json!({ "apiVersion": "scheduling.sigs.dev/v1alpha2", "kind": "Queue", "metadata": { "name": "kube-batch-night" } });
    api.create("/apis/scheduling.sigs.dev/v1alpha2/queues", &queue)
        .unwrap();
    for job in ["night", tutorial] {
        told(&harness.namespace, job, None);
    }
}

#[test]
fn the_tutorials_own_group_is_joined_and_left_alone() {
    shared().install(Crds::KubeBatch);
    let harness = Harness::with("kube-batch-own", &FLAGS);
    let group = create_tutorial(&harness.namespace, |_| ());
    for (role, count) in [("ps", 2), ("worker", 4)] {
        for index in 0..count {
            let pod = harness.pod(&format!("dist-mnist-for-e2e-test-{role}-{index}"), "0.0");
            let marks = &pod["metadata"]["annotations"];
            assert_eq!(marks["scheduling.k8s.io/group-name"], "tfjob-group");
            assert_eq!(pod["spec"]["schedulerName"], "kube-batch");
        }
    }
    harness.seen("dist-mnist-for-e2e-test");
    assert_eq!(groups(&harness.namespace), ["tfjob-group"]);
    let path = harness.namespace.path(GROUPS, "podgroups/tfjob-group");
    assert_eq!(harness.api().get(&path).unwrap(), group);
}

/// How many pods of the namespace have a node.
fn bound(namespace: &Namespace<'_>) -> usize {
    let pods = namespace.pods();
    pods.iter()
        .filter(|pod| pod["spec"]["nodeName"].is_string())
        .count()
}

/// Starts kube-batch with the queue `default`, which it needs.
pub fn start(cluster: &Cluster) -> KubeBatch {
    cluster.install(Crds::KubeBatch);
    let queue = json!({
        "apiVersion": "scheduling.incubator.k8s.io/v1alpha1", "kind": "Queue", "metadata": { "name": "default" },
        "spec": { "weight": 1 },
    });
    let queues = "/apis/scheduling.incubator.k8s.io/v1alpha1/queues";
    cluster.api().create(queues, &queue).unwrap();
    KubeBatch::start(cluster)
}

#[test]
fn kube_batch_places_all_tasks_of_a_job_or_none() {
    if !KubeBatch::is_asked_for() {
        return;
    }
    let cluster = Cluster::start(Parts::API);
    cluster.install(Crds::TfJob);
    let _scheduler = start(&cluster);
    for node in ["one", "two"] {
        cluster.player().node(&Node::ready(node));
    }
    let asks = |count: &str| json!({ "requests": { "cpu": count } });
    let namespace = cluster.namespace("kube-batch");
    let _operator = Operator::with(&namespace, &FLAGS);
    let mut three = job("three", &json!({}), &[("PS", 1, "Never"), ("Worker", 2, "Never")]);
    for role in ["PS", "Worker"] {
        let spec = &mut three["spec"]["tfReplicaSpecs"][role]["template"]["spec"];
        spec["containers"][0]["resources"] = asks("5");
    }
    let jobs = namespace.path("apis/kubeflow.org/v1", "tfjobs");
    cluster.api().create(&jobs, &three).unwrap();
    told(&namespace, "three", Some("tasks in gang unschedulable"));
    assert_eq!(bound(&namespace), 0, "no task alone");
    cluster.player().node(&Node::ready("three"));
    let pods = namespace.path("api/v1", "pods");
    let placed = |count: usize| {
        cluster.api().wait(&pods, "pods on nodes", |_| {
            (bound(&namespace) == count).then_some(())
        });
    };
    placed(3);
    told(&namespace, "three", None);

    // Two of the nodes have 3 processors left, and the third as many: the tutorial's six fit with its own group, if each asks for one.
    let group = create_tutorial(&namespace, |roles| {
        for role in ["PS", "Worker"] {
            roles[role]["template"]["spec"]["containers"][0]["resources"] = asks("1");
        }
    });
    placed(9);
    let path = namespace.path(GROUPS, "podgroups/tfjob-group");
    let now = cluster.api().get(&path).unwrap();
    assert_eq!(now["metadata"]["uid"], group["metadata"]["uid"]);
    assert_eq!(now["spec"]["minMember"], 6);
}
