//! Restarting means moving stamps: of a task, of roles, or of the whole job as a new epoch.
//!
//! Nothing is killed or created here. What carries an older stamp is stopped by the difference that follows, and
//! an end that is seen again later carries a stamp that is no longer current.

use super::{StepContext, backoff, bounds, failed_starts};
use crate::job::RoleName;
use crate::observed::{Exit, Stamp};
use crate::rule::Scope;
use crate::step::Event;
use crate::time::Time;

/// Why something is restarted.
#[derive(Default)]
pub struct Reason<'a> {
    /// The task whose end or state asks for it, by role position and index.
    pub task: Option<(usize, u32)>,
    /// How it ended, if it did and that was seen.
    pub exit: Option<&'a Exit>,
    /// The rule's position; none for an order.
    pub rule: Option<u16>,
    pub paid: bool,
}

/// Moves the stamps of `scope` and pays for it. Where a stamp cannot move any more, the job fails.
pub fn restart(ctx: &mut StepContext, scope: &Scope, reason: &Reason) {
    if !can_move(ctx, scope, reason) {
        return bounds::exceeded(ctx, bounds::NO_LIFE_LEFT);
    }
    if reason.paid {
        ctx.memory.paid = ctx.memory.paid.saturating_add(1);
    }
    let not_before = match scope {
        Scope::Task => restart_tasks(ctx, &[], reason),
        Scope::Roles(roles) => restart_tasks(ctx, roles, reason),
        Scope::Job => {
            ctx.memory.rounds = ctx.memory.rounds.saturating_add(1);
            count_all(ctx);
            carry_attempts(ctx);
            let wait = backoff::wait_after(ctx, reason.exit, 0);
            new_epoch(ctx, Keep::Nothing);
            hold_until(ctx, reason.exit, wait)
        }
    };
    ctx.events.push(Event::Restarting {
        scope: scope.clone(),
        task: reason.task.map(|(role, index)| ctx.task(role, index)),
        rule: reason.rule,
        paid: reason.paid,
        not_before,
    });
}

/// Every task is started again.
fn count_all(ctx: &mut StepContext) {
    for role in &ctx.job.roles {
        let memory = ctx.memory.role(&role.name);
        memory.restarts = memory.restarts.saturating_add(role.replicas);
    }
}

/// Attempts begin at 0 in the new epoch; the waits must not, or a job that restarts as a whole every now and then would make
/// lives in a hot loop between.
fn carry_attempts(ctx: &mut StepContext) {
    let roles = ctx.memory.roles.values();
    let most = roles.map(|role| role.attempts.most()).max().unwrap_or(0);
    ctx.memory.attempts_before = ctx.memory.attempts_before.saturating_add(most);
}

/// What a new epoch keeps of the old one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Everything runs again.
    Nothing,
    /// What has succeeded stays done.
    Done,
    /// What has ended, well or badly, stays ended.
    Ended,
}

/// Opens a new epoch: every instance there is belongs to an older life from now on.
pub fn new_epoch(ctx: &mut StepContext, keep: Keep) {
    for role in 0..ctx.job.roles.len() {
        for index in 0..ctx.job.roles[role].replicas {
            fold_in_place(ctx, role, index);
            failed_starts::note_end(ctx, role, index);
        }
    }
    let Some(epoch) = next_epoch(ctx) else { return };
    ctx.memory.epoch = epoch;
    for memory in ctx.memory.roles.values_mut() {
        memory.attempts.clear();
        memory.born = 0;
        if keep != Keep::Ended {
            memory.failed.clear();
        }
        if keep == Keep::Nothing {
            memory.done.clear();
        }
    }
}

/// The epoch after this one: past everything visible, also what memory knows nothing of, so that no instance can find itself
/// current again. None where no stamp is left.
pub fn next_epoch(ctx: &StepContext) -> Option<u32> {
    let possible = ctx.view.all().map(|seen| seen.stamp);
    let seen = possible
        .filter(|stamp| stamp.is_possible())
        .map(|stamp| stamp.epoch);
    let newest = seen.fold(ctx.memory.epoch, u32::max);
    newest.checked_add(1).filter(|epoch| *epoch <= Stamp::MOST)
}

