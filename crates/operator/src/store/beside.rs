//! Objects beside pods and Services that watches show: each names one job, which holds it and is reconciled when it changes.

use super::entry::Entry;
use super::tracked::{Named, Tracked};
use super::{Source, Store};
use crate::job::JobKey;

/// Where a job holds objects of one sort.
pub type Holder<T> = fn(&mut Entry) -> &mut Tracked<T>;

impl Store {
    /// A watch shows an object that names this job, whichever job it named before.
    pub(super) fn beside_seen<T: Named>(
        &mut self,
        source: Source,
        key: JobKey,
        object: T,
        holder: Holder<T>,
    ) {
        self.list_shows(source, object.uid());
        if let Some(before) = self.homes.settle(source, (object.name(), object.uid()), &key) {
            self.beside_leaves(&before, &object, holder);
        }
        let entry = self.entries.entry(key.clone()).or_default();
        if holder(entry).see(object, false) {
            self.enqueue(key);
        }
    }

    /// An object is gone that named this job last.
    pub(super) fn beside_gone<T: Named>(
        &mut self,
        source: Source,
        key: &JobKey,
        object: &T,
        holder: Holder<T>,
    ) {
        self.homes.leave(source, object.name(), key);
        self.beside_leaves(key, object, holder);
    }

    fn beside_leaves<T: Named>(&mut self, key: &JobKey, object: &T, holder: Holder<T>) {
        if let Some(entry) = self.entries.get_mut(key) {
            let busy = entry.applying;
            if holder(entry).lose(object.name(), object.uid(), busy) {
                self.enqueue(key.clone());
            }
        }
        self.drop_if_empty(key);
    }
}
