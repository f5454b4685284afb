//! `trainyard expand` with the nodes of a real API server, and what that server says to its manifests.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use trainyard_cluster_tests::{Node, bare};

const SEED: &str = "crates/expand/tests/seed/mnist.yaml";

/// A kubeconfig of the test's own, to change at will.
fn kubeconfig(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("expand-{name}-{}", std::process::id()));
    std::fs::copy(bare().kubeconfig(), &path).unwrap();
    path
}

/// `trainyard expand SEED -o - …`.
fn expand(kubeconfig: &Path, arguments: &[&str]) -> Output {
    Command::new(trainyard_tools::trainyard().unwrap())
        .args(["expand", SEED, "-o", "-"])
        .args(arguments)
        .current_dir(trainyard_tools::root())
        .env("KUBECONFIG", kubeconfig)
        .env("NO_PROXY", "*")
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The nodes that a manifest names, in order.
fn named(manifest: &str) -> Vec<&str> {
    let lines = manifest.lines();
    lines
        .filter_map(|line| line.trim().strip_prefix("nodeName: "))
        .collect()
}

/// Makes a node with these taints alone: a new one is tainted as not ready, which a controller would take away later.
fn make(node: &Node, name: &str, taints: &Value) {
    bare().player().node(node);
    let path = format!("/api/v1/nodes/{name}");
    bare()
        .api()
        .patch(&path, &json!({"spec": {"taints": taints}}))
        .unwrap();
}

#[test]
fn only_nodes_that_take_pods_are_used_and_the_manifests_are_accepted() {
    let node = |name: &str| Node::ready(name).label("for", "expand");
    make(&node("expand-e"), "expand-e", &json!([]));
    make(&node("expand-a"), "expand-a", &json!([]));
    make(&node("expand-b").closed(), "expand-b", &json!([]));
    make(
        &node("expand-c"),
        "expand-c",
        &json!([{"key": "spot", "value": "yes", "effect": "NoSchedule"}]),
    );
    bare().player().node(&node("expand-d").not_ready());
    make(
        &node("expand-f"),
        "expand-f",
        &json!([{"key": "slow", "effect": "PreferNoSchedule"}]),
    );
    make(
        &Node::ready("expand-g").label("for", "others"),
        "expand-g",
        &json!([]),
    );
    let kubeconfig = kubeconfig("nodes");

    let ran = expand(&kubeconfig, &["-l", "for=expand"]);
    let (manifest, told) = (text(&ran.stdout), text(&ran.stderr));
    assert_eq!(named(&manifest), ["expand-a", "expand-e", "expand-f"], "{told}");
    let left_out =
        "excluded: expand-b (cordoned), expand-c (tainted spot=yes:NoSchedule), expand-d (not ready)";
    assert!(told.contains(left_out), "{told}");

    let all = expand(&kubeconfig, &["-l", "for in (expand)", "--all-nodes", "-N", "5"]);
    let all = text(&all.stdout);
    let first = ["expand-a", "expand-b", "expand-c", "expand-d", "expand-e"];
    assert_eq!(named(&all), first, "by name, as the API tells them");

    let namespace = bare().namespace("expand");
    let objects = namespace.apply_twice(&manifest);
    let names: Vec<&str> = objects.iter().map(|object| object.name.as_str()).collect();
    assert_eq!(
        names,
        ["Job/mnist-ps-0", "Job/mnist-worker-0", "Job/mnist-worker-1"]
    );
}

#[test]
fn refusals_of_a_real_cluster_are_told_in_words() {
    let namespace = bare().namespace("refused");
    let config = kubeconfig("refused");
    let kubectl = |arguments: &[&str]| {
        let file = config.to_str().unwrap();
        namespace
            .kubectl(&[&["config", "--kubeconfig", file], arguments].concat())
            .good()
    };
    let cluster = kubectl(&["view", "-o", "jsonpath={.clusters[0].name}"]);
    namespace
        .kubectl(&["create", "serviceaccount", "no-rights"])
        .good();
    let token = namespace.kubectl(&["create", "token", "no-rights"]).good();
    for (name, token) in [("no-rights", token.trim()), ("stranger", "made-up")] {
        kubectl(&["set-credentials", name, "--token", token]);
        kubectl(&["set-context", name, "--cluster", &cluster, "--user", name]);
    }
    let refused = |arguments: &[&str]| {
        let ran = expand(&config, arguments);
        assert_eq!((ran.status.code(), text(&ran.stdout).as_str()), (Some(2), ""));
        text(&ran.stderr)
    };
    let told = refused(&["--context", "no-rights"]);
    assert!(
        told.contains("you may not list the nodes") && told.contains("ClusterRole"),
        "{told}"
    );
    let told = refused(&["--context", "stranger"]);
    assert!(
        told.contains("does not know you") && told.contains("log in again"),
        "{told}"
    );
    let told = refused(&["-l", "no==such==selector"]);
    assert!(
        told.contains("does not understand") && told.contains("selector"),
        "{told}"
    );
    let told = refused(&["-l", "for=nothing"]);
    assert!(
        told.contains("no node of the cluster") && told.contains("`for=nothing`"),
        "{told}"
    );
    kubectl(&["set-cluster", &cluster, "--tls-server-name", "elsewhere.example"]);
    let told = refused(&[]);
    assert!(
        told.contains("is not trusted") && told.contains("tls-server-name"),
        "{told}"
    );
}
