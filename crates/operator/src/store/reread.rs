//! Jobs whose decision or whose requests have panicked.
//!
//! What is known of such a job is not believed any more: its entry is dropped and read again, after a while that grows with every panic. The other
//! jobs go on.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::Value;
use trainyard_core::{Storage, Time};

use super::{Entry, Store, Unlisted};
use crate::apply::reread::Reread;
use crate::apply::{Report, Writes};
use crate::job::{JobKey, Reading};
use crate::kinds::Kind;
use crate::reconcile::{Decision, board, events, gang_unknown, kueue, name_taken, reconcile};

/// A job is tried again after this many seconds, then after twice as many, and so on.
const FIRST_WAIT: u32 = 1;
const LAST_WAIT: u32 = 300;
/// After so many seconds without a panic, the next one is the first.
const FORGOTTEN: u64 = 3600;
/// Longer words are cut.
const LONGEST: usize = 300;

/// A panic while a job was decided about, or while that was carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panicked {
    /// The job that is read again.
    pub job: JobKey,
    /// What the panic said.
    pub words: String,
    /// The job is tried again after so many seconds.
    pub wait: u32,
}

/// Panics of one job.
#[derive(Clone, Copy, Debug, Default)]
pub struct Panics {
    count: u32,
    last: Time,
    /// Nothing is done about the job before this.
    pub until: Time,
}

impl Panics {
    /// One more; how many seconds to wait.
    fn one_more(&mut self, now: Time) -> u32 {
        if now.since(self.last) > FORGOTTEN {
            self.count = 0;
        }
        let wait = FIRST_WAIT
            .checked_shl(self.count)
            .unwrap_or(LAST_WAIT)
            .clamp(FIRST_WAIT, LAST_WAIT);
        (self.count, self.last, self.until) = (self.count.saturating_add(1).min(31), now, now + wait);
        wait
    }
}

/// An entry that was dropped and is to be read again.
#[derive(Debug, Default)]
pub struct PendingReread {
    /// Which job it was; empty where that is not known.
    uid: Arc<str>,
    /// What is to be told of it on the cluster.
    events: Vec<Value>,
    /// The job's claim to its name before it was dropped.
    pub(super) claim: Option<(bool, Time)>,
}

impl Store {
    /// What follows from reconciling a job.
    pub(super) fn decide(&mut self, key: &JobKey, now: Time) -> Decision {
        let holder = self.name_holder(key);
        let job = self.entries.get(key).and_then(|entry| entry.job.as_ref());
        let unlisted = job.and_then(|job| self.groups.unlisted(job));
        let unqueued = job.and_then(|job| self.unlisted_workloads(job));
        let queues = self.reading.kueue && self.workloads_unlisted.is_none();
        let boards = self.boards_listed.contains(key.kind);
        let gating = self.gating(key, now);
        let queue = self.why_in_queue(key);
        let Some(entry) = self.entries.get_mut(key) else {
            return Decision::Idle;
        };
        entry.gating = gating;
        entry.groups.queue = queue;
        if entry.panics.until > now {
            return Decision::WakeAt(entry.panics.until);
        }
        if entry.pending_reread.is_none() {
            if entry.retry_at > now && !entry.was_refused_a_create() {
                return Decision::WakeAt(entry.retry_at);
            }
            let storage = self.storage.get(key.kind).copied();
            let storage = storage.unwrap_or(Storage::Unknown);
            let looked = catch_unwind(AssertUnwindSafe(|| {
                #[cfg(test)]
                entry.hook.inspect(|hook| hook());
                match (holder, unlisted) {
                    (Some(holder), _) => name_taken(key, entry, &holder, now),
                    // What the job has made is not known yet.
                    (None, Some((_, Unlisted::Awaited))) => Decision::Idle,
                    (None, Some((api, Unlisted::Unknown))) => gang_unknown(key, entry, api, now),
                    (None, None) if unqueued == Some(Unlisted::Awaited) => Decision::Idle,
                    (None, None) if unqueued.is_some() => kueue::not_installed(key, entry, now),
                    (None, None) => {
                        let mut next = reconcile(key, entry, storage, now);
                        if queues {
                            next = kueue::next(key, entry, next, now);
                        }
                        if boards {
                            board::next(key, entry, next, now)
                        } else {
                            next
                        }
                    }
                }
            }));
            match looked {
                Ok(Decision::Reread) => entry.lose_job(),
                Ok(next) => return next,
                Err(panic) => {
                    self.panicked(key.clone(), words(&*panic), now);
                    return Decision::Idle;
                }
            }
        }
        let lost = self
            .entries
            .get_mut(key)
            .and_then(|entry| entry.pending_reread.as_mut());
        // The claim stays until the job has been read.
        let lost = lost.map(|lost| (std::mem::take(&mut lost.uid), std::mem::take(&mut lost.events)));
        let (uid, events) = lost.unwrap_or_default();
        let mut writes = Writes::empty(key, uid, now);
        (writes.reread, writes.events) = (true, events);
        Decision::Apply(Box::new(writes))
    }

