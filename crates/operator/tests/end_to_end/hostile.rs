//! Values that no operator of ours wrote, where a tenant may write them: one job must never stop another.

use serde_json::json;
use trainyard_cluster_tests::shared;

use super::{Harness, job};

/// A job of one worker gets its pod: the operator still looks at jobs.
#[track_caller]
fn another_job_starts(harness: &Harness, name: &str) {
    harness.create(&job(name, &json!({}), &[("Worker", 1, "Never")]));
    harness.pod(&format!("{name}-worker-0"), "0.0");
}

/// A restart that saturates does not move the stamp: the only loop of the operator span for ever, and again after a restart.
#[test]
fn a_forged_stamp_on_a_pod_stops_neither_its_job_nor_another() {
    let mut harness = Harness::new("forged-stamp");
    let mut victim = job("mirrored", &json!({}), &[("Worker", 2, "ExitCode")]);
    victim["metadata"]["annotations"] = json!({ "trainyard.dev/restart-scope": "Job" });
    harness.create(&victim);
    harness.run(&["mirrored-worker-0", "mirrored-worker-1"]);
    harness.conditions("mirrored", &["Created", "Running"]);
    let forged = json!({ "metadata": { "annotations": { "trainyard.dev/stamp": "4294967295.0" } } });
    shared()
        .api()
        .patch(&harness.namespace.pod("mirrored-worker-0"), &forged)
        .unwrap();
    harness.exit("mirrored-worker-1", 137);
    // It is a life that cannot have been: its pod goes with the others, and the job runs again as a whole.
    harness.vanish("mirrored-worker-0", 143);
    another_job_starts(&harness, "beside");
    harness.kill();
    harness.start();
    another_job_starts(&harness, "after");
    for pod in ["mirrored-worker-0", "mirrored-worker-1"] {
        harness.pod(pod, "1.0");
        harness.run_on_a_node(pod);
    }
    harness.exit("mirrored-worker-0", 0);
    harness.conditions("mirrored", &["Created", "!Running", "Succeeded"]);
}

/// The ranges of a status were collected into a list: four billion indexes ended the operator on every start.
#[test]
fn a_forged_memory_stops_no_other_job_and_fails_its_own_where_it_cannot_be() {
    let mut harness = Harness::new("forged-memory");
    for name in ["ranges", "epochs"] {
        harness.create(&job(name, &json!({}), &[("Worker", 2, "ExitCode")]));
        harness.run(&[&format!("{name}-worker-0"), &format!("{name}-worker-1")]);
        harness.conditions(name, &["Created", "Running"]);
    }
    harness.kill();
    let all = json!({ "roles": { "worker": { "done": "2-4294967295", "failed": "2-4294967295", "attempts": "2-4294967295:1" } } });
    let late = json!({ "epoch": 4_294_967_295_u32 });
    for (name, memory) in [("ranges", all), ("epochs", late)] {
        let status = json!({ "status": { "trainyard": memory } });
        shared()
            .api()
            .patch(&format!("{}/status", harness.path(name)), &status)
            .unwrap();
    }
    harness.start();
    another_job_starts(&harness, "beside");
    let status = harness.conditions("epochs", &["Created", "!Running", "Failed"]);
    let message = status["conditions"][2]["message"].as_str().unwrap_or_default();
    assert!(message.contains("exceeded a bound"), "{status:#}");
    harness.exit("ranges-worker-0", 0);
    harness.conditions("ranges", &["Created", "!Running", "Succeeded"]);
}

/// A stamp that could be ours, on a pod that the operator has not made so: the pod is left alone, and the job says so. When the job is
/// suspended, it goes all the same.
#[test]
fn a_pod_of_a_life_that_has_not_begun_is_named_and_stops_with_its_job() {
    let harness = Harness::new("early-stamp");
    harness.create(&job("early", &json!({}), &[("Worker", 1, "ExitCode")]));
    harness.run(&["early-worker-0"]);
    harness.conditions("early", &["Created", "Running"]);
    let forged = json!({ "metadata": { "annotations": { "trainyard.dev/stamp": "7.0" } } });
    shared()
        .api()
        .patch(&harness.namespace.pod("early-worker-0"), &forged)
        .unwrap();
    harness
        .api()
        .wait(&harness.path("early"), "a word about it", |object| {
            let waiting = object["status"]["waiting"].as_array()?;
            waiting
                .iter()
                .any(|entry| entry["reason"] == "UnknownLife")
                .then_some(())
        });
    harness.patch("early", &json!({ "spec": { "runPolicy": { "suspend": true } } }));
    harness.vanish("early-worker-0", 143);
}
