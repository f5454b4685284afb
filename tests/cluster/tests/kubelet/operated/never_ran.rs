//! Pods that end before their main container runs, and last words, as a real kubelet shows them.

use serde_json::{Value, json};

use super::{Yard, is};

/// A TFJob of one worker from this pod spec.
#[expect(clippy::needless_pass_by_value, reason = "a literal reads better")]
fn job(name: &str, run_policy: Value, restart: &str, spec: Value) -> String {
    let worker = json!({ "replicas": 1, "restartPolicy": restart, "template": { "spec": spec } });
    let job = json!({
        "apiVersion": "kubeflow.org/v1", "kind": "TFJob", "metadata": { "name": name },
        "spec": { "runPolicy": run_policy, "tfReplicaSpecs": { "Worker": worker } },
    });
    job.to_string()
}

fn shell(name: &str, script: &str) -> Value {
    json!({
        "name": name, "image": "busybox", "imagePullPolicy": "IfNotPresent", "command": ["sh", "-c", script],
    })
}

/// Waits until the job has failed; its status.
fn fails(yard: &Yard, job: &str) -> Value {
    yard.wait(job, "its failure", |status| {
        is(status, "Failed").then(|| status.clone())
    })
}

#[test]
fn an_init_container_that_fails_or_is_not_there_fails_the_job_and_is_named() {
    let Some(yard) = Yard::new("init-fails") else {
        return;
    };
    let fetch = shell("fetch", "echo fetching; echo no such bucket; exit 3");
    let mut missing = shell("fetch", "true");
    missing["command"] = json!(["/nope"]);
    for (name, restart, init) in [
        ("exits", "Never", fetch.clone()),
        ("coded", "ExitCode", fetch),
        ("missing", "Never", missing),
    ] {
        let spec = json!({ "initContainers": [init], "containers": [shell("tensorflow", "sleep 600")] });
        yard.create(&job(name, json!({ "backoffLimit": 0 }), restart, spec));
    }
    for (name, code, reason) in [
        ("exits", 3, "Error"),
        ("coded", 3, "Error"),
        ("missing", 128, "StartError"),
    ] {
        let status = fails(&yard, name);
        let failure = &status["firstFailure"];
        assert_eq!(failure["container"], "fetch", "{name}: {status:#}");
        assert_eq!(
            (&failure["exitCode"], &failure["reason"]),
            (&json!(code), &json!(reason)),
            "{name}"
        );
        assert_eq!(status["trainyard"]["paid"], Value::Null, "{name}");
    }
}

/// Nothing but a phase and a reason is left of such a pod, and the next one fares no better.
#[test]
fn a_pod_that_the_kubelet_rejects_again_and_again_ends_by_the_start_time_out() {
    let Some(yard) = Yard::new("rejected") else { return };
    let nodes = yard.namespace.cluster().api().get("/api/v1/nodes").unwrap();
    let node = nodes["items"][0]["metadata"]["name"].clone();
    let spec = json!({
        "nodeName": node, "nodeSelector": { "disk": "none-has-this" },
        "containers": [shell("tensorflow", "sleep 600")],
    });
    yard.create(&job(
        "rejected",
        json!({ "startTimeoutSeconds": 15 }),
        "Never",
        spec,
    ));
    yard.wait("rejected", "why it waits", |status| {
        let waiting = status["waiting"].as_array()?;
        waiting
            .iter()
            .any(|entry| entry["reason"] == "NodeAffinity")
            .then_some(())
    });
    let status = fails(&yard, "rejected");
    let cause = status["trainyard"]["verdict"]["cause"].to_string();
    assert!(cause.contains("startTimeoutSeconds"), "{status:#}");
    assert_eq!(
        status["trainyard"]["paid"],
        Value::Null,
        "rejections cost nothing"
    );
}

/// The first dead pod goes at once, so what it said last is kept on the job.
#[test]
fn the_last_words_of_the_first_life_stay_on_the_job() {
    let Some(yard) = Yard::new("last-words") else {
        return;
    };
    // The first life leaves a file on the node's disk, which the second finds.
    let script =
        "if [ -e /seen/again ]; then exit 0; fi; touch /seen/again; echo loading; echo out of luck; exit 137";
    let mut main = shell("tensorflow", script);
    main["volumeMounts"] = json!([{ "name": "seen", "mountPath": "/seen" }]);
    let volume =
        json!({ "name": "seen", "hostPath": { "path": "/run/last-words", "type": "DirectoryOrCreate" } });
    let spec = json!({ "containers": [main], "volumes": [volume] });
    yard.create(&job("luckless", json!({ "backoffLimit": 1 }), "ExitCode", spec));
    let status = yard.succeeds("luckless");
    assert_eq!(status["firstFailure"]["message"], "out of luck", "{status:#}");
    assert_eq!(status["trainyard"]["paid"], 1);
}
