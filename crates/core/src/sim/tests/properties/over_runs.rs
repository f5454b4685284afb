//! T1 to T5, T8 to T12 and I1: what holds over a whole run, kept as a ledger beside it.

use std::collections::{BTreeMap, BTreeSet};

use super::check_step;
use super::{Violation, check_at_rest, check_verdict};
use crate::exit::Ending;
use crate::job::{Job, TaskId, Wait};
use crate::memory::Memory;
use crate::observed::{Fixture, FixtureSeen, Observed, Ordered, Stamp, Storage, TaskSeen};
use crate::rule::{How, Scope, Settled, Test, Then, When, Who};
use crate::sim::driver::Decide;
use crate::sim::instance::{Instance, State};
use crate::sim::observer::{Observer, StepCall};
use crate::sim::play::Rest;
use crate::sim::script::{Fault, Script, Trouble};
use crate::sim::trace::{Entry, Happened, StopReason};
use crate::sim::world::World;
use crate::step::{Event, Step};
use crate::{Cluster, addresses, wait_before};

/// Enough to see what is wrong.
const MOST_VIOLATIONS: usize = 20;
/// T12.
const MOST_BYTES: usize = 8 * 1024;

/// What has been seen of a run so far, as far as properties need it.
pub struct Ledger {
    pub violations: Vec<Violation>,
    /// Only one leader acts; with two that overlap, less is claimed.
    one_leader: bool,
    /// Seconds that clocks and refused writes may add to a deadline.
    slack: u64,
    /// Lives whose end has been answered.
    answered: BTreeSet<(TaskId, Stamp)>,
    paid: u32,
    /// Restarts because the gang was broken.
    breaks_answered: usize,
    /// Tasks that were stored as done, and in which epoch.
    done: BTreeMap<TaskId, u32>,
    /// Tasks that have truly exited 0 unasked, and in which epoch, unless sight of them was lost.
    succeeded: Option<BTreeMap<TaskId, u32>>,
    /// What the tasks of an epoch were told, by the numbers of replicas.
    clusters: BTreeMap<(u32, Vec<u32>), String>,
    /// Whether waits are the operator's alone: no user and no wrong clock cuts one short.
    waits_kept: bool,
    /// Moments in which the operator forgets what it has created: what vanishes before it is seen is created once more.
    forgets: usize,
}

impl Ledger {
    pub fn new(script: &Script) -> Self {
        let mut slack = 0;
        let mut one_leader = true;
        for fault in &script.faults {
            match fault {
                Fault::Operator(Trouble::ClockSteps { by, .. }) => {
                    slack += u64::from(by.unsigned_abs());
                }
                Fault::Operator(Trouble::WriteRefused { .. } | Trouble::WriteTimesOut { .. }) => slack += 1,
                Fault::Operator(Trouble::OldLeader { .. }) => one_leader = false,
                Fault::Storage {
                    at,
                    seen: Storage::Drops,
                } => slack += u64::from(until_kept(script, *at) - at),
                _ => {}
            }
        }
        Self {
            violations: Vec::new(),
            one_leader,
            slack,
            answered: BTreeSet::new(),
            paid: 0,
            breaks_answered: 0,
            done: BTreeMap::new(),
            succeeded: one_leader.then(BTreeMap::new),
            clusters: BTreeMap::new(),
            waits_kept: one_leader && !script.faults.iter().any(cuts_waits_short),
            forgets: script.faults.iter().filter(|fault| makes_forget(fault)).count(),
        }
    }

    fn check(&mut self, property: &'static str, at: u32, holds: bool, what: impl FnOnce() -> String) {
        if !holds && self.violations.len() < MOST_VIOLATIONS {
            self.violations.push(Violation {
                property,
                at,
                what: what(),
            });
        }
    }

    /// T1: at most one instance of a task lives.
    fn one_alive(&mut self, world: &World) {
        let mut alive = BTreeSet::new();
        for instance in world.ours().filter(|instance| instance.alive()) {
            let first = alive.insert(&instance.task);
            self.check("T1", world.elapsed(), first, || {
                format!("a second {} lives: {:?}", instance.task, instance.stamp)
            });
        }
    }

