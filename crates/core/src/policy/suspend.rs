//! Suspend and resume: nothing runs while the manifest says so.
//!
//! Suspending opens a new epoch at once, so that what it kills is never judged, however quickly it is resumed. A
//! job that has never started has nothing to kill and stays in its first epoch.

use super::restart::{Keep, new_epoch, next_epoch};
use super::{StepContext, bounds, failed_starts};
use crate::memory::Hold;
use crate::step::Event;

/// Suspends or resumes the job as its manifest says.
pub fn hold_or_resume(ctx: &mut StepContext) {
    match (ctx.job.suspend, ctx.memory.held) {
        (true, None) => hold(ctx, Hold::Suspended),
        (false, Some(Hold::Suspended)) => resume(ctx),
        _ => {}
    }
}

/// Stops everything until the job is resumed.
pub fn hold(ctx: &mut StepContext, hold: Hold) {
    if ctx.memory.started.is_some() && next_epoch(ctx).is_none() {
        return bounds::exceeded(ctx, bounds::NO_LIFE_LEFT);
    }
    ctx.memory.held = Some(hold);
    ctx.drop_wake();
    if ctx.memory.started.is_some() {
        new_epoch(ctx, kept(ctx, hold));
    }
    failed_starts::forget(ctx);
    ctx.events.push(Event::Held(hold));
}

/// Lets tasks run again. The deadline counts from here.
pub fn resume(ctx: &mut StepContext) {
    ctx.memory.resumed |= ctx.memory.started.is_some();
    ctx.memory.held = None;
    ctx.memory.started = Some(ctx.now);
    ctx.events.push(Event::Resumed);
}

/// A mirrored job's tasks run together or not at all, so none of them stays done. An abort keeps every end.
pub fn kept(ctx: &StepContext, hold: Hold) -> Keep {
    match hold {
        Hold::Aborted => Keep::Ended,
        Hold::Suspended if ctx.job.restarts_whole() => Keep::Nothing,
        Hold::Suspended => Keep::Done,
    }
}

#[cfg(test)]
mod tests {
    use crate::policy::testing::{Bench, ended, running, worker};
    use crate::{Action, Event, Hold, How, Scope, Stamp, Then, Time};

    const FIRST: Stamp = Stamp { epoch: 0, attempt: 0 };

    #[test]
    fn a_job_created_suspended_creates_nothing_and_stays_in_its_first_epoch() {
        let mut bench = Bench::workers(2);
        bench.job.suspend = true;
        let step = bench.look(None, &crate::Observed::default(), 10);
        assert_eq!(
            (step.memory.held, step.memory.epoch, step.memory.started),
            (Some(Hold::Suspended), 0, None)
        );
        assert!(step.actions.is_empty());
        bench.job.suspend = false;
        let resumed = bench.step_with(Some(&step.memory), &[], 50);
        assert_eq!(
            (resumed.memory.started, resumed.memory.resumed),
            (Some(Time(50)), false)
        );
        assert!(resumed.events.contains(&Event::Resumed));
    }

    #[test]
    fn what_suspending_kills_is_never_judged() {
        let mut bench = Bench::workers(1).failing_then(How::Failed, Then::Finish(crate::Outcome::Failed));
        let started = bench.step(&[running(worker(0), FIRST)], 10).memory;
        bench.job.suspend = true;
        let held = bench.step_with(Some(&started), &[running(worker(0), FIRST)], 20);
        assert_eq!(held.memory.epoch, 1);
        assert!(matches!(held.actions[..], [Action::Stop { .. }]));
        bench.job.suspend = false;
        let killed = ended(worker(0), FIRST, 143, 21);
        let resumed = bench.step_with(Some(&held.memory), &[killed], 40);
        assert_eq!(resumed.memory.verdict, None);
        assert_eq!(resumed.memory.started, Some(Time(40)));
        assert!(resumed.memory.resumed);
    }

    #[test]
    fn what_has_succeeded_stays_done_unless_the_job_restarts_as_a_whole() {
        for (scope, kept) in [(Scope::Task, true), (Scope::Job, false)] {
            let mut bench = Bench::workers(2).failing_then(How::Failed, Then::Restart { scope, paid: true });
            let mut memory = bench.memory();
            memory.started = Some(Time(1));
            memory.role(&worker(0).role).done.insert(0);
            bench.job.suspend = true;
            let held = bench.step_with(Some(&memory), &[], 20);
            assert_eq!(held.memory.is_done(&worker(0)), kept);
        }
    }

    #[test]
    fn what_has_failed_for_good_may_run_again_after_a_suspension_and_not_after_an_abort() {
        let failed = |bench: &Bench| {
            let mut memory = bench.memory();
            memory.started = Some(Time(1));
            memory.role(&worker(1).role).failed.insert(1);
            memory
        };
        let mut bench = Bench::workers(2);
        bench.job.suspend = true;
        let suspended = bench.step_with(Some(&failed(&bench)), &[], 20).memory;
        assert_eq!(
            (suspended.held, suspended.is_failed(&worker(1))),
            (Some(Hold::Suspended), false)
        );
        let bench = Bench::workers(2).failing_then(How::Failed, Then::Abort);
        let aborts = [ended(worker(0), FIRST, 1, 5)];
        let aborted = bench.step_with(Some(&failed(&bench)), &aborts, 20).memory;
        assert_eq!(
            (aborted.held, aborted.is_failed(&worker(1))),
            (Some(Hold::Aborted), true)
        );
    }

    #[test]
    fn a_finished_job_ignores_it() {
        let mut bench = Bench::workers(1);
        let done = bench.step(&[ended(worker(0), FIRST, 0, 5)], 10).memory;
        assert!(done.verdict.is_some());
        bench.job.suspend = true;
        let step = bench.step_with(Some(&done), &[], 20);
        assert_eq!(step.memory, done);
    }
}
