//! T6: a verdict is judged a second time, naively, from the same inputs.
//!
//! This shares no code with `policy::judge`. It does not repeat its rounds; it asks of the result whether the rule
//! that is said to have given the verdict holds, and whether an earlier one that ends the job does.

use super::Violation;
use crate::exit::Ending;
use crate::job::{Job, TaskId};
use crate::memory::{Cause, FORMAT, Memory, Outcome, Verdict};
use crate::observed::{GangSeen, Ordered, Seen, Stamp, TaskSeen};
use crate::policy::bounds::NO_LIFE_LEFT;
use crate::rule::{Count, Down, How, Rule, Settled, Test, Then, When, Who};
use crate::sim::observer::StepCall;
use crate::time::Time;

/// T6: a verdict follows from memory, observation and rules, and from the first rule that gives one.
#[must_use]
pub fn check_verdict(call: &StepCall) -> Option<Violation> {
    check(call).err().map(|what| Violation {
        property: "T6",
        at: 0,
        what,
    })
}

fn check(call: &StepCall) -> Result<(), String> {
    let before = call.believed();
    let had_one = before.is_some_and(|memory| memory.verdict.is_some());
    let hands_off = call.memory.is_some_and(|memory| memory.format > FORMAT);
    let (false, Some(verdict)) = (had_one || hands_off, &call.step.memory.verdict) else {
        return Ok(());
    };
    let judge = Naive {
        job: call.job,
        before,
        memory: &call.step.memory,
        call,
        now: held_at(call.now, before),
    };
    if verdict.at != judge.now {
        return Err(format!("{verdict:?} was not given at {}", judge.now));
    }
    match &verdict.cause {
        Cause::Rule { from, task } => judge.by_rule(verdict, from, task.as_ref()),
        Cause::Restarts { task } => judge.by_budget(task.as_ref()),
        Cause::Deadline => judge.by_deadline(),
        Cause::Order => judge.by_order(verdict.outcome),
    }
}

struct Naive<'a> {
    job: &'a Job,
    before: Option<&'a Memory>,
    /// After the step.
    memory: &'a Memory,
    call: &'a StepCall<'a>,
    now: Time,
}

