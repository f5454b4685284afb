//! What T9k's own tools see.

use serde_json::{Value, json};
use trainyard_core::Job;
use trainyard_status::{
    ContainerSeen, ContainerState, InstanceDetails, t9k_invalid, t9k_memory, t9k_status, t9k_status_with,
};

use crate::notation::job;
use crate::text;
use crate::world::World;

fn running(run_policy: &str, roles: &[&str]) -> World {
    World::running(job(&text(run_policy, roles)).job, t9k_status)
}

/// Each condition as `type=status reason message`.
fn conditions(world: &World) -> Vec<String> {
    let listed = world.says("/conditions");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let line = |condition: &Value| {
        let [kind, status, reason, message] =
            ["type", "status", "reason", "message"].map(|name| text(&condition[name]));
        format!("{kind}={status} {reason} {message}")
    };
    listed.as_array().unwrap().iter().map(line).collect()
}

#[test]
fn a_finished_job_says_what_the_manual_shows() {
    let mut world = running("", &["worker 1 Never"]);
    world.exit("worker-0", 0);
    world.look();
    assert_eq!(world.says("/phase"), "Succeeded");
    assert_eq!(
        conditions(&world),
        [
            "Initialized=True - The job has been initialized successfully.",
            "Running=False Succeeded The job has finished successfully.",
            "ReplicaFailure=False - All pods are running normally.",
            "Completed=True Succeeded The job has finished successfully.",
            "Failed=False Succeeded The job has finished successfully.",
            "Paused=False - The job is not paused.",
        ]
    );
    let replicas = json!([{
        "name": "j-worker-0",
        "phase": "Succeeded",
        "uid": "worker-0/0.0",
        "containers": [{"name": "tensorflow", "state": "Terminated", "exitCode": 0}],
    }]);
    let tasks = json!([{"type": "worker", "restartCount": 0, "replicas": replicas}]);
    assert_eq!(world.says("/tasks"), tasks);
    let aggregate = json!({
        "creating": 0, "pending": 0, "running": 0, "succeeded": 1, "failed": 0, "unknown": 0, "deleted": 0,
    });
    assert_eq!(world.says("/aggregate"), aggregate);
}

#[test]
fn all_six_conditions_are_there_from_the_first_look_to_the_last() {
    let kinds = [
        "Initialized",
        "Running",
        "ReplicaFailure",
        "Completed",
        "Failed",
        "Paused",
    ];
    let mut world = World::new(job(&text("", &["worker 2 Never"])).job, t9k_status);
    let mut seen: Vec<(Value, Vec<bool>)> = Vec::new();
    let look = |world: &mut World, seen: &mut Vec<(Value, Vec<bool>)>| {
        world.look();
        let listed = world.says("/conditions");
        let listed = listed.as_array().unwrap();
        let found: Vec<&str> = listed
            .iter()
            .map(|condition| condition["type"].as_str().unwrap())
            .collect();
        assert_eq!(found, kinds);
        let holds = listed
            .iter()
            .map(|condition| condition["status"] == "True")
            .collect();
        seen.push((world.says("/phase"), holds));
    };
    look(&mut world, &mut seen);
    world.run_all();
    look(&mut world, &mut seen);
    world.exit("worker-1", 1);
    look(&mut world, &mut seen);
    world.job.suspend = true;
    look(&mut world, &mut seen);
    world.job.suspend = false;
    world.let_go();
    look(&mut world, &mut seen);
    world.run_all();
    look(&mut world, &mut seen);
    world.exit("worker-0", 1);
    look(&mut world, &mut seen);
    let row = |phase: &str, holds: [u8; 6]| (json!(phase), holds.map(|bit| bit == 1).to_vec());
    assert_eq!(
        seen,
        [
            row("Pending", [1, 0, 0, 0, 0, 0]),
            row("Running", [1, 1, 0, 0, 0, 0]),
            row("Running", [1, 1, 1, 0, 0, 0]),
            row("Paused", [1, 0, 0, 0, 0, 1]),
            row("Resuming", [1, 0, 0, 0, 0, 0]),
            row("Running", [1, 1, 0, 0, 0, 0]),
            row("Failed", [1, 0, 1, 0, 1, 0]),
        ]
    );
}

