//! Whose turn it is among the gangs that are held by scheduling gates.
//!
//! Every change of a job marks its gang; before the next job is reconciled, the marked gangs are looked at again, and the turn is
//! given if it is free. So the order in which jobs are reconciled does not matter, and one change costs no look at the other gangs.

use std::collections::BTreeSet;

use trainyard_core::gates::{Fit, Pool, Standing, is_gated, patience};
use trainyard_core::{GangSeen, Time};

use super::{Entry, Source, Store};
use crate::job::{JobKey, Meaning, Reading};
use crate::kinds::Kind;

/// After so many seconds a job that waits says anew which gang has the turn.
const WORDS_LAST: u32 = 120;

/// What one job's gang was told last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gating {
    /// Whether it is its turn.
    pub told: GangSeen,
    /// When that may change by itself.
    pub wake: Option<Time>,
    /// The gangs that it waits for: the first of them, and how many there are.
    pub ahead: Option<(JobKey, usize)>,
    /// Since when it has been waiting.
    pub since: Time,
}

/// The gangs of all jobs that are held by gates.
#[derive(Debug, Default)]
pub struct Pools {
    /// Nothing is done here unless gates were chosen.
    is_on: bool,
    /// Kinds whose jobs have been listed, as far as they can be. No turn is given before: a gang that has it may not be known.
    listed: BTreeSet<&'static Kind>,
    /// Jobs that have changed since they were last looked at.
    marked: BTreeSet<JobKey>,
    /// The second in which the turn was last looked at.
    looked: Option<Time>,
    pool: Pool<JobKey>,
}

impl Pools {
    /// For an operator that was told to read jobs so.
    pub fn new(reading: &Reading) -> Self {
        Self {
            is_on: reading.gang.have_gates(),
            ..Self::default()
        }
    }

    /// Something about a job has changed.
    pub fn mark(&mut self, key: &JobKey) {
        if self.is_on {
            self.marked.insert(key.clone());
        }
    }

    /// As much is known of the jobs of a kind as there is to know.
    pub fn jobs_known(&mut self, source: Source) {
        if let Source::Jobs(kind) = source {
            self.listed.insert(kind);
        }
    }
}

impl Store {
    /// Gives the turn to the next gang, if it is free.
    pub(super) fn take_turns(&mut self, now: Time) {
        let pools = &mut self.pools;
        let is_news = !pools.marked.is_empty() || pools.looked != Some(now);
        if !pools.is_on || !is_news {
            return;
        }
        pools.looked = Some(now);
        for key in std::mem::take(&mut pools.marked) {
            match self.entries.get(&key).and_then(standing) {
                Some((seen, priority, patience)) => pools.pool.see(&key, seen, (priority, patience), now),
                None => pools.pool.lose(&key),
            }
        }
        let all_listed = self.reading.kinds.iter().all(|kind| pools.listed.contains(kind));
        let next = if all_listed {
            pools.pool.next(now, |_| Fit::Now)
        } else {
            None
        };
        if let Some(next) = next {
            self.enqueue(next);
        }
    }

    /// What a job's gang is told now.
    pub(super) fn gating(&self, key: &JobKey, now: Time) -> Gating {
        let pool = &self.pools.pool;
        let (told, wake) = pool.told(key, now);
        let mut ahead = pool.ahead(key);
        let waits = told == GangSeen::Held;
        let ahead = ahead.next().map(|first| (first.clone(), ahead.count() + 1));
        let ahead = ahead.filter(|_| waits);
        let words = ahead.as_ref().map(|_| now + WORDS_LAST);
        Gating {
            told,
            wake: wake.into_iter().chain(words).min(),
            ahead,
            since: pool.since(key).unwrap_or_default(),
        }
    }
}

/// What is seen of a job's gang, its priority, and how long its turn lasts.
fn standing(entry: &Entry) -> Option<(Standing, i32, u32)> {
    let job = entry.job.as_ref()?;
    let Meaning::Job(compiled) = &*job.meaning else {
        return None;
    };
    if !is_gated(compiled.job()) {
        return None;
    }
    let memory = job.memory(compiled.job()).ok()?;
    let observed = entry.observed(&job.uid, job.deleting);
    let seen = Standing::of(compiled.job(), memory.as_ref(), &observed, job.created)?;
    let ours = entry.pods.values().map(|held| &held.pod);
    let ours = ours.filter(|pod| pod.owner.as_ref() == Some(&job.uid) && pod.task.is_some());
    let priority = ours.map(|pod| pod.priority).max();
    Some((seen, priority.unwrap_or_default(), patience(compiled.job())))
}