/// The attempt after the current one of a task, past everything visible; none where no stamp is left.
fn next_attempt(ctx: &StepContext, role: usize, index: u32) -> Option<u32> {
    let Stamp { epoch, attempt } = ctx.memory.stamp_of(&ctx.job.roles[role].name, index);
    let seen = ctx.view.instances(role, index).iter().map(|seen| seen.stamp);
    let seen = seen.filter(|stamp| stamp.epoch == epoch && stamp.is_possible());
    let newest = seen.map(|stamp| stamp.attempt).fold(attempt, u32::max);
    newest.checked_add(1).filter(|attempt| *attempt <= Stamp::MOST)
}

/// Whether every stamp of `scope` can be moved.
fn can_move(ctx: &StepContext, scope: &Scope, reason: &Reason) -> bool {
    let can = |roles: &[RoleName]| {
        let mut tasks = tasks_of(ctx, roles, reason).into_iter();
        tasks.all(|(role, index)| next_attempt(ctx, role, index).is_some())
    };
    match scope {
        Scope::Task => can(&[]),
        Scope::Roles(roles) => can(roles),
        Scope::Job => next_epoch(ctx).is_some(),
    }
}

/// All tasks of these roles, and the one that asked for the restart: its end would be answered for ever if it stayed behind.
fn tasks_of(ctx: &StepContext, roles: &[RoleName], reason: &Reason) -> Vec<(usize, u32)> {
    let inside = |role: usize| roles.contains(&ctx.job.roles[role].name);
    let asked = reason.task.filter(|(role, _)| !inside(*role));
    let all = (0..ctx.job.roles.len()).filter(|role| inside(*role));
    let all = all.flat_map(|role| (0..ctx.job.roles[role].replicas).map(move |index| (role, index)));
    all.chain(asked).collect()
}

/// Moves the stamps of these roles' tasks, and of the one that asked for it; until when they wait.
fn restart_tasks(ctx: &mut StepContext, roles: &[RoleName], reason: &Reason) -> Time {
    let tasks = tasks_of(ctx, roles, reason);
    let moved = tasks.iter().map(|&(role, index)| move_on(ctx, role, index));
    let Some(most) = moved.max() else { return ctx.now };
    let wait = backoff::wait_after(ctx, reason.exit, most);
    let until = until(ctx, reason.exit, wait);
    for task in tasks {
        hold_task_until(ctx, task, until);
    }
    until
}

/// Moves the stamp of one task; its attempt from now on.
fn move_on(ctx: &mut StepContext, role: usize, index: u32) -> u32 {
    fold_in_place(ctx, role, index);
    failed_starts::note_end(ctx, role, index);
    let next = next_attempt(ctx, role, index);
    let memory = ctx.memory.role(&ctx.job.roles[role].name);
    let attempt = next.unwrap_or_else(|| memory.attempts.get(index));
    memory.attempts.set(index, attempt);
    memory.restarts = memory.restarts.saturating_add(1);
    memory.done.remove(index);
    memory.failed.remove(index);
    attempt
}

/// When the wait is over, counted from the end that asked for it.
fn until(ctx: &StepContext, exit: Option<&Exit>, wait: u32) -> Time {
    ctx.clamp(exit.map_or(ctx.now, |exit| exit.at)) + wait
}

/// Nothing of the job is created before the wait is over.
fn hold_until(ctx: &mut StepContext, exit: Option<&Exit>, wait: u32) -> Time {
    let until = until(ctx, exit, wait);
    if until > ctx.now {
        ctx.memory.not_before = ctx.memory.not_before.max(until);
    }
    until
}

/// This task is not created before; the others do not wait for it.
fn hold_task_until(ctx: &mut StepContext, (role, index): (usize, u32), until: Time) {
    let seconds = if until > ctx.now { until.in_runs() } else { 0 };
    let memory = ctx.memory.role(&ctx.job.roles[role].name);
    memory.not_before.set(index, seconds);
}

/// Saves the in-place count of an instance that is about to become stale; each is folded once, when its stamp moves.
fn fold_in_place(ctx: &mut StepContext, role: usize, index: u32) {
    let count = ctx.current(role, index).map_or(0, |seen| seen.in_place);
    ctx.memory.in_place_gone = ctx.memory.in_place_gone.saturating_add(count);
    ctx.memory.in_place_most = ctx.memory.in_place_most.max(ctx.memory.in_place_gone);
}

#[cfg(test)]
mod tests {
    use crate::policy::testing::{Bench, ended, ps, running, worker};
    use crate::{Action, Event, How, RoleName, Scope, Stamp, Then, Time};

