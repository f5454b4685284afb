//! Case tables of the rules.

use crate::policy::testing::{Bench, count, ended, observed, on_end, ps, rule, running, waiting, worker};
use crate::{
    Cause, Down, Event, Exit, GangSeen, Hold, How, Memory, Observed, Outcome, Scope, Seen, Settled, Stamp,
    Step, Test, Then, Time, When, Who, Why,
};

const FIRST: Stamp = Stamp { epoch: 0, attempt: 0 };

fn outcome(step: &Step) -> Option<Outcome> {
    step.memory.verdict.as_ref().map(|verdict| verdict.outcome)
}

fn fail() -> Then {
    Then::Finish(Outcome::Failed)
}

fn again(scope: Scope, paid: bool) -> Then {
    Then::Restart { scope, paid }
}

#[test]
fn success_of_the_one_that_decides_beats_failures_seen_in_the_same_moment() {
    let bench = Bench::workers(2).failing_then(How::Failed, fail());
    let both = [ended(worker(0), FIRST, 0, 5), ended(worker(1), FIRST, 1, 5)];
    assert_eq!(outcome(&bench.step(&both, 100)), Some(Outcome::Succeeded));
    let reversed = [both[1].clone(), both[0].clone()];
    assert_eq!(bench.step(&reversed, 100), bench.step(&both, 100));
}

#[test]
fn a_failure_settles_first_and_a_success_never_waits() {
    let bench = Bench::workers(2).failing_then(How::Failed, fail());
    let seen = [running(worker(0), FIRST), ended(worker(1), FIRST, 1, 50)];
    let early = bench.step(&seen, 50);
    assert_eq!((outcome(&early), early.wake), (None, Some(Time(51))));
    assert_eq!(outcome(&bench.step(&seen, 51)), Some(Outcome::Failed));
    assert_eq!(
        outcome(&bench.step(&[ended(worker(0), FIRST, 0, 50)], 50)),
        Some(Outcome::Succeeded)
    );
}

#[test]
fn a_disruption_that_arrives_within_the_settling_time_excuses_its_peers() {
    let mut bench = Bench::workers(2);
    bench.job.limits.settle = 5;
    bench.job.limits.restarts = Some(1);
    bench
        .job
        .rules
        .push(on_end(Who::any(), How::Disrupted, again(Scope::Job, false)));
    bench
        .job
        .rules
        .push(on_end(Who::any(), How::Failed, again(Scope::Job, true)));
    let peer = ended(worker(1), FIRST, 1, 50);
    let first = bench.step(&[running(worker(0), FIRST), peer.clone()], 50);
    let drained = Exit {
        code: Some(143),
        why: Why::Itself,
        asked: true,
        at: Time(49),
        ran: 40,
        ..Exit::default()
    };
    let mut cause = running(worker(0), FIRST);
    cause.state = Seen::Ended(drained);
    let then = bench.step_with(Some(&first.memory), &[cause, peer], 53);
    assert_eq!(
        (then.memory.epoch, then.memory.paid, then.memory.first_failure),
        (1, 0, None)
    );
}

#[test]
fn a_restart_that_cannot_be_paid_does_not_match_and_the_next_rule_is_tried() {
    let mut bench = Bench::workers(3);
    bench.job.limits.restarts = Some(1);
    bench
        .job
        .rules
        .push(on_end(Who::any(), How::Codes(128, 255), again(Scope::Task, true)));
    bench.job.rules.push(on_end(Who::any(), How::Failed, fail()));
    let seen = [
        running(worker(0), FIRST),
        ended(worker(1), FIRST, 137, 5),
        ended(worker(2), FIRST, 137, 5),
    ];
    let step = bench.step(&seen, 100);
    assert_eq!(step.memory.paid, 1);
    let verdict = step.memory.verdict.unwrap();
    assert_eq!(
        verdict.cause,
        Cause::Restarts {
            task: Some(worker(2))
        }
    );
}