impl Naive<'_> {
    fn by_rule(&self, verdict: &Verdict, from: &str, task: Option<&TaskId>) -> Result<(), String> {
        if from == NO_LIFE_LEFT {
            return self.by_last_life();
        }
        let gives = |rule: &Rule| rule.then == Then::Finish(verdict.outcome) && &*rule.from == from;
        let mut rules = self.job.rules.iter().enumerate();
        let found = rules.find(|(at, rule)| gives(rule) && self.holds(*at, rule, task));
        let Some((position, _)) = found else {
            return Err(format!("no rule from {from} gives {verdict:?}"));
        };
        match self.earlier(position) {
            Some(earlier) => Err(format!(
                "rule {earlier} ends the job and holds, but {position} gave {verdict:?}"
            )),
            None => Ok(()),
        }
    }

    /// An earlier rule that ends the job and holds.
    fn earlier(&self, than: usize) -> Option<usize> {
        let rules = self.job.rules[..than].iter().enumerate();
        let mut ending = rules.filter(|(_, rule)| matches!(rule.then, Then::Finish(_)));
        let holds = |(at, rule): &(usize, &Rule)| match &rule.when {
            // A restart in the same step may have made a count small again after it was looked at.
            When::Count(counts) => {
                !counts.iter().any(|count| matches!(count.test, Test::Below(_)))
                    && self.holds(*at, rule, None)
            }
            When::Ended { .. } => self.tasks().any(|task| {
                let unpaid = self.first_match(&task).is_some_and(|(_, unpaid)| unpaid);
                !unpaid && self.holds(*at, rule, Some(&task))
            }),
            // A restart in the same step may have noted since when its task tries to start.
            When::Down { .. } => !self.restarted() && self.holds(*at, rule, None),
            When::InPlace { .. } | When::GangBroken => self.holds(*at, rule, None),
        };
        ending.find(holds).map(|(at, _)| at)
    }

    /// Whether this step has begun new lives.
    fn restarted(&self) -> bool {
        let stamp = |memory: &Memory, task: &TaskId| memory.stamp(task);
        self.before.is_none_or(|before| {
            self.tasks()
                .any(|task| stamp(before, &task) != stamp(self.memory, &task))
        })
    }

    fn by_budget(&self, task: Option<&TaskId>) -> Result<(), String> {
        let Some(limit) = self.job.limits.restarts else {
            return Err("there is no limit".into());
        };
        let passed = self.job.limits.count_in_place && self.memory.spent(self.job) > limit;
        let used_up = self.memory.spent(self.job) >= limit;
        let needed = |task: &TaskId| {
            let answer = self.first_match(task);
            answer.is_some_and(|(at, unpaid)| {
                unpaid && self.job.rules[at].then == Then::Finish(Outcome::Failed)
            })
        };
        let ordered = self.orders().any(|what| {
            matches!(
                what,
                Ordered::RestartJob { paid: true } | Ordered::Resume { paid: true }
            )
        });
        let justified = passed || used_up && (task.is_some_and(needed) || task.is_none() && ordered);
        if justified {
            Ok(())
        } else {
            Err(format!("restarts were left, or none was needed by {task:?}"))
        }
    }

    /// A stamp in memory, or one that an instance shows and memory would have to pass, is the last one or beyond it.
    fn by_last_life(&self) -> Result<(), String> {
        let shown = self.call.observed.tasks.iter().map(|seen| seen.stamp);
        let shown = shown.filter(|stamp| stamp.is_possible());
        let last_shown = shown.map(|stamp| stamp.epoch.max(stamp.attempt)).max();
        let remembered = self.memory.roles.values().map(|role| role.attempts.most());
        let last = remembered.chain([self.memory.epoch]).chain(last_shown).max();
        match last {
            Some(last) if last >= Stamp::MOST => Ok(()),
            last => Err(format!("the newest stamp anywhere is {last:?}")),
        }
    }

    fn by_deadline(&self) -> Result<(), String> {
        let (Some(deadline), Some(started)) = (self.job.limits.deadline, self.memory.started) else {
            return Err("there is no deadline".into());
        };
        if self.now < started + deadline {
            return Err(format!("{} is before {started} + {deadline}", self.now));
        }
        match self.earlier(self.job.rules.len()) {
            Some(rule) => Err(format!(
                "rule {rule} ends the job and holds, but the deadline did"
            )),
            None => Ok(()),
        }
    }

    fn by_order(&self, outcome: Outcome) -> Result<(), String> {
        if self.orders().any(|what| what == Ordered::Finish(outcome)) {
            Ok(())
        } else {
            Err("it was not ordered".into())
        }
    }

    /// Orders that had not been obeyed before.
    fn orders(&self) -> impl Iterator<Item = Ordered> {
        let new = |id| self.before.is_none_or(|memory| !memory.orders.contains(id));
        let orders = self.call.observed.orders.iter();
        orders.filter(move |order| new(&order.id)).map(|order| order.what)
    }

    fn tasks(&self) -> impl Iterator<Item = TaskId> {
        self.job.tasks()
    }

    fn holds(&self, position: usize, rule: &Rule, task: Option<&TaskId>) -> bool {
        match &rule.when {
            When::Ended { .. } => task.is_some_and(|task| {
                let first = self.first_match(task).map(|(at, _)| at);
                first == Some(position) && self.is_due(rule, task)
            }),
            When::Count(counts) => counts.iter().all(|count| self.counts(count)),
            When::Down { who, why } => {
                let down = |task: &TaskId| {
                    who.includes(&task.role, task.index)
                        && self
                            .down_since(task, why, &rule.then)
                            .is_some_and(|at| at + rule.held <= self.now)
                };
                self.tasks().any(|task| down(&task))
            }
            When::InPlace { who, at_least } => *at_least > 0 && self.in_place(who) >= *at_least,
            When::GangBroken => {
                let epoch = self.memory.epoch;
                self.call.observed.gang == GangSeen::Broken { epoch }
            }
        }
    }

    /// The livelier of the instances that carry a task's current stamp.
    fn current(&self, task: &TaskId) -> Option<&TaskSeen> {
        let stamp = self.memory.stamp(task);
        let seen = self.call.observed.tasks.iter();
        let current = seen.filter(|seen| seen.id == *task && seen.stamp == stamp);
        let rank = |seen: &TaskSeen| match seen.state {
            Seen::Running { .. } => 0,
            Seen::Waiting => 1,
            Seen::Ended(_) => 2,
            Seen::Gone(Some(_)) => 3,
            Seen::Gone(None) => 4,
        };
        // Among equals, whichever comes first in their order: any will do, if it is always the same.
        current.min_by(|left, right| (rank(left), *left).cmp(&(rank(right), *right)))
    }

    fn settled(&self, task: &TaskId) -> bool {
        self.memory.is_done(task) || self.memory.is_failed(task)
    }

    /// How a task's current life ended, if it did and nothing has been said about it.
    fn ending(&self, task: &TaskId) -> Option<Ending> {
        if self.settled(task) {
            return None;
        }
        match self.current(task) {
            Some(seen) => match &seen.state {
                Seen::Ended(exit) | Seen::Gone(Some(exit)) if exit.rejected && !exit.asked => {
                    let role = self.memory.roles.get(&task.role);
                    let before = role.map_or(0, |role| role.rejections.get(task.index));
                    let ending = Ending::of(Some(exit));
                    Some(if before >= 5 { Ending::Failed(None) } else { ending })
                }
                Seen::Ended(exit) | Seen::Gone(Some(exit)) => Some(Ending::of(Some(exit))),
                Seen::Gone(None) => Some(Ending::Vanished),
                Seen::Waiting | Seen::Running { .. } => None,
            },
            None => self.vanished(task).then_some(Ending::Vanished),
        }
    }

    fn vanished(&self, task: &TaskId) -> bool {
        let born = self.memory.roles.get(&task.role).map_or(0, |role| role.born);
        let nothing_there = !self.call.observed.tasks.iter().any(|seen| seen.id == *task);
        self.memory.stamp(task).attempt == 0 && task.index < born && nothing_there
    }

    /// The first rule that means a task's end and can be paid for, and whether one before it could not.
    fn first_match(&self, task: &TaskId) -> Option<(usize, bool)> {
        let ending = self.ending(task)?;
        let mut unpaid = false;
        for (at, rule) in self.job.rules.iter().enumerate() {
            let When::Ended { who, how } = &rule.when else {
                continue;
            };
            if !who.includes(&task.role, task.index) || !how.iter().any(|how| means(ending, *how)) {
                continue;
            }
            if matches!(rule.then, Then::Restart { paid: true, .. }) && !self.memory.can_pay(self.job) {
                unpaid = true;
            } else {
                return Some((at, unpaid));
            }
        }
        None
    }

    fn is_due(&self, rule: &Rule, task: &TaskId) -> bool {
        let waits = match rule.then {
            Then::Finish(Outcome::Succeeded) => rule.held,
            _ => rule.held.max(self.job.limits.settle),
        };
        let exit = self.current(task).and_then(TaskSeen::exit);
        exit.is_none_or(|exit| exit.at.min(self.now) + waits <= self.now)
    }

    fn counts(&self, count: &Count) -> bool {
        let looked_at: Vec<TaskId> = self
            .tasks()
            .filter(|task| count.who.includes(&task.role, task.index))
            .collect();
        let is = |task: &&TaskId| match count.what {
            Settled::Succeeded => self.memory.is_done(task),
            Settled::Ended => self.settled(task),
        };
        let counted = looked_at.iter().filter(is).count();
        match count.test {
            Test::All => counted == looked_at.len() && counted > 0,
            Test::AtLeast(least) => counted >= least as usize,
            Test::Below(most) => counted < most as usize,
        }
    }

    fn down_since(&self, task: &TaskId, why: &[Down], then: &Then) -> Option<Time> {
        let role = self.memory.roles.get(&task.role);
        let trying = role.map_or(0, |role| role.starting_since.get(task.index));
        let current = self.current(task);
        let runs = current.is_some_and(|seen| matches!(seen.state, Seen::Running { .. }));
        if trying > 0 && !matches!(then, Then::Restart { .. }) && !self.settled(task) && !runs {
            let down = match self.memory.stamp(task).attempt {
                0 => Down::FirstStart,
                _ => Down::Again,
            };
            return why.contains(&down).then(|| Time(trying.into()).min(self.now));
        }
        let seen = current?;
        let (down, since) = match &seen.state {
            Seen::Waiting if seen.stamp.attempt > 0 => (Down::Again, seen.created),
            Seen::Waiting => (Down::FirstStart, seen.created),
            Seen::Ended(exit) if self.memory.is_failed(task) => (Down::Failed, exit.at),
            Seen::Ended(_) | Seen::Running { .. } | Seen::Gone(_) => return None,
        };
        why.contains(&down).then(|| since.min(self.now))
    }

    fn in_place(&self, who: &Who) -> u32 {
        let tasks = self.tasks().filter(|task| who.includes(&task.role, task.index));
        let restarts = |task: &TaskId| {
            let stamp = self.memory.stamp(task);
            let seen = self.call.observed.tasks.iter();
            let live = seen.filter(|seen| seen.id == *task && seen.stamp == stamp && seen.alive());
            live.fold(0, |sum: u32, seen| sum.saturating_add(seen.in_place))
        };
        tasks.fold(0, |sum: u32, task| sum.saturating_add(restarts(&task)))
    }
}

/// Whether a rule that names `how` means this end; a second time, so that a slip in one of them shows.
fn means(ending: Ending, how: How) -> bool {
    match (ending, how) {
        (Ending::Succeeded, How::Succeeded)
        | (Ending::Failed(_) | Ending::NotStarted, How::Failed)
        | (Ending::NotStarted, How::NotStarted)
        | (Ending::Disrupted, How::Disrupted)
        | (Ending::Vanished, How::Vanished) => true,
        (Ending::Failed(Some(code)), How::Codes(low, high)) => low <= code && code <= high,
        _ => false,
    }
}

/// A clock that is behind memory is held at the newest moment in memory that is not more than a day ahead.
fn held_at(clock: Time, before: Option<&Memory>) -> Time {
    let mut held = clock;
    for moment in before.into_iter().flat_map(Memory::moments) {
        if moment.since(clock) <= 86_400 {
            held = held.max(moment);
        }
    }
    held
}
