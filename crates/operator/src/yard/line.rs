//! Which job is looked at next.
//!
//! Jobs stand in line in the order in which something happened to them. One line is behind all others: jobs that have their first
//! pods and no status wait there until every job has its pods, since a status costs the API server more than they do (ADR 6).

use std::collections::{BTreeSet, VecDeque};

use trainyard_core::Time;

use crate::job::JobKey;

/// So many seconds a job's first status is put off while other jobs have no pods yet.
pub const PUT_OFF: u32 = 3;

/// Jobs that are to be looked at.
#[derive(Debug, Default)]
pub struct Line {
    due: VecDeque<JobKey>,
    /// Those that have their first pods and no status, and until when those that have no pods come first.
    untold: VecDeque<(Time, JobKey)>,
    /// Those whose first pods are being made.
    starting: BTreeSet<JobKey>,
}

impl Line {
    /// Something happened to a job.
    pub fn push(&mut self, key: JobKey) {
        self.due.push_back(key);
    }

    /// A job has its first pods, and there is nothing to do but to say so.
    pub fn put_off(&mut self, key: JobKey, now: Time) {
        self.untold.push_back((now + PUT_OFF, key));
    }

    /// The first pods of a job are being made.
    pub fn starts(&mut self, key: JobKey) {
        self.starting.insert(key);
    }

    /// They are no longer: they exist, or were refused.
    pub fn started(&mut self, key: &JobKey) {
        self.starting.remove(key);
    }

    /// The next one. While jobs are listed, there may be more without pods.
    pub fn take(&mut self, all_listed: bool, now: Time) -> Option<JobKey> {
        let all_started = all_listed && self.starting.is_empty();
        self.take_untold(|until| until <= now)
            .or_else(|| self.due.pop_front())
            .or_else(|| self.take_untold(|_| all_started))
    }

    fn take_untold(&mut self, if_so: impl FnOnce(Time) -> bool) -> Option<JobKey> {
        let first = self.untold.pop_front_if(|(until, _)| if_so(*until));
        first.map(|(_, key)| key)
    }

    /// Nobody stands in line any more; gives those who did.
    pub fn clear(&mut self) -> impl Iterator<Item = JobKey> {
        let untold = self.untold.drain(..).map(|(_, key)| key);
        self.due.drain(..).chain(untold)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.due.len() + self.untold.len()
    }

    /// When somebody has been put off long enough.
    pub fn wake(&self) -> Option<Time> {
        self.untold.front().map(|(until, _)| *until)
    }
}