    fn note_successes(&mut self, world: &World) {
        let Some(succeeded) = &mut self.succeeded else {
            return;
        };
        // The first lives may be there before the first memory is stored.
        let stamp = |task: &TaskId| {
            let memory = world.memory.as_ref();
            memory.map_or_else(Stamp::default, |memory| memory.stamp(task))
        };
        for instance in world.ours() {
            let (State::Ended(exit) | State::Lingering { exit, .. } | State::Gone(Some(exit))) =
                &instance.state
            else {
                continue;
            };
            let current = stamp(&instance.task) == instance.stamp;
            let now = exit.at == world.now && current;
            if now && Ending::of(Some(exit)) == Ending::Succeeded {
                succeeded.insert(instance.task.clone(), instance.stamp.epoch);
            }
        }
    }

    /// L2 to L11 and T6, on every call.
    fn check_call(&mut self, call: &StepCall, decide: &mut Decide<'_>, at: u32) {
        for violation in check_step(call, decide).into_iter().chain(check_verdict(call)) {
            self.check(violation.property, at, false, || violation.what);
        }
        let memory = &call.step.memory;
        let may_run = memory.verdict.is_none() && memory.held.is_none() && !call.observed.deleting;
        if may_run {
            self.within_budget(call.job, memory, at);
            self.ended_means_verdict(call.job, memory, at);
            let deadline = call.job.limits.deadline.zip(memory.started);
            let kept = deadline.is_none_or(|(deadline, started)| call.now < started + deadline);
            self.check("T8", at, kept, || format!("{deadline:?} is over at {}", call.now));
        }
    }

    /// T4: past the limit a job that may run has a verdict.
    fn within_budget(&mut self, job: &Job, memory: &Memory, at: u32) {
        let spent = memory.spent(job);
        let limit = job.limits.restarts;
        let within = !job.limits.count_in_place || limit.is_none_or(|limit| spent <= limit);
        self.check("T4", at, within, || {
            format!("{spent} of {limit:?} spent and no verdict")
        });
    }

    /// T11: when every task has ended, a job that may run has a verdict.
    fn ended_means_verdict(&mut self, job: &Job, memory: &Memory, at: u32) {
        let all_ended = job.size() > 0
            && job
                .tasks()
                .all(|task| memory.is_done(&task) || memory.is_failed(&task));
        self.check("T11", at, !all_ended || !decides_all_ended(job), || {
            "every task has ended, and there is no verdict".into()
        });
    }

    /// A memory is being stored; `world` still has the one before.
    fn check_stored(&mut self, world: &World, observed: &Observed, step: &Step) {
        let at = world.elapsed();
        for event in &step.events {
            if let Event::TaskEnded { task, stamp, how, .. } = event {
                self.answers_once(world, task, *stamp, *how);
            }
        }
        self.counts_payments(world, observed, step);
        self.charges_breaks_once(world, step);
        self.note_done(&world.job, step);
        for instance in world.ours().filter(|instance| instance.exists()) {
            let persisted = step.memory.stamp(&instance.task);
            self.check("I1", at, instance.stamp <= persisted || !self.one_leader, || {
                format!(
                    "{} is newer than memory's {persisted:?}: {:?}",
                    instance.name, instance.stamp
                )
            });
        }
        self.deadline_kept(world, step);
    }

    /// T3: the end of each life is answered at most once, only if that life was, and never if we ended it ourselves.
    fn answers_once(&mut self, world: &World, task: &TaskId, stamp: Stamp, how: How) {
        let at = world.elapsed();
        let first = self.answered.insert((task.clone(), stamp));
        self.check("T3", at, first, || {
            format!("{task} {stamp:?} was answered before")
        });
        let lives: Vec<&Instance> = world
            .ours()
            .filter(|instance| instance.task == *task && instance.stamp == stamp)
            .collect();
        self.check("T3", at, !lives.is_empty(), || {
            format!("{task} {stamp:?} never was, and ended by {how:?}")
        });
        let own = |instance: &&Instance| {
            instance
                .told
                .is_some_and(|told| !matches!(told.why, StopReason::Asked | StopReason::LostNode))
        };
        let ours = !lives.is_empty() && lives.iter().all(own);
        self.check("T3", at, !ours || !self.one_leader, || {
            format!("{task} {stamp:?} was stopped by us and answered as {how:?}")
        });
    }