    /// A job is forgotten, but for when it is to be read again.
    pub(super) fn panicked(&mut self, job: JobKey, words: String, now: Time) {
        let Some(entry) = self.entries.get_mut(&job) else {
            return;
        };
        let old = std::mem::take(entry);
        let mut panics = old.panics;
        let wait = panics.one_more(now);
        let change = events::panicked(&words, wait, now);
        let told = old.job.as_ref().and_then(|job| events::event(job, &change));
        entry.pending_reread = Some(PendingReread {
            claim: old.claim(),
            uid: old.job.map(|job| job.uid).unwrap_or_default(),
            events: told.into_iter().collect(),
        });
        // These are known from the watches, and no reconcile changes them.
        (entry.groups, entry.orders, entry.board) = (old.groups, old.orders, old.board);
        entry.extras.policies = old.extras.policies;
        entry.workloads = old.workloads;
        (entry.queued, entry.wake, entry.panics) = (old.queued, old.wake, panics);
        self.wake_at(now + wait, job.clone());
        self.panics.push(Panicked { job, words, wait });
    }

    /// A job that is to be read again has been, or could not be; says when that is tried again.
    pub(super) fn read_again(&mut self, report: &mut Report, now: Time) -> Option<Time> {
        let entry = self.entries.get_mut(&report.key)?;
        entry.pending_reread.as_ref()?;
        if let Some(read) = report.reread.take() {
            entry.read_again(report.key.kind, read, &self.reading);
            return None;
        }
        entry.applying = false;
        entry.panics.one_more(now);
        Some(entry.panics.until)
    }

    /// Panics since the last call.
    pub fn take_panics(&mut self) -> Vec<Panicked> {
        std::mem::take(&mut self.panics)
    }
}

impl Entry {
    /// The job itself is to be read again; what is known of its pods stands.
    fn lose_job(&mut self) {
        self.pending_reread = Some(PendingReread {
            claim: self.claim(),
            uid: self.job.take().map(|job| job.uid).unwrap_or_default(),
            events: Vec::new(),
        });
        self.keep_whole = true;
    }

    /// Takes in what was read. What the watches have shown since is newer, and what went meanwhile is gone.
    fn read_again(&mut self, kind: &'static Kind, read: Reread, reading: &Reading) {
        self.pending_reread = None;
        let deleted_in_flight = std::mem::take(&mut self.deleted_in_flight);
        let uid = |job: &crate::job::JobWire| job.metadata.uid.clone().unwrap_or_default();
        if let Some(wire) = read.job.filter(|job| !deleted_in_flight.contains(&*uid(job))) {
            let seen = reading.read(kind, wire, self.job.as_ref());
            self.see(seen);
        }
        for pod in read.pods {
            if !deleted_in_flight.contains(&pod.uid) {
                self.see_pod(pod);
            }
        }
        for service in read.services {
            self.addresses.services.see(service, false);
        }
    }
}

/// What a panic said.
#[must_use]
pub fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    let text = text.unwrap_or("a panic without words");
    text.chars().take(LONGEST).collect()
}