    const FIRST: Stamp = Stamp { epoch: 0, attempt: 0 };

    fn bench(scope: Scope) -> Bench {
        Bench::workers(3).failing_then(How::Failed, Then::Restart { scope, paid: true })
    }

    #[test]
    fn a_task_restarts_alone_and_its_peers_live_on() {
        let bench = bench(Scope::Task);
        let seen = [
            running(worker(0), FIRST),
            ended(worker(1), FIRST, 137, 5),
            running(worker(2), FIRST),
        ];
        let step = bench.step(&seen, 100);
        assert_eq!(step.memory.stamp(&worker(1)), Stamp { epoch: 0, attempt: 1 });
        assert_eq!(step.memory.stamp(&worker(0)), FIRST);
        assert_eq!(step.memory.paid, 1);
    }

    #[test]
    fn a_new_life_is_newer_than_every_one_that_is_visible() {
        let bench = bench(Scope::Task);
        let strange = Stamp { epoch: 0, attempt: 3 };
        let seen = [ended(worker(1), FIRST, 137, 5), ended(worker(1), strange, 1, 6)];
        let step = bench.step_with(Some(&bench.memory()), &seen, 100);
        assert_eq!(step.memory.stamp(&worker(1)), Stamp { epoch: 0, attempt: 4 });
    }

    #[test]
    fn the_whole_job_restarts_as_one_epoch_however_many_died() {
        let bench = bench(Scope::Job);
        let seen = [
            running(worker(0), FIRST),
            ended(worker(1), FIRST, 137, 5),
            ended(worker(2), FIRST, 1, 6),
        ];
        let step = bench.step(&seen, 100);
        assert_eq!(
            (step.memory.epoch, step.memory.paid, step.memory.rounds),
            (1, 1, 1)
        );
        let restarts = step
            .events
            .iter()
            .filter(|event| matches!(event, Event::Restarting { .. }))
            .count();
        assert_eq!(restarts, 1);
        assert!(
            !step
                .actions
                .iter()
                .any(|action| matches!(action, Action::Create { .. })),
            "the old epoch still lives"
        );
        let stops = step
            .actions
            .iter()
            .filter(|action| matches!(action, Action::Stop { .. }))
            .count();
        assert_eq!(stops, 3);
    }

    #[test]
    fn roles_restart_together_the_succeeded_ones_too() {
        let roles = Scope::Roles(vec![worker(0).role]);
        let bench = bench(roles);
        let mut memory = bench.memory();
        memory.role(&worker(2).role).done.insert(2);
        let seen = [
            running(worker(0), FIRST),
            ended(worker(1), FIRST, 1, 5),
            ended(worker(2), FIRST, 0, 3),
        ];
        let step = bench.step_with(Some(&memory), &seen, 100);
        for index in 0..3 {
            assert_eq!(step.memory.stamp(&worker(index)).attempt, 1);
        }
        assert!(!step.memory.is_done(&worker(2)));
    }

    #[test]
    fn a_task_whose_end_restarts_other_roles_comes_along_and_its_peers_do_not() {
        let scope = Scope::Roles(vec![RoleName::new("ps")]);
        let bench =
            Bench::ps_and_workers(1, 2).failing_then(How::Failed, Then::Restart { scope, paid: true });
        let seen = [
            running(ps(0), FIRST),
            running(worker(0), FIRST),
            ended(worker(1), FIRST, 1, 5),
        ];
        let step = bench.step(&seen, 100);
        let attempts = [ps(0), worker(0), worker(1)].map(|task| step.memory.stamp(&task).attempt);
        assert_eq!((attempts, step.memory.paid), ([1, 0, 1], 1));
    }

    #[test]
    fn in_place_counts_survive_the_instance() {
        let mut bench = bench(Scope::Task);
        bench.job.limits.count_in_place = true;
        let mut seen = ended(worker(1), FIRST, 1, 5);
        seen.in_place = 2;
        let step = bench.step(&[seen], 100);
        assert_eq!((step.memory.in_place_gone, step.memory.in_place_most), (2, 2));
        let later = bench.step_with(Some(&step.memory), &[], 200);
        assert_eq!(later.memory.in_place_most, 2);
    }