    /// T4: `paid` is the number of paid restarts that were written down.
    fn counts_payments(&mut self, world: &World, observed: &Observed, step: &Step) {
        let before = world.memory.as_ref();
        let restart = |event: &&Event| matches!(event, Event::Restarting { paid: true, .. });
        let restarts = u32::try_from(step.events.iter().filter(restart).count()).unwrap_or(u32::MAX);
        // To resume for a price is told as any other resumption.
        let new = |id| before.is_none_or(|memory| !memory.orders.contains(id));
        let resumes = observed
            .orders
            .iter()
            .filter(|order| matches!(order.what, Ordered::Resume { paid: true }) && new(&order.id));
        let resumes = u32::try_from(resumes.count()).unwrap_or(u32::MAX);
        let was = self.paid;
        let rise = step.memory.paid.wrapping_sub(was);
        self.paid = step.memory.paid;
        let right = (restarts..=restarts.saturating_add(resumes)).contains(&rise);
        self.check("T4", world.elapsed(), right, || {
            format!(
                "paid rose from {was} to {}, with {restarts} paid restarts",
                step.memory.paid
            )
        });
    }

    /// T4: a gang that broke is answered once, however long it looks broken.
    fn charges_breaks_once(&mut self, world: &World, step: &Step) {
        let by_gang = |rule: u16| {
            let rule = world.job.rules.get(usize::from(rule));
            rule.is_some_and(|rule| rule.when == When::GangBroken)
        };
        let answers = step
            .events
            .iter()
            .filter(|event| matches!(event, Event::Restarting { rule: Some(rule), .. } if by_gang(*rule)));
        self.breaks_answered += answers.count();
        let broke = |entry: &&Entry| entry.what == Happened::GangBroken;
        let breaks = world.trace.entries.iter().filter(broke).count();
        let answered = self.breaks_answered;
        self.check("T4", world.elapsed(), answered <= breaks, || {
            format!("the gang broke {breaks} times, and that was answered {answered} times")
        });
    }

    /// Keeps the book on what is done: a restart that names a task, or scaling it away, strikes it off.
    fn note_done(&mut self, job: &Job, step: &Step) {
        for event in &step.events {
            if let Event::Restarting { scope, task, .. } = event {
                let struck = |id: &TaskId| match scope {
                    Scope::Task => task.as_ref() == Some(id),
                    Scope::Roles(roles) => roles.contains(&id.role) || task.as_ref() == Some(id),
                    Scope::Job => true,
                };
                self.strike_off(struck);
            }
        }
        self.strike_off(|id| {
            job.role(&id.role)
                .is_none_or(|(_, role)| id.index >= role.replicas)
        });
        for task in job.tasks().filter(|task| step.memory.is_done(task)) {
            self.done.insert(task, step.memory.epoch);
        }
    }

    fn strike_off(&mut self, struck: impl Fn(&TaskId) -> bool) {
        self.done.retain(|id, _| !struck(id));
        if let Some(succeeded) = &mut self.succeeded {
            succeeded.retain(|id, _| !struck(id));
        }
    }

    /// T8: a deadline is kept to the second, but for the time in which the operator was away.
    fn deadline_kept(&mut self, world: &World, step: &Step) {
        let memory = &step.memory;
        let fresh = world
            .memory
            .as_ref()
            .is_none_or(|memory| memory.verdict.is_none());
        let (true, Some(verdict), Some(deadline), Some(started), None) = (
            fresh,
            &memory.verdict,
            world.job.limits.deadline,
            memory.started,
            memory.held,
        ) else {
            return;
        };
        let late = verdict
            .at
            .since(started)
            .saturating_sub(u64::from(deadline) + u64::from(world.operator.away) + self.slack + 1);
        self.check("T8", world.elapsed(), late == 0, || {
            format!("{late} s after {started} + {deadline}: {verdict:?}")
        });
    }

