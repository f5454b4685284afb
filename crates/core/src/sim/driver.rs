//! The operator's loop: observe, decide, write down, act, tell.

use super::cache::Cache;
use super::trace::{Happened, StopReason};
use super::world::{Refused, World};
use crate::job::Job;
use crate::memory::Memory;
use crate::observed::{Observed, TaskSeen};
use crate::step::{Action, Event, Step};
use crate::time::Time;

/// What decides: the shipped `step`, or something wrapped around it.
pub type Decide<'a> = dyn FnMut(&Job, Option<&Memory>, &Observed, Time) -> Step + 'a;

pub(super) struct Driver<'a> {
    decide: &'a mut Decide<'a>,
    cache: Cache,
    /// When it looks again, at the latest.
    pub wake: Option<Time>,
    pub steps: u32,
    /// Told once, not on every look.
    odd: Vec<Event>,
}

impl<'a> Driver<'a> {
    pub fn new(decide: &'a mut Decide<'a>) -> Self {
        Self {
            decide,
            cache: Cache::default(),
            wake: None,
            steps: 0,
            odd: Vec::new(),
        }
    }

    /// One look at the job; whether something was written.
    pub fn look(&mut self, world: &mut World) -> bool {
        self.cache.catch_up(world);
        let observed = self.cache.observe(world);
        let step = (self.decide)(&world.job, world.memory.as_ref(), &observed, world.now);
        self.steps += 1;
        self.wake = step.wake;
        let mut wrote = world.memory.as_ref() != Some(&step.memory);
        world.memory = Some(step.memory.clone());
        for event in step.events {
            self.tell(world, event);
        }
        for action in &step.actions {
            wrote = true;
            if carry_out(world, &step.memory, &observed, action).is_err() {
                self.wake = Some(world.now + 1);
                break;
            }
        }
        self.cache.forget(world, &step.memory);
        wrote
    }

    fn tell(&mut self, world: &mut World, event: Event) {
        if matches!(event, Event::Odd(_)) {
            if self.odd.contains(&event) {
                return;
            }
            self.odd.push(event.clone());
        }
        world.note(Happened::Decided(event));
    }
}

fn carry_out(
    world: &mut World,
    memory: &Memory,
    observed: &Observed,
    action: &Action,
) -> Result<(), Refused> {
    match action {
        Action::Ensure(fixture) => world.ensure(*fixture),
        Action::Stop { instance, force, .. } => {
            let seen = observed.tasks.iter().find(|seen| seen.instance == *instance);
            let why = seen.and_then(|seen| why_stopped(&world.job, memory, seen, *force));
            let stopped = world.stop(instance, *force, why.unwrap_or(StopReason::Restarted));
            // What is gone already need not be stopped.
            return stopped.or(Ok(()));
        }
        Action::Create { task, stamp } => return world.create(task, *stamp),
        Action::Remove(fixture) => world.take_away(*fixture),
        Action::Answered(id) => world.answer(id),
        Action::DeleteJob => world.delete_job(),
    }
    Ok(())
}

/// Why a memory wants an instance stopped; none if it has no reason to.
pub(super) fn why_stopped(job: &Job, memory: &Memory, seen: &TaskSeen, force: bool) -> Option<StopReason> {
    let known = job
        .role(&seen.id.role)
        .is_some_and(|(_, role)| seen.id.index < role.replicas);
    let settled = memory.is_done(&seen.id) || memory.is_failed(&seen.id);
    if force {
        Some(StopReason::LostNode)
    } else if memory.verdict.is_some() {
        Some(StopReason::CleanUp)
    } else if let Some(hold) = memory.held {
        Some(StopReason::Held(hold))
    } else if !known {
        Some(StopReason::ScaledAway)
    } else if seen.stamp < memory.stamp(&seen.id) {
        Some(StopReason::Restarted)
    } else if settled && seen.alive() {
        Some(StopReason::Settled)
    } else {
        None
    }
}
