//! Creating what is wanted and absent. Raising `replicas` makes tasks wanted; lowering it removes them from the job, and
//! clean-up stops them without judging their ends.

use super::startup::Wanted;
use super::{StepContext, fixtures};
use crate::observed::{Seen, Stamp, TaskSeen};
use crate::step::Action;

/// Moves the stamp of every instance whose task the job no longer has. Stopping it is our doing, so its end must never
/// be judged, even if the task is wanted again before it is gone; and no two lives may carry one stamp.
pub fn let_go(ctx: &mut StepContext) {
    if ctx.memory.verdict.is_some() || ctx.observed.deleting {
        return;
    }
    let outside: Vec<&TaskSeen> = ctx.view.outside().collect();
    for seen in outside {
        // A role that the job does not have, or an attempt that cannot be raised, never enters memory.
        let known = ctx.job.role(&seen.id.role).is_some() && seen.stamp.attempt < Stamp::MOST;
        if !known || seen.stamp != ctx.memory.stamp(&seen.id) {
            continue;
        }
        ctx.memory.in_place_gone = ctx.memory.in_place_gone.saturating_add(seen.in_place);
        let attempt = seen.stamp.attempt + 1;
        let memory = ctx.memory.role(&seen.id.role);
        memory.attempts.set(seen.id.index, attempt);
    }
}

/// Creates every wanted task of which no instance is visible, except one that is gone.
pub fn creates(ctx: &mut StepContext, wanted: Vec<Wanted>) {
    if !fixtures::gang_is_open(ctx) {
        return;
    }
    for Wanted { role, index, stamp } in wanted {
        let judged = ctx.current(role, index).is_none();
        let absent = |seen: &&TaskSeen| matches!(seen.state, Seen::Gone(_)) && !ctx.is_newer(seen);
        if judged && ctx.view.instances(role, index).iter().all(absent) {
            let task = ctx.task(role, index);
            ctx.actions.push(Action::Create { task, stamp });
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::policy::testing::{Bench, ended, running, worker};
    use crate::{Action, How, Outcome, Seen, Stamp, Then};

    const FIRST: Stamp = Stamp { epoch: 0, attempt: 0 };

    #[test]
    fn raising_replicas_creates_the_missing_and_lowering_never_fails_the_job() {
        let mut bench = Bench::workers(1);
        let memory = bench.step(&[running(worker(0), FIRST)], 5).memory;
        bench.job.roles[0].replicas = 3;
        let up = bench.step_with(Some(&memory), &[running(worker(0), FIRST)], 10);
        let create = |index| Action::Create {
            task: worker(index),
            stamp: FIRST,
        };
        assert_eq!(up.actions, [create(1), create(2)]);

        bench.job.roles[0].replicas = 1;
        let seen = [
            running(worker(0), FIRST),
            running(worker(1), FIRST),
            ended(worker(2), FIRST, 143, 12),
        ];
        let down = bench.step_with(Some(&up.memory), &seen, 20);
        assert_eq!(down.actions.len(), 2, "{:?}", down.actions);
        assert_eq!((down.memory.verdict, down.memory.paid), (None, 0));
    }

    #[test]
    fn a_task_scaled_away_and_wanted_again_is_a_new_life_and_its_old_end_is_never_judged() {
        let mut bench = Bench::workers(2).failing_then(How::Disrupted, Then::Finish(Outcome::Failed));
        let both = [running(worker(0), FIRST), running(worker(1), FIRST)];
        let memory = bench.step(&both, 5).memory;
        bench.job.roles[0].replicas = 1;
        let down = bench.step_with(Some(&memory), &both, 10);
        assert!(matches!(&down.actions[..], [Action::Stop { task, .. }] if *task == worker(1)));
        bench.job.roles[0].replicas = 2;
        let mut stopped = ended(worker(1), FIRST, 143, 11);
        if let Seen::Ended(exit) = &mut stopped.state {
            exit.asked = true;
        }
        let up = bench.step_with(
            Some(&down.memory),
            &[running(worker(0), FIRST), stopped.clone()],
            30,
        );
        assert_eq!(up.memory.verdict, None);
        stopped.state = Seen::Gone(stopped.exit().cloned());
        let gone = bench.step_with(Some(&up.memory), &[running(worker(0), FIRST), stopped], 31);
        let stamp = Stamp { epoch: 0, attempt: 1 };
        assert_eq!(
            gone.actions,
            [Action::Create {
                task: worker(1),
                stamp
            }]
        );
    }

    #[test]
    fn restarts_in_place_of_a_task_scaled_away_stay_counted() {
        let mut bench = Bench::workers(2);
        let restarted = |index, times| {
            let mut seen = running(worker(index), FIRST);
            seen.in_place = times;
            seen
        };
        let memory = bench.step(&[restarted(0, 0), restarted(1, 3)], 5).memory;
        bench.job.roles[0].replicas = 1;
        let seen = [restarted(0, 2), restarted(1, 3)];
        let down = bench.step_with(Some(&memory), &seen, 10);
        assert_eq!(down.memory.in_place_most, 5);
        assert_eq!(bench.step_with(Some(&down.memory), &seen, 10).memory, down.memory);
    }

    #[test]
    fn a_finished_task_whose_instance_was_collected_is_not_created_again() {
        let bench = Bench::workers(2).all_workers();
        let memory = bench
            .step(&[ended(worker(0), FIRST, 0, 3), running(worker(1), FIRST)], 5)
            .memory;
        assert!(memory.is_done(&worker(0)));
        assert_eq!(
            bench
                .step_with(Some(&memory), &[running(worker(1), FIRST)], 9)
                .actions,
            []
        );
    }
}
