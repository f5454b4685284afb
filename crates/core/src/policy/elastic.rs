//! Creating what is wanted and absent. Raising `replicas` makes tasks wanted; lowering it makes them foreign to the
//! job, and clean-up takes them without ever judging them.

use super::startup::Wanted;
use super::{Turn, gang};
use crate::observed::Seen;
use crate::step::Action;

/// Creates every wanted task of which no instance is visible, except one that is gone.
pub fn creates(turn: &mut Turn, wanted: Vec<Wanted>) {
    if !gang::is_open(turn) {
        return;
    }
    for Wanted { role, index, stamp } in wanted {
        let absent = turn
            .view
            .instances(role, index)
            .iter()
            .all(|seen| matches!(seen.state, Seen::Gone(_)));
        let judged = turn.current(role, index).is_none();
        let known = turn
            .view
            .instances(role, index)
            .iter()
            .all(|seen| !turn.is_newer(seen));
        if absent && judged && known {
            let task = turn.task(role, index);
            turn.actions.push(Action::Create { task, stamp });
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::policy::testing::{Bench, ended, running, worker};
    use crate::{Action, Stamp};

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
