//! Restarting means moving stamps: of a task, of roles, or of the whole job as a new epoch.
//!
//! Nothing is killed or created here. What carries an older stamp is stopped by the difference that follows, and
//! an end that is seen again later carries a stamp that is no longer current.

use super::{Turn, backoff};
use crate::job::RoleName;
use crate::observed::Exit;
use crate::rule::Scope;
use crate::step::Event;
use crate::time::Time;

/// Why something is restarted.
pub struct Reason<'a> {
    /// The task whose end or state asks for it, by role position and index.
    pub task: Option<(usize, u32)>,
    /// How it ended, if it did and somebody saw.
    pub exit: Option<&'a Exit>,
    /// The rule's position; none for an order.
    pub rule: Option<u16>,
    pub paid: bool,
}

/// Moves the stamps of `scope` and pays for it.
pub fn restart(turn: &mut Turn, scope: &Scope, reason: &Reason) {
    if reason.paid {
        turn.memory.paid = turn.memory.paid.saturating_add(1);
    }
    let not_before = match scope {
        Scope::Task => restart_task(turn, reason),
        Scope::Roles(roles) => restart_roles(turn, roles, reason),
        Scope::Job => {
            turn.memory.rounds = turn.memory.rounds.saturating_add(1);
            let wait = backoff::wait_after(turn, reason.exit, turn.memory.rounds);
            new_epoch(turn, Keep::Nothing);
            hold_until(turn, reason.exit, wait)
        }
    };
    turn.events.push(Event::Restarting {
        scope: scope.clone(),
        task: reason.task.map(|(role, index)| turn.task(role, index)),
        rule: reason.rule,
        paid: reason.paid,
        not_before,
    });
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
pub fn new_epoch(turn: &mut Turn, keep: Keep) {
    for role in 0..turn.job.roles.len() {
        for index in 0..turn.job.roles[role].replicas {
            fold_in_place(turn, role, index);
        }
    }
    // Past everything visible, also what memory knows nothing of: no instance may find itself current again.
    let newest = turn.view.all().map(|seen| seen.stamp.epoch);
    let newest = newest.fold(turn.memory.epoch, u32::max);
    turn.memory.epoch = newest.saturating_add(1);
    for memory in turn.memory.roles.values_mut() {
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

fn restart_task(turn: &mut Turn, reason: &Reason) -> Time {
    let Some((role, index)) = reason.task else {
        return turn.now;
    };
    // One that somebody has told to stop goes as soon as it has ended, and takes its wait along.
    let corpse_stays = turn
        .current(role, index)
        .is_some_and(|seen| matches!(seen.state, crate::Seen::Ended(_)) && seen.stopping.is_none());
    let attempt = next_attempt(turn, role, index);
    let wait = backoff::wait_after(turn, reason.exit, attempt);
    if corpse_stays {
        // The dead instance stays until its wait is over: its logs can be read, and no memory is needed.
        return turn.clamp(reason.exit.map_or(turn.now, |exit| exit.at)) + wait;
    }
    hold_until(turn, reason.exit, wait)
}

fn restart_roles(turn: &mut Turn, roles: &[RoleName], reason: &Reason) -> Time {
    let job = turn.job;
    let mut most = 0;
    for (position, role) in job
        .roles
        .iter()
        .enumerate()
        .filter(|(_, role)| roles.contains(&role.name))
    {
        for index in 0..role.replicas {
            most = most.max(next_attempt(turn, position, index));
        }
    }
    if let Some((role, index)) = reason.task
        && !roles.contains(&job.roles[role].name)
    {
        // The task that asked for it comes along, or its end would be answered for ever.
        most = most.max(next_attempt(turn, role, index));
    }
    let wait = backoff::wait_after(turn, reason.exit, most);
    hold_until(turn, reason.exit, wait)
}

/// Moves the stamp of one task; its attempt from now on.
fn next_attempt(turn: &mut Turn, role: usize, index: u32) -> u32 {
    fold_in_place(turn, role, index);
    let epoch = turn.memory.epoch;
    let seen = turn.view.instances(role, index).iter();
    let seen = seen.filter(|seen| seen.stamp.epoch == epoch);
    let newest = seen.map(|seen| seen.stamp.attempt).max().unwrap_or(0);
    let memory = turn.memory.role(&turn.job.roles[role].name);
    let attempt = memory.attempts.get(index).max(newest).saturating_add(1);
    memory.attempts.set(index, attempt);
    memory.restarts = memory.restarts.saturating_add(1);
    memory.done.remove(index);
    memory.failed.remove(index);
    attempt
}

/// Nothing is created before the wait is over, counted from the end that asked for it.
fn hold_until(turn: &mut Turn, exit: Option<&Exit>, wait: u32) -> Time {
    let until = turn.clamp(exit.map_or(turn.now, |exit| exit.at)) + wait;
    if until > turn.now {
        turn.memory.not_before = turn.memory.not_before.max(until);
    }
    until
}

/// Saves the in-place count of an instance that is about to become stale; each is folded once, when its stamp moves.
fn fold_in_place(turn: &mut Turn, role: usize, index: u32) {
    let count = turn.current(role, index).map_or(0, |seen| seen.in_place);
    turn.memory.in_place_gone = turn.memory.in_place_gone.saturating_add(count);
    turn.memory.in_place_most = turn.memory.in_place_most.max(turn.memory.in_place_gone);
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
    fn a_corpse_that_is_about_to_go_leaves_its_wait_behind() {
        let bench = bench(Scope::Task);
        let mut seen = ended(worker(1), FIRST, 1, 95);
        let stays = bench.step(std::slice::from_ref(&seen), 100);
        assert_eq!(stays.memory.not_before, Time(0));
        seen.stopping = Some(Time(90));
        let goes = bench.step(&[seen], 100);
        assert_eq!(goes.memory.not_before, Time(105));
        let created = |action: &Action| matches!(action, Action::Create { .. });
        let later = bench.step_with(Some(&goes.memory), &[], 101);
        assert!(!later.actions.iter().any(created));
        let in_time = bench.step_with(Some(&later.memory), &[], 105);
        assert!(in_time.actions.iter().any(created));
    }

    #[test]
    fn a_whole_restart_waits_from_the_end_that_asked_for_it() {
        let bench = bench(Scope::Job);
        let step = bench.step(&[ended(worker(1), FIRST, 137, 95)], 100);
        assert_eq!(step.memory.not_before, Time(105));
    }
}
