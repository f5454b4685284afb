//! `activeDeadlineSeconds`: the job fails so long after its start, to the second.

use super::StepContext;
use crate::memory::{Cause, Outcome};

/// Fails a job that has run too long, or asks to be called when it will have.
pub fn check(ctx: &mut StepContext) {
    let (Some(deadline), Some(started)) = (ctx.job.limits.deadline, ctx.memory.started) else {
        return;
    };
    if !ctx.is_active() {
        return;
    }
    let due = started + deadline;
    if ctx.now >= due {
        ctx.finish(Outcome::Failed, Cause::Deadline);
    } else {
        ctx.wake_at(due);
    }
}

#[cfg(test)]
mod tests {
    use crate::policy::testing::{Bench, running, worker};
    use crate::{Cause, Stamp, Time};

    #[test]
    fn fires_on_the_second_and_wakes_for_it() {
        let mut bench = Bench::workers(1);
        bench.job.limits.deadline = Some(30);
        let mut memory = bench.memory();
        memory.started = Some(Time(100));
        let seen = [running(worker(0), Stamp::default())];
        let early = bench.step_with(Some(&memory), &seen, 129);
        assert_eq!((early.memory.verdict, early.wake), (None, Some(Time(130))));
        let verdict = bench.step_with(Some(&memory), &seen, 130).memory.verdict.unwrap();
        assert_eq!((verdict.cause, verdict.at), (Cause::Deadline, Time(130)));
    }

    #[test]
    fn does_not_run_while_suspended() {
        let mut bench = Bench::workers(1);
        bench.job.limits.deadline = Some(30);
        bench.job.suspend = true;
        let mut memory = bench.memory();
        memory.started = Some(Time(100));
        assert_eq!(bench.step_with(Some(&memory), &[], 500).memory.verdict, None);
    }
}
