//! What one node offers, and what pods use of it. Resources have numbers, so that amounts are compared without their names.

use std::collections::BTreeMap;
use std::sync::Arc;

use trainyard_manifest::observe::{NodeSeen, PodNeeds};

/// So many sorts of resources are told apart. A gang that asks for another one is not advised.
pub const MOST_RESOURCES: usize = 64;

/// A number: a node, the name of one that has not been listed and on which pods are, or a node selector.
#[derive(Debug, Default)]
pub struct Seat {
    pub name: Arc<str>,
    pub node: Option<NodeSeen>,
    /// By resource, in thousandths.
    pub offered: Vec<i64>,
    pub used: Vec<i64>,
    /// How many pods are on it, or how many classes have this node selector.
    pub users: u64,
}

impl Seat {
    /// Counts what pods use of the resources that nodes offer; other ones are none of theirs, and users choose their names.
    pub fn add(&mut self, resources: &BTreeMap<Arc<str>, usize>, needs: &PodNeeds, count: u32, more: bool) {
        for (name, amount) in &needs.ask {
            let Some(&at) = resources.get(name) else { continue };
            if self.used.len() <= at {
                self.used.resize(at + 1, 0);
            }
            let amount = amount.saturating_mul(count.into());
            if let Some(used) = self.used.get_mut(at) {
                *used = if more {
                    used.saturating_add(amount)
                } else {
                    used.saturating_sub(amount)
                };
            }
        }
    }
}

/// The number of a resource; none where there are too many.
pub fn resource(resources: &mut BTreeMap<Arc<str>, usize>, name: &Arc<str>) -> Option<usize> {
    if let Some(&number) = resources.get(name) {
        return Some(number);
    }
    let number = resources.len();
    (number < MOST_RESOURCES).then(|| {
        resources.insert(Arc::clone(name), number);
        number
    })
}

/// Amounts by the numbers of their resources.
pub fn amounts(offered: Vec<(usize, i64)>) -> Vec<i64> {
    let mut amounts = Vec::new();
    for (at, amount) in offered {
        if amounts.len() <= at {
            amounts.resize(at + 1, 0);
        }
        if let Some(entry) = amounts.get_mut(at) {
            *entry = amount;
        }
    }
    amounts
}
