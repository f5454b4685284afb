//! What waits, dealt round robin by namespace: however much waits in one namespace, what is next in another is dealt after at most one
//! of each.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Things that wait, in one queue per namespace.
#[derive(Debug)]
pub struct FairQueue<T> {
    /// No queue is empty.
    queues: BTreeMap<Arc<str>, VecDeque<T>>,
    /// Every namespace that has a queue, the next one first.
    order: VecDeque<Arc<str>>,
    len: usize,
}

impl<T> Default for FairQueue<T> {
    fn default() -> Self {
        Self {
            queues: BTreeMap::new(),
            order: VecDeque::new(),
            len: 0,
        }
    }
}

impl<T> FairQueue<T> {
    /// Something waits behind everything else of its namespace.
    pub fn push(&mut self, namespace: &Arc<str>, item: T) {
        self.queue(namespace).push_back(item);
    }

    /// Something waits before everything else of its namespace.
    pub fn push_front(&mut self, namespace: &Arc<str>, item: T) {
        self.queue(namespace).push_front(item);
    }

    fn queue(&mut self, namespace: &Arc<str>) -> &mut VecDeque<T> {
        self.len += 1;
        if !self.queues.contains_key(namespace) {
            self.order.push_back(Arc::clone(namespace));
        }
        self.queues.entry(Arc::clone(namespace)).or_default()
    }

    /// The first thing of the next namespace that may have a turn and whose first thing is ready.
    pub fn take_if(
        &mut self,
        may: impl Fn(&Arc<str>) -> bool,
        is_ready: impl Fn(&T) -> bool,
    ) -> Option<(Arc<str>, T)> {
        let ready = |namespace: &Arc<str>| {
            let first = self.queues.get(namespace).and_then(VecDeque::front);
            first.is_some_and(&is_ready) && may(namespace)
        };
        let next = self.order.iter().position(ready)?;
        let namespace = self.order.remove(next)?;
        let queue = self.queues.get_mut(&namespace)?;
        let item = queue.pop_front()?;
        self.len -= 1;
        if queue.is_empty() {
            self.queues.remove(&namespace);
        } else {
            self.order.push_back(Arc::clone(&namespace));
        }
        Some((namespace, item))
    }

    /// The next thing.
    pub fn take(&mut self) -> Option<T> {
        self.take_if(|_| true, |_| true).map(|(_, item)| item)
    }

    /// The first thing of each namespace.
    pub fn first(&self) -> impl Iterator<Item = &T> {
        self.queues.values().filter_map(VecDeque::front)
    }

    /// The namespaces in which something waits.
    pub fn namespaces(&self) -> impl Iterator<Item = &Arc<str>> {
        self.queues.keys()
    }

    /// How much waits.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing waits.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Everything that waits; nothing does afterwards.
    pub fn drain(&mut self) -> impl Iterator<Item = T> + use<T> {
        let all = std::mem::take(self);
        all.queues.into_values().flatten()
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn name(number: u8) -> Arc<str> {
        format!("ns-{number}").into()
    }

    proptest! {
        /// Whatever was pushed and taken before, and whatever other namespaces push meanwhile: what comes first in its namespace is
        /// dealt before any other namespace has had two turns.
        #[test]
        fn the_first_of_a_namespace_waits_for_one_turn_of_each_other(
            before in vec((0u8..5, any::<bool>()), 0..200),
            load in 0usize..2_000,
            meanwhile in vec(0u8..5, 0..8),
        ) {
            let mut turns = FairQueue::default();
            for (number, takes) in before {
                turns.push(&name(number), number);
                if takes {
                    turns.take();
                }
            }
            for _ in 0..load {
                turns.push(&name(0), 0);
            }
            turns.push(&name(9), 9);
            let others = turns.namespaces().count() - 1;
            let mut dealt = Vec::new();
            loop {
                for number in &meanwhile {
                    turns.push(&name(*number), *number);
                }
                match turns.take() {
                    Some(9) => break,
                    Some(other) => dealt.push(other),
                    None => prop_assert!(false, "lost"),
                }
            }
            prop_assert!(dealt.len() <= others + meanwhile.len().min(5), "{dealt:?}");
            let had = dealt.len();
            dealt.sort_unstable();
            dealt.dedup();
            prop_assert_eq!(dealt.len(), had, "a namespace had two turns");
        }

        /// Nothing is lost, nothing is dealt twice, and each namespace keeps its order.
        #[test]
        fn everything_is_dealt_once_in_the_order_of_its_namespace(pushed in vec((0u8..4, any::<bool>()), 0..300)) {
            let mut turns = FairQueue::default();
            let mut dealt = Vec::new();
            for (serial, (number, takes)) in pushed.iter().enumerate() {
                turns.push(&name(*number), (*number, serial));
                if *takes {
                    dealt.extend(turns.take());
                }
                prop_assert_eq!(turns.len(), serial + 1 - dealt.len());
            }
            dealt.extend(std::iter::from_fn(|| turns.take()));
            prop_assert!(turns.is_empty());
            prop_assert_eq!(dealt.len(), pushed.len());
            for number in 0..4 {
                let of_it: Vec<usize> = dealt.iter().filter(|it| it.0 == number).map(|it| it.1).collect();
                prop_assert!(of_it.is_sorted(), "{of_it:?}");
            }
        }
    }

    #[test]
    fn who_may_not_have_a_turn_is_passed_over_and_keeps_its_place() {
        let mut turns = FairQueue::default();
        for number in [0, 0, 1, 2] {
            turns.push(&name(number), number);
        }
        let not_first = |namespace: &Arc<str>| **namespace != *name(0);
        assert_eq!(turns.take_if(not_first, |_| true), Some((name(1), 1)));
        assert_eq!(turns.take(), Some(0));
        assert_eq!(turns.take_if(|_| true, |number| *number == 0), Some((name(0), 0)));
        turns.push_front(&name(2), 7);
        assert_eq!(turns.drain().collect::<Vec<_>>(), [7, 2]);
        assert!(turns.is_empty());
    }
}
