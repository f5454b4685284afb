//! Objects beside pods, as far as they are known to exist: from what the watches show and from what we have written since.
//!
//! The two do not come in one order. A watch may show an object that we have deleted, or an apply may tell that it has made one
//! which is gone by then; neither brings it back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Something that has a name and, as long as it exists, a UID.
pub trait Named {
    /// Its name.
    fn name(&self) -> &Arc<str>;
    /// Which one of that name.
    fn uid(&self) -> &Arc<str>;
    /// Grows with every change of it; 0 where it does not matter.
    fn version(&self) -> u64;
}

/// Implements [`Named`] for types that have these fields.
macro_rules! named_by_fields {
    ($($object:ty),+) => {$(
        impl $crate::store::tracked::Named for $object {
            fn name(&self) -> &std::sync::Arc<str> {
                &self.name
            }

            fn uid(&self) -> &std::sync::Arc<str> {
                &self.uid
            }

            fn version(&self) -> u64 {
                self.version
            }
        }
    )+};
}
pub(super) use named_by_fields;

/// Objects by their names.
#[derive(Debug)]
pub struct Tracked<T> {
    held: BTreeMap<Arc<str>, Held<T>>,
    /// UIDs of those that are gone and may still be told of: by a watch that is behind, or by an apply that made them. Whether
    /// the watch has told that they are gone.
    departed: BTreeMap<Arc<str>, bool>,
}

/// An object, and whether it is known from our own write alone.
#[derive(Debug)]
struct Held<T> {
    object: T,
    /// We have made it, and the list that is being read may have begun before that.
    unlisted: bool,
}

impl<T> Default for Tracked<T> {
    fn default() -> Self {
        Self {
            held: BTreeMap::new(),
            departed: BTreeMap::new(),
        }
    }
}

impl<T: Named> Tracked<T> {
    /// There is such an object; we have just written it, or a watch has shown it. False if that is older than what is known.
    pub fn see(&mut self, object: T, made: bool) -> bool {
        let known = self.held.get(object.name());
        let older = known.is_some_and(|held| held.object.version() > object.version());
        if older || self.departed.contains_key(object.uid()) {
            return false;
        }
        let held = Held {
            unlisted: made,
            object,
        };
        self.held.insert(Arc::clone(held.object.name()), held);
        true
    }

    /// An object is gone; false if another of that name is there. While an apply is in flight, it may have made this one.
    pub fn lose(&mut self, name: &str, uid: &Arc<str>, busy: bool) -> bool {
        if busy {
            self.departed.insert(Arc::clone(uid), true);
        } else {
            self.departed.remove(uid);
        }
        let known = self.held.get(name).is_some_and(|held| held.object.uid() == uid);
        if known {
            self.held.remove(name);
        }
        known
    }

    /// An object is gone, since we have deleted it.
    pub fn removed(&mut self, uid: &Arc<str>) {
        self.held.retain(|_, held| held.object.uid() != uid);
        self.departed.entry(Arc::clone(uid)).or_insert(false);
    }

    /// Everything that an apply has made has been seen.
    pub fn apply_finished(&mut self) {
        self.departed.retain(|_, told| !*told);
    }

    /// From now on, what we make may be missing in the list.
    pub fn list_begins(&mut self) {
        for held in self.held.values_mut() {
            held.unlisted = false;
        }
    }

    /// Drops what was not listed; true if something was.
    pub fn list_ends(&mut self, listed: &BTreeSet<Arc<str>>) -> bool {
        let before = self.held.len();
        self.departed.retain(|_, told| *told);
        self.held
            .retain(|_, held| held.unlisted || listed.contains(held.object.uid()));
        self.held.len() < before
    }

    /// The one of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&T> {
        self.held.get(name).map(|held| &held.object)
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &T> {
        self.held.values().map(|held| &held.object)
    }

    /// Whether nothing is known to exist.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Thing(Arc<str>, Arc<str>, u64);

    impl Named for Thing {
        fn name(&self) -> &Arc<str> {
            &self.0
        }

        fn uid(&self) -> &Arc<str> {
            &self.1
        }

        fn version(&self) -> u64 {
            self.2
        }
    }

    fn thing(uid: &str, version: u64) -> Thing {
        Thing("it".into(), uid.into(), version)
    }

    #[test]
    fn what_is_gone_is_not_seen_again() {
        let mut known = Tracked::default();
        assert!(known.see(thing("g", 5), true));
        assert!(!known.see(thing("g", 4), false), "an older one");
        known.removed(&"g".into());
        assert!(!known.see(thing("g", 6), false), "the watch is behind");
        known.lose("it", &"g".into(), false);
        assert!(known.is_empty());
        known.lose("it", &"h".into(), true);
        let late = known.see(thing("h", 9), true);
        assert!(!late, "gone before the pass told that it made it");
        known.apply_finished();
        assert!(
            known.see(thing("h", 9), true),
            "it may be seen again after the apply"
        );
    }

    #[test]
    fn what_a_list_does_not_show_is_gone_unless_it_was_made_since() {
        let mut known = Tracked::default();
        known.see(thing("g", 5), true);
        assert!(!known.list_ends(&BTreeSet::new()), "made after the list began");
        known.list_begins();
        assert!(!known.list_ends(&BTreeSet::from(["g".into()])));
        assert!(known.list_ends(&BTreeSet::new()));
        assert!(known.get("it").is_none());
    }
}
