//! The nodes on which the pods of a gang may be placed: a set of numbers, or all nodes where that is not known.

use std::sync::Arc;

/// A set of nodes, by numbers that the world gives them. More nodes than a gang can use do no harm: it then waits for gangs with which it does not
/// compete.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Reach {
    /// In doubt: competes with every gang.
    all: bool,
    /// One bit per node; the last word is not zero.
    words: Vec<u64>,
}

impl Reach {
    /// Every node, known or not.
    #[must_use]
    pub const fn all() -> Self {
        Self {
            all: true,
            words: Vec::new(),
        }
    }

    /// Whether it is every node.
    #[must_use]
    pub const fn is_all(&self) -> bool {
        self.all
    }

    /// Whether a node is among them.
    #[must_use]
    pub fn contains(&self, node: usize) -> bool {
        let word = self.words.get(node / 64);
        self.all || word.is_some_and(|word| word & (1 << (node % 64)) != 0)
    }

    /// Adds a node.
    pub fn insert(&mut self, node: usize) {
        if self.all {
            return;
        }
        if self.words.len() <= node / 64 {
            self.words.resize(node / 64 + 1, 0);
        }
        if let Some(word) = self.words.get_mut(node / 64) {
            *word |= 1 << (node % 64);
        }
    }

    /// Takes a node away.
    pub fn remove(&mut self, node: usize) {
        if let Some(word) = self.words.get_mut(node / 64) {
            *word &= !(1 << (node % 64));
        }
        while self.words.last() == Some(&0) {
            self.words.pop();
        }
    }

    /// Whether it is no node.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        !self.all && self.words.is_empty()
    }

    /// Whether a node may be in both. Every node may be in what is not known.
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        let mut pairs = self.words.iter().zip(&other.words);
        self.all && !other.is_empty()
            || other.all && !self.is_empty()
            || pairs.any(|(one, other)| one & other != 0)
    }

    /// Adds the nodes of another set.
    pub fn join(&mut self, other: &Self) {
        if self.all || other.all {
            *self = Self::all();
            return;
        }
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (word, more) in self.words.iter_mut().zip(&other.words) {
            *word |= more;
        }
    }

    /// Both together; no copy where one has all of the other.
    #[must_use]
    pub fn joined(self: &Arc<Self>, other: Arc<Self>) -> Arc<Self> {
        if *self == other {
            return other;
        }
        let mut both = Self::clone(self);
        both.join(&other);
        if both == **self {
            Arc::clone(self)
        } else {
            Arc::new(both)
        }
    }

    /// The nodes, by their numbers; none where all are meant.
    pub fn nodes(&self) -> impl Iterator<Item = usize> {
        let bits = |(at, word): (usize, &u64)| {
            let word = *word;
            let in_word = (0..64).filter(move |bit| word & (1 << bit) != 0);
            in_word.map(move |bit| at * 64 + bit)
        };
        self.words.iter().enumerate().flat_map(bits)
    }
}

impl FromIterator<usize> for Reach {
    fn from_iter<T: IntoIterator<Item = usize>>(nodes: T) -> Self {
        let mut reach = Self::default();
        nodes.into_iter().for_each(|node| reach.insert(node));
        reach
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_sets_meet_where_they_share_a_node_or_one_is_not_known() {
        let of = |nodes: &[usize]| nodes.iter().copied().collect::<Reach>();
        let rows = [
            (of(&[]), of(&[]), false),
            (of(&[1, 700]), of(&[2, 64]), false),
            (of(&[1, 700]), of(&[700]), true),
            (of(&[3]), of(&[3, 64]), true),
            (Reach::all(), of(&[]), false),
            (Reach::all(), of(&[9]), true),
            (Reach::all(), Reach::all(), true),
        ];
        for (one, other, expected) in rows {
            assert_eq!(one.meets(&other), expected, "{one:?} {other:?}");
            assert_eq!(other.meets(&one), expected, "{other:?} {one:?}");
            let both = Arc::new(one.clone()).joined(Arc::new(other.clone()));
            for node in [0, 1, 2, 3, 64, 700] {
                let either = one.contains(node) || other.contains(node);
                assert_eq!(both.contains(node), either, "{node} in {both:?}");
            }
        }
    }

    #[test]
    fn a_set_is_the_same_however_it_came_about() {
        let mut reach: Reach = [5, 900].into_iter().collect();
        reach.remove(900);
        reach.remove(4000);
        assert_eq!(reach, [5].into_iter().collect());
        assert_eq!(reach.nodes().collect::<Vec<_>>(), [5]);
        reach.remove(5);
        assert_eq!(reach, Reach::default());
        let mut all = Reach::all();
        all.join(&reach);
        assert!(all.is_all() && all.contains(123_456));
    }
}
