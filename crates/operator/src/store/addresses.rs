//! What tasks find each other by, as far as it is known to exist.
//!
//! Services are watched, so one that is deleted is made again. Maps of addresses, which only very large jobs have, are not: that
//! we have made one, or have found it, is known until we end.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::tracked::{Named, Tracked};
use super::{Source, Store};
use crate::job::JobKey;
use crate::kinds::Kind;
use crate::watched::ServiceSeen;

/// Services and maps of one job.
#[derive(Debug, Default)]
pub struct Addresses {
    /// Its Services.
    pub services: Tracked<ServiceSeen>,
    maps: BTreeSet<Arc<str>>,
}

impl Named for ServiceSeen {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn uid(&self) -> &Arc<str> {
        &self.uid
    }

    /// Nothing of a Service that is kept ever changes.
    fn version(&self) -> u64 {
        0
    }
}

impl Addresses {
    /// We have made or found such a map.
    pub fn see_map(&mut self, name: Arc<str>) {
        self.maps.insert(name);
    }

    /// What of all that a job needs is not there, as its own.
    #[must_use]
    pub fn missing(&self, needed: &[NeededObject], owner: &Arc<str>) -> Vec<NeededObject> {
        let is_there = |needed: &&NeededObject| match needed {
            NeededObject::Service(name) => {
                let service = self.services.get(name);
                service.is_some_and(|service| service.owner.as_ref() == Some(owner))
            }
            NeededObject::Map(name) => self.maps.contains(name),
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
            .all()
            .filter(|service| service.owner.as_ref() == Some(owner));
        ours.map(|service| (Arc::clone(&service.name), Arc::clone(&service.uid)))
            .collect()
    }

    /// The job is gone.
    pub fn forget_maps(&mut self) {
        self.maps.clear();
    }
}

impl Store {
    /// A watch for jobs of this kind shows a Service.
    pub fn service_seen(&mut self, kind: &'static Kind, service: ServiceSeen) {
        let (source, key) = (Source::Services(kind), service.key(kind));
        self.list_shows(source, &service.uid);
        if let Some(before) = self.homes.settle(source, (&service.name, &service.uid), &key) {
            self.service_leaves(&before, &service);
        }
        let entry = self.entries.entry(key).or_default();
        entry.addresses.services.see(service, false);
    }

    /// A Service is gone. If its job still needs it, it is made again.
    pub fn service_gone(&mut self, kind: &'static Kind, service: &ServiceSeen) {
        let key = service.key(kind);
        self.homes.leave(Source::Services(kind), &service.name, &key);
        self.service_leaves(&key, service);
    }

    fn service_leaves(&mut self, key: &JobKey, service: &ServiceSeen) {
        if let Some(entry) = self.entries.get_mut(key)
            && entry
                .addresses
                .services
                .lose(&service.name, &service.uid, entry.applying)
        {
            entry.conflict_removed();
            self.enqueue(key.clone());
        }
        self.drop_if_empty(key);
    }
}

impl ServiceSeen {
    /// The job that its labels name.
    fn key(&self, kind: &'static Kind) -> JobKey {
        JobKey::of(kind, &self.namespace, &self.job)
    }
}

/// Something that a job's tasks find each other by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NeededObject {
    /// The Service of this name.
    Service(Arc<str>),
    /// The map of addresses of this name.
    Map(Arc<str>),
}

impl NeededObject {
    /// What an object is needed as, by its plural.
    #[must_use]
    pub fn of(plural: &str, name: &str) -> Self {
        match plural {
            "services" => Self::Service(name.into()),
            _ => Self::Map(name.into()),
        }
    }
}
