//! Lives that never ran: how often in a row a node has rejected a task, and since when a task has been trying to start.
//!
//! Both must be remembered, because every such life leaves a pod that is deleted before the next one is made. A refusal is
//! free, as other ends are that the node has brought about; without a bound a pod that no node takes (a port that is in
//! use, a resource that the node lost) would be created for ever, and nothing would say why.

use super::{StepContext, gates};
use crate::exit::Ending;
use crate::job::RoleName;
use crate::observed::{Exit, Seen};
use crate::time::Time;

/// Rejections in a row that count as disruptions; the next one is a failure of the task.
pub const FREE_REJECTIONS: u32 = 5;

/// What an end means for this task: a refusal is a disruption until there have been too many in a row.
pub fn ending(ctx: &StepContext, role: &RoleName, index: u32, exit: Option<&Exit>) -> Ending {
    let before = ctx.memory.of_role(role).rejections.get(index);
    match exit {
        Some(exit) if exit.is_rejection() && before >= FREE_REJECTIONS => Ending::Failed(None),
        exit => Ending::of(exit),
    }
}

/// Since when a task has been trying to start, if no life of it has run since.
pub fn since(ctx: &StepContext, role: &RoleName, index: u32) -> Option<Time> {
    Time::of_runs(ctx.memory.of_role(role).starting_since.get(index))
}

/// Forgets both of every task whose current life is seen to run, and until when it had to wait for that life.
pub fn note_running(ctx: &mut StepContext) {
    let roles = ctx.memory.roles.values();
    if !roles.into_iter().any(|role| {
        !role.rejections.is_empty() || !role.starting_since.is_empty() || !role.not_before.is_empty()
    }) {
        return;
    }
    let running = |seen: &&crate::TaskSeen| matches!(seen.state, Seen::Running { .. });
    let seen: Vec<_> = ctx.view.inside().filter(running).collect();
    for seen in seen {
        if seen.stamp == ctx.memory.stamp(&seen.id) {
            clear(ctx, &seen.id.role, seen.id.index);
            if let Some(memory) = ctx.memory.roles.get_mut(&seen.id.role) {
                memory.not_before.set(seen.id.index, 0);
            }
        }
    }
}

/// Takes note of the current life of a task, whose stamp is about to move.
pub fn note_end(ctx: &mut StepContext, role: usize, index: u32) {
    let Some(seen) = ctx.current(role, index) else {
        return;
    };
    let name = ctx.job.roles[role].name.clone();
    let idle = match (&seen.state, seen.exit()) {
        (Seen::Waiting, _) => true,
        (_, Some(exit)) => exit.never_ran,
        // It runs, which was noted when it was seen; or it is gone, and how it was until then is not known.
        _ => return,
    };
    if !idle {
        return clear(ctx, &name, index);
    }
    let Some(since) = gates::starts(ctx.job, seen) else {
        return;
    };
    let since = ctx.clamp(since).in_runs();
    let memory = ctx.memory.role(&name);
    if memory.starting_since.get(index) == 0 {
        memory.starting_since.set(index, since);
    }
    if seen.exit().is_some_and(Exit::is_rejection) {
        let times = memory.rejections.get(index).saturating_add(1);
        memory.rejections.set(index, times.min(FREE_REJECTIONS));
    }
}

/// Forgets all of it: nothing tries to start while the job is held.
pub fn forget(ctx: &mut StepContext) {
    for memory in ctx.memory.roles.values_mut() {
        memory.rejections.clear();
        memory.starting_since.clear();
        memory.not_before.clear();
    }
}

fn clear(ctx: &mut StepContext, role: &RoleName, index: u32) {
    if let Some(memory) = ctx.memory.roles.get_mut(role) {
        memory.rejections.set(index, 0);
        memory.starting_since.set(index, 0);
    }
}

#[cfg(test)]
mod tests {
    use crate::policy::testing::{Bench, ended, running, waiting, worker};
    use crate::{Down, Exit, How, Memory, Outcome, Scope, Seen, Stamp, TaskSeen, Then, Time, When, Who, Why};

