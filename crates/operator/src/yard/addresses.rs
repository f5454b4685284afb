//! What tasks find each other by, as far as it is known to exist.
//!
//! Services are watched, so one that somebody deletes is made again. Maps of addresses, which only very large jobs have, are not: that
//! we have made one, or have found it, is known until we end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::watched::ServiceSeen;

/// Services and maps of one job.
#[derive(Debug, Default)]
pub struct Addresses {
    services: BTreeMap<Arc<str>, Held>,
    maps: BTreeSet<Arc<str>>,
    /// Services that are gone and may still be told of: by a watch that is behind, or by a pass that made them. Whether the
    /// watch has told that they are gone.
    departed: BTreeMap<Arc<str>, bool>,
}

/// A Service, and whether it is known from our own write alone.
#[derive(Debug)]
struct Held {
    uid: Arc<str>,
    owner: Option<Arc<str>>,
    /// We have made it, and the list that is being read may have begun before that.
    unlisted: bool,
}

impl Addresses {
    /// There is such a Service; we have just made it, or a watch has shown it.
    pub fn see(&mut self, service: ServiceSeen, made: bool) {
        if self.departed.contains_key(&service.uid) {
            return;
        }
        let held = Held {
            uid: service.uid,
            owner: service.owner,
            unlisted: made,
        };
        self.services.insert(service.name, held);
    }

    /// We have made or found such a map.
    pub fn see_map(&mut self, name: Arc<str>) {
        self.maps.insert(name);
    }

    /// A Service is gone; false if another of that name is there. While a pass is under way, it may have made this one.
    pub fn lose(&mut self, service: &ServiceSeen, busy: bool) -> bool {
        if busy {
            self.departed.insert(Arc::clone(&service.uid), true);
        } else {
            self.departed.remove(&service.uid);
        }
        let known = self
            .services
            .get(&service.name)
            .is_some_and(|held| held.uid == service.uid);
        if known {
            self.services.remove(&service.name);
        }
        known
    }

    /// A Service is gone, since we have deleted it.
    pub fn removed(&mut self, uid: &Arc<str>) {
        self.services.retain(|_, held| held.uid != *uid);
        self.departed.entry(Arc::clone(uid)).or_insert(false);
    }

    /// Everything that a pass has made has been seen.
    pub fn pass_is_over(&mut self) {
        self.departed.retain(|_, told| !*told);
    }

    /// From now on, what we make may be missing in the list.
    pub fn list_begins(&mut self) {
        for held in self.services.values_mut() {
            held.unlisted = false;
        }
    }

    /// Drops what was not listed; true if something was.
    pub fn list_ends(&mut self, listed: &BTreeSet<Arc<str>>) -> bool {
        let before = self.services.len();
        self.departed.retain(|_, told| *told);
        self.services
            .retain(|_, held| held.unlisted || listed.contains(&held.uid));
        self.services.len() < before
    }

    /// What of all that a job needs is not there, as its own.
    #[must_use]
    pub fn missing(&self, needed: &[Needed], owner: &Arc<str>) -> Vec<Needed> {
        let is_there = |needed: &&Needed| match needed {
            Needed::Service(name) => {
                let held = self.services.get(name);
                held.is_some_and(|held| held.owner.as_ref() == Some(owner))
            }
            Needed::Map(name) => self.maps.contains(name),
        };
        needed
            .iter()
            .filter(|needed| !is_there(needed))
            .cloned()
            .collect()
    }

    /// Name and UID of each Service of a job's own.
    #[must_use]
    pub fn services_of(&self, owner: &Arc<str>) -> Vec<(Arc<str>, Arc<str>)> {
        let ours = self
            .services
            .iter()
            .filter(|(_, held)| held.owner.as_ref() == Some(owner));
        ours.map(|(name, held)| (Arc::clone(name), Arc::clone(&held.uid)))
            .collect()
    }

    /// Whether nothing is known to exist.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.services.is_empty()
    }

    /// The job is gone.
    pub fn forget_maps(&mut self) {
        self.maps.clear();
    }
}

/// Something that a job's tasks find each other by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Needed {
    /// The Service of this name.
    Service(Arc<str>),
    /// The map of addresses of this name.
    Map(Arc<str>),
}

impl Needed {
    /// What an object is needed as, by its plural.
    #[must_use]
    pub fn of(plural: &str, name: &str) -> Self {
        match plural {
            "services" => Self::Service(name.into()),
            _ => Self::Map(name.into()),
        }
    }
}
