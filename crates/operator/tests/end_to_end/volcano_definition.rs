//! Our definition of Volcano's Job: what the API server refuses, and what the operator refuses after it.

use serde_json::{Value, json};

use super::volcano::{Harness, JOBS, job};

/// What Volcano's webhook refuses, by words of the answer.
#[test]
fn the_definition_refuses_what_volcanos_webhook_refuses() {
    let harness = Harness::new("volcano-refused");
    let jobs = harness.namespace.path(JOBS, "jobs");
    let policies = |policies: Value| json!({ "policies": policies });
    let (failed, abort) = ("PodFailed", "AbortJob");
    let rows = [
        (
            json!({ "minAvailable": 4 }),
            "job 'minAvailable' should not be greater than total replicas",
        ),
        (
            json!({ "minSuccess": 4 }),
            "job 'minSuccess' should not be greater",
        ),
        (json!({ "queue": "root" }), "the queue root takes no jobs"),
        (
            json!({ "plugins": { "mpi": [] } }),
            "the plugin \"mpi\" is not carried out",
        ),
        (
            json!({ "volumes": [{ "mountPath": "/data" }] }),
            "either volumeClaim or volumeClaimName",
        ),
        (
            json!({ "volumes": [{ "mountPath": "a:b", "volumeClaimName": "c" }] }),
            "mountPath",
        ),
        (
            policies(json!([{ "action": abort }])),
            "either event and exitCode should be specified",
        ),
        (
            policies(json!([{ "event": failed, "exitCode": 3, "action": abort }])),
            "must not specify event and exitCode simultaneously",
        ),
        (
            policies(json!([{ "exitCode": 0, "action": abort }])),
            "0 is not a valid error code",
        ),
        (
            policies(json!([{ "event": "OutOfSync", "action": abort }])),
            "Unsupported value: \"OutOfSync\"",
        ),
        (
            policies(json!([{ "event": failed, "action": "SyncJob" }])),
            "Unsupported value: \"SyncJob\"",
        ),
        (
            policies(
                json!([{ "event": failed, "action": abort }, { "events": [failed], "action": "RestartJob" }]),
            ),
            "duplicate event across different policy",
        ),
        (
            policies(json!([{ "event": "*", "action": abort }, { "event": failed, "action": abort }])),
            "if there's * here, no other policy should be here",
        ),
        (
            policies(json!([{ "exitCode": 3, "action": abort }, { "exitCode": 3, "action": abort }])),
            "duplicate exitCode",
        ),
    ];
    for (spec, words) in rows {
        let refused = harness
            .api()
            .create(&jobs, &job("bad", &spec, &[("ps", 1), ("worker", 2)]));
        let said = refused.expect_err(words).message;
        assert!(said.contains(words), "{spec}: {said}");
    }
    let twins = harness
        .api()
        .create(&jobs, &job("bad", &json!({}), &[("ps", 1), ("ps", 2)]));
    assert!(twins.unwrap_err().message.contains("duplicated task name"));
    let long = format!("a{}", "b".repeat(60));
    let refused = harness
        .api()
        .create(&jobs, &job(&long, &json!({}), &[("worker", 2)]));
    assert!(refused.unwrap_err().message.contains("too long for its pods"));
}

#[test]
fn what_only_the_operator_can_see_ends_the_job_with_the_reason() {
    let harness = Harness::new("volcano-circle");
    let mut circle = job("circle", &json!({}), &[("ps", 1), ("worker", 2)]);
    circle["spec"]["tasks"][0]["dependsOn"] = json!({ "name": ["worker"] });
    circle["spec"]["tasks"][1]["dependsOn"] = json!({ "name": ["ps"] });
    harness.create(&circle);
    let failed = harness.phase("circle", "Failed");
    assert_eq!(failed["state"]["reason"], "InvalidSpec");
    assert!(
        failed["state"]["message"]
            .as_str()
            .unwrap()
            .contains("wait for each other"),
        "{failed}"
    );
}

#[test]
fn an_edit_may_scale_a_job_and_change_nothing_that_it_runs_by() {
    let harness = Harness::new("volcano-edited");
    let good = harness.create(&job(
        "edited",
        &json!({ "maxRetry": 5 }),
        &[("ps", 1), ("worker", 2)],
    ));
    assert_eq!(good["spec"]["queue"], "default", "defaults are the webhook's");
    let edit = |change: Value| {
        harness
            .api()
            .patch(&harness.path("edited"), &json!({ "spec": change }))
    };
    assert!(edit(json!({ "minAvailable": 2, "priorityClassName": "high" })).is_ok());
    let mut tasks = good["spec"]["tasks"].clone();
    tasks[1]["replicas"] = 3.into();
    assert!(edit(json!({ "tasks": tasks })).is_ok());
    let of_workers = |field: &str, value: Value| {
        let mut tasks = tasks.clone();
        tasks[1][field] = value;
        json!({ "tasks": tasks })
    };
    let policies = json!([{ "event": "PodFailed", "action": "RestartJob" }]);
    for (change, words) in [
        (
            of_workers("policies", policies),
            "`tasks[*].policies` was changed",
        ),
        (
            of_workers("dependsOn", json!({ "name": ["ps"] })),
            "`tasks[*].dependsOn` was changed",
        ),
        (
            of_workers("maxRetry", json!(7)),
            "`tasks[*].maxRetry` was changed",
        ),
        (
            json!({ "maxRetry": 6 }),
            "job updates may not change fields other than",
        ),
        (
            json!({ "tasks": [tasks[0]] }),
            "job updates may not add or remove tasks",
        ),
        (json!({ "tasks": [tasks[0], tasks[0]] }), "duplicated task name"),
    ] {
        let said = edit(change.clone()).expect_err(words).message;
        assert!(said.contains(words), "{change}: {said}");
    }
}
