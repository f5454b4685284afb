//! Single decisions that no scenario shows: each of these tests was written for a mutant that every other test let pass
//! (docs/testing.md, "Mutation").

use super::bounds::NO_LIFE_LEFT;
use super::testing::{Bench, OURS, count, ended, observed, ps, role, rule, running, waiting, worker};
use crate::{
    Action, AddressForm, Addresses, Cause, Clean, Down, Event, Exit, Fixture, Hold, How, Memory, Observed,
    Order, Ordered, Outcome, Persist, Refusal, RoleKind, Scope, Settled, Stamp, Step, TaskId, Test, Then,
    Time, Verdict, When, Who,
};

const FIRST: Stamp = Stamp { epoch: 0, attempt: 0 };
const FREE: Then = Then::Restart {
    scope: Scope::Task,
    paid: false,
};

/// The memory of a job that runs.
fn begun(bench: &Bench) -> Memory {
    let mut memory = bench.memory();
    memory.started = Some(Time(1));
    memory
}

fn with_verdict(bench: &Bench, from: &str) -> Memory {
    let mut memory = begun(bench);
    memory.verdict = Some(Verdict {
        outcome: Outcome::Failed,
        cause: Cause::Rule {
            from: from.into(),
            task: None,
        },
        at: Time(50),
    });
    memory
}

fn stopped(step: &Step) -> Vec<String> {
    let stop = |action: &Action| match action {
        Action::Stop { task, .. } => Some(task.to_string()),
        _ => None,
    };
    step.actions.iter().filter_map(stop).collect()
}

/// A job with one rule about tasks that are down, after 100 seconds.
fn down(why: Down, then: Then) -> Bench {
    let mut bench = Bench::workers(2);
    let when = When::Down {
        who: Who::any(),
        why: vec![why],
    };
    let mut rule = rule(when, then);
    rule.held = 100;
    bench.job.rules.push(rule);
    bench
}

#[test]
fn a_job_that_is_being_deleted_is_not_judged_and_not_held() {
    let mut bench = Bench::workers(2).failing_then(How::Failed, Then::Finish(Outcome::Failed));
    let memory = begun(&bench);
    let seen = [ended(worker(0), FIRST, 1, 5), running(worker(7), FIRST)];
    let deleting = Observed {
        deleting: true,
        ..observed(&seen)
    };
    let step = bench.look(Some(&memory), &deleting, 60);
    assert_eq!(
        (&step.memory.verdict, step.memory.stamp(&worker(7))),
        (&None, FIRST)
    );
    bench.job.suspend = true;
    let step = bench.look(Some(&memory), &deleting, 60);
    assert_eq!(step.memory.held, None);
}

#[test]
fn tasks_that_the_job_does_not_have_change_its_memory_only_where_they_may_come_back() {
    let bench = Bench::workers(1);
    let (stranger, scaled) = (TaskId::new("stranger", 0), worker(5));
    let finished = with_verdict(&bench, "x");
    let step = bench.step_with(Some(&finished), &[running(scaled.clone(), FIRST)], 60);
    assert_eq!(step.memory, finished, "nothing is let go once there is a verdict");

    let step = bench.step(&[running(stranger.clone(), FIRST), running(worker(0), FIRST)], 60);
    assert!(!step.memory.roles.contains_key(&stranger.role));

    let last = Stamp {
        epoch: 0,
        attempt: Stamp::MOST,
    };
    let mut memory = begun(&bench);
    memory.role(&scaled.role).attempts.set(5, Stamp::MOST);
    let step = bench.step_with(Some(&memory), &[running(scaled.clone(), last)], 60);
    assert_eq!(step.memory.roles[&scaled.role].attempts.get(5), Stamp::MOST);
}