    /// A pod of that attempt, made at that time, which its node refused a second later.
    fn rejected(attempt: u32, at: u64) -> TaskSeen {
        let mut seen = ended(worker(0), Stamp { epoch: 0, attempt }, 0, at);
        seen.created = Time(at - 1);
        seen.state = Seen::Ended(Exit {
            code: None,
            why: Why::Disrupted,
            at: Time(at),
            never_ran: true,
            rejected: true,
            ..Exit::default()
        });
        seen
    }

    fn bench() -> Bench {
        let free = Then::Restart {
            scope: Scope::Task,
            paid: false,
        };
        Bench::workers(1)
            .failing_then(How::Disrupted, free)
            .failing_then(How::Failed, Then::Finish(Outcome::Failed))
    }

    /// Lets the node refuse attempts `from..to`, each a minute after the one before.
    fn refuse(bench: &Bench, memory: Option<Memory>, from: u32, to: u32) -> Memory {
        let mut memory = memory.unwrap_or_else(|| bench.memory());
        for attempt in from..to {
            let at = 60 * u64::from(attempt + 1);
            let seen = [rejected(attempt, at)];
            memory = bench.step_with(Some(&memory), &seen, at + 5).memory;
        }
        memory
    }

    #[test]
    fn a_node_may_refuse_a_task_five_times_in_a_row_and_the_sixth_is_a_failure() {
        let bench = bench();
        let five = refuse(&bench, None, 0, 5);
        assert_eq!((five.verdict.clone(), five.paid), (None, 0));
        assert_eq!(five.stamp(&worker(0)).attempt, 5);
        let six = refuse(&bench, Some(five), 5, 6);
        assert_eq!(six.verdict.unwrap().outcome, Outcome::Failed);
        let failure = six.first_failure.unwrap();
        assert_eq!((failure.exit.code, failure.exit.why), (None, Why::Itself));
        assert!(failure.exit.rejected && failure.exit.never_ran);
    }

    #[test]
    fn a_life_that_ran_begins_the_count_anew_and_a_drain_does_not() {
        let bench = bench();
        let five = refuse(&bench, None, 0, 5);
        let now = Stamp { epoch: 0, attempt: 5 };
        let ran = bench
            .step_with(Some(&five), &[running(worker(0), now)], 400)
            .memory;
        assert_eq!(ran.roles[&worker(0).role].rejections.get(0), 0);
        assert_eq!(refuse(&bench, Some(ran), 5, 6).verdict, None);

        let mut drained = rejected(5, 360);
        if let Seen::Ended(exit) = &mut drained.state {
            exit.asked = true;
        }
        let kept = bench.step_with(Some(&five), &[drained], 400).memory;
        assert_eq!((kept.verdict.clone(), kept.stamp(&worker(0)).attempt), (None, 6));
        assert!(refuse(&bench, Some(kept), 6, 7).verdict.is_some());
    }

    #[test]
    fn a_start_time_out_counts_over_lives_that_never_ran() {
        let mut bench = bench();
        let when = When::Down {
            who: Who::any(),
            why: vec![Down::FirstStart, Down::Again],
        };
        let mut rule = crate::policy::testing::rule(when, Then::Finish(Outcome::Failed));
        rule.held = 100;
        bench.job.rules.push(rule);
        let once = refuse(&bench, None, 0, 1);
        assert_eq!(once.roles[&worker(0).role].starting_since.get(0), 59);
        // Between two lives nothing is there to be seen, and still it is not up.
        let early = bench.step_with(Some(&once), &[], 158);
        assert_eq!((early.memory.verdict, early.wake), (None, Some(Time(159))));
        let second = waiting(worker(0), Stamp { epoch: 0, attempt: 1 });
        for seen in [&[][..], &[second]] {
            let late = bench.step_with(Some(&once), seen, 159);
            assert_eq!(
                late.memory.verdict.map(|verdict| verdict.outcome),
                Some(Outcome::Failed)
            );
        }
        let up = [running(worker(0), Stamp { epoch: 0, attempt: 1 })];
        assert_eq!(bench.step_with(Some(&once), &up, 159).memory.verdict, None);
    }
}
