//! Policies played: what happened, and what followed.

use trainyard_core::{GangSeen, Outcome, Seen};
use trainyard_status::{volcano_memory, volcano_status};

use crate::notation::job;
use crate::text;
use crate::world::World;

fn running(spec: &str, worker: &str) -> World {
    World::running(job(&text(spec, worker)).job, volcano_status)
}

fn phase(world: &World) -> String {
    world.says("/state/phase").as_str().unwrap().to_owned()
}

/// Epoch, restarts paid, and how many pods were made in all.
fn figures(world: &World) -> (u32, u32, u32) {
    let memory = world.memory.as_ref().unwrap();
    (memory.epoch, memory.paid, world.creates)
}

#[test]
fn each_action_follows_a_failed_pod() {
    // The action, the phase it leads to in the end, and the figures.
    let table = [
        ("AbortJob", "Aborted", (1, 0, 3)),
        ("RestartJob", "Running", (1, 1, 6)),
        ("RestartTask", "Running", (0, 1, 5)),
        ("RestartPod", "Running", (0, 1, 4)),
        ("TerminateJob", "Terminated", (0, 0, 3)),
        ("CompleteJob", "Completed", (0, 0, 3)),
        ("ResumeJob", "Running", (0, 0, 3)),
    ];
    for (action, expected, numbers) in table {
        let mut world = running(&format!("policies: [{{event: PodFailed, action: {action}}}]"), "");
        world.exit("worker-1", 1);
        world.settle();
        assert_eq!(phase(&world), expected, "{action}");
        assert_eq!(figures(&world), numbers, "{action}");
    }
}

#[test]
fn a_tasks_own_policy_answers_before_the_jobs() {
    let job_policy = "policies: [{event: PodFailed, action: TerminateJob}]";
    let mut world = running(job_policy, "policies: [{exitCode: 3, action: RestartPod}]");
    world.exit("worker-0", 3);
    world.settle();
    assert_eq!((phase(&world).as_str(), figures(&world)), ("Running", (0, 1, 4)));
    world.exit("worker-0", 4);
    world.settle();
    assert_eq!(phase(&world), "Terminated");
    let mut other = running(job_policy, "policies: [{exitCode: 3, action: RestartPod}]");
    other.exit("ps-0", 3);
    other.settle();
    assert_eq!(phase(&other), "Terminated", "the worker's policy is not the ps's");
}

#[test]
fn a_pod_that_stays_pending_for_too_long_is_acted_on_and_one_that_runs_is_not() {
    let policy = "policies: [{event: PodPending, action: AbortJob, timeout: 10m}]";
    let mut world = World::new(job(&text(policy, "")).job, volcano_status);
    world.look();
    world.run_all();
    world.tasks[2].state = Seen::Waiting;
    world.now += 590;
    let step = world.look();
    assert_eq!(phase(&world), "Pending");
    assert!(step.wake.is_some(), "the time-out fires on time");
    let mut started = World::new(world.job.clone(), volcano_status);
    started.look();
    started.run_all();
    started.now += 6_000;
    started.look();
    assert_eq!(phase(&started), "Running");
    world.now += 10;
    world.look();
    assert_eq!(phase(&world), "Aborting");
}

#[test]
fn an_evicted_pod_with_a_time_out_is_made_anew_and_then_watched() {
    let policy = "policies: [{event: PodEvicted, action: TerminateJob, timeout: 60s}]";
    let mut world = running(policy, "");
    world.drain("worker-1", 143);
    world.look();
    world.now += 30;
    world.look();
    world.look();
    assert_eq!((phase(&world).as_str(), figures(&world)), ("Pending", (0, 0, 4)));
    world.now += 70;
    world.look();
    assert_eq!(phase(&world), "Terminating");
}

#[test]
fn a_failed_pod_with_a_time_out_is_left_alone_until_then() {
    let policy = "policies: [{event: PodFailed, action: RestartJob, timeout: 60s}]";
    let mut world = running(policy, "");
    world.exit("worker-1", 1);
    world.now += 30;
    world.look();
    assert_eq!((phase(&world).as_str(), figures(&world)), ("Running", (0, 0, 3)));
    world.now += 30;
    world.look();
    assert_eq!(
        (phase(&world).as_str(), figures(&world)),
        ("Restarting", (1, 1, 3))
    );
}

