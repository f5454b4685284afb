//! The operator's loop: observe, decide, write down, act, tell. It may die, be refused, or see late.

use super::cache::Cache;
use super::properties::{Ledger, Look};
use super::script::Trouble;
use super::stops::why_stopped;
use super::trace::{Happened, StopReason};
use super::world::{Refused, World};
use crate::job::Job;
use crate::memory::Memory;
use crate::observed::Observed;
use crate::step::{Action, Event, Step};
use crate::time::Time;

/// Whether a write found anything to do.
type Changed = bool;

/// What decides: the shipped `step`, or something wrapped around it.
pub type Decide<'a> = dyn FnMut(&Job, Option<&Memory>, &Observed, Time) -> Step + 'a;

/// Seconds until it looks again after a write went wrong.
const RETRY: u32 = 1;

pub(super) struct Driver<'a, 'b> {
    pub decide: &'a mut Decide<'b>,
    /// Checks every property as the run goes on, if somebody wants to know.
    pub ledger: Option<Ledger>,
    cache: Cache,
    /// When it looks again at the latest, on its own clock.
    wake: Option<Time>,
    /// When it looks again because something went wrong.
    retry: Option<Time>,
    crashed: bool,
    writes: u32,
    pub steps: u32,
    /// Told once, not on every look.
    odd: Vec<Event>,
    /// What was written down, with the manifest of that moment; kept only where an old leader will need it.
    versions: Vec<(Job, Memory)>,
    keep_versions: bool,
}

/// What went wrong with a write.
enum Wrong {
    Refused,
    /// Carried out, perhaps; to be looked at again.
    Unsure,
    Died,
}

impl<'a, 'b> Driver<'a, 'b> {
    pub fn new(decide: &'a mut Decide<'b>, ledger: Option<Ledger>, keep_versions: bool) -> Self {
        Self {
            decide,
            ledger,
            cache: Cache::default(),
            wake: None,
            retry: None,
            crashed: false,
            writes: 0,
            steps: 0,
            odd: Vec::new(),
            versions: Vec::new(),
            keep_versions,
        }
    }

    /// The next moment at which it looks by itself.
    pub fn next(&self, world: &World) -> Option<Time> {
        let skew = world.operator.skew;
        let wake = self
            .wake
            .map(|wake| Time(wake.0.saturating_add_signed(skew.saturating_neg())));
        wake.into_iter()
            .chain(self.retry)
            .min()
            .filter(|at| *at > world.now)
    }

    /// One look at the job; whether something was written, so that another look is due at once.
    pub fn look(&mut self, world: &mut World) -> bool {
        while let Some(behind) = world.operator.old_leaders.pop() {
            self.act_as_old_leader(world, behind);
        }
        if world.operator.away_until > world.now {
            return false;
        }
        self.refresh(world);
        let observed = self.cache.observe(world);
        let step = (self.decide)(&world.job, world.memory.as_ref(), &observed, world.clock());
        self.steps += 1;
        self.wake = step.wake;
        self.retry = None;
        if let Some(ledger) = &mut self.ledger {
            let look = Look {
                job: &world.job,
                memory: world.memory.as_ref(),
                observed: &observed,
                now: world.clock(),
                step: &step,
            };
            ledger.stepped(&look, self.decide, world.elapsed());
        }
        let changes = world.memory.as_ref() != Some(&step.memory);
        match self.follow(world, &observed, &step) {
            Ok(acted) => changes || acted,
            Err(Wrong::Refused | Wrong::Unsure) => {
                self.retry = Some(world.now + RETRY);
                false
            }
            // If it is back in the same second, it looks in the same second.
            Err(Wrong::Died) => true,
        }
    }

    /// Brings what it sees up to date.
    fn refresh(&mut self, world: &mut World) {
        let relists = std::mem::take(&mut world.operator.relists);
        if std::mem::take(&mut self.crashed) {
            if self.cache.would_lose(world) {
                self.lose_sight();
            }
            self.cache = Cache::fresh(world);
            world.note(Happened::Recovered);
        } else if relists {
            if self.cache.relist(world) {
                self.lose_sight();
            }
        } else {
            self.cache.deliver(world, true);
        }
    }

    fn lose_sight(&mut self) {
        if let Some(ledger) = &mut self.ledger {
            ledger.lost_sight();
        }
    }

    /// Writes memory down, then acts; whether it acted.
    fn follow(&mut self, world: &mut World, observed: &Observed, step: &Step) -> Result<bool, Wrong> {
        if world.memory.as_ref() == Some(&step.memory) {
            self.tell(world, &step.events);
        } else {
            self.persist(world, observed, step)?;
        }
        let mut acted = false;
        for action in &step.actions {
            acted |= self.act(world, &step.memory, observed, action)?;
        }
        self.cache.forget(world, &step.memory);
        Ok(acted)
    }

