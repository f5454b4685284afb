//! What the operator sees of the world: for each instance one of the states it has been in, never an older one
//! than before.

use super::world::World;
use crate::memory::Memory;
use crate::observed::{Observed, Seen, TaskSeen};

/// How much of each instance has arrived.
#[derive(Clone, Debug, Default)]
pub(super) struct Cache {
    shown: Vec<Shown>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    /// This state of its history.
    State(usize),
    /// It is gone, and what it had to tell has been written down.
    Forgotten,
}

impl Cache {
    /// Everything arrives.
    pub fn catch_up(&mut self, world: &World) {
        self.shown.resize(world.instances.len(), Shown::State(0));
        for (shown, instance) in self.shown.iter_mut().zip(&world.instances) {
            if *shown != Shown::Forgotten {
                *shown = Shown::State(instance.history.len().saturating_sub(1));
            }
        }
    }

    /// The observation as it stands.
    pub fn observe(&self, world: &World) -> Observed {
        let seen = |(at, shown): (usize, &Shown)| match shown {
            Shown::State(state) => world.instances[at].history.get(*state).cloned(),
            Shown::Forgotten => None,
        };
        let tasks: Vec<TaskSeen> = self.shown.iter().enumerate().filter_map(seen).collect();
        Observed {
            tasks,
            gang: world.gang_seen(),
            orders: world.orders.clone(),
            ready: world.fixtures.iter().copied().collect(),
            deleting: world.deleted,
        }
    }

    /// Instances that are gone and that memory knows all about need not be shown any longer.
    pub fn forget(&mut self, world: &World, memory: &Memory) {
        for (shown, instance) in self.shown.iter_mut().zip(&world.instances) {
            let Shown::State(state) = *shown else { continue };
            let Some(seen) = instance.history.get(state) else {
                continue;
            };
            if matches!(seen.state, Seen::Gone(_)) && memory.has_absorbed(&world.job, seen) {
                *shown = Shown::Forgotten;
            }
        }
    }
}
