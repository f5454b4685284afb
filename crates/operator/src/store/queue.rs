//! Which job is reconciled next.
//!
//! The jobs of one namespace are queued in the order in which something happened to them; namespaces have their turns one after another
//! ([`FairQueue`]). One queue is behind all others: jobs that have their first pods and no status wait there until every job has its pods,
//! since a status costs the API server more than they do (ADR 6).

use std::collections::BTreeSet;
use std::sync::Arc;

use trainyard_core::Time;

use crate::fair_queue::FairQueue;
use crate::job::JobKey;

/// So many seconds a job's first status is put off while other jobs have no pods yet.
pub const PUT_OFF: u32 = 3;

/// Jobs to be reconciled.
#[derive(Debug, Default)]
pub struct Queue {
    due: FairQueue<JobKey>,
    /// Those that have their first pods and no status, and until when those that have no pods come first.
    unreported: FairQueue<(Time, JobKey)>,
    /// Those whose first pods are being made.
    starting: BTreeSet<JobKey>,
    /// The second in which jobs that were put off were looked through: their time is over in whole seconds.
    looked_through: Option<Time>,
}

impl Queue {
    /// Something happened to a job.
    pub fn push(&mut self, key: JobKey) {
        self.due.push(&Arc::clone(&key.namespace), key);
    }

    /// A job has its first pods, and there is nothing to do but to say so.
    pub fn put_off(&mut self, key: JobKey, now: Time) {
        self.unreported
            .push(&Arc::clone(&key.namespace), (now + PUT_OFF, key));
    }

    /// The first pods of a job are being made.
    pub fn starts(&mut self, key: JobKey) {
        self.starting.insert(key);
    }

    /// They are no longer: they exist, or were refused.
    pub fn started(&mut self, key: &JobKey) {
        self.starting.remove(key);
    }

    /// The next one of a namespace that may have a turn. While jobs are listed, there may be more without pods.
    pub fn take(&mut self, all_listed: bool, now: Time, may: impl Fn(&Arc<str>) -> bool) -> Option<JobKey> {
        self.end_of_put_off(now);
        let all_started = all_listed && self.starting.is_empty();
        let due = self.due.take_if(&may, |_| true).map(|(_, key)| key);
        due.or_else(|| {
            let unreported = self.unreported.take_if(&may, |_| all_started);
            unreported.map(|(_, (_, key))| key)
        })
    }

    /// A job that has been put off long enough comes before the others of its namespace.
    fn end_of_put_off(&mut self, now: Time) {
        if self.looked_through.replace(now) == Some(now) {
            return;
        }
        let mut over = Vec::new();
        while let Some((namespace, (_, key))) = self.unreported.take_if(|_| true, |(until, _)| *until <= now)
        {
            over.push((namespace, key));
        }
        for (namespace, key) in over.into_iter().rev() {
            self.due.push_front(&namespace, key);
        }
    }

    /// Empties the queue; gives what was in it.
    pub fn clear(&mut self) -> impl Iterator<Item = JobKey> + use<> {
        let unreported = self.unreported.drain().map(|(_, key)| key);
        self.due.drain().chain(unreported)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.due.len() + self.unreported.len()
    }

    /// The namespaces of those that are due.
    pub fn namespaces(&self) -> impl Iterator<Item = &Arc<str>> {
        self.due.namespaces()
    }

    /// When a job has been put off long enough.
    pub fn wake(&self) -> Option<Time> {
        self.unreported.first().map(|(until, _)| *until).min()
    }
}
