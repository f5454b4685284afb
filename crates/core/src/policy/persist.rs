//! When memory must be stored, and what is not created because it was refused before.
//!
//! Memory comes before actions, so that a crash in between repeats nothing. Storing costs an API server as much as four pods
//! do, and three things need not come first, because the next `step` finds them out again from what is visible:
//!
//! - that the first lives of a job exist, for [`FIRST_LIVES`] seconds ([ADR 6](../../../../docs/adr/0006-first-pods-before-first-status.md));
//! - that a task has succeeded, for [`SUCCESS`] seconds and while its instance is there to be seen;
//! - `born`, until something else must be stored.
//!
//! Nothing of what is remembered instead of seen (restarts that were paid, attempts, holds, verdicts, orders) is ever late.

use super::StepContext;
use crate::memory::{Memory, RoleMemory};
use crate::observed::{Seen, Stamp, Storage, TaskSeen};
use crate::ranges::Ranges;
use crate::step::{Action, Persist};
use crate::time::Time;

/// Seconds after the first instance was created by which the first memory is stored.
pub const FIRST_LIVES: u32 = 3;
/// Seconds after a success by which it is stored.
pub const SUCCESS: u32 = 2;

/// Leaves out what would be refused again, and asks to be called when it may be tried.
pub fn put_off(ctx: &mut StepContext) {
    let Some(until) = ctx.observed.refused.map(|refused| refused.until) else {
        return;
    };
    // The world counts on its clock, which may be behind memory.
    if until > ctx.clock {
        let all = ctx.actions.len();
        ctx.actions.retain(|action| !action.makes());
        ctx.put_off = u32::try_from(all - ctx.actions.len()).unwrap_or(u32::MAX);
        if ctx.put_off > 0 {
            ctx.wake_on_clock(until);
        }
    }
}

/// When the memory of this step must be stored, given the one that was handed in.
pub fn persist(ctx: &mut StepContext, before: Option<&Memory>) -> Persist {
    if before == Some(&ctx.memory) {
        return Persist::Nothing;
    }
    // A time that is counted from another clock would not come for as long as this one is behind.
    if ctx.observed.storage != Storage::Keeps || ctx.clock < ctx.now {
        return Persist::Before;
    }
    let after = &ctx.memory;
    let by = match before {
        None => first_lives_by(ctx),
        Some(before) if bare(before, false) == bare(after, false) => return Persist::WithNext,
        Some(before) if bare(before, true) == bare(after, true) => successes_by(ctx, before),
        Some(_) => None,
    };
    // What is stopped may be what it would be found out from.
    let stops = |action: &Action| matches!(action, Action::Stop { .. });
    match by.filter(|by| *by > ctx.now && !ctx.actions.iter().any(stops)) {
        Some(by) => {
            ctx.wake_at(by);
            Persist::By(by)
        }
        None => Persist::Before,
    }
}

/// By when a memory must be stored that says nothing but that the job has started, and when: the instances say so too.
fn first_lives_by(ctx: &StepContext) -> Option<Time> {
    let mut rest = bare(&ctx.memory, false);
    rest.started = None;
    rest.form = None;
    rest.gang = None;
    let creates = ctx
        .actions
        .iter()
        .any(|action| matches!(action, Action::Create { .. }));
    let shows = |seen: &TaskSeen| seen.stamp == Stamp::default() && !matches!(seen.state, Seen::Gone(_));
    let first = ctx.view.inside().map(|seen| seen.created).min();
    // Without an instance nothing would show the start, and it would begin again with every step.
    let since = first.or_else(|| creates.then_some(ctx.now));
    let visible = ctx.view.inside().all(shows) && rest == Memory::new(ctx.job);
    since
        .filter(|since| visible && *since <= ctx.now)
        .map(|since| since + FIRST_LIVES)
}