#[test]
fn the_task_that_used_up_the_budget_in_place_is_a_current_one_that_was_restarted() {
    let mut bench = Bench::workers(2);
    bench.job.limits.restarts = Some(0);
    bench.job.limits.count_in_place = true;
    let cause = |memory: &Memory, first: u32| {
        let mut seen = [running(worker(0), FIRST), running(worker(1), FIRST)];
        (seen[0].in_place, seen[1].in_place) = (first, 9);
        let step = bench.step_with(Some(memory), &seen, 60);
        step.memory.verdict.map(|verdict| verdict.cause)
    };
    let mut memory = begun(&bench);
    memory.role(&worker(1).role).attempts.set(1, 1);
    let task = Some(worker(0));
    assert_eq!(
        cause(&memory, 1),
        Some(Cause::Restarts { task }),
        "the other is stale"
    );
    memory.in_place_gone = 1;
    assert_eq!(cause(&memory, 0), Some(Cause::Restarts { task: None }));
}

#[test]
fn a_dead_instance_of_an_earlier_epoch_goes_at_once_unless_its_task_is_done() {
    let bench = Bench::workers(2);
    let mut memory = begun(&bench);
    memory.epoch = 1;
    let fourth = Stamp { epoch: 0, attempt: 3 };
    let dead = [ended(worker(1), fourth, 1, 58)];
    assert_eq!(stopped(&bench.step_with(Some(&memory), &dead, 60)), ["worker-1"]);
    memory.role(&worker(1).role).done.insert(1);
    assert!(
        stopped(&bench.step_with(Some(&memory), &dead, 60)).is_empty(),
        "its log is kept"
    );
}

#[test]
fn after_the_verdict_lives_that_are_not_the_last_one_stop_whatever_the_policy() {
    let mut bench = Bench::workers(1);
    bench.job.clean = Clean::None;
    let mut memory = with_verdict(&bench, "x");
    memory.role(&worker(0).role).attempts.set(0, 1);
    for (attempt, expected) in [(0, 1), (1, 0), (2, 1)] {
        let seen = [running(worker(0), Stamp { epoch: 0, attempt })];
        let step = bench.step_with(Some(&memory), &seen, 60);
        assert_eq!(stopped(&step).len(), expected, "attempt {attempt}");
    }
    let exceeded = with_verdict(&bench, NO_LIFE_LEFT);
    let step = bench.step_with(Some(&exceeded), &[running(worker(0), FIRST)], 60);
    assert_eq!(stopped(&step), ["worker-0"], "a bound was exceeded");
}

#[test]
fn nothing_is_told_of_a_step_in_which_nothing_happened() {
    let bench = Bench::workers(1);
    let seen = [running(worker(0), FIRST)];
    let memory = bench.step(&seen, 50).memory;
    let quiet = bench.step_with(Some(&memory), &seen, 60);
    assert_eq!((quiet.events, quiet.persist), (vec![], Persist::Nothing));
}

#[test]
fn an_abort_drops_the_wake_up_for_what_it_overrides() {
    let bench = down(Down::FirstStart, Then::Finish(Outcome::Failed)).failing_then(How::Failed, Then::Abort);
    let mut late = waiting(worker(1), FIRST);
    late.created = Time(40);
    let before = bench.step_with(Some(&begun(&bench)), &[late.clone()], 50);
    assert_eq!(before.wake, Some(Time(140)));
    let seen = [ended(worker(0), FIRST, 1, 5), late];
    let step = bench.step_with(Some(&before.memory), &seen, 60);
    assert_eq!(step.memory.held, Some(Hold::Aborted));
    assert_ne!(step.wake, Some(Time(140)));
}

#[test]
fn a_task_that_runs_has_not_been_rejected() {
    let bench = Bench::workers(1);
    let mut memory = begun(&bench);
    memory.role(&worker(0).role).rejections.set(0, 3);
    let step = bench.step_with(Some(&memory), &[running(worker(0), FIRST)], 60);
    assert_eq!(step.memory.roles[&worker(0).role].rejections.get(0), 0);
}

