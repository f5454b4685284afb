//! One call of `step` in progress: what is known, what has been decided, what follows.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{View, persist, remember};
use crate::job::{Job, RoleName, TaskId};
use crate::memory::{Cause, Memory, Outcome, Verdict};
use crate::observed::{Observed, TaskSeen};
use crate::step::{Action, Event, Oddity, Step};
use crate::time::Time;

/// Seconds until the next step about a task whose instance is newer than memory.
const LOOK_AGAIN: u32 = 30;

/// Seconds that memory may be ahead of the clock. Clocks of two operators differ by less; what is further ahead is forged, or
/// was written on a clock that was wrong. Were it believed, every wait would be over at once where sums reach their largest value.
const MOST_AHEAD: u32 = 86_400;

pub(crate) struct StepContext<'a> {
    pub job: &'a Job,
    pub observed: &'a Observed,
    pub view: View<'a>,
    pub memory: Memory,
    /// Never earlier than what memory knows to have passed.
    pub now: Time,
    /// What the clock says, which may be behind memory.
    pub clock: Time,
    pub actions: Vec<Action>,
    pub events: Vec<Event>,
    /// Creates and ensures that were left out.
    pub put_off: u32,
    wake: Option<Time>,
}

impl<'a> StepContext<'a> {
    pub fn begin(job: &'a Job, memory: Option<&Memory>, observed: &'a Observed, now: Time) -> Self {
        let mut events = Vec::new();
        let memory = remember::recall(job, memory, observed, now, &mut events);
        let newest = memory.moments().fold(now, Time::max);
        if newest > now {
            events.push(Event::Odd(Oddity::ClockBehind(newest.since(now))));
        }
        // One moment that is not believed hides none of the others: this step may drop it, and the next would see them.
        let believed = memory.moments().filter(|at| *at <= now + MOST_AHEAD);
        let held_at = believed.fold(now, Time::max);
        let view = View::of(job, observed);
        let mut ctx = Self {
            job,
            observed,
            view,
            memory,
            now: held_at,
            clock: now,
            actions: Vec::new(),
            events,
            put_off: 0,
            wake: None,
        };
        remember::prune(&mut ctx);
        ctx
    }

    /// The step, given the memory that was handed in.
    pub fn end(mut self, before: Option<&Memory>) -> Step {
        let odd = self.newer_than_memory();
        if !odd.is_empty() {
            self.wake_at(self.now + LOOK_AGAIN);
            self.events.extend(
                odd.into_iter()
                    .map(|task| Event::Odd(Oddity::NewerThanMemory(task.clone()))),
            );
        }
        let persist = persist::persist(&mut self, before);
        let Self {
            memory,
            actions,
            events,
            put_off,
            wake,
            ..
        } = self;
        Step {
            memory,
            actions,
            events,
            wake,
            persist,
            put_off,
        }
    }

    /// Whether tasks may run: no verdict, no hold.
    pub fn is_active(&self) -> bool {
        self.memory.verdict.is_none() && self.memory.held.is_none()
    }

    /// Asks to be called again then; moments that have passed need no call.
    pub fn wake_at(&mut self, at: Time) {
        if at > self.now && self.wake.is_none_or(|earlier| at < earlier) {
            self.wake = Some(at);
        }
    }

    /// Asks to be called again when the clock says so, however far it is behind.
    pub fn wake_on_clock(&mut self, at: Time) {
        self.wake = Some(self.wake.map_or(at, |earlier| earlier.min(at)));
    }

    /// Gives the verdict, unless there is one: the first stands.
    pub fn finish(&mut self, outcome: Outcome, cause: Cause) {
        if self.memory.verdict.is_none() {
            let verdict = Verdict {
                outcome,
                cause,
                at: self.now,
            };
            self.memory.verdict = Some(verdict.clone());
            self.events.push(Event::Finished(verdict));
            self.wake = None;
        }
    }

    /// Drops the wake-up asked for so far: a decision has overridden what it was for.
    pub fn drop_wake(&mut self) {
        self.wake = None;
    }

    /// A time of another clock, at most now.
    pub fn clamp(&self, at: Time) -> Time {
        at.min(self.now)
    }

    /// The instance of a task that carries its current stamp.
    pub fn current(&self, role: usize, index: u32) -> Option<&'a TaskSeen> {
        let stamp = self.memory.stamp_of(&self.job.roles[role].name, index);
        self.view
            .instances(role, index)
            .iter()
            .copied()
            .find(|seen| seen.stamp == stamp)
    }

    /// Whether an instance belongs to an earlier life than the current one of its task, or to one that cannot have been: we did
    /// not write such a stamp, and the instance is stopped like any that is not wanted.
    pub fn is_stale(&self, seen: &TaskSeen) -> bool {
        !seen.stamp.is_possible() || seen.stamp < self.memory.stamp(&seen.id)
    }

    /// Whether an instance belongs to a life that memory knows nothing of. It is left alone while the job runs.
    pub fn is_newer(&self, seen: &TaskSeen) -> bool {
        seen.stamp.is_possible() && seen.stamp > self.memory.stamp(&seen.id)
    }

    pub fn settled(&self, role: &RoleName, index: u32) -> bool {
        let role = self.memory.of_role(role);
        role.done.contains(index) || role.failed.contains(index)
    }

    pub fn task(&self, role: usize, index: u32) -> TaskId {
        TaskId {
            role: self.job.roles[role].name.clone(),
            index,
        }
    }

    pub fn stop(&mut self, seen: &TaskSeen, force: bool) {
        let instance = Arc::clone(&seen.instance);
        self.actions.push(Action::Stop {
            task: seen.id.clone(),
            instance,
            force,
        });
    }

    /// Tasks with an instance newer than memory, each once, in order.
    fn newer_than_memory(&self) -> BTreeSet<&'a TaskId> {
        let newer = self.view.all().filter(|seen| self.is_newer(seen));
        newer.map(|seen| &seen.id).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::testing::{Bench, observed};

    #[test]
    fn the_earliest_of_several_wishes_to_be_called_again_counts() {
        let bench = Bench::workers(1);
        let seen = observed(&[]);
        for (wishes, wake) in [
            ([20, 15, 30], Some(Time(15))),
            ([15, 20, 10], Some(Time(15))),
            ([1, 5, 10], None),
        ] {
            let mut ctx = StepContext::begin(&bench.job, None, &seen, Time(10));
            for wish in wishes {
                ctx.wake_at(Time(wish));
            }
            assert_eq!(ctx.wake, wake, "{wishes:?}");
        }
    }
}
