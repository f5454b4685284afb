//! `ttlSecondsAfterFinished`: the job is deleted so long after its verdict. A hold is no verdict.

use super::StepContext;
use crate::step::Action;

/// Deletes a job that ended long enough ago, or asks to be called when it will have.
pub fn expire(ctx: &mut StepContext) {
    let (Some(ttl), Some(verdict)) = (ctx.job.limits.ttl, &ctx.memory.verdict) else {
        return;
    };
    let due = verdict.at + ttl;
    if ctx.now >= due {
        ctx.actions.push(Action::DeleteJob);
    } else {
        ctx.wake_at(due);
    }
}

#[cfg(test)]
mod tests {
    use crate::policy::testing::Bench;
    use crate::{Action, Cause, Outcome, Time, Verdict};

    #[test]
    fn counts_from_the_verdict_and_zero_means_at_once() {
        for (ttl, now, gone, wake) in [
            (60, 159, false, Some(Time(160))),
            (60, 160, true, None),
            (0, 100, true, None),
        ] {
            let mut bench = Bench::workers(1);
            bench.job.limits.ttl = Some(ttl);
            let mut memory = bench.memory();
            memory.verdict = Some(Verdict {
                outcome: Outcome::Failed,
                cause: Cause::Deadline,
                at: Time(100),
            });
            let step = bench.step_with(Some(&memory), &[], now);
            assert_eq!(
                (step.actions.contains(&Action::DeleteJob), step.wake),
                (gone, wake),
                "ttl {ttl} at {now}"
            );
        }
    }

    #[test]
    fn a_suspended_job_is_not_finished() {
        let mut bench = Bench::workers(1);
        bench.job.limits.ttl = Some(0);
        bench.job.suspend = true;
        assert!(!bench.step(&[], 100).actions.contains(&Action::DeleteJob));
    }
}
