//! How many applies are in flight at a time, and of which namespaces.
//!
//! The apply of a large job takes long. So that another namespace need not wait for its end, one that has less than its share of the slots may
//! begin an apply though all of them are taken. One namespace may have all slots while no other waits.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Slots for applies.
#[derive(Debug)]
pub struct Slots {
    most: usize,
    taken: usize,
    /// How many applies each namespace has in flight; none is 0.
    passes: BTreeMap<Arc<str>, usize>,
}

impl Default for Slots {
    fn default() -> Self {
        Self::new(usize::MAX)
    }
}

impl Slots {
    /// So many.
    pub const fn new(most: usize) -> Self {
        Self {
            most,
            taken: 0,
            passes: BTreeMap::new(),
        }
    }

    /// An apply begins.
    pub fn begin(&mut self, namespace: &Arc<str>) {
        self.taken += 1;
        *self.passes.entry(Arc::clone(namespace)).or_default() += 1;
    }

    /// An apply has ended.
    pub fn end(&mut self, namespace: &Arc<str>) {
        let Some(passes) = self.passes.get_mut(namespace) else {
            return;
        };
        *passes -= 1;
        self.taken -= 1;
        if *passes == 0 {
            self.passes.remove(namespace);
        }
    }

    /// Whether an apply can begin only beyond the number of slots.
    pub const fn are_taken(&self) -> bool {
        self.taken >= self.most
    }

    /// How many applies a namespace may have though all slots are taken, when these wait.
    pub fn share<'a>(&self, waiting: impl Iterator<Item = &'a Arc<str>>) -> usize {
        let others = waiting.filter(|namespace| !self.passes.contains_key(*namespace));
        (self.most / (self.passes.len() + others.count()).max(1)).max(1)
    }

    /// Whether a namespace may begin an apply. There are never more than twice as many applies as slots.
    pub fn may_begin(&self, namespace: &Arc<str>, share: usize) -> bool {
        let has = self.passes.get(namespace).copied().unwrap_or_default();
        self.taken < self.most || (has < share && self.taken < self.most.saturating_mul(2))
    }
}
