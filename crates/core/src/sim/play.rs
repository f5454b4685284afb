//! Plays a job from its start until it comes to rest.

use super::driver::{Decide, Driver};
use super::observer::Observer;
use super::options::Options;
use super::script::{Fault, Script, Trouble};
use super::trace::Trace;
use super::world::World;
use crate::job::{Job, TaskId};
use crate::memory::Memory;
use crate::observed::Stamp;
use crate::step::step;
use crate::time::Time;

/// Steps in one second after which the run is broken off: something goes round in circles.
const MOST_LOOKS_A_SECOND: u32 = 1000;

/// What became of a job in a run.
#[derive(Clone, Debug)]
pub struct Played {
    /// Everything that happened.
    pub trace: Trace,
    /// The memory that is stored.
    pub memory: Option<Memory>,
    /// Seconds that were played.
    pub played: u32,
    /// Why the run ended.
    pub rest: Rest,
    /// Instances created.
    pub creates: u32,
    /// Instances that exist at the end.
    pub left: Vec<Left>,
    /// Faults that never came about.
    pub unused: Vec<Fault>,
}

impl Played {
    /// The tasks of which something still lives.
    #[must_use]
    pub fn alive(&self) -> Vec<TaskId> {
        let alive = self.left.iter().filter(|left| left.alive);
        alive.map(|left| left.task.clone()).collect()
    }
}

/// An instance that exists at the end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// The task that it runs.
    pub task: TaskId,
    /// Its life.
    pub stamp: Stamp,
    /// Whether something of it still lives.
    pub alive: bool,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// Nothing more will happen by itself.
    Settled,
    /// The job was deleted.
    Deleted,
    /// [`Options::run_for`] was over.
    BrokenOff,
    /// Things went round in circles within one second.
    Circles,
}

/// Plays a job against a script, with the shipped [`step`].
#[must_use]
pub fn play(job: &Job, script: &Script, options: &Options) -> Played {
    play_observed(job, script, options, &mut step, &mut ())
}

/// Plays a job under the eyes of an observer. `decide` is [`step`], or something wrapped around it.
pub(super) fn play_observed(
    job: &Job,
    script: &Script,
    options: &Options,
    decide: &mut Decide<'_>,
    observer: &mut dyn Observer,
) -> Played {
    let mut world = World::new(job, script, options);
    let old_leader = |fault: &Fault| matches!(fault, Fault::Operator(Trouble::OldLeader { .. }));
    let keep_versions = script.faults.iter().any(old_leader);
    let mut driver = Driver::new(decide, observer, keep_versions);
    let rest = until_rest(&mut world, &mut driver);
    driver.observer.rested(&world, rest, driver.decide);
    played(world, rest)
}

fn until_rest(world: &mut World, driver: &mut Driver) -> Rest {
    let end = world.options.begin + world.options.run_for;
    let mut now = world.options.begin;
    loop {
        advance(world, driver, now);
        let mut looks = 0;
        while !world.deleted && driver.reconcile(world) {
            // What was just written may be followed by something in the same second.
            advance(world, driver, now);
            looks += 1;
            if looks > MOST_LOOKS_A_SECOND {
                return Rest::Circles;
            }
        }
        if world.deleted {
            return Rest::Deleted;
        }
        match world.next().into_iter().chain(driver.next(world)).min() {
            None => return Rest::Settled,
            Some(next) if next > end => {
                world.now = end;
                return Rest::BrokenOff;
            }
            Some(next) => now = next,
        }
    }
}

fn advance(world: &mut World, driver: &mut Driver, now: Time) {
    world.advance(now);
    driver.observer.advanced(world);
}

fn played(world: World, rest: Rest) -> Played {
    let existing = world.instances.iter().filter(|instance| instance.exists());
    let left = existing.map(|instance| Left {
        task: instance.task.clone(),
        stamp: instance.stamp,
        alive: instance.alive(),
    });
    let left = left.collect();
    let played = world.elapsed();
    let unused = world.faults.into_iter().filter(|pending| !pending.used);
    Played {
        played,
        rest,
        creates: world.creates,
        left,
        unused: unused.map(|pending| pending.fault).collect(),
        trace: world.trace,
        memory: world.memory,
    }
}