#[test]
fn a_life_that_waited_is_counted_as_starting_until_the_job_is_held() {
    let mut bench = down(Down::FirstStart, FREE);
    let seen = [waiting(worker(0), FIRST)];
    let step = bench.step_with(Some(&begun(&bench)), &seen, 120);
    let role = &step.memory.roles[&worker(0).role];
    assert_eq!((role.attempts.get(0), role.starting_since.get(0)), (1, 1));
    bench.job.suspend = true;
    let held = bench.step_with(Some(&step.memory), &[], 130).memory;
    assert!(held.roles[&worker(0).role].starting_since.is_empty());
}

#[test]
fn shared_objects_stay_while_they_are_used_and_with_everything_else_of_a_finished_job() {
    let live = [running(worker(0), FIRST)];
    let dead = [ended(worker(0), FIRST, 1, 40)];
    let rows = [
        (Clean::None, true, &dead, false),
        (Clean::None, false, &dead, true),
        (Clean::All, true, &dead, true),
        (Clean::Unfinished, true, &live, false),
    ];
    for (clean, finished, seen, removed) in rows {
        let mut bench = Bench::workers(1);
        bench.job.clean = clean;
        bench.job.suspend = !finished;
        let memory = if finished {
            with_verdict(&bench, "x")
        } else {
            begun(&bench)
        };
        let observed = Observed {
            fixtures: vec![(Fixture::Addresses, OURS)],
            ..observed(seen)
        };
        let step = bench.look(Some(&memory), &observed, 60);
        let removes = step.actions.contains(&Action::Remove(Fixture::Addresses));
        assert_eq!(removes, removed, "{clean:?} finished: {finished}");
    }
}

#[test]
fn all_of_one_task_is_that_task() {
    let mut bench = Bench::workers(2);
    let first = Who::task(&worker(0).role, 0);
    bench.job.rules[0] = count(
        first,
        Settled::Succeeded,
        Test::All,
        Then::Finish(Outcome::Succeeded),
    );
    let step = bench.step(&[ended(worker(0), FIRST, 0, 5), running(worker(1), FIRST)], 60);
    assert_eq!(step.memory.verdict.unwrap().outcome, Outcome::Succeeded);
}

#[test]
fn a_task_is_down_since_its_first_life_that_did_not_run() {
    let fails = Then::Finish(Outcome::Failed);
    let mut second = waiting(worker(0), Stamp { epoch: 0, attempt: 1 });
    second.created = Time(150);
    let rows = [(Down::Again, true), (Down::FirstStart, false)];
    for (why, ends) in rows {
        let bench = down(why, fails.clone());
        let mut memory = begun(&bench);
        let role = memory.role(&worker(0).role);
        role.attempts.set(0, 1);
        role.starting_since.set(0, 1);
        for seen in [vec![], vec![second.clone()]] {
            let step = bench.step_with(Some(&memory), &seen, 200);
            assert_eq!(step.memory.verdict.is_some(), ends, "{why:?} {seen:?}");
        }
    }
    let bench = down(Down::Failed, fails);
    let mut memory = begun(&bench);
    memory.role(&worker(0).role).failed.insert(0);
    let dead = [ended(worker(0), FIRST, 1, 5)];
    assert!(
        bench
            .step_with(Some(&memory), &dead, 200)
            .memory
            .verdict
            .is_some()
    );
}

#[test]
fn orders_that_do_not_fit_the_state_of_the_job_change_nothing() {
    let mut bench = Bench::workers(1);
    let given = |what: Ordered| Observed {
        orders: vec![Order { id: "a".into(), what }],
        ..observed(&[running(worker(0), FIRST)])
    };
    let step = bench.look(Some(&begun(&bench)), &given(Ordered::Resume { paid: true }), 60);
    assert_eq!((step.memory.paid, step.memory.started), (0, Some(Time(1))));
    assert!(!step.events.contains(&Event::Resumed), "it was not aborted");
    bench.job.suspend = true;
    let held = bench.step_with(Some(&begun(&bench)), &[], 20).memory;
    let restart = given(Ordered::RestartJob { paid: true });
    let step = bench.look(Some(&held), &restart, 60);
    assert_eq!(
        (step.memory.epoch, step.memory.paid),
        (held.epoch, 0),
        "it is suspended"
    );
}

