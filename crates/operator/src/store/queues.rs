//! The queues that groups are put into, as far as a scheduler that was chosen has objects for them: they say why a group waits.

use std::collections::BTreeMap;
use std::sync::Arc;

use trainyard_manifest::gang::{self, GroupState, InQueue, QueueApi, QueueState, QueueWait, queue_of};

use super::{Entry, Store};
use crate::job::{JobKey, Meaning};
use crate::watched::GroupSeen;

/// Plural and API group of queues.
type ApiId = (&'static str, &'static str);
type ByName = BTreeMap<Arc<str>, QueueState>;

const fn id(api: &QueueApi) -> ApiId {
    (api.plural, api.group)
}

/// Queues by their names. An API whose queues have not been listed is not in it.
#[derive(Debug, Default)]
pub struct Queues {
    known: BTreeMap<ApiId, ByName>,
    /// What the lists that are being read have shown so far.
    listed: BTreeMap<ApiId, ByName>,
}

impl Queues {
    /// Why a group waits because of its queue; none while the queues of one of these APIs are not known.
    fn why(&self, apis: &[&'static QueueApi], group: &InQueue<'_>) -> Option<QueueWait> {
        let mut found = None;
        for api in apis {
            let of_api = self.known.get(&id(api))?;
            found = found.or_else(|| Some((*api, of_api.get(queue_of(group.spec))?)));
        }
        match found {
            Some((api, queue)) => group.why(api, Some(queue)),
            None => group.why(apis.first()?, None),
        }
    }
}

impl Store {
    /// A list of all queues of an API begins.
    pub fn queues_begin(&mut self, api: &'static QueueApi) {
        self.queues.listed.insert(id(api), ByName::new());
    }

    /// A watch shows a queue.
    pub fn queue_seen(&mut self, api: &'static QueueApi, name: &str, state: QueueState) {
        if let Some(listed) = self.queues.listed.get_mut(&id(api)) {
            listed.insert(name.into(), state);
            return;
        }
        let Some(known) = self.queues.known.get_mut(&id(api)) else {
            return;
        };
        if known.get(name) != Some(&state) {
            known.insert(name.into(), state);
            self.enqueue_queue(Some(name));
        }
    }

    /// A queue is gone.
    pub fn queue_gone(&mut self, api: &'static QueueApi, name: &str) {
        let known = self.queues.known.get_mut(&id(api));
        if known.is_some_and(|known| known.remove(name).is_some()) {
            self.enqueue_queue(Some(name));
        }
    }

    /// Every queue of an API has been listed.
    pub fn queues_end(&mut self, api: &'static QueueApi) {
        let Some(listed) = self.queues.listed.remove(&id(api)) else {
            return;
        };
        if self.queues.known.get(&id(api)) != Some(&listed) {
            self.queues.known.insert(id(api), listed);
            self.enqueue_queue(None);
        }
    }

    /// Enqueues the jobs whose groups may wait because of the queue of that name; none is any queue.
    fn enqueue_queue(&mut self, name: Option<&str>) {
        let waits = |(key, entry): &(&JobKey, &Entry)| {
            let is_there = |group: &GroupSeen| name.is_none_or(|name| queue_of(&group.spec) == name);
            // Of a group that templates name it is known only by a look whether it is there: a job that has ended does not look.
            entry.groups.waiting().any(is_there) || existing(entry).is_some() && !has_ended(key, entry)
        };
        let waiting = self.entries.iter().filter(waits);
        let waiting: Vec<JobKey> = waiting.map(|(key, _)| key.clone()).collect();
        for key in waiting {
            self.enqueue(key);
        }
    }

    /// Why the group of a job waits because of its queue: of the group that it has, or of the one that its templates name.
    pub(super) fn why_in_queue(&self, key: &JobKey) -> Option<QueueWait> {
        let entry = self.entries.get(key)?;
        // Most jobs have no group that waits.
        entry
            .groups
            .waiting()
            .next()
            .map(drop)
            .or_else(|| existing(entry).map(drop))?;
        let job = entry.job.as_ref()?;
        let Meaning::Job(compiled) = &*job.meaning else {
            return None;
        };
        let module = gang::scheduler(&compiled.job().gang.as_ref()?.scheduler)?;
        if module.queues.is_empty() {
            return None;
        }
        let wanted = gang::groups(&compiled.subject, None);
        let joined = wanted
            .iter()
            .find_map(|wanted| entry.groups.joined(wanted, &job.uid));
        let group = joined.or_else(|| {
            let name = existing(entry)?;
            let mut apis = module.apis.iter();
            apis.find_map(|api| self.groups.aside(api, &key.namespace, name))
        })?;
        let group = match group.state {
            GroupState::Waiting(_) | GroupState::Silent => InQueue {
                api: group.api,
                namespace: &group.namespace,
                name: &group.name,
                spec: &group.spec,
            },
            GroupState::Open | GroupState::Placing(_) | GroupState::Broken => return None,
        };
        self.queues.why(module.queues, &group)
    }
}

fn has_ended(key: &JobKey, entry: &Entry) -> bool {
    let status = entry.job.as_ref().and_then(|job| job.status.as_ref());
    key.kind.has_ended(status)
}

/// The group that the templates of a job name.
fn existing(entry: &Entry) -> Option<&Arc<str>> {
    let Meaning::Job(compiled) = &*entry.job.as_ref()?.meaning else {
        return None;
    };
    compiled.job().gang.as_ref()?.existing.as_ref()
}

#[cfg(test)]
mod tests;
