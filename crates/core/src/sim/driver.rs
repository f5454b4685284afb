//! The operator's loop: observe, decide, store, act, report. It may crash, be refused, see late and store late.

use super::cache::Cache;
use super::observer::{Observer, StepCall};
use super::script::Trouble;
use super::stops::why_stopped;
use super::trace::{Happened, StopReason};
use super::world::{Refused, World};
use crate::job::Job;
use crate::memory::Memory;
use crate::observed::{Observed, Refusal, Storage};
use crate::step::{Action, Event, Persist, Step};
use crate::time::Time;

/// Whether a write found anything to do.
type Changed = bool;

/// What decides: the shipped `step`, or something wrapped around it.
pub(crate) type Decide<'a> = dyn FnMut(&Job, Option<&Memory>, &Observed, Time) -> Step + 'a;

/// Seconds until the next step after storing or stopping went wrong.
const RETRY: u32 = 1;
/// The longest wait after a create was refused, in seconds; the first is one second, and it doubles.
const LAST_RETRY: u32 = 60;

pub(super) struct Driver<'a, 'b> {
    pub decide: &'a mut Decide<'b>,
    pub observer: &'a mut dyn Observer,
    cache: Cache,
    /// When it steps again at the latest, on its own clock.
    wake: Option<Time>,
    /// When it steps again because a write went wrong.
    retry: Option<Time>,
    /// Creates and ensures refused in a row, and until when none is tried, on its own clock.
    refusals: u32,
    refused: Option<Refusal>,
    crashed: bool,
    writes: u32,
    /// Reported once, not with every step.
    odd: Vec<Event>,
    /// What was stored, with the manifest of that moment; kept only where an old leader will need it.
    versions: Vec<(Job, Memory)>,
    keep_versions: bool,
}

/// What went wrong with a write.
enum Wrong {
    /// It was not carried out.
    Refused,
    /// A create or an ensure was not carried out: there is a back-off for those.
    NotMade,
    /// Carried out, perhaps: the answer was lost.
    Unsure,
    /// The operator crashed after it.
    Died,
}

impl<'a, 'b> Driver<'a, 'b> {
    pub fn new(decide: &'a mut Decide<'b>, observer: &'a mut dyn Observer, keep_versions: bool) -> Self {
        Self {
            decide,
            observer,
            cache: Cache::default(),
            wake: None,
            retry: None,
            refusals: 0,
            refused: None,
            crashed: false,
            writes: 0,
            odd: Vec::new(),
            versions: Vec::new(),
            keep_versions,
        }
    }

    /// The next moment at which it steps by itself.
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

    /// One step; whether something was written, so that another one is due at once.
    pub fn reconcile(&mut self, world: &mut World) -> bool {
        while let Some(behind) = world.operator.old_leaders.pop() {
            self.act_as_old_leader(world, behind);
        }
        if world.operator.away_until > world.now {
            return false;
        }
        self.observer.stepping(world);
        self.refresh(world);
        let observed = Observed {
            refused: self.refused,
            storage: world.operator.storage,
            ..self.cache.observe(world)
        };
        let step = self.step_on(world, (&world.job, world.memory.as_ref()), &observed);
        self.wake = step.wake;
        self.retry = None;
        match self.follow(world, &observed, &step) {
            Ok(changed) => changed,
            Err(Wrong::Refused | Wrong::Unsure) => {
                self.retry = Some(world.now + RETRY);
                false
            }
            // What is left to do without it is done in the same second; so it is by one that is back from a crash.
            Err(Wrong::NotMade | Wrong::Died) => true,
        }
    }

    fn step_on(
        &mut self,
        world: &World,
        (job, memory): (&Job, Option<&Memory>),
        observed: &Observed,
    ) -> Step {
        let now = world.clock();
        let step = (self.decide)(job, memory, observed, now);
        let call = StepCall {
            job,
            memory,
            observed,
            now,
            step: &step,
        };
        self.observer.stepped(&call, self.decide, world.elapsed());
        step
    }

    /// Brings what it sees up to date.
    fn refresh(&mut self, world: &mut World) {
        let relists = std::mem::take(&mut world.operator.relists);
        if std::mem::take(&mut self.crashed) {
            self.observer.lost_sight(&self.cache.would_lose(world));
            self.cache = Cache::fresh(world);
            world.note(Happened::Recovered);
        } else if relists {
            self.observer.lost_sight(&self.cache.relist(world));
        } else {
            self.cache.deliver(world, true);
        }
    }