    /// An instance was created by us: the newest one.
    fn check_created(&mut self, world: &World) {
        let Some(instance) = world.instances.last() else {
            return;
        };
        let at = world.elapsed();
        let (task, stamp) = (&instance.task, instance.stamp);
        self.old_epoch_is_dead(world, instance);
        let persisted = world.memory.as_ref().map(|memory| memory.stamp(task));
        let known = stamp <= persisted.unwrap_or_default();
        self.check("I1", at, known || !self.one_leader, || {
            format!("{task} was created as {stamp:?} and memory says {persisted:?}")
        });
        let done = self.done.get(task) == Some(&stamp.epoch);
        self.check("T5", at, !done || !self.one_leader, || {
            format!("{task} is done in epoch {}", stamp.epoch)
        });
        let succeeded = self.succeeded.as_ref();
        let ran = succeeded.is_some_and(|tasks| tasks.get(task) == Some(&stamp.epoch));
        self.check("T5w", at, !ran, || {
            format!("{task} has exited 0 in epoch {}", stamp.epoch)
        });
        self.same_cluster(world, stamp.epoch, at);
        self.no_hot_loop(world, instance);
    }

    /// T15: at most 4 lives of a task in any 60 s and 16 in any hour, unless one of them, or of a task that it is restarted
    /// with, ran for ten minutes.
    fn no_hot_loop(&mut self, world: &World, newest: &Instance) {
        let wait = world.job.limits.wait;
        if !self.waits_kept {
            return;
        }
        let of_task = |other: &&Instance| other.task == newest.task;
        for window in [60, 3600] {
            let most = lives_within(&wait, window) + self.forgets;
            let within = |other: &&Instance| world.now.since(other.created) < window;
            let lives: Vec<&Instance> = world.ours().filter(of_task).filter(within).collect();
            let healthy = |seen: &TaskSeen| {
                let exit = seen.exit().filter(|exit| exit.ran >= wait.healthy);
                exit.is_some_and(|exit| world.now.since(exit.at) < window)
            };
            let matters =
                |life: &&Instance| life.task == newest.task || restarts_with_others(&world.job, &newest.task);
            let mut others = world.ours().filter(matters);
            let many = lives.len() > most && !others.any(|life| life.history.iter().any(healthy));
            self.check("T15", world.elapsed(), !many, || {
                format!("{} has {} lives in {window} s", newest.task, lives.len())
            });
        }
    }

    /// T2: no instance of an epoch is created while one of an older epoch lives.
    fn old_epoch_is_dead(&mut self, world: &World, instance: &Instance) {
        let older = |other: &&Instance| other.alive() && other.stamp.epoch < instance.stamp.epoch;
        let old = world.ours().find(older);
        self.check("T2", world.elapsed(), old.is_none() || !self.one_leader, || {
            format!(
                "{} was created while {} lives",
                instance.name,
                old.map_or("", |old| &old.name)
            )
        });
    }

    /// T9: instances of one epoch, created under equal numbers of replicas, are told the same cluster.
    fn same_cluster(&mut self, world: &World, epoch: u32, at: u32) {
        let job = &world.job;
        let replicas = job.roles.iter().map(|role| role.replicas).collect();
        let cluster = Cluster::of(job, &addresses(job, None));
        let told = cluster.shared().unwrap_or_default().to_owned();
        let before = self
            .clusters
            .entry((epoch, replicas))
            .or_insert_with(|| told.clone());
        let same = *before == told;
        self.check("T9", at, same, || format!("another cluster: {told}"));
    }

    /// T10: nothing is touched that is not the job's own.
    fn check_stopped(&mut self, world: &World, name: &str) {
        let foreign = world
            .instances
            .iter()
            .any(|instance| &*instance.name == name && !instance.ours);
        self.check("T10", world.elapsed(), !foreign, || {
            format!("{name} is not the job's own")
        });
    }

