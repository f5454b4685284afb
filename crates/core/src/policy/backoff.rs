//! Back-off: how long to wait before something is created again, and when the shared budget is used up.

use super::StepContext;
use crate::job::Wait;
use crate::memory::{Cause, Memory, Outcome};
use crate::observed::Exit;

/// Seconds to wait before attempt `attempt` (from 1), after a life that ended so.
///
/// The first restart comes at once, and so does the one after a life of [`Wait::healthy`] seconds or more. From the second on
/// the wait doubles with each attempt. A disruption costs nothing, but it waits like any other end: a task that is
/// disrupted as soon as it starts must not be created in a hot loop.
#[must_use]
pub fn wait_before(wait: &Wait, exit: Option<&Exit>, attempt: u32) -> u32 {
    let healthy = exit.is_some_and(|exit| exit.ran >= wait.healthy);
    match attempt.checked_sub(2) {
        Some(doublings) if !healthy => wait.first.saturating_mul(1 << doublings.min(31)).min(wait.most),
        _ => 0,
    }
}

/// Seconds to wait before that attempt within the present epoch: restarts of the whole job, and what went before them, count.
pub fn wait_after(ctx: &StepContext, exit: Option<&Exit>, attempt: u32) -> u32 {
    let Memory {
        rounds,
        attempts_before,
        ..
    } = &ctx.memory;
    let attempt = attempt.saturating_add(*rounds).saturating_add(*attempts_before);
    wait_before(&ctx.job.limits.wait, exit, attempt)
}

/// Fails the job when restarts in place, which the kubelet makes by itself, have gone past the budget.
pub fn over_budget(ctx: &mut StepContext) {
    let Some(limit) = ctx.job.limits.restarts else {
        return;
    };
    if ctx.is_active() && ctx.job.limits.count_in_place && ctx.memory.spent(ctx.job) > limit {
        let task = most_restarted(ctx);
        ctx.finish(Outcome::Failed, Cause::Restarts { task });
    }
}

/// The task that used most of the budget in place.
fn most_restarted(ctx: &StepContext) -> Option<crate::TaskId> {
    let current = ctx
        .view
        .inside()
        .filter(|seen| seen.in_place > 0 && !ctx.is_stale(seen));
    current
        .max_by(|left, right| left.in_place.cmp(&right.in_place).then(right.id.cmp(&left.id)))
        .map(|seen| seen.id.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::testing::{Bench, running, worker};
    use crate::{Stamp, Time, Why};

    fn exit(ran: u32, why: Why) -> Exit {
        Exit {
            code: Some(1),
            why,
            asked: false,
            at: Time(0),
            ran,
            ..Exit::default()
        }
    }

    #[test]
    fn the_first_restart_comes_at_once_then_waits_double_up_to_six_minutes() {
        let wait = Wait::default();
        let short = exit(5, Why::Itself);
        let table = [
            (0, 0),
            (1, 0),
            (2, 10),
            (3, 20),
            (4, 40),
            (5, 80),
            (6, 160),
            (7, 320),
            (8, 360),
            (40, 360),
            (u32::MAX, 360),
        ];
        for (attempt, expected) in table {
            assert_eq!(
                wait_before(&wait, Some(&short), attempt),
                expected,
                "attempt {attempt}"
            );
        }
        assert_eq!(wait_before(&wait, Some(&exit(600, Why::Itself)), 8), 0);
        assert_eq!(wait_before(&wait, Some(&exit(599, Why::Itself)), 8), 360);
    }

    #[test]
    fn disruptions_are_free_but_never_a_hot_loop() {
        let wait = Wait::default();
        assert_eq!(wait_before(&wait, Some(&exit(599, Why::Disrupted)), 3), 20);
        assert_eq!(wait_before(&wait, Some(&exit(600, Why::Disrupted)), 3), 0);
        assert_eq!(
            (wait_before(&wait, None, 1), wait_before(&wait, None, 2)),
            (0, 10)
        );
    }

    #[test]
    fn the_budget_is_passed_only_by_the_restart_after_the_last_allowed_one() {
        let mut bench = Bench::workers(1);
        bench.job.limits.restarts = Some(2);
        bench.job.limits.count_in_place = true;
        let mut seen = running(worker(0), Stamp::default());
        seen.in_place = 2;
        assert_eq!(bench.step(&[seen.clone()], 50).memory.verdict, None);
        seen.in_place = 3;
        let verdict = bench.step(&[seen], 50).memory.verdict.unwrap();
        assert_eq!(
            (verdict.outcome, verdict.cause),
            (
                Outcome::Failed,
                Cause::Restarts {
                    task: Some(worker(0))
                }
            )
        );
    }

    #[test]
    fn restarts_in_place_are_not_counted_where_the_dialect_does_not() {
        let mut bench = Bench::workers(1);
        bench.job.limits.restarts = Some(0);
        let mut seen = running(worker(0), Stamp::default());
        seen.in_place = 9;
        assert_eq!(bench.step(&[seen], 50).memory.verdict, None);
    }
}