    /// Stores memory when that is due, then acts; whether something was written.
    fn follow(&mut self, world: &mut World, observed: &Observed, step: &Step) -> Result<Changed, Wrong> {
        if observed.storage == Storage::Drops {
            // Storing would be in vain. The tests check that there is nothing to do either.
            let odd = step.events.iter().filter(|event| matches!(event, Event::Odd(_)));
            self.report(world, &odd.cloned().collect::<Vec<_>>());
            return Ok(false);
        }
        let late = world.stores_late();
        let stores = match step.persist {
            Persist::Nothing => false,
            Persist::Before => true,
            Persist::By(by) => !late || world.clock() >= by,
            Persist::WithNext => !late,
        };
        if stores {
            self.store(world, observed, step)?;
        } else if step.persist == Persist::Nothing {
            self.report(world, &step.events);
        }
        let mut acted = false;
        for action in &step.actions {
            acted |= self.act(world, &step.memory, observed, action)?;
        }
        self.cache.forget(world);
        Ok(stores || acted)
    }

    fn store(&mut self, world: &mut World, observed: &Observed, step: &Step) -> Result<(), Wrong> {
        let trouble = self.trouble(world);
        if matches!(trouble, Some(Trouble::WriteRefused { .. })) {
            return Err(Wrong::Refused);
        }
        self.observer.storing(world, observed, step);
        if self.keep_versions
            && let Some(memory) = world.memory.take()
        {
            self.versions.push((world.job.clone(), memory));
        }
        world.memory = Some(step.memory.clone());
        if world.operator.storage == Storage::Unknown {
            // The answer to the write shows the memory.
            world.operator.storage = Storage::Keeps;
        }
        self.report(world, &step.events);
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
        let refused = matches!(trouble, Some(Trouble::WriteRefused { .. }));
        if let Action::Ensure(fixture) | Action::Remove(fixture) = action {
            self.observer.writing(world, *fixture);
        }
        let done = if refused {
            Err(Refused)
        } else {
            carry_out(world, memory, observed, action)
        };
        match done {
            Ok(_) => self.acknowledge(world, action),
            Err(Refused) if action.makes() => return Err(self.back_off(world)),
            Err(Refused) => return Err(Wrong::Refused),
        }
        self.suffer(world, trouble.as_ref())?;
        Ok(done.is_ok_and(|changed| changed))
    }

    /// A create or an ensure was refused: none is tried again for a while, each time longer.
    fn back_off(&mut self, world: &World) -> Wrong {
        let wait = 1_u32.checked_shl(self.refusals).unwrap_or(LAST_RETRY);
        self.refusals = self.refusals.saturating_add(1);
        self.refused = Some(Refusal {
            until: world.clock() + wait.min(LAST_RETRY),
        });
        Wrong::NotMade
    }

    /// What our own write has made is visible from now on.
    fn acknowledge(&mut self, world: &World, action: &Action) {
        if action.makes() {
            self.refusals = 0;
            self.refused = None;
        }
        match action {
            Action::Create { .. } => {
                self.cache.acknowledge_create(world);
                self.observer.created(world);
            }
            Action::Stop { instance, force, .. } => {
                self.cache.acknowledge_stop(world, instance, *force);
                self.observer.stopped(world, instance);
            }
            Action::Ensure(fixture) | Action::Remove(fixture) => {
                self.cache.acknowledge(world, Some(*fixture));
            }
            Action::Answered(_) | Action::Ungate { .. } | Action::DeleteJob => {
                self.cache.acknowledge(world, None);
            }
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
                (self.refusals, self.refused) = (0, None);
                let until = world.now + *down;
                world.operator.away_until = world.operator.away_until.max(until);
                world.operator.away += *down;
                Err(Wrong::Died)
            }
            Some(_) => Err(Wrong::Unsure),
            None => Ok(()),
        }
    }

    /// A deposed leader acts once on an old memory. What it would have to store first conflicts, and then it does nothing.
    fn act_as_old_leader(&mut self, world: &mut World, behind: u32) {
        let Some(at) = self.versions.len().checked_sub(behind.max(1) as usize) else {
            return;
        };
        let (job, memory) = self.versions[at].clone();
        let observed = Cache::fresh(world).observe(world);
        let step = self.step_on(world, (&job, Some(&memory)), &observed);
        if step.persist == Persist::Before {
            return;
        }
        for action in &step.actions {
            if carry_out(world, &memory, &observed, action).is_err() {
                return;
            }
        }
    }

    fn report(&mut self, world: &mut World, events: &[Event]) {
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
        Action::Ensure(fixture) => world.ensure(*fixture)?,
        Action::Stop { instance, force, .. } => {
            let seen = observed.tasks.iter().find(|seen| seen.instance == *instance);
            let why = seen.and_then(|seen| why_stopped(&world.job, memory, seen, *force));
            // What is gone already need not be stopped.
            return Ok(world.stop(instance, *force, why.unwrap_or(StopReason::Restarted)));
        }
        Action::Create { task, stamp } => world.create(task, *stamp)?,
        Action::Remove(fixture) => world.take_away(*fixture),
        Action::Answered(id) => world.answer(id),
        // No scheduler keeps an instance of the simulator waiting.
        Action::Ungate { .. } => {}
        Action::DeleteJob => world.delete_job(),
    }
    Ok(true)
}
