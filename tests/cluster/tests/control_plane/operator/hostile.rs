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
    yard.api()
        .wait(&yard.path("mirrored"), "the next epoch", |object| {
            (object["status"]["trainyard"]["epoch"] == 1).then_some(())
        });
    another_job_starts(&yard, "beside");
    yard.kill();
    yard.start();
    another_job_starts(&yard, "after");
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