    fn persist(&mut self, world: &mut World, observed: &Observed, step: &Step) -> Result<(), Wrong> {
        let trouble = self.trouble(world);
        if matches!(trouble, Some(Trouble::WriteRefused { .. })) {
            return Err(Wrong::Refused);
        }
        if let Some(ledger) = &mut self.ledger {
            ledger.persisted(world, observed, step);
        }
        if self.keep_versions
            && let Some(memory) = world.memory.take()
        {
            self.versions.push((world.job.clone(), memory));
        }
        world.memory = Some(step.memory.clone());
        self.tell(world, &step.events);
        self.suffer(world, trouble.as_ref())
    }

    fn act(
        &mut self,
        world: &mut World,
        memory: &Memory,
        observed: &Observed,
        action: &Action,
    ) -> Result<Changed, Wrong> {
        let trouble = self.trouble(world);
        if matches!(trouble, Some(Trouble::WriteRefused { .. })) {
            return Err(Wrong::Refused);
        }
        let done = carry_out(world, memory, observed, action);
        if done.is_ok() {
            self.acknowledge(world, action);
        }
        self.suffer(world, trouble.as_ref())?;
        done.map_err(|_| Wrong::Refused)
    }

    /// What our own write has made is visible from now on.
    fn acknowledge(&mut self, world: &World, action: &Action) {
        match action {
            Action::Create { .. } => {
                self.cache.acknowledge_create(world);
                if let Some(ledger) = &mut self.ledger {
                    ledger.created(world);
                }
            }
            Action::Stop { instance, force, .. } => {
                self.cache.acknowledge_stop(world, instance, *force);
                if let Some(ledger) = &mut self.ledger {
                    ledger.stopped(world, instance);
                }
            }
            Action::Ensure(fixture) | Action::Remove(fixture) => {
                self.cache.acknowledge(world, Some(*fixture));
            }
            Action::Answered(_) | Action::DeleteJob => self.cache.acknowledge(world, None),
        }
    }

    fn trouble(&mut self, world: &mut World) -> Option<Trouble> {
        let number = self.writes;
        self.writes += 1;
        world.trouble_with(number)
    }

    /// What follows from trouble with a write that was carried out.
    fn suffer(&mut self, world: &mut World, trouble: Option<&Trouble>) -> Result<(), Wrong> {
        match trouble {
            Some(Trouble::Crashes { down, .. }) => {
                self.crashed = true;
                self.wake = None;
                let until = world.now + *down;
                world.operator.away_until = world.operator.away_until.max(until);
                world.operator.away += *down;
                Err(Wrong::Died)
            }
            Some(_) => Err(Wrong::Unsure),
            None => Ok(()),
        }
    }

    /// Somebody with an old memory acts once. What it would write down conflicts, and then it does nothing.
    fn act_as_old_leader(&mut self, world: &mut World, behind: u32) {
        let Some(at) = self.versions.len().checked_sub(behind.max(1) as usize) else {
            return;
        };
        let (job, memory) = self.versions[at].clone();
        let observed = Cache::fresh(world).observe(world);
        let now = world.clock();
        let step = (self.decide)(&job, Some(&memory), &observed, now);
        if let Some(ledger) = &mut self.ledger {
            let look = Look {
                job: &job,
                memory: Some(&memory),
                observed: &observed,
                now,
                step: &step,
            };
            ledger.stepped(&look, self.decide, world.elapsed());
        }
        if step.memory != memory {
            return;
        }
        for action in &step.actions {
            if carry_out(world, &memory, &observed, action).is_err() {
                return;
            }
        }
    }

    fn tell(&mut self, world: &mut World, events: &[Event]) {
        for event in events {
            if matches!(event, Event::Odd(_)) {
                if self.odd.contains(event) {
                    continue;
                }
                self.odd.push(event.clone());
            }
            world.note(Happened::Decided(event.clone()));
        }
    }
}

fn carry_out(
    world: &mut World,
    memory: &Memory,
    observed: &Observed,
    action: &Action,
) -> Result<Changed, Refused> {
    match action {
        Action::Ensure(fixture) => world.ensure(*fixture),
        Action::Stop { instance, force, .. } => {
            let seen = observed.tasks.iter().find(|seen| seen.instance == *instance);
            let why = seen.and_then(|seen| why_stopped(&world.job, memory, seen, *force));
            let stopped = world.stop(instance, *force, why.unwrap_or(StopReason::Restarted));
            // What is gone already need not be stopped.
            return Ok(stopped.is_ok());
        }
        Action::Create { task, stamp } => world.create(task, *stamp)?,
        Action::Remove(fixture) => world.take_away(*fixture),
        Action::Answered(id) => world.answer(id),
        Action::DeleteJob => world.delete_job(),
    }
    Ok(true)
}