#[test]
fn what_was_refused_is_tried_again_in_the_second_that_was_named() {
    let bench = Bench::workers(1);
    for (until, creates) in [(60, 1), (61, 0)] {
        let observed = Observed {
            refused: Some(Refusal { until: Time(until) }),
            ..observed(&[])
        };
        let step = bench.look(Some(&begun(&bench)), &observed, 60);
        let made = step.actions.iter().filter(|action| action.makes()).count();
        assert_eq!(made, creates, "until {until}");
    }
    let nothing_to_make = Observed {
        refused: Some(Refusal { until: Time(90) }),
        ..observed(&[running(worker(0), FIRST)])
    };
    let step = bench.look(Some(&begun(&bench)), &nothing_to_make, 60);
    assert_eq!((step.put_off, step.wake), (0, None));
}

#[test]
fn a_clock_behind_memory_stores_a_success_at_once() {
    let bench = Bench::workers(2);
    let mut memory = begun(&bench);
    memory.started = Some(Time(100));
    memory.note_beginning(&bench.job);
    memory.role(&worker(0).role).born = 2;
    let seen = [running(worker(0), FIRST), ended(worker(1), FIRST, 0, 100)];
    let persist = |now: u64| bench.step_with(Some(&memory), &seen, now).persist;
    assert_eq!(
        (persist(101), persist(90)),
        (Persist::By(Time(102)), Persist::Before)
    );
}

#[test]
fn lost_memory_counts_each_life_of_each_task_of_the_job_once() {
    let bench = Bench::workers(1);
    let life = |index: u32, attempt: u32| running(worker(index), Stamp { epoch: 0, attempt });
    assert_eq!(
        bench.step(&[life(0, 0), life(1, 5)], 60).memory.paid,
        0,
        "another task"
    );
    assert_eq!(bench.step(&[life(0, 1), life(0, 3)], 60).memory.paid, 3);
}

#[test]
fn the_first_failure_in_place_is_one_of_a_current_life() {
    let bench = Bench::workers(1);
    let first = |attempt: u32, code: i32| {
        let mut memory = begun(&bench);
        memory.role(&worker(0).role).attempts.set(0, attempt);
        let mut seen = running(worker(0), FIRST);
        seen.last = Some(Exit {
            code: Some(code),
            at: Time(5),
            ..Exit::default()
        });
        bench.step_with(Some(&memory), &[seen], 60).memory.first_failure
    };
    assert_eq!(
        (first(1, 1), first(0, 0)),
        (None, None),
        "of a stale life; no failure"
    );
    assert!(first(0, 1).is_some());
}

#[test]
fn a_role_is_born_when_each_of_its_tasks_was_seen_and_one_without_tasks_is_not_remembered() {
    let mut bench = Bench::workers(2);
    bench.job.roles.push(role("ps", RoleKind::Ps, 0));
    let mut memory = begun(&bench);
    memory.role(&worker(0).role).attempts.set(1, 1);
    let memory = bench
        .step_with(Some(&memory), &[running(worker(0), FIRST)], 60)
        .memory;
    assert_eq!(memory.roles[&worker(0).role].born, 2);
    assert!(!memory.roles.contains_key(&ps(0).role));
}

#[test]
fn the_addresses_of_a_job_that_runs_or_has_ended_stay_as_they_were() {
    let mut bench = Bench::workers(1);
    let (running, finished) = (begun(&bench), with_verdict(&bench, "x"));
    bench.job.addresses = Addresses::PerReplica;
    for memory in [running, finished] {
        let after = bench.step_with(Some(&memory), &[], 60).memory;
        assert_eq!(after.form, memory.form);
    }
    let mut suspended = begun(&bench);
    suspended.held = Some(Hold::Suspended);
    for memory in [suspended, bench.memory()] {
        let after = bench.step_with(Some(&memory), &[], 60).memory;
        assert_eq!(
            after.form,
            Some(AddressForm::PerReplica),
            "it begins, or begins again"
        );
    }
}