    #[test]
    fn a_task_waits_whatever_becomes_of_its_corpse_and_its_peers_do_not() {
        let bench = bench(Scope::Task);
        let mut memory = bench.memory();
        memory.role(&worker(1).role).attempts.set(1, 1);
        let dead = ended(worker(1), Stamp { epoch: 0, attempt: 1 }, 1, 95);
        let (mut told, mut lingers) = (dead.clone(), dead.clone());
        told.stopping = Some(Time(90));
        lingers.lingers = true;
        for seen in [dead, told, lingers] {
            let answered = bench.step_with(Some(&memory), &[seen], 100).memory;
            assert_eq!(answered.not_before, Time(0), "the others do not wait");
            let created = |at| {
                let step = bench.step_with(Some(&answered), &[], at);
                let create = |action: &Action| match action {
                    Action::Create { task, .. } => Some(task.index),
                    _ => None,
                };
                (
                    step.actions.iter().filter_map(create).collect::<Vec<_>>(),
                    step.wake,
                )
            };
            assert_eq!(created(104), (vec![0, 2], Some(Time(105))));
            assert_eq!(created(105).0, [0, 1, 2]);
            let up = running(worker(1), Stamp { epoch: 0, attempt: 2 });
            let up = bench.step_with(Some(&answered), &[up], 106).memory;
            assert!(
                up.roles[&worker(1).role].not_before.is_empty(),
                "kept no longer than needed"
            );
        }
    }

    #[test]
    fn a_whole_restart_waits_from_the_end_that_asked_for_it() {
        let bench = bench(Scope::Job);
        let first = bench.step(&[ended(worker(1), FIRST, 137, 95)], 100);
        assert_eq!(first.memory.not_before, Time(0), "the first one comes at once");
        let again = Stamp { epoch: 1, attempt: 0 };
        let seen = [ended(worker(1), again, 137, 195)];
        let second = bench.step_with(Some(&first.memory), &seen, 200);
        assert_eq!(second.memory.not_before, Time(205));
    }

    #[test]
    fn waits_go_on_over_a_restart_of_the_whole_job() {
        let bench = bench(Scope::Job);
        let mut memory = bench.memory();
        memory.role(&worker(1).role).attempts.set(1, 3);
        let seen = [ended(worker(1), Stamp { epoch: 0, attempt: 3 }, 137, 100)];
        let step = bench.step_with(Some(&memory), &seen, 101);
        assert_eq!((step.memory.rounds, step.memory.attempts_before), (1, 3));
        assert_eq!(
            step.memory.not_before,
            Time(140),
            "the fourth restart of that task"
        );
    }

    /// A pod's annotation is its owner's to write: `trainyard.dev/stamp: 4294967295.0` on a peer made `judge` loop for ever,
    /// because an epoch that saturates does not move.
    #[test]
    fn a_forged_stamp_neither_stops_deciding_nor_enters_memory() {
        for (epoch, attempt) in [(u32::MAX, 0), (0, u32::MAX), (u32::MAX, u32::MAX)] {
            for scope in [Scope::Job, Scope::Task, Scope::Roles(vec![worker(0).role])] {
                let mut bench = bench(scope.clone());
                bench.job.limits.restarts = None;
                let forged = running(worker(0), Stamp { epoch, attempt });
                let seen = [forged, ended(worker(1), FIRST, 137, 5)];
                let step = bench.step(&seen, 100);
                let stops =
                    |action: &Action| matches!(action, Action::Stop { task, .. } if *task == worker(0));
                assert!(step.actions.iter().any(stops), "what was forged is not wanted");
                assert_eq!(step.memory.verdict, None, "{scope:?}");
                assert!(step.memory.epoch <= 1 && step.memory.stamp(&worker(1)).attempt <= 1);
                assert!(step.events.len() < 5, "{:?}", step.events);
            }
        }
    }

    #[test]
    fn a_job_whose_stamps_are_used_up_fails_and_says_so() {
        let last = Stamp::MOST;
        for (scope, epoch, attempt) in [(Scope::Job, last, 0), (Scope::Task, 0, last)] {
            let bench = bench(scope);
            let mut memory = bench.memory();
            memory.epoch = epoch;
            memory.role(&worker(1).role).attempts.set(1, attempt);
            let seen = [ended(worker(1), Stamp { epoch, attempt }, 137, 5)];
            let verdict = bench.step_with(Some(&memory), &seen, 100).memory.verdict.unwrap();
            let cause = format!("{:?}", verdict.cause);
            assert!(cause.contains("at most 1000000 lives"), "{cause}");
        }
    }
}
