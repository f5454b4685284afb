//! The nodes of the cluster and what jobs of this operator hold of them, for gangs by scheduling gates: which gangs compete, and which would fit.
//!
//! Nodes have numbers, so that the nodes of a gang are a set of bits. Pods that need the same of a node are one class, and a node that changes is
//! compared once per class. Pods of others are not seen: whether a gang fits is advice.

mod advice;
mod class;
mod seat;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use trainyard_core::Time;
use trainyard_core::gates::{Fit, Reach};
use trainyard_manifest::observe::{NodeSeen, PodNeeds};

pub use self::advice::{Advice, Lack};
use self::class::{Class, MOST_CLASSES};
use self::seat::{Seat, amounts, resource};
use crate::job::JobKey;

/// What the pods of one job are, as far as nodes matter.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Demand {
    /// How many pods behind our gate there are of each class; none of a class whose pods are all past it.
    pub classes: BTreeMap<Arc<PodNeeds>, u32>,
    /// So many of those behind the gate must be placed together.
    pub needed: u32,
    /// What its pods hold: node, class, and how many.
    pub holds: BTreeMap<(Arc<str>, Arc<PodNeeds>), u32>,
}

/// Whether nodes have been listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Known {
    #[default]
    Awaited,
    /// They may not be listed.
    Refused,
    Listed,
}

/// All nodes.
#[derive(Debug, Default)]
pub struct Room {
    known: Known,
    numbers: BTreeMap<Arc<str>, usize>,
    seats: Vec<Seat>,
    vacant: BTreeSet<usize>,
    /// Keys and values of labels, each kept once: nodes have most of them in common.
    words: BTreeSet<Arc<str>>,
    /// How many of them were left when those that no node has were last let go.
    words_kept: usize,
    /// Numbers of resources.
    resources: BTreeMap<Arc<str>, usize>,
    classes: BTreeMap<Arc<PodNeeds>, Class>,
    demands: BTreeMap<JobKey, Demand>,
    /// The classes in which a job is counted: not those that were one too many when it came.
    counted: BTreeMap<JobKey, Vec<Arc<PodNeeds>>>,
    /// Rises whenever advice may have changed.
    generation: u64,
    /// The nodes of gangs have changed.
    moved: bool,
    /// Advice that there is no room now, with the generation and the second that it is of.
    advised: BTreeMap<JobKey, (u64, Time, Fit)>,
    /// Advice was given that may be out of date.
    is_stale: bool,
    /// How often advice was computed.
    #[cfg(test)]
    pub computed: usize,
}

impl Room {
    /// Whether nodes may still come to be listed for the first time.
    pub fn is_awaited(&self) -> bool {
        self.known == Known::Awaited
    }

    /// Nodes may not be listed, or not any more: those that are known may have changed.
    pub fn refuse(&mut self) {
        if self.known != Known::Refused {
            self.known = Known::Refused;
            self.change(true);
        }
    }

    /// All nodes have been shown: the others are gone.
    pub fn listed(&mut self, uids: &BTreeSet<Arc<str>>) {
        let is_gone = |seat: &&Seat| seat.node.as_ref().is_some_and(|node| !uids.contains(&node.uid));
        let gone: Vec<Arc<str>> = self
            .seats
            .iter()
            .filter(is_gone)
            .map(|seat| Arc::clone(&seat.name))
            .collect();
        for name in gone {
            self.gone(&name);
        }
        self.known = Known::Listed;
        self.change(true);
    }

    /// A watch shows a node. False if nothing has changed that matters: kubelets report every few minutes.
    pub fn see(&mut self, mut node: NodeSeen) -> bool {
        let number = self.number(&node.name);
        let Some(seat) = self.seats.get_mut(number) else {
            return false;
        };
        let before = seat.node.take();
        let is_like = before.as_ref().is_some_and(|before| before.is_like(&node));
        if is_like {
            seat.node = before;
            return false;
        }
        let mut once = |word: Arc<str>| {
            if let Some(known) = self.words.get(&word) {
                return Arc::clone(known);
            }
            self.words.insert(Arc::clone(&word));
            word
        };
        let labels = std::mem::take(&mut node.labels).into_iter();
        node.labels = labels.map(|(key, value)| (once(key), once(value))).collect();
        // A kubelet that does not say how many pods it takes is not asked.
        let pods: Arc<str> = "pods".into();
        let unsaid = (!node.allocatable.contains_key(&pods)).then_some((&pods, &i64::MAX));
        let known = self.resources.len();
        let offered: Vec<(usize, i64)> = node
            .allocatable
            .iter()
            .chain(unsaid)
            .filter_map(|(name, amount)| Some((resource(&mut self.resources, name)?, *amount)))
            .collect();
        seat.offered = amounts(offered);
        let same_place =
            before.is_some_and(|before| before.labels == node.labels && before.taints == node.taints);
        if !same_place {
            for (needs, class) in &mut self.classes {
                if node.may_take(needs) {
                    class.reach.insert(number);
                } else {
                    class.reach.remove(number);
                }
            }
        }
        seat.node = Some(node);
        // A label may change for ever on a node that stays. Each look at all words is paid for by as many new ones.
        if self.words.len() > 2 * self.words_kept {
            self.let_words_go();
        }
        if self.resources.len() > known {
            self.recount();
        }
        self.change(!same_place);
        true
    }

    /// Counts anew what pods use: they may use a resource that no node offered before.
    fn recount(&mut self) {
        for seat in &mut self.seats {
            seat.used.clear();
        }
        let Self {
            demands,
            numbers,
            seats,
            resources,
            ..
        } = self;
        for ((node, needs), count) in demands.values().flat_map(|demand| &demand.holds) {
            let seat = numbers.get(node).and_then(|number| seats.get_mut(*number));
            if let Some(seat) = seat {
                seat.add(resources, needs, *count, true);
            }
        }
    }

