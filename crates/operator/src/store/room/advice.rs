//! Whether a gang would fit on the nodes that match, and what it lacks.
//!
//! The largest pods come first, each onto the first node with room for it; for a gang of which not all are needed also the smallest first. A
//! scheduler may find a better way, and then the advice was wrong: the gang is tried all the same in the end.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use trainyard_core::gates::{Fit, Reach};
use trainyard_manifest::observe::PodNeeds;

use super::class::MOST_CLASSES;
use super::seat::{MOST_RESOURCES, Seat};
use super::{Known, Room};
use crate::job::JobKey;

/// Whether a gang would fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// In one word.
    pub fit: Fit,
    /// So many members must be placed together.
    pub needed: u32,
    /// So many fit now, beside what jobs of this operator hold.
    pub now: u32,
    /// So many would fit if no pod were on the nodes.
    pub empty: u32,
    /// So many nodes match and take pods now.
    pub nodes: usize,
    /// What is missing where too few would fit on empty nodes.
    pub lack: Option<Lack>,
}

/// What a gang lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lack {
    /// No node has the labels of this selector.
    Labels(String),
    /// Nodes have the labels, and a taint that the pods do not tolerate.
    Tolerations {
        /// How many.
        nodes: usize,
        /// The first taint, as `kubectl taint` takes it.
        taint: String,
    },
    /// So many nodes match, and none of them is ready and takes pods.
    Closed(usize),
    /// A task asks for more than any node that matches has.
    TooLarge {
        /// The resource.
        resource: Arc<str>,
        /// Thousandths that a task asks for.
        asked: i64,
        /// Thousandths that the largest of the nodes offers.
        most: i64,
    },
    /// More nodes.
    Nodes {
        /// How many at least.
        more: u32,
        /// The resource that runs out first.
        resource: Arc<str>,
        /// Thousandths of it that each of them must have.
        each: i64,
    },
}

/// What one pod asks for, by the numbers of resources.
type Ask = Vec<(usize, i64)>;
/// Classes of pods behind a gate, and how many of each there are.
type Gated<'a> = Vec<(&'a PodNeeds, u32)>;

impl Seat {
    /// How many pods it holds, and the resource that runs out first: beside those that it has, or if it were empty; and beside those of the gang
    /// that were put there.
    fn holds(&self, ask: &Ask, taken: Option<&Vec<i64>>, is_empty: bool) -> (u32, usize) {
        let of = |amounts: &[i64], at: usize| amounts.get(at).copied().unwrap_or_default();
        let most = ask.iter().map(|&(at, amount)| {
            let used = if is_empty { 0 } else { of(&self.used, at) };
            let taken = taken.map_or(0, |taken| of(taken, at));
            let free = of(&self.offered, at).saturating_sub(used).saturating_sub(taken);
            let fits = free.max(0) / amount.max(1);
            (u32::try_from(fits).unwrap_or(u32::MAX), at)
        });
        most.min().unwrap_or((u32::MAX, 0))
    }
}

impl Room {
    /// The pods of a gang behind the gate, the largest first, and how many of them are needed; none where it cannot be told whether they fit.
    fn gated(&self, key: &JobKey) -> Option<(Gated<'_>, u32)> {
        let demand = self.demands.get(key).filter(|_| self.known == Known::Listed)?;
        let classes = demand.classes.iter().filter(|(_, count)| **count > 0);
        let mut classes: Gated<'_> = classes.map(|(needs, count)| (&**needs, *count)).collect();
        let unknown = |(needs, _): &(&PodNeeds, u32)| needs.in_doubt || !self.classes.contains_key(*needs);
        if demand.classes.len() > MOST_CLASSES || classes.is_empty() || classes.iter().any(unknown) {
            return None;
        }
        if classes.len() > 1 {
            classes.sort_by_cached_key(|(needs, _)| Reverse(self.share(needs)));
        }
        Some((classes, demand.needed))
    }

    /// Whether a gang would fit, in one word.
    pub(super) fn fit_now(&self, key: &JobKey) -> Fit {
        let Some((classes, needed)) = self.gated(key) else {
            return Fit::Now;
        };
        let fits = |is_empty: bool| {
            let fits = self.fits(&classes, needed, is_empty);
            fits.is_none_or(|(members, _)| members >= needed)
        };
        match () {
            () if !fits(true) => Fit::Never,
            () if !fits(false) => Fit::Later,
            () => Fit::Now,
        }
    }

    /// Whether a gang would fit, and what it lacks; none where that cannot be told.
    pub fn advice(&self, key: &JobKey) -> Option<Advice> {
        let (classes, needed) = self.gated(key)?;
        let (empty, short) = self.fits(&classes, needed, true)?;
        let (now, _) = self.fits(&classes, needed, false)?;
        let (needs, _) = classes.get(short)?;
        let missing = needed.saturating_sub(empty);
        Some(Advice {
            fit: self.fit_now(key),
            needed,
            now,
            empty,
            nodes: self.open(needs).count(),
            lack: if missing > 0 {
                self.lack(needs, missing)
            } else {
                None
            },
        })
    }

    /// How much of the largest node a pod takes, in millionths: of the resource that counts most.
    fn share(&self, needs: &PodNeeds) -> i128 {
        let share = |(name, amount): (&Arc<str>, &i64)| {
            let at = *self.resources.get(name)?;
            let offers = self.seats.iter().filter_map(|seat| seat.offered.get(at));
            let most = i128::from(*offers.max()?).max(1);
            Some(i128::from(*amount) * 1_000_000 / most)
        };
        needs.ask.iter().filter_map(share).max().unwrap_or_default()
    }

