//! What the operator sees of the world: for each instance one of the states it has been in, never an older one
//! than before, and always what its own writes have made.

use super::script::Delayed;
use super::world::World;
use crate::job::TaskId;
use crate::observed::{Fixture, GangSeen, Observed, Order, Seen, TaskSeen};

/// How much of the world has arrived.
#[derive(Clone, Debug, Default)]
pub(super) struct Cache {
    shown: Vec<Shown>,
    gang: GangSeen,
    orders: Vec<Order>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Shown {
    /// Nothing of it has arrived.
    Unseen,
    /// This state of its history.
    State(usize),
    /// It was gone when everything was listed again; this is what had been known of it.
    Missed(Box<TaskSeen>),
    /// It is gone, and its end is stored, or was never seen.
    Forgotten,
}

impl Cache {
    /// The cache of an operator that has just started: everything that exists, and nothing that does not.
    pub fn fresh(world: &World) -> Self {
        let mut cache = Self::default();
        cache.deliver(world, false);
        for (shown, instance) in cache.shown.iter_mut().zip(&world.instances) {
            if !instance.exists() {
                *shown = Shown::Forgotten;
            }
        }
        cache
    }

    /// Watch events arrive, all but those that are held up.
    pub fn deliver(&mut self, world: &World, held_up: bool) {
        self.grow(world);
        for (shown, instance) in self.shown.iter_mut().zip(&world.instances) {
            let open = matches!(shown, Shown::Unseen | Shown::State(_));
            let lags = || held_up && world.lags(|news| *news == Delayed::Task(instance.task.clone()));
            if open && !lags() {
                *shown = Shown::State(instance.history.len().saturating_sub(1));
            }
        }
        if !held_up || !world.lags(|news| *news == Delayed::Gang) {
            self.gang = world.gang_seen();
        }
        if !held_up || !world.lags(|news| *news == Delayed::Orders) {
            self.orders.clone_from(&world.orders);
        }
    }

    /// Lists everything again. What has gone unnoticed is not there: how it ended is known only if that had arrived. The
    /// tasks of which an instance has.
    pub fn relist(&mut self, world: &World) -> Vec<TaskId> {
        self.grow(world);
        let mut missed = Vec::new();
        for (shown, instance) in self.shown.iter_mut().zip(&world.instances) {
            if instance.exists() || !instance.ours {
                continue;
            }
            let known = match shown {
                Shown::State(state) => instance.history.get(*state).cloned(),
                Shown::Missed(_) | Shown::Forgotten => continue,
                Shown::Unseen => None,
            };
            let gone_already = known
                .as_ref()
                .is_some_and(|seen| matches!(seen.state, Seen::Gone(_)));
            if gone_already {
                continue;
            }
            missed.push(instance.task.clone());
            *shown = known.map_or(Shown::Forgotten, |mut seen| {
                seen.state = Seen::Gone(seen.exit().cloned());
                seen.lingers = false;
                Shown::Missed(Box::new(seen))
            });
        }
        self.deliver(world, false);
        missed
    }

    /// Our own creation has been acknowledged: the newest instance is visible at least as it was made.
    pub fn acknowledge_create(&mut self, world: &World) {
        self.grow(world);
        if let Some(shown) = self.shown.last_mut()
            && *shown == Shown::Unseen
        {
            *shown = Shown::State(0);
        }
    }

    /// Our own stop has been acknowledged: that much is visible.
    pub fn acknowledge_stop(&mut self, world: &World, name: &str, force: bool) {
        self.grow(world);
        for (shown, instance) in self.shown.iter_mut().zip(&world.instances) {
            let Shown::State(state) = shown else { continue };
            if &*instance.name == name {
                let told = instance.history.iter().position(|seen| seen.stopping.is_some());
                let last = instance.history.len().saturating_sub(1);
                let least = if force { Some(last) } else { told };
                *state = (*state).max(least.unwrap_or(0));
            }
        }
    }

    /// Our own write to something that is not an instance has been acknowledged.
    pub fn acknowledge(&mut self, world: &World, fixture: Option<Fixture>) {
        if fixture == Some(Fixture::Gang) {
            self.gang = world.gang_seen();
        }
        self.orders
            .retain(|order| world.orders.iter().any(|there| there.id == order.id));
    }

    /// The observation as it stands.
    pub fn observe(&self, world: &World) -> Observed {
        let seen = |(at, shown): (usize, &Shown)| match shown {
            Shown::State(state) if world.instances[at].ours => {
                world.instances[at].history.get(*state).cloned()
            }
            Shown::Missed(seen) => Some((**seen).clone()),
            Shown::State(_) | Shown::Unseen | Shown::Forgotten => None,
        };
        let tasks: Vec<TaskSeen> = self.shown.iter().enumerate().filter_map(seen).collect();
        Observed {
            tasks,
            gang: self.gang,
            orders: self.orders.clone(),
            fixtures: world
                .fixtures
                .iter()
                .map(|(fixture, seen)| (*fixture, *seen))
                .collect(),
            deleting: world.deleting.is_some() || world.deleted,
            ..Observed::default()
        }
    }

    /// Instances that are gone and that the stored memory knows all about need not be shown any longer.
    pub fn forget(&mut self, world: &World) {
        let Some(memory) = &world.memory else { return };
        for (shown, instance) in self.shown.iter_mut().zip(&world.instances) {
            let seen = match &*shown {
                Shown::State(state) => instance.history.get(*state),
                Shown::Missed(seen) => Some(&**seen),
                Shown::Unseen | Shown::Forgotten => None,
            };
            let absorbed = |seen: &TaskSeen| {
                matches!(seen.state, Seen::Gone(_)) && memory.has_absorbed(&world.job, seen)
            };
            if seen.is_some_and(absorbed) {
                *shown = Shown::Forgotten;
            }
        }
    }

    /// Tasks of which an instance is gone that has not been shown as gone, or whose end is not stored yet.
    pub fn would_lose(&self, world: &World) -> Vec<TaskId> {
        let lost = world.instances.iter().enumerate().filter(|(at, instance)| {
            let forgotten = self.shown.get(*at) == Some(&Shown::Forgotten);
            instance.ours && !instance.exists() && !forgotten
        });
        lost.map(|(_, instance)| instance.task.clone()).collect()
    }

    fn grow(&mut self, world: &World) {
        self.shown.resize(world.instances.len(), Shown::Unseen);
    }
}