    /// A node is gone.
    pub fn gone(&mut self, name: &str) {
        let Some(&number) = self.numbers.get(name) else {
            return;
        };
        for class in self.classes.values_mut() {
            class.reach.remove(number);
        }
        if let Some(seat) = self.seats.get_mut(number) {
            seat.node = None;
            seat.offered.clear();
        }
        self.let_words_go();
        self.vacate(number);
        self.change(true);
    }

    /// Lets go of words that no node has.
    fn let_words_go(&mut self) {
        self.words.retain(|word| Arc::strong_count(word) > 1);
        self.words_kept = self.words.len();
    }

    const fn change(&mut self, moved: bool) {
        self.generation += 1;
        self.moved |= moved;
    }

    /// The number of a node.
    fn number(&mut self, name: &Arc<str>) -> usize {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = self.vacant.pop_first().unwrap_or(self.seats.len());
        if number == self.seats.len() {
            self.seats.push(Seat::default());
        }
        if let Some(seat) = self.seats.get_mut(number) {
            seat.name = Arc::clone(name);
        }
        self.numbers.insert(Arc::clone(name), number);
        number
    }

    /// Lets go of a number that neither a node nor a pod has.
    fn vacate(&mut self, number: usize) {
        let seat = self.seats.get_mut(number);
        if let Some(seat) = seat.filter(|seat| seat.node.is_none() && seat.users == 0) {
            self.numbers.remove(&seat.name);
            *seat = Seat::default();
            self.vacant.insert(number);
        }
    }

    /// The class that a pod is of, if other pods are of it: equal ones are kept once.
    pub fn class(&self, needs: Arc<PodNeeds>) -> Arc<PodNeeds> {
        let known = self.classes.get_key_value(&needs);
        known.map_or(needs, |(known, _)| Arc::clone(known))
    }

    /// What the pods of a job are now.
    pub fn demand(&mut self, key: &JobKey, demand: Demand) {
        let before = self.demands.remove(key);
        if before.as_ref() == Some(&demand) {
            self.demands.insert(key.clone(), demand);
            return;
        }
        for (node, needs, count, more) in changes(before.as_ref(), &demand) {
            self.hold(node, needs, count, more);
        }
        // New classes come before old ones go, so that those in both are not compared with all nodes again.
        let counted = self.join(&demand);
        let before = self.counted.remove(key).unwrap_or_default();
        self.leave(&before);
        if !counted.is_empty() {
            self.counted.insert(key.clone(), counted);
        }
        self.change(false);
        self.advised.remove(key);
        if demand != Demand::default() {
            self.demands.insert(key.clone(), demand);
        }
    }

    /// Pods of a class come to a node, or leave it.
    fn hold(&mut self, node: &Arc<str>, needs: &PodNeeds, count: u32, more: bool) {
        let number = self.number(node);
        let Some(seat) = self.seats.get_mut(number) else {
            return;
        };
        seat.users = if more {
            seat.users.saturating_add(count.into())
        } else {
            seat.users.saturating_sub(count.into())
        };
        seat.add(&self.resources, needs, count, more);
        if seat.users == 0 {
            // Amounts that were capped do not add up.
            seat.used.clear();
        }
        self.vacate(number);
    }

    /// Whether the nodes of gangs have changed since this was last asked.
    pub const fn take_moved(&mut self) -> bool {
        std::mem::replace(&mut self.moved, false)
    }

    /// The nodes on which the pods of a job may be placed.
    pub fn reach(&self, key: &JobKey) -> Arc<Reach> {
        let demand = self.demands.get(key);
        let classes = || demand.into_iter().flat_map(|demand| demand.classes.keys());
        if self.known != Known::Listed || classes().count() > MOST_CLASSES {
            return Reach::all().into();
        }
        let mut reach = Reach::default();
        for needs in classes() {
            match self.classes.get(needs).filter(|_| !needs.in_doubt) {
                Some(class) => reach.join(&class.reach),
                None => return Reach::all().into(),
            }
        }
        reach.into()
    }

    /// Whether a gang would fit. What is known to have no room is looked at again once per second at most.
    pub fn fit(&mut self, key: &JobKey, now: Time) -> Fit {
        if let Some((generation, at, fit)) = self.advised.get(key) {
            let is_fresh = *generation == self.generation;
            if is_fresh || *at == now {
                self.is_stale |= !is_fresh;
                return *fit;
            }
        }
        #[cfg(test)]
        {
            self.computed += 1;
        }
        let fit = self.fit_now(key);
        if fit == Fit::Now {
            self.advised.remove(key);
        } else {
            self.advised.insert(key.clone(), (self.generation, now, fit));
        }
        fit
    }

    /// Jobs whose pods are known.
    pub fn jobs(&self) -> impl Iterator<Item = &JobKey> {
        self.demands.keys()
    }

    /// Whether advice was given since this was last asked that may be out of date.
    pub const fn take_stale(&mut self) -> bool {
        std::mem::replace(&mut self.is_stale, false)
    }
}

/// What differs between what a job held and holds: node, class, how many, and whether they came.
fn changes<'a>(
    before: Option<&'a Demand>,
    after: &'a Demand,
) -> impl Iterator<Item = (&'a Arc<str>, &'a PodNeeds, u32, bool)> {
    let came = after
        .holds
        .iter()
        .map(|((node, needs), count)| (node, &**needs, *count, true));
    let before = before.into_iter().flat_map(|demand| &demand.holds);
    let left = before.map(|((node, needs), count)| (node, &**needs, *count, false));
    came.chain(left)
}

#[cfg(test)]
mod tests;
