//! Which job each watched object names.
//!
//! Users may edit the labels of a pod, and then it names another job. A watch shows only what an object is now, so without this the job
//! that it named before would hold it for ever.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Source;
use crate::job::JobKey;

/// Which object: by its watch, its namespace and its name.
type Object = (Source, Arc<str>, Arc<str>);

/// Jobs by the objects that name them, with the UIDs of these.
#[derive(Debug, Default)]
pub struct Homes(BTreeMap<Object, (JobKey, Arc<str>)>);

impl Homes {
    /// An object of that name and UID names this job. The job that it named before, if that was another.
    pub fn settle(
        &mut self,
        source: Source,
        (name, uid): (&Arc<str>, &Arc<str>),
        key: &JobKey,
    ) -> Option<JobKey> {
        let object = (source, Arc::clone(&key.namespace), Arc::clone(name));
        let before = self.0.insert(object, (key.clone(), Arc::clone(uid)));
        before.map(|(before, _)| before).filter(|before| before != key)
    }

    /// An object that names this job is gone.
    pub fn leave(&mut self, source: Source, name: &Arc<str>, key: &JobKey) {
        self.0
            .remove(&(source, Arc::clone(&key.namespace), Arc::clone(name)));
    }

    /// What a complete list has not shown is gone.
    pub fn list_ends(&mut self, source: Source, listed: &BTreeSet<Arc<str>>) {
        self.0
            .retain(|(shown, ..), (_, uid)| *shown != source || listed.contains(uid));
    }
}
