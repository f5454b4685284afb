//! Gangs by scheduling gates: tasks are created behind a gate and let go when it is their gang's turn.
//!
//! Whose turn it is, [`gates`](crate::gates) says, and the world hands that in as [`GangSeen`]. Here is what follows for one job: gates are taken
//! away in its turn, and a gang of which not enough was placed is rolled back as a new epoch, which costs nothing. A gang that was
//! placed once in an epoch is not rolled back in it: what it loses is placed singly, since the others may go on without it.

use super::restart::{new_epoch, next_epoch};
use super::suspend::kept;
use super::{StepContext, backoff, bounds, failed_starts};
use crate::gates::{Members, is_gated};
use crate::job::Job;
use crate::memory::Hold;
use crate::observed::{GangSeen, Placement, Seen, TaskSeen};
use crate::step::{Action, Event};
use crate::time::Time;

/// Notes that enough of the gang have nodes.
pub fn note_placed(ctx: &mut StepContext) {
    let epoch = Some(ctx.memory.epoch);
    if !is_gated(ctx.job) || !ctx.is_active() || ctx.memory.gates.placed == epoch {
        return;
    }
    if Members::of(ctx.job, &ctx.memory, &ctx.view).are_placed() {
        ctx.memory.gates.placed = epoch;
        ctx.memory.gates.times = 0;
    }
}

/// Gives the room back of a gang whose turn is over. What it kills is never judged, and nothing is paid for.
pub fn roll_back(ctx: &mut StepContext) {
    let epoch = ctx.memory.epoch;
    let over = ctx.observed.gang == GangSeen::Expired { epoch } && is_gated(ctx.job);
    if !over || ctx.memory.gates.placed == Some(epoch) {
        return;
    }
    let members = Members::of(ctx.job, &ctx.memory, &ctx.view);
    // A turn is about members that can be seen, and never about those of an epoch to come.
    if members.are_placed() || members.gated + members.unplaced + members.placed == 0 {
        return;
    }
    if next_epoch(ctx).is_none() {
        return bounds::exceeded(ctx, bounds::NO_LIFE_LEFT);
    }
    new_epoch(ctx, kept(ctx, Hold::Suspended));
    failed_starts::forget(ctx);
    let gates = &mut ctx.memory.gates;
    gates.rolled_back = Some(ctx.now);
    gates.times = gates.times.saturating_add(1);
    // One that is alone in its pool would otherwise take room and give it back for ever, one time after the other.
    let wait = backoff::wait_before(&ctx.job.limits.wait, None, gates.times.saturating_add(1));
    let not_before = ctx.now + wait;
    if wait > 0 {
        ctx.memory.not_before = ctx.memory.not_before.max(not_before);
    }
    ctx.events.push(Event::RolledBack { not_before });
}

/// Takes the gates away while it is the gang's turn.
pub fn ungates(ctx: &mut StepContext) {
    if !is_gated(ctx.job) || !ctx.is_active() || ctx.observed.gang != GangSeen::Open {
        return;
    }
    let gated = |seen: &&TaskSeen| {
        seen.placement == Placement::Gated
            && seen.state == Seen::Waiting
            && seen.stopping.is_none()
            && seen.stamp == ctx.memory.stamp(&seen.id)
            && !ctx.settled(&seen.id.role, seen.id.index)
    };
    let ungate = |seen: &TaskSeen| Action::Ungate {
        task: seen.id.clone(),
        instance: seen.instance.clone(),
    };
    let actions: Vec<Action> = ctx.view.inside().filter(gated).map(ungate).collect();
    ctx.actions.extend(actions);
}