#[test]
fn restarts_in_place_make_a_task_failed() {
    let mut world = running(
        "policies: [{event: TaskFailed, action: TerminateJob}]",
        "maxRetry: 4",
    );
    for (task, count) in [(1, 2), (2, 1)] {
        world.tasks[task].in_place = count;
    }
    world.look();
    assert_eq!(phase(&world), "Running");
    world.tasks[2].in_place = 2;
    world.look();
    assert_eq!(phase(&world), "Terminating");
}

#[test]
fn a_broken_gang_is_answered_once_however_often_it_is_seen() {
    let mut world = running("policies: [{event: Unknown, action: RestartJob}]", "");
    world.gang = GangSeen::Broken { epoch: 0 };
    world.look();
    assert_eq!(figures(&world), (1, 1, 3));
    world.settle();
    assert_eq!(figures(&world), (1, 1, 6), "a stale view of it costs nothing");
}

#[test]
fn without_restarts_every_restart_fails_the_job() {
    for action in ["RestartJob", "RestartTask", "RestartPod"] {
        let spec = format!("maxRetry: 1\n  policies: [{{event: PodFailed, action: {action}}}]");
        let mut world = running(&spec, "");
        world.exit("worker-1", 1);
        world.settle();
        assert_eq!(
            (world.outcome(), figures(&world)),
            (Some(Outcome::Failed), (0, 0, 3)),
            "{action}"
        );
        assert_eq!(world.says("/retryCount"), 1);
    }
}

#[test]
fn tasks_start_when_those_they_wait_for_are_ready() {
    let mut world = World::new(
        job(&text("minAvailable: 1", "dependsOn: {name: [ps]}")).job,
        volcano_status,
    );
    world.look();
    assert_eq!(world.creates, 1);
    world.tasks[0].state = Seen::Running { ready: false };
    world.look();
    assert_eq!(world.creates, 1, "running is not ready");
    world.tasks[0].state = Seen::Running { ready: true };
    world.look();
    assert_eq!(world.creates, 3);
}

#[test]
fn the_end_is_counted_as_volcano_counts_it() {
    // Fields of the spec, how many of ps-0, worker-0, worker-1 succeed, and the outcome.
    let table = [
        ("", [0, 0, 0], Outcome::Succeeded),
        ("", [1, 0, 0], Outcome::Failed),
        ("minAvailable: 2", [1, 0, 0], Outcome::Succeeded),
        ("minAvailable: 2", [1, 1, 0], Outcome::Failed),
        ("minSuccess: 1", [1, 1, 0], Outcome::Succeeded),
        ("minSuccess: 3", [0, 1, 0], Outcome::Failed),
        ("minAvailable: 1\n  minSuccess: 2", [0, 1, 1], Outcome::Failed),
    ];
    for (spec, codes, outcome) in table {
        let mut world = running(spec, "");
        for (task, code) in ["ps-0", "worker-0", "worker-1"].into_iter().zip(codes) {
            world.exit(task, code);
        }
        world.settle();
        assert_eq!(world.outcome(), Some(outcome), "{spec} {codes:?}");
    }
}

#[test]
fn memory_is_read_back_and_an_end_that_volcano_saw_stands() {
    let mut world = running("", "");
    assert_eq!(
        volcano_memory(world.status.as_ref(), &world.job),
        Ok(world.memory.clone())
    );
    for (phase, outcome) in [
        ("Running", None),
        ("Aborted", None),
        ("Completed", Some(Outcome::Succeeded)),
        ("Terminating", Some(Outcome::Terminated)),
        ("Failed", Some(Outcome::Failed)),
    ] {
        let foreign = serde_json::json!({
            "state": {"phase": phase, "lastTransitionTime": "2024-02-29T12:34:56Z"},
        });
        let memory = volcano_memory(Some(&foreign), &world.job).unwrap();
        let verdict = memory.and_then(|memory| memory.verdict);
        assert_eq!(verdict.map(|verdict| verdict.outcome), outcome, "{phase}");
        let mut unread = foreign;
        unread["trainyard"] = serde_json::json!({"format": 99});
        let unread = volcano_memory(Some(&unread), &world.job).unwrap_err();
        let verdict = unread.ended.and_then(|memory| memory.verdict);
        assert_eq!(verdict.map(|verdict| verdict.outcome), outcome, "{phase}");
    }
    world.look();
}