#[test]
fn one_life_is_answered_once_however_often_it_is_seen() {
    let mut bench = Bench::workers(2);
    bench.job.limits.restarts = Some(1);
    bench
        .job
        .rules
        .push(on_end(Who::any(), How::Failed, again(Scope::Task, true)));
    bench.job.rules.push(on_end(Who::any(), How::Failed, fail()));
    let seen = [running(worker(0), FIRST), ended(worker(1), FIRST, 137, 5)];
    let mut memory: Option<Memory> = None;
    for now in [100, 101, 105, 200] {
        let step = bench.step_with(memory.as_ref(), &seen, now);
        assert_eq!((step.memory.paid, outcome(&step)), (1, None), "at {now}");
        memory = Some(step.memory);
    }
}

#[test]
fn what_no_rule_names_is_kept() {
    let bench = Bench::workers(2);
    let step = bench.step(&[running(worker(0), FIRST), ended(worker(1), FIRST, 1, 5)], 100);
    assert!(step.memory.is_failed(&worker(1)));
    assert_eq!(outcome(&step), None);
}

#[test]
fn counts_look_at_memory_and_all_of_nothing_is_false() {
    let done = |name: &str, test| {
        count(
            Who::role(&crate::RoleName::new(name)),
            Settled::Succeeded,
            test,
            fail(),
        )
    };
    let table = [
        (done("worker", Test::All), false),
        (done("worker", Test::AtLeast(1)), true),
        (done("worker", Test::AtLeast(2)), false),
        (done("worker", Test::Below(2)), true),
        (done("worker", Test::Below(1)), false),
        (done("absent", Test::All), false),
        (done("absent", Test::Below(1)), true),
        (count(Who::any(), Settled::Ended, Test::All, fail()), true),
    ];
    for (rule, expected) in table {
        let mut bench = Bench::workers(2);
        bench.job.rules = vec![rule.clone()];
        let mut memory = bench.memory();
        memory.role(&worker(0).role).done.insert(0);
        memory.role(&worker(0).role).failed.insert(1);
        let step = bench.step_with(Some(&memory), &[], 10);
        assert_eq!(outcome(&step).is_some(), expected, "{rule:?}");
    }
}

#[test]
fn a_task_that_does_not_start_in_time_is_down() {
    let mut bench = Bench::workers(1);
    let mut start_timeout = rule(
        When::Down {
            who: Who::any(),
            why: vec![Down::FirstStart, Down::Again],
        },
        fail(),
    );
    start_timeout.held = 30;
    bench.job.rules.push(start_timeout);
    let mut seen = waiting(worker(0), FIRST);
    seen.created = Time(100);
    let early = bench.step(&[seen.clone()], 129);
    assert_eq!((outcome(&early), early.wake), (None, Some(Time(130))));
    assert_eq!(outcome(&bench.step(&[seen], 130)), Some(Outcome::Failed));
    assert_eq!(
        outcome(&bench.step(&[], 999)),
        None,
        "an absent task is not looked at"
    );
    assert_eq!(outcome(&bench.step(&[running(worker(0), FIRST)], 999)), None);
}

#[test]
fn restarts_in_place_of_a_role_are_added_up() {
    let mut bench = Bench::ps_and_workers(1, 2);
    let role = worker(0).role;
    bench.job.rules.push(rule(
        When::InPlace {
            who: Who::role(&role),
            at_least: 3,
        },
        again(Scope::Task, true),
    ));
    let restarted = |task, times| {
        let mut seen = running(task, FIRST);
        seen.in_place = times;
        seen
    };
    let below = [
        restarted(ps(0), 9),
        restarted(worker(0), 1),
        restarted(worker(1), 1),
    ];
    assert_eq!(bench.step(&below, 10).memory.paid, 0);
    let enough = [
        restarted(ps(0), 9),
        restarted(worker(0), 1),
        restarted(worker(1), 2),
    ];
    let step = bench.step(&enough, 10);
    assert_eq!((step.memory.paid, step.memory.stamp(&worker(1)).attempt), (1, 1));
    assert_eq!(step.memory.stamp(&ps(0)).attempt, 0);
}

#[test]
fn a_broken_gang_is_charged_once_an_epoch() {
    let mut bench = Bench::workers(2);
    bench
        .job
        .rules
        .push(rule(When::GangBroken, again(Scope::Task, true)));
    let observed = Observed {
        gang: GangSeen::Broken { epoch: 0 },
        ..observed(&[])
    };
    let first = bench.look(None, &observed, 10);
    assert_eq!((first.memory.epoch, first.memory.paid), (1, 1));
    let stale_view = bench.look(Some(&first.memory), &observed, 11);
    assert_eq!((stale_view.memory.epoch, stale_view.memory.paid), (1, 1));
}