/// Since when an instance that does not run has been trying to start; none while it waits for the turn of its gang.
pub fn starts(job: &Job, seen: &TaskSeen) -> Option<Time> {
    match seen.placement {
        _ if !is_gated(job) => Some(seen.created),
        Placement::Placed(since) => Some(since.unwrap_or_default().max(seen.created)),
        Placement::Gated | Placement::Blocked | Placement::Unplaced => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::testing::{self, Bench, ended, observed, running, waiting, worker};
    use crate::{
        Down, Gang, GangScheduler, How, Memory, Observed, Outcome, Scope, Stamp, Step, Then, When, Who,
    };

    const FIRST: Stamp = Stamp { epoch: 0, attempt: 0 };

    fn bench(workers: u32, members: u32) -> Bench {
        let mut bench = Bench::workers(workers);
        bench.job.gang = Some(Gang {
            scheduler: GangScheduler::Gates,
            members,
            ..testing::gang()
        });
        bench
    }

    fn at(placement: Placement, mut seen: TaskSeen) -> TaskSeen {
        seen.placement = placement;
        seen
    }

    fn gated(index: u32) -> TaskSeen {
        at(Placement::Gated, waiting(worker(index), FIRST))
    }

    fn look(bench: &Bench, memory: &Memory, gang: GangSeen, tasks: &[TaskSeen], now: u64) -> Step {
        let observed = Observed {
            gang,
            ..observed(tasks)
        };
        bench.look(Some(memory), &observed, now)
    }

    fn ungated(step: &Step) -> Vec<String> {
        let task = |action: &Action| match action {
            Action::Ungate { task, .. } => Some(task.to_string()),
            _ => None,
        };
        step.actions.iter().filter_map(task).collect()
    }

    #[test]
    fn gates_go_in_the_gangs_turn_and_not_before() {
        let bench = bench(4, 4);
        let mut stopping = gated(2);
        stopping.stopping = Some(Time(9));
        let mut stale = gated(3);
        stale.stamp.attempt = 1;
        let mut memory = bench.memory();
        memory.role(&worker(3).role).attempts.set(3, 2);
        let tasks = [
            gated(0),
            at(Placement::Blocked, waiting(worker(1), FIRST)),
            stopping,
            stale,
        ];
        for (gang, expected) in [
            (GangSeen::Held, &[][..]),
            (GangSeen::NotNeeded, &[]),
            (GangSeen::Open, &["worker-0"]),
        ] {
            assert_eq!(
                ungated(&look(&bench, &memory, gang, &tasks, 10)),
                expected,
                "{gang:?}"
            );
        }
        let mut suspended = bench;
        suspended.job.suspend = true;
        assert!(ungated(&look(&suspended, &memory, GangSeen::Open, &tasks, 10)).is_empty());
    }

    #[test]
    fn a_turn_that_is_over_opens_an_epoch_that_costs_nothing_and_waits_longer_each_time() {
        let fails = Then::Finish(Outcome::Failed);
        let bench = bench(2, 2).failing_then(How::Failed, fails);
        let half = |epoch: u32| {
            let stamp = Stamp { epoch, attempt: 0 };
            // What has failed since, without its peers, is not judged.
            [
                ended(worker(0), stamp, 1, 9),
                at(Placement::Unplaced, waiting(worker(1), stamp)),
            ]
        };
        let mut memory = bench.memory();
        memory.started = Some(Time(1));
        for (epoch, wait) in [(0, 10), (1, 20), (2, 40)] {
            let step = look(&bench, &memory, GangSeen::Expired { epoch }, &half(epoch), 100);
            assert_eq!((step.memory.epoch, step.memory.paid), (epoch + 1, 0));
            assert_eq!(step.memory.verdict, None);
            assert_eq!(step.memory.gates.rolled_back, Some(Time(100)));
            assert_eq!(step.memory.not_before, Time(100 + wait));
            let again = look(
                &bench,
                &step.memory,
                GangSeen::Expired { epoch },
                &half(epoch),
                100,
            );
            assert_eq!(again.memory, step.memory, "it is rolled back once");
            memory = step.memory;
        }
    }

    #[test]
    fn a_gang_that_was_placed_in_its_epoch_is_not_rolled_back() {
        let bench = bench(3, 2);
        let expired = GangSeen::Expired { epoch: 0 };
        let two = [
            running(worker(0), FIRST),
            running(worker(1), FIRST),
            at(Placement::Unplaced, waiting(worker(2), FIRST)),
        ];
        let memory = look(&bench, &bench.memory(), GangSeen::Open, &two, 10).memory;
        assert_eq!((memory.gates.placed, memory.gates.times), (Some(0), 0));
        assert_eq!(look(&bench, &bench.memory(), expired, &two, 10).memory.epoch, 0);
        // One of them is lost later.
        assert_eq!(look(&bench, &memory, expired, &two[1..], 20).memory.epoch, 0);
        let one = [two[0].clone()];
        assert_eq!(look(&bench, &bench.memory(), expired, &one, 20).memory.epoch, 1);
    }

    #[test]
    fn what_is_done_stays_done_unless_the_job_restarts_as_a_whole() {
        for (scope, keeps) in [(Scope::Task, true), (Scope::Job, false)] {
            let again = Then::Restart { scope, paid: true };
            let bench = bench(3, 3).failing_then(How::Failed, again);
            let mut memory = bench.memory();
            memory.role(&worker(0).role).done.insert(0);
            let one = [at(Placement::Unplaced, waiting(worker(1), FIRST))];
            let step = look(&bench, &memory, GangSeen::Expired { epoch: 0 }, &one, 20);
            assert_eq!((step.memory.epoch, step.memory.is_done(&worker(0))), (1, keeps));
        }
    }

    #[test]
    fn a_start_is_late_by_the_time_since_it_was_placed() {
        let mut bench = bench(1, 1);
        let when = When::Down {
            who: Who::any(),
            why: vec![Down::FirstStart],
        };
        let mut rule = testing::rule(when, Then::Finish(Outcome::Failed));
        rule.held = 30;
        bench.job.rules.push(rule);
        let failed = |placement: Placement| {
            let seen = [at(placement, waiting(worker(0), FIRST))];
            let step = look(&bench, &bench.memory(), GangSeen::Open, &seen, 100);
            step.memory.verdict.is_some()
        };
        assert!(!failed(Placement::Gated) && !failed(Placement::Unplaced));
        assert!(!failed(Placement::Placed(Some(Time(71)))));
        assert!(failed(Placement::Placed(Some(Time(70)))));
        assert!(failed(Placement::Placed(None)), "since it was created");
    }

    #[test]
    fn a_held_job_is_not_rolled_back() {
        let mut bench = bench(1, 1);
        bench.job.suspend = true;
        let seen = [at(Placement::Unplaced, waiting(worker(0), FIRST))];
        let mut memory = bench.memory();
        memory.held = Some(Hold::Suspended);
        let step = look(&bench, &memory, GangSeen::Expired { epoch: 0 }, &seen, 10);
        assert_eq!((step.memory.epoch, step.memory.gates.times), (0, 0));
    }
}
