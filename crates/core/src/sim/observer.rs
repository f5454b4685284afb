//! What can be watched of a run: every step, every memory that is stored, every write.
//!
//! The tests check their properties here; an ordinary run is watched by `()`, which does nothing.

use super::driver::Decide;
use super::play::Rest;
use super::world::World;
use crate::job::{Job, TaskId};
use crate::memory::Memory;
use crate::observed::{Fixture, Observed};
use crate::step::Step;
use crate::time::Time;

/// One call of `step`: what it was given, and what it gave.
#[derive(Clone, Copy)]
#[cfg_attr(not(test), expect(dead_code, reason = "only tests look at a step"))]
pub(crate) struct StepCall<'a> {
    pub job: &'a Job,
    pub memory: Option<&'a Memory>,
    pub observed: &'a Observed,
    pub now: Time,
    pub step: &'a Step,
}

/// Watches a run.
pub(super) trait Observer {
    /// `step` is about to be called: the adversary of the tests writes to the world here.
    fn stepping(&mut self, _world: &mut World) {}
    /// `step` was called, in that second of the run.
    fn stepped(&mut self, _call: &StepCall, _decide: &mut Decide<'_>, _at: u32) {}
    /// Instances of these tasks are gone that were never seen to go, or whose end was not stored.
    fn lost_sight(&mut self, _tasks: &[TaskId]) {}
    /// Time has passed.
    fn advanced(&mut self, _world: &World) {}
    /// A memory is about to be stored; `world` still has the one before.
    fn storing(&mut self, _world: &World, _observed: &Observed, _step: &Step) {}
    /// An instance was created: the newest one.
    fn created(&mut self, _world: &World) {}
    /// An instance was told to stop.
    fn stopped(&mut self, _world: &World, _instance: &str) {}
    /// A fixture is about to be made, corrected or removed.
    fn writing(&mut self, _world: &World, _fixture: Fixture) {}
    /// The run has ended.
    fn rested(&mut self, _world: &World, _rest: Rest, _decide: &mut Decide<'_>) {}
}

impl Observer for () {}