#[test]
fn an_abort_is_a_hold_and_not_a_verdict() {
    let bench = Bench::workers(2).failing_then(How::Failed, Then::Abort);
    let step = bench.step(&[running(worker(0), FIRST), ended(worker(1), FIRST, 1, 5)], 100);
    assert_eq!(
        (step.memory.held, step.memory.epoch, outcome(&step)),
        (Some(Hold::Aborted), 1, None)
    );
}

#[test]
fn a_task_seen_once_and_absent_now_has_vanished() {
    let mut bench = Bench::workers(2);
    bench
        .job
        .rules
        .push(on_end(Who::any(), How::Vanished, again(Scope::Job, true)));
    let both = [running(worker(0), FIRST), running(worker(1), FIRST)];
    let memory = bench.step(&both, 10).memory;
    assert_eq!(bench.step_with(Some(&memory), &both[..1], 20).memory.epoch, 1);
    let never_seen = bench.step(&both[..1], 20);
    assert_eq!(never_seen.memory.epoch, 0, "not created yet is not vanished");
}

#[test]
fn the_earliest_failure_is_remembered_as_the_first() {
    let bench = Bench::workers(3).failing_then(How::Failed, again(Scope::Task, true));
    let seen = [
        running(worker(0), FIRST),
        ended(worker(1), FIRST, 1, 60),
        ended(worker(2), FIRST, 139, 55),
    ];
    let step = bench.step(&seen, 100);
    let first = step.memory.first_failure.unwrap();
    assert_eq!((first.task, first.exit.code), (worker(2), Some(139)));
}

#[test]
fn a_count_that_restarts_takes_what_it_counted_with_it() {
    let mut bench = Bench::ps_and_workers(1, 1);
    let role = worker(0).role;
    bench.job.rules = vec![
        on_end(Who::any(), How::Succeeded, Then::Keep),
        count(
            Who::role(&role),
            Settled::Succeeded,
            Test::All,
            again(Scope::Roles(vec![ps(0).role]), false),
        ),
    ];
    let step = bench.step(&[running(ps(0), FIRST), ended(worker(0), FIRST, 0, 5)], 10);
    assert_eq!(
        (
            step.memory.stamp(&ps(0)).attempt,
            step.memory.stamp(&worker(0)).attempt
        ),
        (1, 1)
    );
}

#[test]
fn a_first_start_and_a_later_one_are_different_levels() {
    let second = Stamp { epoch: 0, attempt: 1 };
    for (why, stamp, fires) in [
        (Down::FirstStart, FIRST, true),
        (Down::FirstStart, second, false),
        (Down::Again, FIRST, false),
        (Down::Again, second, true),
    ] {
        let mut bench = Bench::workers(1);
        let down = When::Down {
            who: Who::any(),
            why: vec![why],
        };
        bench.job.rules.push(rule(down, fail()));
        let mut memory = bench.memory();
        memory.role(&worker(0).role).attempts.set(0, stamp.attempt);
        let step = bench.step_with(Some(&memory), &[waiting(worker(0), stamp)], 100);
        assert_eq!(outcome(&step).is_some(), fires, "{why:?} {stamp:?}");
    }
}

#[test]
fn an_end_is_told_with_its_code_and_its_rule_and_with_the_rule_that_could_not_be_paid() {
    let mut bench = Bench::workers(2)
        .failing_then(How::Failed, again(Scope::Task, true))
        .failing_then(How::Failed, Then::Keep);
    bench.job.limits.restarts = Some(0);
    let step = bench.step(&[running(worker(0), FIRST), ended(worker(1), FIRST, 3, 5)], 100);
    let told: Vec<&Event> = step
        .events
        .iter()
        .filter(|event| matches!(event, Event::Unpaid { .. } | Event::TaskEnded { .. }))
        .collect();
    let unpaid = Event::Unpaid {
        task: worker(1),
        rule: 2,
    };
    let ended = Event::TaskEnded {
        task: worker(1),
        stamp: FIRST,
        how: How::Failed,
        code: Some(3),
        rule: Some(3),
    };
    assert_eq!(told, [&unpaid, &ended]);
}
