//! A map while it is put together: duplicate keys, and merges in kubectl's order.

use std::collections::HashMap;
use std::sync::Arc;

use crate::document::{Entry, Map, Node};
use crate::problem::Span;

/// From this many entries on, keys are found by hashing.
const HASHED_FROM: usize = 12;

#[derive(Default)]
pub(super) struct MapFrame {
    entries: Vec<Entry>,
    /// For each entry, whether it came by a merge.
    merged: Vec<bool>,
    /// The first entries, by key; the rest are added when they are looked for.
    places: HashMap<Arc<str>, usize>,
    pub(super) key: KeyState,
}

/// What the next node in a map is.
#[derive(Default)]
pub(super) enum KeyState {
    /// A key.
    #[default]
    Awaited,
    /// The value of this key.
    Own(Arc<str>, Span),
    /// What `<<` at this place merges.
    Merge(Span),
    /// The value of a key that could not be read; it is dropped.
    Broken,
}

/// Two entries with one key.
pub(super) struct Clash {
    pub(super) key: Arc<str>,
    /// Where the key stood before.
    pub(super) first: Span,
}

impl MapFrame {
    pub(super) fn into_map(self) -> Map {
        Map::new(self.entries)
    }

    /// Adds an entry of the map itself. It replaces a merged one; one of its own kind is a clash, and the last wins.
    pub(super) fn own(&mut self, entry: Entry) -> Option<Clash> {
        let Some(at) = self.find(&entry.key) else {
            self.entries.push(entry);
            self.merged.push(false);
            return None;
        };
        let key = Arc::clone(&entry.key);
        let first = std::mem::replace(&mut self.entries[at], entry).key_span;
        let was_merged = std::mem::replace(&mut self.merged[at], false);
        (!was_merged).then_some(Clash { key, first })
    }

    /// Merges what `<<` names, the most important last; says which of the map's own values changed by it.
    pub(super) fn merge(&mut self, sources: &[&Map]) -> Vec<Clash> {
        let mut changed = Vec::new();
        for entry in sources.iter().flat_map(|source| source.entries()) {
            let Some(at) = self.find(&entry.key) else {
                self.entries.push(entry.clone());
                self.merged.push(true);
                continue;
            };
            let before = &self.entries[at];
            if !self.merged[at] && !before.value.same_value(&entry.value) {
                changed.push(Clash {
                    key: Arc::clone(&entry.key),
                    first: before.key_span,
                });
            }
            self.entries[at] = entry.clone();
            self.merged[at] = true;
        }
        changed
    }

    fn find(&mut self, key: &str) -> Option<usize> {
        if self.entries.len() < HASHED_FROM {
            return self.entries.iter().position(|entry| &*entry.key == key);
        }
        for (at, entry) in self.entries.iter().enumerate().skip(self.places.len()) {
            self.places.insert(Arc::clone(&entry.key), at);
        }
        self.places.get(key).copied()
    }
}

/// The maps that a value behind `<<` stands for, the most important last; `None` if it is something else.
pub(super) fn merge_sources(value: &Node, written_here: bool) -> Option<Vec<&Map>> {
    if let Some(map) = value.as_map() {
        return Some(vec![map]);
    }
    // kubectl takes a list of maps, but not the alias of one. The first of the list wins, so it is merged last.
    let items = value.as_list().filter(|_| written_here)?;
    items.iter().rev().map(Node::as_map).collect()
}