#[test]
fn a_job_whose_spec_cannot_be_read_has_all_six_conditions_too() {
    let now = trainyard_core::Time(1_709_210_096);
    let status = t9k_invalid(None, "InvalidSpec", "no roles", now).unwrap();
    let mut world = World::new(job(&text("", &["worker 1 Never"])).job, t9k_status);
    world.status = Some(status.clone());
    let words = "InvalidSpec The spec is invalid: no roles";
    assert_eq!(
        conditions(&world),
        [
            format!("Initialized=False {words}"),
            format!("Running=False {words}"),
            "ReplicaFailure=False - No pod was created.".to_owned(),
            format!("Completed=False {words}"),
            format!("Failed=True {words}"),
            "Paused=False - The job is not paused.".to_owned(),
        ]
    );
    assert_eq!(world.says("/phase"), "Failed");
    assert_eq!(world.says("/aggregate/failed"), 0);
    assert_eq!(
        t9k_invalid(Some(&status), "InvalidSpec", "no roles", now),
        None,
        "said once"
    );
    let runs = json!({"phase": "Running", "trainyard": {}});
    assert_eq!(t9k_invalid(Some(&runs), "InvalidSpec", "no roles", now), None);
}

/// The status of a world with details of worker 1 alone.
fn detailed(world: &mut World, details: InstanceDetails<'_>) -> Value {
    let step = world.look();
    let observed = trainyard_core::Observed {
        tasks: world.tasks.clone(),
        ..trainyard_core::Observed::default()
    };
    let of = |pod: &str| {
        if pod == "j-worker-1" {
            details
        } else {
            InstanceDetails::default()
        }
    };
    let now = trainyard_core::Time(world.now);
    t9k_status_with(world.status.as_ref(), &world.job, &step, &observed, &of, now)
}

#[test]
fn every_container_of_a_replica_is_shown_where_it_has_more_than_the_main_one() {
    let mut world = running("", &["worker 2 Never"]);
    let container = |name: &str, state| ContainerSeen {
        name: name.into(),
        state,
    };
    let containers = [
        container("tensorflow", ContainerState::Running),
        container("proxy", ContainerState::Terminated(Some(3))),
        container("late", ContainerState::Waiting),
    ];
    let details = InstanceDetails {
        containers: &containers,
        is_silent: false,
    };
    let status = detailed(&mut world, details);
    let shown = |index: usize| status["tasks"][0]["replicas"][index]["containers"].clone();
    assert_eq!(shown(0), json!([{"name": "tensorflow", "state": "Running"}]));
    assert_eq!(
        shown(1),
        json!([
            {"name": "tensorflow", "state": "Running"},
            {"name": "proxy", "state": "Terminated", "exitCode": 3},
            {"name": "late", "state": "Waiting"},
        ])
    );
}

#[test]
fn a_replica_on_a_silent_node_is_unknown_and_so_is_a_job_of_which_nothing_else_is_known() {
    let silent = InstanceDetails {
        containers: &[],
        is_silent: true,
    };
    let mut world = running("", &["worker 2 Never"]);
    let status = detailed(&mut world, silent);
    assert_eq!(status["tasks"][0]["replicas"][1]["phase"], "Unknown");
    assert_eq!(
        (&status["aggregate"]["unknown"], &status["phase"]),
        (&json!(1), &json!("Running"))
    );
    world.exit("worker-0", 0);
    let mut alone = World::running(
        Job {
            rules: Vec::new(),
            ..world.job.clone()
        },
        t9k_status,
    );
    alone.exit("worker-0", 0);
    let status = detailed(&mut alone, silent);
    assert_eq!(status["phase"], "Unknown");
    assert_eq!(status["conditions"][1]["status"], "Unknown");
    alone.status = Some(status);
    alone.look();
    assert_eq!(alone.says("/phase"), "Running", "the node answers again");
}

