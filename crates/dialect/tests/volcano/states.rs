//! Volcano's state machine: the run that was seen on a real cluster, and its table of actions and phases.

use serde_json::json;
use trainyard_core::{GangSeen, Job};
use trainyard_status::{VolcanoPhase as Phase, volcano_order, volcano_status};

use crate::notation::{file, job};
use crate::world::World;

fn tutorial() -> Job {
    job(&file("tests/fixtures/ok/volcano/tutorial-hosts-from-files.yaml")).job
}

fn phase(world: &World) -> String {
    world.says("/state/phase").as_str().unwrap().to_owned()
}

fn history(world: &World) -> Vec<String> {
    let conditions = world.says("/conditions");
    let words = conditions.as_array().unwrap().iter();
    words
        .map(|condition| condition["status"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn the_golden_run_completes_when_both_workers_have() {
    let mut world = World::new(tutorial(), volcano_status);
    world.gang = GangSeen::Held;
    world.look();
    assert_eq!((phase(&world).as_str(), world.tasks.len()), ("Pending", 0));
    world.gang = GangSeen::Open;
    world.look();
    assert_eq!((phase(&world).as_str(), world.tasks.len()), ("Pending", 3));
    world.look();
    assert_eq!(world.says("/pending"), 3);
    world.run_all();
    world.look();
    assert_eq!(
        (phase(&world).as_str(), world.says("/running")),
        ("Running", json!(3))
    );
    world.exit("worker-0", 0);
    world.look();
    assert_eq!(
        (phase(&world).as_str(), world.says("/succeeded")),
        ("Running", json!(1))
    );
    world.exit("worker-1", 0);
    world.look();
    assert_eq!(phase(&world), "Completing");
    assert_eq!(world.says("/terminating"), 1);
    world.let_go();
    world.look();
    assert_eq!(phase(&world), "Completed");
    assert_eq!(history(&world), ["Pending", "Running", "Completing", "Completed"]);
    assert_eq!(world.says("/version"), 0);
    assert_eq!(
        world.says("/taskStatusCount"),
        json!({"worker": {"phase": {"Succeeded": 2}}})
    );
    assert_eq!(world.says("/state/reason"), "Policy");
    let instances: Vec<String> = world.tasks.iter().map(|seen| seen.id.to_string()).collect();
    assert_eq!(instances, ["worker-0", "worker-1"], "the ended ones are kept");
    let before = world.status.clone();
    world.look();
    assert_eq!(world.status, before, "nothing changes any more");
}

#[test]
fn a_deleted_worker_restarts_the_whole_job() {
    let mut world = World::running(tutorial(), volcano_status);
    world.vanish("worker-0");
    world.look();
    assert_eq!(phase(&world), "Restarting");
    let figures = |world: &World| {
        (
            world.says("/retryCount"),
            world.says("/version"),
            world.says("/terminating"),
        )
    };
    assert_eq!(figures(&world), (json!(1), json!(1), json!(2)));
    world.look();
    assert_eq!(phase(&world), "Restarting", "the old pods are still there");
    world.let_go();
    world.look();
    assert_eq!(phase(&world), "Pending");
    world.now += 60;
    world.look();
    assert_eq!(world.tasks.len(), 3);
    assert!(world.tasks.iter().all(|seen| seen.stamp.epoch == 1));
    world.run_all();
    world.look();
    assert_eq!(phase(&world), "Running");
    assert_eq!(history(&world), ["Restarting", "Pending", "Running"]);
    assert_eq!(figures(&world).0, 1);
}

#[test]
fn the_third_request_to_restart_ends_the_job() {
    let mut world = World::running(tutorial(), volcano_status);
    for restarts in 1..=2 {
        world.drain("worker-0", 143);
        world.settle();
        assert_eq!(
            (phase(&world).as_str(), world.says("/retryCount")),
            ("Running", json!(restarts))
        );
    }
    world.drain("worker-0", 143);
    world.look();
    assert_eq!(
        (phase(&world).as_str(), world.says("/retryCount")),
        ("Failed", json!(3))
    );
    assert_eq!(world.says("/state/reason"), "MaxRetry");
    assert_eq!(history(&world), ["Pending", "Running", "Restarting", "Failed"]);
    world.settle();
    assert!(world.tasks.iter().all(|seen| !seen.alive()));
}

#[test]
fn a_failed_worker_without_a_policy_stays_failed_and_fails_the_job_at_the_end() {
    let mut world = World::running(tutorial(), volcano_status);
    world.exit("worker-0", 1);
    world.look();
    assert_eq!(
        (phase(&world).as_str(), world.says("/failed")),
        ("Running", json!(1))
    );
    world.exit("worker-1", 0);
    world.look();
    assert_eq!(phase(&world), "Running");
    world.exit("ps-0", 0);
    world.look();
    assert_eq!(phase(&world), "Failed");
    assert_eq!(
        (world.says("/succeeded"), world.says("/failed")),
        (json!(2), json!(1))
    );
    let message = world.says("/state/message");
    assert!(
        message
            .as_str()
            .unwrap()
            .contains("tensorflow-dist-mnist-worker-0"),
        "{message}"
    );
}

/// A job in each phase, by the shortest way there. `Failed` and the finished ones have nothing alive any more.
fn in_phase(wanted: Phase) -> World {
    let mut world = World::running(tutorial(), volcano_status);
    let mut order = |action: &str| {
        world.order(volcano_order(action, Some(Phase::Running)));
        world.look();
    };
    match wanted {
        Phase::Running => {}
        Phase::Pending => {
            world = World::new(tutorial(), volcano_status);
            world.look();
        }
        Phase::Restarting => order("RestartJob"),
        Phase::Aborting | Phase::Aborted => order("AbortJob"),
        Phase::Completing | Phase::Completed => order("CompleteJob"),
        Phase::Terminating | Phase::Terminated => order("TerminateJob"),
        Phase::Failed => {
            for task in ["worker-0", "worker-1", "ps-0"] {
                world.exit(task, 1);
            }
            world.look();
        }
    }
    if matches!(
        wanted,
        Phase::Aborted | Phase::Completed | Phase::Terminated | Phase::Failed
    ) {
        world.let_go();
        world.look();
    }
    assert_eq!(phase(&world), wanted.word());
    world
}

#[test]
fn every_action_in_every_phase_does_what_volcanos_table_says() {
    use Phase::{
        Aborted, Aborting, Completed, Completing, Failed, Pending, Restarting, Running, Terminated,
        Terminating,
    };
    let actions = [
        "RestartJob",
        "AbortJob",
        "TerminateJob",
        "CompleteJob",
        "ResumeJob",
        "SyncJob",
    ];
    // The phase after the action, and how many restarts it cost.
    let table = [
        (
            Pending,
            [
                (Restarting, 1),
                (Aborting, 0),
                (Terminating, 0),
                (Completing, 0),
                (Pending, 0),
                (Pending, 0),
            ],
        ),
        (
            Running,
            [
                (Restarting, 1),
                (Aborting, 0),
                (Terminating, 0),
                (Completing, 0),
                (Running, 0),
                (Running, 0),
            ],
        ),
        // Volcano loses orders given while it restarts; here they are obeyed (docs/differences.md).
        (
            Restarting,
            [
                (Restarting, 0),
                (Aborting, 0),
                (Terminating, 0),
                (Completing, 0),
                (Restarting, 0),
                (Restarting, 0),
            ],
        ),
        (
            Aborting,
            [
                (Aborting, 0),
                (Aborting, 0),
                (Aborting, 0),
                (Aborting, 0),
                (Restarting, 1),
                (Aborting, 0),
            ],
        ),
        (
            Aborted,
            [
                (Aborted, 0),
                (Aborted, 0),
                (Aborted, 0),
                (Aborted, 0),
                (Restarting, 1),
                (Aborted, 0),
            ],
        ),
        (Completing, [(Completing, 0); 6]),
        (Terminating, [(Terminating, 0); 6]),
        (Completed, [(Completed, 0); 6]),
        (Terminated, [(Terminated, 0); 6]),
        (Failed, [(Failed, 0); 6]),
    ];
    for (before, row) in table {
        for (action, (after, cost)) in actions.into_iter().zip(row) {
            let mut world = in_phase(before);
            let paid = world.says("/retryCount").as_u64().unwrap_or(0);
            world.order(volcano_order(action, Some(before)));
            world.look();
            assert_eq!(phase(&world), after.word(), "{action} in {before:?}");
            let now_paid = world.says("/retryCount").as_u64().unwrap_or(0);
            assert_eq!(now_paid - paid, cost, "{action} in {before:?}");
            assert_eq!(world.orders, [], "{action} in {before:?} is answered");
        }
    }
}

#[test]
fn phases_that_wait_for_pods_to_go_end_when_they_have() {
    let table = [
        (Phase::Restarting, "Pending"),
        (Phase::Aborting, "Aborted"),
        (Phase::Completing, "Completed"),
        (Phase::Terminating, "Terminated"),
    ];
    for (before, after) in table {
        let mut world = in_phase(before);
        world.look();
        assert_eq!(phase(&world), before.word(), "pods are still there");
        world.let_go();
        world.look();
        assert_eq!(phase(&world), after);
    }
}

#[test]
fn the_last_order_to_resume_fails_the_job() {
    let mut world = World::running(tutorial(), volcano_status);
    for (resumes, expected) in [(1, "Running"), (2, "Running"), (3, "Failed")] {
        world.order(volcano_order("AbortJob", Some(Phase::Running)));
        world.settle();
        assert_eq!(phase(&world), "Aborted");
        world.order(volcano_order("ResumeJob", Some(Phase::Aborted)));
        world.settle();
        assert_eq!(
            (phase(&world).as_str(), world.says("/retryCount")),
            (expected, json!(resumes))
        );
    }
}

#[test]
fn an_aborted_job_keeps_what_has_ended() {
    let mut world = World::running(tutorial(), volcano_status);
    world.exit("worker-0", 0);
    world.look();
    world.order(volcano_order("AbortJob", Some(Phase::Running)));
    world.settle();
    assert_eq!(
        (phase(&world).as_str(), world.says("/succeeded")),
        ("Aborted", json!(1))
    );
    let left: Vec<String> = world.tasks.iter().map(|seen| seen.id.to_string()).collect();
    assert_eq!(left, ["worker-0"]);
}

#[test]
fn restarting_a_pod_passes_through_restarting_and_keeps_the_version() {
    let text = file("examples/volcano/exit-codes.yaml");
    let mut world = World::running(job(&text).job, volcano_status);
    world.exit("worker-2", 137);
    world.look();
    assert_eq!(
        (phase(&world).as_str(), world.says("/version")),
        ("Restarting", json!(0))
    );
    assert_eq!(world.says("/retryCount"), 1);
    world.settle();
    assert_eq!(phase(&world), "Running");
    assert_eq!(world.creates, 5);
    world.exit("worker-1", 9);
    world.look();
    assert_eq!(
        (phase(&world).as_str(), world.says("/version")),
        ("Restarting", json!(0))
    );
    world.settle();
    assert_eq!(world.creates, 9, "the task, all four of its pods");
    world.exit("worker-3", 2);
    world.look();
    assert_eq!(phase(&world), "Terminating");
    world.settle();
    assert_eq!(phase(&world), "Terminated");
}

#[test]
fn enough_successes_complete_the_job_at_once() {
    let text = file("examples/volcano/enough-successes.yaml");
    let mut world = World::running(job(&text).job, volcano_status);
    for index in 0..15 {
        assert_eq!(phase(&world), "Running");
        world.exit(&format!("trial-{index}"), 0);
        world.look();
    }
    assert_eq!(phase(&world), "Completed", "what still runs goes afterwards");
    assert_eq!(
        (world.says("/succeeded"), world.says("/terminating")),
        (json!(15), json!(5))
    );
    world.settle();
    assert_eq!(history(&world), ["Pending", "Running", "Completed"]);
}

#[test]
fn a_job_with_too_few_pods_running_is_pending_again() {
    let text = file("tests/fixtures/ok/volcano/tutorial-hosts-from-files.yaml");
    let mut world = World::running(job(&text.replace("PodEvicted", "TaskFailed")).job, volcano_status);
    world.vanish("ps-0");
    world.look();
    assert_eq!(
        (phase(&world).as_str(), world.says("/running")),
        ("Running", json!(2))
    );
    world.now += 60;
    world.look();
    world.look();
    assert_eq!(
        (phase(&world).as_str(), world.says("/pending")),
        ("Pending", json!(1))
    );
    world.run_all();
    world.look();
    assert_eq!(phase(&world), "Running");
    assert_eq!(
        world.says("/retryCount"),
        json!(null),
        "a pod that is made anew costs nothing"
    );
}