/// By when the tasks must be stored as done that are so since `before`; none if one of them cannot be seen to have ended.
fn successes_by(ctx: &StepContext, before: &Memory) -> Option<Time> {
    let mut earliest: Option<Time> = None;
    for (position, role) in ctx.job.roles.iter().enumerate() {
        let (was, is) = (
            &before.of_role(&role.name).done,
            &ctx.memory.of_role(&role.name).done,
        );
        // What was done and is not any more was never seen.
        if !was.without(is).is_empty() {
            return None;
        }
        for index in is.without(was).iter() {
            let Seen::Ended(exit) = &ctx.current(position, index)?.state else {
                return None;
            };
            earliest = Some(earliest.map_or(exit.at, |earlier| earlier.min(exit.at)));
        }
    }
    let earliest = earliest.filter(|earliest| *earliest <= ctx.now);
    earliest.map(|earliest| earliest + SUCCESS)
}

/// The memory without what may be late: without `born`, and if asked also without what is done.
fn bare(memory: &Memory, without_done: bool) -> Memory {
    let mut bare = memory.clone();
    for role in bare.roles.values_mut() {
        role.born = 0;
        if without_done {
            role.done = Ranges::default();
        }
    }
    bare.roles.retain(|_, role| *role != RoleMemory::default());
    bare
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::testing::{Bench, ended, observed, running, waiting, worker};
    use crate::{How, Observed, Outcome, Refusal, Scope, Step, Then};

    const FIRST: Stamp = Stamp { epoch: 0, attempt: 0 };

    fn bench() -> Bench {
        let again = Then::Restart {
            scope: Scope::Task,
            paid: true,
        };
        Bench::workers(2)
            .all_workers()
            .failing_then(How::Failed, again)
            .failing_then(How::Vanished, Then::Finish(Outcome::Failed))
    }

    /// The memory of a job whose tasks have all been seen to run.
    fn stored(bench: &Bench) -> Memory {
        let both = [running(worker(0), FIRST), running(worker(1), FIRST)];
        bench.step(&both, 2).memory
    }

    fn gone(mut seen: TaskSeen) -> TaskSeen {
        seen.state = Seen::Gone(seen.exit().cloned());
        seen
    }

    fn creates(step: &Step) -> usize {
        let create = |action: &&Action| matches!(action, Action::Create { .. });
        step.actions.iter().filter(create).count()
    }

    #[test]
    fn the_first_lives_may_come_before_the_first_memory() {
        let bench = bench();
        assert_eq!(bench.step(&[], 10).persist, Persist::By(Time(13)));
        let mut one = waiting(worker(0), FIRST);
        one.created = Time(8);
        let step = bench.step(&[one.clone()], 10);
        assert_eq!((step.persist, step.wake), (Persist::By(Time(11)), Some(Time(11))));
        assert_eq!(bench.step(&[one.clone()], 11).persist, Persist::Before);
        // Any other life, and any that is gone, is in memory alone.
        one.stamp.attempt = 1;
        assert_eq!(bench.step(&[one], 10).persist, Persist::Before);
        let mut lost = gone(ended(worker(0), FIRST, 1, 10));
        lost.created = Time(9);
        assert_eq!(bench.step(&[lost], 10).persist, Persist::Before);
    }

    #[test]
    fn a_start_that_no_instance_shows_is_stored_first() {
        let mut bench = bench();
        let refused = Observed {
            refused: Some(Refusal { until: Time(20) }),
            ..observed(&[])
        };
        assert_eq!(bench.look(None, &refused, 10).persist, Persist::Before);
        bench.job.suspend = true;
        assert_eq!(bench.step(&[], 10).persist, Persist::Before);
    }

    #[test]
    fn a_success_may_be_stored_late_while_it_can_be_seen() {
        let bench = bench();
        let memory = stored(&bench);
        let done = [ended(worker(0), FIRST, 0, 9), running(worker(1), FIRST)];
        let step = bench.step_with(Some(&memory), &done, 10);
        assert!(step.memory.is_done(&worker(0)));
        assert_eq!((step.persist, step.wake), (Persist::By(Time(11)), Some(Time(11))));
        assert_eq!(bench.step_with(Some(&memory), &done, 11).persist, Persist::Before);
        let lost = [gone(done[0].clone()), done[1].clone()];
        assert_eq!(bench.step_with(Some(&memory), &lost, 10).persist, Persist::Before);
        // Something beside the program still runs and is stopped: with it goes what shows the success.
        let mut lingers = done.clone();
        lingers[0].lingers = true;
        assert_eq!(
            bench.step_with(Some(&memory), &lingers, 10).persist,
            Persist::Before
        );
    }

    #[test]
    fn nothing_is_late_on_a_clock_that_is_behind() {
        let bench = bench();
        let mut memory = stored(&bench);
        let done = [ended(worker(0), FIRST, 0, 9), running(worker(1), FIRST)];
        assert_eq!(
            bench.step_with(Some(&memory), &done, 8).persist,
            Persist::Before,
            "it ended in the future"
        );
        memory.started = Some(Time(30));
        assert_eq!(bench.step_with(Some(&memory), &done, 10).persist, Persist::Before);
        let mut one = waiting(worker(0), FIRST);
        one.created = Time(11);
        assert_eq!(bench.step(&[one], 10).persist, Persist::Before);
    }

    #[test]
    fn what_cannot_be_seen_again_is_stored_first() {
        let mut bench = bench();
        let memory = stored(&bench);
        let failed = [ended(worker(0), FIRST, 1, 5), running(worker(1), FIRST)];
        let paid = bench.step_with(Some(&memory), &failed, 10);
        assert_eq!((paid.memory.paid, paid.persist), (1, Persist::Before));
        let both = [ended(worker(0), FIRST, 0, 9), ended(worker(1), FIRST, 0, 9)];
        let verdict = bench.step_with(Some(&memory), &both, 10);
        assert!(verdict.memory.verdict.is_some());
        assert_eq!(verdict.persist, Persist::Before);
        bench.job.suspend = true;
        let held = bench.step_with(Some(&memory), &[running(worker(0), FIRST)], 10);
        assert_eq!(held.persist, Persist::Before);
    }

    #[test]
    fn that_all_were_born_waits_for_the_next_memory() {
        let bench = bench();
        let mut memory = stored(&bench);
        memory.roles.clear();
        let both = [running(worker(0), FIRST), running(worker(1), FIRST)];
        let step = bench.step_with(Some(&memory), &both, 10);
        assert_eq!((step.persist, step.wake), (Persist::WithNext, None));
        let same = bench.step_with(Some(&step.memory), &both, 10);
        assert_eq!(same.persist, Persist::Nothing);
    }

    #[test]
    fn nothing_is_late_unless_memory_is_known_to_be_kept_and_nothing_is_done_if_it_is_not() {
        let bench = bench();
        let observed = |storage| Observed {
            storage,
            ..observed(&[])
        };
        let unknown = bench.look(None, &observed(Storage::Unknown), 10);
        assert_eq!((unknown.persist, creates(&unknown)), (Persist::Before, 2));
        let drops = bench.look(None, &observed(Storage::Drops), 10);
        assert_eq!((drops.persist, drops.actions.len()), (Persist::Before, 0));
        let odd = crate::Event::Odd(crate::Oddity::MemoryDropped);
        assert!(drops.events.contains(&odd));
    }

    #[test]
    fn what_was_refused_is_left_out_until_it_may_be_tried_again() {
        let bench = bench();
        let refused = |tasks: &[TaskSeen]| Observed {
            refused: Some(Refusal { until: Time(20) }),
            fixtures: Vec::new(),
            ..observed(tasks)
        };
        let stale = running(worker(7), FIRST);
        let step = bench.look(None, &refused(&[stale]), 19);
        assert_eq!((step.put_off, step.wake), (3, Some(Time(20))));
        assert!(
            matches!(&step.actions[..], [Action::Stop { .. }]),
            "{:?}",
            step.actions
        );
        let step = bench.look(None, &refused(&[]), 20);
        assert_eq!((step.put_off, creates(&step)), (0, 2));
        let mut memory = bench.memory();
        memory.started = Some(Time(500));
        let behind = bench.look(Some(&memory), &refused(&[]), 19);
        assert_eq!((behind.put_off, behind.wake), (3, Some(Time(20))));
    }
}
