//! The player: what it writes is what a scheduler and a kubelet would, as the real Job controller understands it.

use serde_json::{Value, json};
use trainyard_cluster_tests::{Namespace, Node, shared};

/// A pod without an owner.
fn pod(namespace: &Namespace<'_>, name: &str) {
    let object = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"containers": [
            {"name": "tensorflow", "image": "tensorflow"},
            {"name": "sidecar", "image": "sidecar"},
        ], "restartPolicy": "Never"},
    });
    let pods = namespace.path("api/v1", "pods");
    namespace.cluster().api().create(&pods, &object).unwrap();
}

fn seen(namespace: &Namespace<'_>, name: &str) -> Value {
    namespace.cluster().api().get(&namespace.pod(name)).unwrap()
}

fn has_condition(pod: &Value, kind: &str, reason: &str) -> bool {
    let conditions = pod["status"]["conditions"].as_array().unwrap();
    conditions
        .iter()
        .any(|one| one["type"] == kind && one["status"] == "True" && one["reason"] == reason)
}

#[test]
fn a_pod_is_bound_runs_and_exits() {
    let namespace = shared().namespace("exits");
    let player = shared().player();
    player.node(&Node::ready("exits-a"));
    for (name, code, phase) in [("good", 0, "Succeeded"), ("bad", 3, "Failed")] {
        pod(&namespace, name);
        player.bind(&namespace, name, "exits-a");
        player.run(&namespace, name);
        assert_eq!(seen(&namespace, name)["status"]["phase"], "Running");
        player.exit(&namespace, name, code);
        let pod = seen(&namespace, name);
        assert_eq!(pod["status"]["phase"], phase);
        assert_eq!(pod["spec"]["nodeName"], "exits-a");
        let ended = &pod["status"]["containerStatuses"][0]["state"]["terminated"];
        assert_eq!(ended["exitCode"], code);
    }
}

#[test]
fn one_container_may_end_before_the_other_and_restarts_are_counted() {
    let namespace = shared().namespace("containers");
    let player = shared().player();
    pod(&namespace, "two");
    player.run(&namespace, "two");
    player.restart_in_place(&namespace, "two", 1);
    player.exit_container(&namespace, "two", "tensorflow", 0);
    let two = seen(&namespace, "two");
    assert_eq!(two["status"]["phase"], "Running");
    assert_eq!(two["status"]["containerStatuses"][0]["restartCount"], 1);
    assert_eq!(
        two["status"]["containerStatuses"][0]["lastState"]["terminated"]["exitCode"],
        1
    );
    player.exit_container(&namespace, "two", "sidecar", 1);
    assert_eq!(seen(&namespace, "two")["status"]["phase"], "Failed");
}

#[test]
fn a_job_of_the_real_controller_completes_by_played_pods() {
    let namespace = shared().namespace("job");
    let player = shared().player();
    let job = namespace.path("apis/batch/v1", "jobs");
    let object = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train"},
        "spec": {"completions": 2, "parallelism": 2, "completionMode": "Indexed", "template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "tensorflow", "image": "tensorflow"}],
        }}},
    });
    let api = namespace.cluster().api();
    api.create(&job, &object).unwrap();
    let pods = namespace.path("api/v1", "pods");
    let names: Vec<String> = api.wait(&pods, "two pods", |list| {
        let pods = list["items"].as_array()?;
        let names = pods
            .iter()
            .map(|pod| pod["metadata"]["name"].as_str().unwrap().to_owned());
        (pods.len() == 2).then(|| names.collect())
    });
    for name in &names {
        player.run(&namespace, name);
        player.exit(&namespace, name, 0);
    }
    let complete = |job: &Value| {
        let conditions = job["status"]["conditions"].as_array()?;
        let complete = conditions
            .iter()
            .any(|one| one["type"] == "Complete" && one["status"] == "True");
        complete.then_some(())
    };
    api.wait(&format!("{job}/train"), "the end of the job", complete);
}

#[test]
fn an_evicted_pod_is_marked_and_stays_until_its_kubelet_ends_it() {
    let namespace = shared().namespace("evicted");
    let player = shared().player();
    player.node(&Node::ready("evicted-a"));
    pod(&namespace, "drained");
    player.bind(&namespace, "drained", "evicted-a");
    player.run(&namespace, "drained");
    player.evict(&namespace, "drained");
    let drained = seen(&namespace, "drained");
    assert!(drained["metadata"]["deletionTimestamp"].is_string());
    assert!(has_condition(
        &drained,
        "DisruptionTarget",
        "EvictionByEvictionAPI"
    ));
    player.vanish(&namespace, "drained", 143);
    let gone = namespace.cluster().api().get(&namespace.pod("drained"));
    assert_eq!(gone.unwrap_err().code, 404);

    pod(&namespace, "starved");
    player.run(&namespace, "starved");
    player.evict_by_kubelet(&namespace, "starved");
    let starved = seen(&namespace, "starved");
    assert_eq!(starved["status"]["reason"], "Evicted");
    assert!(has_condition(
        &starved,
        "DisruptionTarget",
        "TerminationByKubelet"
    ));

    pod(&namespace, "preempted");
    player.bind(&namespace, "preempted", "evicted-a");
    player.run(&namespace, "preempted");
    player.preempt(&namespace, "preempted");
    assert!(has_condition(
        &seen(&namespace, "preempted"),
        "DisruptionTarget",
        "PreemptionByScheduler"
    ));
}

#[test]
fn a_lost_node_leaves_its_pods_undead_until_it_is_removed() {
    let namespace = shared().namespace("lost");
    let player = shared().player();
    player.node(&Node::ready("lost-a"));
    pod(&namespace, "there");
    player.bind(&namespace, "there", "lost-a");
    player.run(&namespace, "there");
    player.lose("lost-a");
    let there = seen(&namespace, "there");
    assert!(there["metadata"]["deletionTimestamp"].is_string());
    assert!(has_condition(
        &there,
        "DisruptionTarget",
        "DeletionByTaintManager"
    ));
    assert_eq!(there["status"]["phase"], "Running");
    player.remove("lost-a");
    let gone = namespace.cluster().api().get(&namespace.pod("there"));
    assert_eq!(gone.unwrap_err().code, 404);
}

#[test]
fn a_node_is_as_it_was_described() {
    let player = shared().player();
    player.node(
        &Node::ready("described")
            .not_ready()
            .closed()
            .taint("spot", "yes", "NoSchedule")
            .label("zone", "a")
            .capacity("nvidia.com/gpu", "4"),
    );
    let node = shared().api().get("/api/v1/nodes/described").unwrap();
    assert_eq!(node["spec"]["unschedulable"], true);
    assert_eq!(node["spec"]["taints"][0]["key"], "spot");
    assert_eq!(node["metadata"]["labels"]["zone"], "a");
    assert_eq!(node["status"]["allocatable"]["nvidia.com/gpu"], "4");
    assert_eq!(node["status"]["conditions"][0]["status"], "False");

    player.node(&Node::ready("plain"));
    let plain = shared().api().get("/api/v1/nodes/plain").unwrap();
    assert!(plain["spec"]["taints"].is_null(), "{plain}");
}

#[test]
fn a_pod_that_no_node_takes_says_why() {
    let namespace = shared().namespace("unschedulable");
    pod(&namespace, "waits");
    shared()
        .player()
        .no_node(&namespace, "waits", "0/3 nodes are available");
    let waits = seen(&namespace, "waits");
    assert_eq!(
        waits["status"]["conditions"][0]["message"],
        "0/3 nodes are available"
    );
}