#[test]
fn the_status_of_the_largest_job_is_bounded_and_its_counts_are_not() {
    let mut large = job(&text("", &["chief 1 Never", "worker 2 Never"])).job;
    large.roles[1].replicas = 5_000;
    let mut world = World::new(large, t9k_status);
    world.look();
    assert_eq!(world.says("/aggregate/creating"), 5_001);
    let listed = world.says("/tasks/1/replicas");
    assert_eq!(listed.as_array().unwrap().len(), 999);
    let size = world.status.as_ref().unwrap().to_string().len();
    assert!(size < 300_000, "{size} bytes");
}

#[test]
fn a_job_that_did_not_start_in_time_says_so() {
    let mut world = World::new(
        job(&text("startTimeoutSeconds: 60", &["worker 1 Never"])).job,
        t9k_status,
    );
    world.look();
    world.now += 100;
    world.look();
    let failed = &conditions(&world)[4];
    let words =
        "Failed=True Failed The job is failed: a replica was not running 60 seconds after its creation.";
    assert_eq!(failed, words);
}

#[test]
fn a_condition_keeps_its_time_while_it_keeps_its_status() {
    let mut world = running("", &["worker 2 OnFailure"]);
    let time =
        |world: &World, position: usize| world.says(&format!("/conditions/{position}/lastTransitionTime"));
    let (initialized, failing) = (time(&world, 0), time(&world, 2));
    world.exit("worker-1", 1);
    world.look();
    world.settle();
    assert_eq!(time(&world, 0), initialized);
    world.exit("worker-0", 0);
    world.look();
    assert_eq!(
        time(&world, 2),
        failing,
        "a failure that is answered at once is never seen to hold"
    );
    assert_ne!(time(&world, 3), initialized);
}

#[test]
fn restarts_are_counted_by_role_and_together() {
    let mut world = running("backoffLimit: 9", &["worker 2 OnFailure", "ps 1 OnFailure"]);
    for task in ["worker-1", "worker-0", "ps-0"] {
        world.exit(task, 1);
        world.settle();
    }
    assert_eq!(world.says("/backoffCount"), 3);
    assert_eq!(world.says("/tasks/0/restartCount"), 2);
    assert_eq!(world.says("/tasks/1/restartCount"), 1);
}

#[test]
fn a_failed_job_says_by_whom_and_a_kept_failure_is_named() {
    let mut world = running("", &["worker 2 Never"]);
    world.exit("worker-1", 137);
    world.look();
    let kept = &conditions(&world)[2];
    assert!(
        kept.starts_with("ReplicaFailure=True PodFailed j-worker-1 has failed."),
        "{kept}"
    );
    world.exit("worker-0", 1);
    world.look();
    let failed = &conditions(&world)[4];
    assert!(
        failed.starts_with("Failed=True Failed The job is failed: j-worker-0 has failed."),
        "{failed}"
    );
    assert_eq!(world.says("/firstFailure/task"), "worker-1");
}

#[test]
fn memory_is_read_back_and_an_end_that_others_saw_stands() {
    let mut world = running("", &["worker 1 Never"]);
    world.exit("worker-0", 0);
    world.look();
    assert_eq!(
        t9k_memory(world.status.as_ref(), &world.job),
        Ok(world.memory.clone())
    );
    let foreign = json!({
        "phase": "Failed",
        "conditions": [{"type": "Failed", "status": "True", "lastTransitionTime": "2024-02-29T12:34:56Z"}],
    });
    let memory = t9k_memory(Some(&foreign), &world.job).unwrap();
    let verdict = memory.unwrap().verdict.unwrap();
    assert_eq!(
        (verdict.outcome, verdict.at.0),
        (trainyard_core::Outcome::Failed, 1_709_210_096)
    );
    assert_eq!(
        t9k_memory(Some(&json!({"phase": "Running"})), &world.job),
        Ok(None)
    );
    for (phase, ended) in [("Running", false), ("Succeeded", true)] {
        let unread = json!({"phase": phase, "trainyard": {"format": 1, "held": "Frozen"}});
        let unread = t9k_memory(Some(&unread), &world.job).unwrap_err();
        assert_eq!(unread.ended.is_some(), ended, "{phase}");
    }
}