    /// T12: memory stays below 8 KiB.
    fn check_size(&mut self, world: &World) {
        let at = world.elapsed();
        let text = world.memory.as_ref().map(serde_json::to_string);
        let length = text.map_or(0, |text| text.map_or(usize::MAX, |text| text.len()));
        self.check("T12", at, length <= MOST_BYTES, || {
            format!("memory takes {length} bytes")
        });
    }
}

impl Observer for Ledger {
    fn stepped(&mut self, call: &StepCall, decide: &mut Decide<'_>, at: u32) {
        self.check_call(call, decide, at);
    }

    fn lost_sight(&mut self, tasks: &[TaskId]) {
        if let Some(succeeded) = &mut self.succeeded {
            succeeded.retain(|task, _| !tasks.contains(task));
        }
    }

    fn advanced(&mut self, world: &World) {
        self.one_alive(world);
        self.note_successes(world);
    }

    fn storing(&mut self, world: &World, observed: &Observed, step: &Step) {
        self.check_stored(world, observed, step);
    }

    fn created(&mut self, world: &World) {
        self.check_created(world);
    }

    fn stopped(&mut self, world: &World, instance: &str) {
        self.check_stopped(world, instance);
    }

    fn writing(&mut self, world: &World, fixture: Fixture) {
        let foreign = world.fixtures.get(&fixture) == Some(&FixtureSeen::Foreign);
        self.check("T10", world.elapsed(), !foreign, || {
            format!("{fixture:?} was made by others")
        });
    }

    fn rested(&mut self, world: &World, rest: Rest, decide: &mut Decide<'_>) {
        if let Err(what) = check_at_rest(world, rest, decide) {
            self.check("T7", world.elapsed(), false, || what);
        }
        self.check_size(world);
    }
}

/// How many lives fit into so many seconds if each ends as soon as it begins: 4 into a minute, and 16 into an hour.
fn lives_within(wait: &Wait, window: u64) -> usize {
    let mut at = 0;
    let mut lives = 0;
    // Without waits there is no bound.
    while at < window && lives < 1000 {
        lives += 1;
        at += u64::from(wait_before(wait, None, u32::try_from(lives).unwrap_or(u32::MAX)));
    }
    lives
}

/// The second in which memory is kept again that is dropped from `at` on.
fn until_kept(script: &Script, at: u32) -> u32 {
    let kept = script.faults.iter().filter_map(|fault| match fault {
        Fault::Storage { at, seen } if *seen != Storage::Drops => Some(*at),
        _ => None,
    });
    kept.filter(|kept| *kept >= at).min().unwrap_or(at)
}

/// Whether a fault may bring a new life early: a user's wish, or a clock.
fn cuts_waits_short(fault: &Fault) -> bool {
    matches!(
        fault,
        Fault::Suspend { .. }
            | Fault::Resume { .. }
            | Fault::Replicas { .. }
            | Fault::Ordered { .. }
            | Fault::Operator(Trouble::ClockSteps { .. })
    )
}

/// Whether the end of another task may restart this one.
fn restarts_with_others(job: &Job, task: &TaskId) -> bool {
    job.rules.iter().any(|rule| match &rule.then {
        Then::Restart {
            scope: Scope::Roles(roles),
            ..
        } => roles.contains(&task.role),
        Then::Restart { scope, .. } => *scope == Scope::Job,
        _ => false,
    })
}

fn makes_forget(fault: &Fault) -> bool {
    matches!(
        fault,
        Fault::Operator(Trouble::Crashes { .. } | Trouble::WriteTimesOut { .. })
    )
}

/// Whether the rules give a verdict once every task has ended, as every dialect's do.
fn decides_all_ended(job: &Job) -> bool {
    job.rules.iter().any(|rule| {
        let all = |counts: &[crate::Count]| {
            matches!(counts, [count] if count.who == Who::any()
                && count.what == Settled::Ended
                && count.test == Test::All)
        };
        matches!(&rule.when, When::Count(counts) if all(counts)) && matches!(rule.then, Then::Finish(_))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_lives_fit_into_a_minute_and_sixteen_into_an_hour() {
        let lives = [60, 3600].map(|window| lives_within(&Wait::default(), window));
        assert_eq!(lives, [4, 16]);
    }
}
