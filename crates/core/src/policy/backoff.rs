//! Back-off: how long to wait before something is created again, and when the shared budget is used up.

use super::Turn;
use crate::exit::Ending;
use crate::job::Wait;
use crate::memory::{Cause, Outcome};
use crate::observed::Exit;

/// A disruption after at least this many seconds is nobody's fault: the task is created again at once.
const SETTLED_IN: u32 = 60;

/// Seconds to wait before attempt `attempt` (from 1), after a life that ended so.
///
/// The wait doubles with each attempt. A life of [`Wait::healthy`] seconds or more starts it anew. A disruption
/// costs nothing, but a task that is disrupted as soon as it starts must not be created in a hot loop.
#[must_use]
pub fn wait_before(wait: &Wait, exit: Option<&Exit>, attempt: u32) -> u32 {
    if let Some(exit) = exit {
        if Ending::of(Some(exit)) == Ending::Disrupted && exit.ran >= SETTLED_IN {
            return 0;
        }
        if exit.ran >= wait.healthy {
            return wait.first.min(wait.most);
        }
    }
    let doublings = attempt.saturating_sub(1).min(31);
    wait.first.saturating_mul(1 << doublings).min(wait.most)
}

pub fn wait_after(turn: &Turn, exit: Option<&Exit>, attempt: u32) -> u32 {
    wait_before(&turn.job.limits.wait, exit, attempt)
}

/// Fails the job when restarts in place, which nobody can refuse, have gone past the budget.
pub fn over_budget(turn: &mut Turn) {
    let Some(limit) = turn.job.limits.restarts else {
        return;
    };
    if turn.is_active() && turn.job.limits.count_in_place && turn.memory.spent(turn.job) > limit {
        let task = most_restarted(turn);
        turn.finish(Outcome::Failed, Cause::Restarts { task });
    }
}

/// The task that used most of the budget in place.
fn most_restarted(turn: &Turn) -> Option<crate::TaskId> {
    let current = turn
        .view
        .inside()
        .filter(|seen| seen.in_place > 0 && !turn.is_stale(seen));
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
        }
    }

    #[test]
    fn waits_double_up_to_six_minutes_and_health_starts_them_anew() {
        let wait = Wait::default();
        let short = exit(5, Why::Itself);
        let table = [
            (1, 10),
            (2, 20),
            (3, 40),
            (4, 80),
            (5, 160),
            (6, 320),
            (7, 360),
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
        assert_eq!(wait_before(&wait, Some(&exit(600, Why::Itself)), 7), 10);
        assert_eq!(wait_before(&wait, Some(&exit(599, Why::Itself)), 7), 360);
    }

    #[test]
    fn disruptions_are_free_but_never_a_hot_loop() {
        let wait = Wait::default();
        assert_eq!(wait_before(&wait, Some(&exit(60, Why::Disrupted)), 3), 0);
        assert_eq!(wait_before(&wait, Some(&exit(59, Why::Disrupted)), 3), 40);
        assert_eq!(wait_before(&wait, None, 1), 10);
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
