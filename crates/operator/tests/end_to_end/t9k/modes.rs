//! Run modes, as a user meets them: what pods run in debug mode and after a pause, also when the operator is killed in between.

use serde_json::{Value, json};
use trainyard_cluster_tests::shared;
use trainyard_manifest::kinds::t9k::API;

use super::super::Harness;
use super::training_job;

/// Command and arguments of a pod's main container, and how many init containers it has.
fn runs(pod: &Value) -> (Value, Value, usize) {
    let (spec, main) = (&pod["spec"], &pod["spec"]["containers"][0]);
    let init = spec["initContainers"].as_array().map_or(0, Vec::len);
    (main["command"].clone(), main["args"].clone(), init)
}

/// A job of a chief and a worker, each with an init container.
fn prepared(name: &str, mode: &Value) -> Value {
    let roles = [("chief", 1, "Never"), ("worker", 1, "OnFailure")];
    let mut job = training_job(name, &json!({ "runMode": mode }), &roles);
    for role in job["spec"]["replicaSpecs"].as_array_mut().unwrap() {
        role["template"]["spec"]["initContainers"] = json!([{ "name": "unpack", "image": "tools" }]);
    }
    job
}

#[track_caller]
fn phase(harness: &Harness, job: &str, phase: &str) -> Value {
    harness.api().wait(&harness.path(job), phase, |object| {
        (object["status"]["phase"] == phase).then(|| object["status"].clone())
    })
}

#[test]
fn in_debug_mode_pods_wait_for_a_user_and_may_leave_out_what_comes_before() {
    let harness = Harness::of_kind("t9k-debug", &API);
    let named = json!([{ "type": "worker", "skipInitContainer": true, "command": ["/usr/sbin/sshd", "-D"] }]);
    harness.create(&prepared("all", &json!({ "debug": { "enabled": true } })));
    harness.create(&prepared(
        "named",
        &json!({ "debug": { "enabled": true, "replicaSpecs": named } }),
    ));
    harness.create(&prepared(
        "off",
        &json!({ "debug": { "enabled": false, "replicaSpecs": named } }),
    ));
    let sleeps = || (json!(["sleep", "inf"]), Value::Null, 1);
    let trains = || (json!(["train"]), json!(["--fresh"]), 1);
    let rows = [
        ("all-chief-0", sleeps()),
        ("all-worker-0", sleeps()),
        ("named-chief-0", trains()),
        (
            "named-worker-0",
            (json!(["/usr/sbin/sshd", "-D"]), Value::Null, 0),
        ),
        ("off-chief-0", trains()),
        ("off-worker-0", trains()),
    ];
    for (name, expected) in rows {
        let pod = harness.pod(name, "0.0");
        assert_eq!(runs(&pod), expected, "{name}");
        assert_eq!(pod["spec"]["restartPolicy"], "Never");
    }
    let selector = "api/v1/namespaces";
    let pods = format!(
        "/{selector}/{}/pods?labelSelector=tensorstack.dev/owner-name=named",
        harness.namespace.name()
    );
    let found = shared().api().get(&pods).unwrap();
    assert_eq!(
        found["items"].as_array().map(Vec::len),
        Some(2),
        "T9k's own selector"
    );
}

#[test]
fn a_paused_job_goes_on_with_its_resume_specs_also_after_the_operator_was_killed() {
    let mut harness = Harness::of_kind("t9k-pause", &API);
    let resume = json!([{ "type": "worker", "skipInitContainer": true, "args": ["--restore"] }]);
    let pause = |enabled: bool| json!({ "spec": { "runMode": { "pause": { "enabled": enabled } } } });
    harness.create(&prepared(
        "gan",
        &json!({ "pause": { "enabled": false, "resumeSpecs": resume } }),
    ));
    harness.run(&["gan-chief-0", "gan-worker-0"]);
    phase(&harness, "gan", "Running");
    harness.patch("gan", &pause(true));
    harness.vanish("gan-chief-0", 143);
    harness.vanish("gan-worker-0", 143);
    let paused = phase(&harness, "gan", "Paused");
    assert_eq!(paused["summary"], "suspended", "{paused:#}");
    harness.api().wait(&harness.path("gan"), "no pods", |job| {
        (job["status"]["aggregate"]["deleted"] == 2).then_some(())
    });
    harness.kill();
    harness.patch("gan", &pause(false));
    harness.start();
    let worker = harness.pod("gan-worker-0", "1.0");
    assert_eq!(runs(&worker), (json!(["train"]), json!(["--restore"]), 0));
    let chief = harness.pod("gan-chief-0", "1.0");
    assert_eq!(
        runs(&chief),
        (json!(["train"]), json!(["--fresh"]), 1),
        "nothing is said of it"
    );
    let resuming = phase(&harness, "gan", "Resuming");
    assert_eq!(resuming["conditions"][5]["status"], "False", "{resuming:#}");
    harness.run_on_a_node("gan-chief-0");
    harness.run_on_a_node("gan-worker-0");
    phase(&harness, "gan", "Running");

    // Killed once more: a replica that is started again is one after the pause.
    harness.kill();
    harness.exit("gan-worker-0", 1);
    harness.start();
    let again = harness.pod("gan-worker-0", "1.1");
    assert_eq!(runs(&again), (json!(["train"]), json!(["--restore"]), 0));
    harness.exit("gan-chief-0", 0);
    let ended = phase(&harness, "gan", "Succeeded");
    assert_eq!(ended["backoffCount"], 1, "{ended:#}");
}
