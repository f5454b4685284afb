//! Values that no operator of ours wrote, where a tenant may write them: one job must never stop another.

use serde_json::json;
use trainyard_cluster_tests::shared;

use super::{Yard, job};

/// A job of one worker gets its pod: the operator still looks at jobs.
#[track_caller]
fn another_job_starts(yard: &Yard, name: &str) {
    yard.create(&job(name, &json!({}), &[("Worker", 1, "Never")]));
    yard.pod(&format!("{name}-worker-0"), "0.0");
}

/// A restart that saturates does not move the stamp: the only loop of the operator span for ever, and again after a restart.
#[test]
fn a_forged_stamp_on_a_pod_stops_neither_its_job_nor_another() {
    let mut yard = Yard::new("forged-stamp");
    let mut victim = job("mirrored", &json!({}), &[("Worker", 2, "ExitCode")]);
    victim["metadata"]["annotations"] = json!({ "trainyard.dev/restart-scope": "Job" });
    yard.create(&victim);
    yard.run(&["mirrored-worker-0", "mirrored-worker-1"]);
    yard.conditions("mirrored", &["Created", "Running"]);
    let forged = json!({ "metadata": { "annotations": { "trainyard.dev/stamp": "4294967295.0" } } });
    shared()
        .api()
        .patch(&yard.namespace.pod("mirrored-worker-0"), &forged)
        .unwrap();
    yard.exit("mirrored-worker-1", 137);
    // It is a life that cannot have been: its pod goes with the others, and the job runs again as a whole.
    yard.vanish("mirrored-worker-0", 143);
    another_job_starts(&yard, "beside");
    yard.kill();
    yard.start();
    another_job_starts(&yard, "after");
    for pod in ["mirrored-worker-0", "mirrored-worker-1"] {
        yard.pod(pod, "1.0");
        yard.run_on_a_node(pod);
    }
    yard.exit("mirrored-worker-0", 0);
    yard.conditions("mirrored", &["Created", "!Running", "Succeeded"]);
}

/// The ranges of a status were collected into a list: four billion indexes ended the operator on every start.
#[test]
fn a_forged_memory_stops_no_other_job_and_fails_its_own_where_it_cannot_be() {
    let mut yard = Yard::new("forged-memory");
    for name in ["ranges", "epochs"] {
        yard.create(&job(name, &json!({}), &[("Worker", 2, "ExitCode")]));
        yard.run(&[&format!("{name}-worker-0"), &format!("{name}-worker-1")]);
        yard.conditions(name, &["Created", "Running"]);
    }
    yard.kill();
    let all = json!({ "roles": { "worker": { "done": "2-4294967295", "failed": "2-4294967295", "attempts": "2-4294967295:1" } } });
    let late = json!({ "epoch": 4_294_967_295_u32 });
    for (name, memory) in [("ranges", all), ("epochs", late)] {
        let status = json!({ "status": { "trainyard": memory } });
        shared()
            .api()
            .patch(&format!("{}/status", yard.path(name)), &status)
            .unwrap();
    }
    yard.start();
    another_job_starts(&yard, "beside");
    let status = yard.conditions("epochs", &["Created", "!Running", "Failed"]);
    let message = status["conditions"][2]["message"].as_str().unwrap_or_default();
    assert!(message.contains("exceeded a bound"), "{status:#}");
    yard.exit("ranges-worker-0", 0);
    yard.conditions("ranges", &["Created", "!Running", "Succeeded"]);
}

/// A stamp that could be ours, on a pod that the operator has not made so: the pod is left alone, and the job says so. When the job is
/// suspended, it goes all the same.
#[test]
fn a_pod_of_a_life_that_has_not_begun_is_named_and_stops_with_its_job() {
    let yard = Yard::new("early-stamp");
    yard.create(&job("early", &json!({}), &[("Worker", 1, "ExitCode")]));
    yard.run(&["early-worker-0"]);
    yard.conditions("early", &["Created", "Running"]);
    let forged = json!({ "metadata": { "annotations": { "trainyard.dev/stamp": "7.0" } } });
    shared()
        .api()
        .patch(&yard.namespace.pod("early-worker-0"), &forged)
        .unwrap();
    yard.api().wait(&yard.path("early"), "a word about it", |object| {
        let waiting = object["status"]["waiting"].as_array()?;
        waiting
            .iter()
            .any(|entry| entry["reason"] == "UnknownLife")
            .then_some(())
    });
    yard.patch("early", &json!({ "spec": { "runPolicy": { "suspend": true } } }));
    yard.vanish("early-worker-0", 143);
}
