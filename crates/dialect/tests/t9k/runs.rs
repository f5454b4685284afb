//! The rules that T9k's manual states, played.

use trainyard_core::{Cause, Outcome, TaskId};
use trainyard_status::t9k_status;

use crate::notation::job;
use crate::text;
use crate::world::World;

fn running(run_policy: &str, roles: &[&str]) -> World {
    World::running(job(&text(run_policy, roles)).job, t9k_status)
}

fn attempt(world: &World, task: &str) -> u32 {
    let task: TaskId = task.parse().unwrap();
    world.memory.as_ref().unwrap().stamp(&task).attempt
}

fn paid(world: &World) -> u32 {
    world.memory.as_ref().unwrap().paid
}

fn left(world: &World) -> Vec<String> {
    world.tasks.iter().map(|seen| seen.id.to_string()).collect()
}

/// Roles, who exits with what in which order, and how the job ends.
type Row<'a> = (&'a [&'a str], &'a [(&'a str, i32)], Option<Outcome>);

#[test]
fn the_primary_decides_and_nobody_else() {
    let table: &[Row] = &[
        (&["worker 3 Never"], &[("worker-0", 0)], Some(Outcome::Succeeded)),
        (&["worker 3 Never"], &[("worker-1", 0), ("worker-2", 0)], None),
        (&["worker 3 Never"], &[("worker-0", 1)], Some(Outcome::Failed)),
        (&["worker 3 Never"], &[("worker-2", 1)], None),
        (
            &["worker 3 Never"],
            &[("worker-2", 1), ("worker-0", 0)],
            Some(Outcome::Succeeded),
        ),
        (
            &["chief 1 Never", "worker 2 Never"],
            &[("worker-0", 0), ("worker-1", 1)],
            None,
        ),
        (
            &["chief 1 Never", "worker 2 Never"],
            &[("chief-0", 0)],
            Some(Outcome::Succeeded),
        ),
        (
            &["chief 1 Never", "worker 2 Never"],
            &[("chief-0", 139)],
            Some(Outcome::Failed),
        ),
        (
            &["chief 1 Never", "ps 1 Never", "evaluator 1 Never"],
            &[("ps-0", 1), ("evaluator-0", 1)],
            None,
        ),
    ];
    for (roles, exits, expected) in table {
        let mut world = running("", roles);
        for (task, code) in *exits {
            world.exit(task, *code);
            world.look();
        }
        assert_eq!(world.outcome(), *expected, "{roles:?} {exits:?}");
    }
}

#[test]
fn a_job_in_which_everything_has_ended_does_not_run_for_ever() {
    let mut world = running("", &["worker 2 Never", "ps 1 Never"]);
    world.job.rules.retain(|rule| &*rule.from != "primary");
    for task in ["worker-0", "worker-1", "ps-0"] {
        world.exit(task, 0);
    }
    world.look();
    assert_eq!(world.outcome(), Some(Outcome::Failed));
}

#[test]
fn exit_code_starts_a_task_again_after_five_codes_and_no_other() {
    for code in [130, 137, 138, 143, 42, 1, 2, 126, 127, 128, 134, 139, 255] {
        let again = [130, 137, 138, 143, 42].contains(&code);
        let mut world = running("", &["worker 2 ExitCode"]);
        world.exit("worker-1", code);
        world.look();
        let failed = world
            .memory
            .as_ref()
            .unwrap()
            .is_failed(&"worker-1".parse().unwrap());
        assert_eq!(
            (attempt(&world, "worker-1"), failed),
            (u32::from(again), !again),
            "{code}"
        );
        let mut world = running("", &["worker 2 ExitCode"]);
        world.exit("worker-0", code);
        world.look();
        let outcome = if again { None } else { Some(Outcome::Failed) };
        assert_eq!(world.outcome(), outcome, "{code} of the primary");
    }
}

#[test]
fn each_policy_says_which_ends_start_a_task_again() {
    // Policy, exit code, whether worker-1 is started again.
    let table = [
        ("Never", 1, false),
        ("Never", 137, false),
        ("Never", 0, false),
        ("OnFailure", 1, true),
        ("OnFailure", 139, true),
        ("OnFailure", 0, false),
        ("Always", 1, true),
        ("Always", 0, true),
        ("ExitCode", 0, false),
    ];
    for (policy, code, again) in table {
        let mut world = running("", &[&format!("worker 2 {policy}")]);
        world.exit("worker-1", code);
        world.settle();
        assert_eq!(world.creates, 2 + u32::from(again), "{policy} {code}");
        assert_eq!(world.outcome(), None, "{policy} {code}");
    }
}

#[test]
fn the_budget_is_shared_and_a_failure_after_it_stays() {
    let mut world = running("backoffLimit: 2", &["worker 4 OnFailure"]);
    for _ in 0..3 {
        world.exit("worker-3", 1);
        world.settle();
    }
    assert_eq!((world.outcome(), paid(&world), world.creates), (None, 2, 6));
    assert!(
        world
            .memory
            .as_ref()
            .unwrap()
            .is_failed(&"worker-3".parse().unwrap())
    );
    world.exit("worker-0", 0);
    world.settle();
    assert_eq!((world.outcome(), world.creates), (Some(Outcome::Succeeded), 6));
}

#[test]
fn the_primary_without_a_restart_left_fails_the_job() {
    let mut world = running("backoffLimit: 1", &["worker 2 OnFailure"]);
    world.exit("worker-1", 1);
    world.settle();
    world.exit("worker-0", 1);
    world.settle();
    let verdict = world.memory.as_ref().unwrap().verdict.clone().unwrap();
    assert_eq!(verdict.outcome, Outcome::Failed);
    let task = Some("worker-0".parse().unwrap());
    assert_eq!(verdict.cause, Cause::Restarts { task });
    let first = world.memory.as_ref().unwrap().first_failure.clone().unwrap();
    assert_eq!(first.task.to_string(), "worker-1");
}

#[test]
fn without_a_limit_a_task_is_started_again_each_time() {
    let mut world = running("", &["worker 1 OnFailure"]);
    for _ in 0..20 {
        world.exit("worker-0", 1);
        world.settle();
    }
    assert_eq!((world.outcome(), paid(&world)), (None, 20));
}

#[test]
fn what_others_stop_costs_nothing() {
    let mut world = running("backoffLimit: 0", &["worker 2 Never"]);
    // The primary saves and exits 0 because its node was drained: that is no success.
    world.drain("worker-0", 0);
    world.settle();
    world.drain("worker-1", 143);
    world.settle();
    world.vanish("worker-1");
    world.settle();
    assert_eq!((world.outcome(), paid(&world)), (None, 0));
    assert_eq!(world.tasks.len(), 2);
}

#[test]
fn the_deadline_fails_the_job_and_stops_what_lives() {
    let mut world = running(
        "activeDeadlineSeconds: 100, cleanUpPolicy: None",
        &["worker 2 OnFailure"],
    );
    world.now += 90;
    world.look();
    assert_eq!(world.outcome(), None);
    world.now += 10;
    world.look();
    let verdict = world.memory.as_ref().unwrap().verdict.clone().unwrap();
    assert_eq!(
        (verdict.outcome, verdict.cause),
        (Outcome::Failed, Cause::Deadline)
    );
    world.settle();
    assert_eq!(left(&world), Vec::<String>::new());
}

#[test]
fn clean_up_takes_what_its_policy_says_in_any_letters() {
    let both = vec!["worker-0".to_owned(), "ps-0".to_owned()];
    let table = [
        ("", both.clone()),
        ("cleanUpPolicy: None", both.clone()),
        ("cleanUpPolicy: none", both),
        ("cleanUpPolicy: Unfinished", vec!["worker-0".to_owned()]),
        ("cleanUpPolicy: unfinished", vec!["worker-0".to_owned()]),
        ("cleanUpPolicy: All", Vec::new()),
        ("cleanUpPolicy: all", Vec::new()),
    ];
    for (policy, expected) in table {
        let mut world = running(policy, &["worker 1 Never", "ps 1 Never"]);
        world.exit("worker-0", 0);
        world.settle();
        assert_eq!(world.outcome(), Some(Outcome::Succeeded));
        assert_eq!(left(&world), expected, "{policy}");
    }
}

#[test]
fn a_whole_restart_is_one_epoch() {
    let mut world = running("backoffLimit: 2, restartScope: Job", &["worker 3 ExitCode"]);
    world.exit("worker-1", 137);
    world.exit("worker-2", 1);
    world.settle();
    assert_eq!(
        (world.memory.as_ref().unwrap().epoch, paid(&world), world.creates),
        (1, 1, 6)
    );
    world.exit("worker-0", 0);
    world.settle();
    assert_eq!(world.outcome(), Some(Outcome::Succeeded));
}