    /// What a pod asks for; none where it asks for a resource that is not told apart. Nothing of a resource is no ask.
    fn ask(&self, needs: &PodNeeds) -> Option<Ask> {
        let asked = needs.ask.iter().filter(|(_, amount)| **amount > 0);
        let number = |name: &Arc<str>| match self.resources.get(name) {
            Some(number) => Some(*number),
            // No node offers it: a number that none has.
            None => (self.resources.len() < MOST_RESOURCES).then_some(MOST_RESOURCES),
        };
        asked
            .map(|(name, amount)| Some((number(name)?, *amount)))
            .collect()
    }

    /// The nodes that would take a pod now.
    fn open<'a>(&'a self, needs: &'a PodNeeds) -> impl Iterator<Item = (usize, &'a Seat)> {
        let reach = self.classes.get(needs).map(|class| &class.reach);
        let numbers = reach.into_iter().flat_map(Reach::nodes);
        let seats = numbers.filter_map(|number| Some((number, self.seats.get(number)?)));
        seats.filter(|(_, seat)| seat.node.as_ref().is_some_and(|node| node.is_open(needs)))
    }

    /// How many members fit, and the first class of which not all do.
    fn fits(&self, classes: &Gated<'_>, needed: u32, is_empty: bool) -> Option<(u32, usize)> {
        let largest_first = self.pack(classes.iter(), is_empty)?;
        let all = classes
            .iter()
            .fold(0, |sum: u32, (_, count)| sum.saturating_add(*count));
        if largest_first.0 >= needed || needed >= all {
            return Some(largest_first);
        }
        let (smallest_first, _) = self.pack(classes.iter().rev(), is_empty)?;
        Some((smallest_first.max(largest_first.0), largest_first.1))
    }

    /// Puts pods on nodes, class by class.
    fn pack<'a>(
        &self,
        classes: impl Iterator<Item = &'a (&'a PodNeeds, u32)>,
        is_empty: bool,
    ) -> Option<(u32, usize)> {
        let mut taken: BTreeMap<usize, Vec<i64>> = BTreeMap::new();
        let (mut placed, mut short) = (0_u32, None);
        for (at, (needs, count)) in classes.enumerate() {
            let ask = self.ask(needs)?;
            let mut left = *count;
            for (number, seat) in self.open(needs) {
                let (fits, _) = seat.holds(&ask, taken.get(&number), is_empty);
                let fits = fits.min(left);
                if fits > 0 {
                    take(taken.entry(number).or_default(), &ask, fits);
                    left -= fits;
                }
                if left == 0 {
                    break;
                }
            }
            placed = placed.saturating_add(count - left);
            if left > 0 && short.is_none() {
                short = Some(at);
            }
        }
        Some((placed, short.unwrap_or_default()))
    }

    /// What pods of a class lack of which so many more would have to fit.
    fn lack(&self, needs: &PodNeeds, missing: u32) -> Option<Lack> {
        let nodes = self.seats.iter().filter_map(|seat| seat.node.as_ref());
        let labelled: Vec<_> = nodes.filter(|node| node.has_labels(needs)).collect();
        if labelled.is_empty() {
            return Some(Lack::Labels(needs.selector_words()));
        }
        let taints: Vec<_> = labelled.iter().filter_map(|node| node.repels(needs)).collect();
        let matching = labelled.len() - taints.len();
        if let Some(taint) = taints.first().filter(|_| matching == 0) {
            return Some(Lack::Tolerations {
                nodes: labelled.len(),
                taint: taint.to_string(),
            });
        }
        let ask = self.ask(needs)?;
        let held = self.open(needs).map(|(_, seat)| seat.holds(&ask, None, true));
        let Some((best, scarce)) = held.max() else {
            return Some(Lack::Closed(matching));
        };
        let resource = self.resource_of(needs, scarce)?;
        let (_, amount) = *ask.iter().find(|(at, _)| *at == scarce)?;
        if best == 0 {
            let offers = self.open(needs).filter_map(|(_, seat)| seat.offered.get(scarce));
            return Some(Lack::TooLarge {
                resource,
                asked: amount,
                most: offers.max().copied().unwrap_or_default(),
            });
        }
        Some(Lack::Nodes {
            more: missing.div_ceil(best),
            resource,
            each: amount.saturating_mul(best.into()),
        })
    }

    /// The name of a resource that pods of a class ask for.
    fn resource_of(&self, needs: &PodNeeds, number: usize) -> Option<Arc<str>> {
        let number_of = |name: &Arc<str>| self.resources.get(name).copied().unwrap_or(MOST_RESOURCES);
        let asked = |(name, amount): &(&Arc<str>, &i64)| number_of(name) == number && **amount > 0;
        needs.ask.iter().find(asked).map(|(name, _)| Arc::clone(name))
    }
}

/// Adds what so many pods take.
fn take(taken: &mut Vec<i64>, ask: &Ask, pods: u32) {
    for &(at, amount) in ask {
        if taken.len() <= at {
            taken.resize(at + 1, 0);
        }
        if let Some(entry) = taken.get_mut(at) {
            *entry = entry.saturating_add(amount.saturating_mul(pods.into()));
        }
    }
}
