//! Everything that is known of every job, in one place: what the watches showed and what we have written since.
//!
//! It keeps the world's contract towards `step` (docs/architecture.md): an object is never replaced by an older one, our
//! own acknowledged writes are in it at once (W2), a pod that has vanished leaves a tombstone until a memory that absorbed
//! it has been stored (W4), and of one job there is one pass at a time.

mod addresses;
mod entry;
mod groups;
mod queue;
mod reread;
mod slots;
mod tombstones;
mod tracked;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use trainyard_core::Time;
use trainyard_manifest::observe::PodSeen;
use trainyard_status::MEMORY_FIELD;

pub use self::addresses::{Addresses, NeededObject};
pub use self::entry::{Entry, LastError};
use self::groups::GroupIndex;
pub use self::groups::{GroupChange, GroupWrite, Groups};
use self::queue::Queue;
pub use self::reread::{Panicked, words as panic_words};
use self::slots::Slots;
use self::tracked::{Named, Tracked};
use crate::apply::{ApplyErrorKind, Report, Writes};
use crate::fair_queue::FairQueue;
use crate::job::{JobKey, JobWire, Reading};
use crate::reconcile::Decision;

/// All jobs.
#[derive(Debug, Default)]
pub struct Store {
    reading: Reading,
    entries: BTreeMap<JobKey, Entry>,
    /// Jobs to look at.
    queue: Queue,
    waking: BTreeSet<(Time, JobKey)>,
    /// Jobs, pods and Services that the list now being read has shown; none while no list is read.
    listed_jobs: Option<BTreeSet<JobKey>>,
    listed_pods: Option<BTreeSet<Arc<str>>>,
    listed_services: Option<BTreeSet<Arc<str>>>,
    /// Groups of gang schedulers.
    groups: GroupIndex,
    /// The API server has been seen to keep what we remember of a job; a foreign definition of `TFJob` drops it.
    kept: bool,
    /// While that is not known, one new job finds it out with its status, and other new ones wait behind it.
    probe: Option<JobKey>,
    behind_probe: FairQueue<JobKey>,
    /// Passes that are under way.
    slots: Slots,
    /// Panics that have not been told.
    panics: Vec<Panicked>,
}

impl Store {
    /// An empty one.
    #[must_use]
    pub fn new(reading: Reading) -> Self {
        Self {
            reading,
            ..Self::default()
        }
    }

    /// An empty one, with so many passes at a time.
    #[must_use]
    pub fn with_slots(reading: Reading, most: usize) -> Self {
        Self {
            slots: Slots::new(most.max(1)),
            ..Self::new(reading)
        }
    }

    /// How many jobs and pods are known.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        let jobs = self.entries.values().filter(|entry| entry.job.is_some()).count();
        (jobs, self.entries.values().map(|entry| entry.pods.len()).sum())
    }

    /// A list of all jobs begins.
    pub fn jobs_begin(&mut self) {
        self.listed_jobs = Some(BTreeSet::new());
    }

    /// Every job has been listed: those that were not are gone.
    pub fn jobs_end(&mut self) {
        let Some(listed) = self.listed_jobs.take() else {
            return;
        };
        let known = self.entries.iter().filter(|(_, entry)| entry.job.is_some());
        let gone: Vec<JobKey> = known
            .map(|(key, _)| key)
            .filter(|key| !listed.contains(key))
            .cloned()
            .collect();
        for key in gone {
            self.forget_job(&key);
        }
    }

    /// A job is like this now.
    pub fn job_seen(&mut self, wire: JobWire) {
        let key = key_of(&wire);
        if let Some(listed) = &mut self.listed_jobs {
            listed.insert(key.clone());
        }
        let entry = self.entries.entry(key.clone()).or_default();
        let seen = self.reading.read(wire, entry.job.as_ref());
        let remembered = seen.status.as_ref().is_some_and(remembers);
        if entry.see(seen) {
            // That one is missing says nothing: a user may have taken it out of a status. What we write and is not there is dropped.
            self.kept |= remembered;
            self.claim_groups(&key);
            self.enqueue(key);
        }
    }

    /// A job is gone.
    pub fn job_gone(&mut self, wire: &JobWire) {
        let key = key_of(wire);
        let uid = wire.metadata.uid.as_deref().unwrap_or_default();
        self.set(&key, |entry| entry.departs(&uid.into()));
        self.forget_job(&key);
    }

    fn forget_job(&mut self, key: &JobKey) {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.forget_job();
        }
        self.drop_if_empty(key);
    }

    /// A list of all our pods begins.
    pub fn pods_begin(&mut self) {
        self.listed_pods = Some(BTreeSet::new());
        for entry in self.entries.values_mut() {
            entry.pods_begin();
        }
    }

    /// Every pod has been listed: those that were not are gone, but for those we have made since the list began.
    pub fn pods_end(&mut self) {
        let Some(listed) = self.listed_pods.take() else {
            return;
        };
        let mut touched = Vec::new();
        for (key, entry) in &mut self.entries {
            if entry.pods_end(&listed) {
                touched.push(key.clone());
            }
        }
        for key in touched {
            self.drop_if_empty(&key);
            self.enqueue(key);
        }
    }

    /// A pod is like this now.
    pub fn pod_seen(&mut self, pod: PodSeen) {
        if let Some(listed) = &mut self.listed_pods {
            listed.insert(Arc::clone(&pod.uid));
        }
        let key = owner_of(&pod);
        if self.entries.entry(key.clone()).or_default().see_pod(pod) {
            self.enqueue(key);
        }
    }

    /// A pod is gone; this is what it was last.
    pub fn pod_gone(&mut self, pod: &PodSeen) {
        let key = owner_of(pod);
        if let Some(entry) = self.entries.get_mut(&key) {
            entry.lose_pod(pod);
            self.enqueue(key.clone());
        }
        self.drop_if_empty(&key);
    }

    /// A list of all objects of one kind begins; what it shows is noted in the set.
    fn list_begins<T: Named>(&mut self, of: fn(&mut Entry) -> &mut Tracked<T>) -> BTreeSet<Arc<str>> {
        for entry in self.entries.values_mut() {
            of(entry).list_begins();
        }
        BTreeSet::new()
    }

    /// All objects of one kind have been listed.
    fn list_ends<T: Named>(
        &mut self,
        listed: Option<BTreeSet<Arc<str>>>,
        of: fn(&mut Entry) -> &mut Tracked<T>,
    ) {
        let Some(listed) = listed else { return };
        let mut touched = Vec::new();
        for (key, entry) in &mut self.entries {
            if of(entry).list_ends(&listed) {
                entry.conflict_removed();
                touched.push(key.clone());
            }
        }
        for key in touched {
            self.enqueue(key.clone());
            self.drop_if_empty(&key);
        }
    }

    /// What a pass has done.
    pub fn applied(&mut self, mut report: Report, now: Time) {
        let key = report.key.clone();
        self.queue.started(&key);
        self.slots.end(&key.namespace);
        self.learn(&report);
        if let Some(words) = report.panicked {
            return self.panicked(key, words, now);
        }
        let read_again = report.reread.is_some();
        if let Some(later) = self.read_again(&mut report, now) {
            return self.wake_at(later, key);
        }
        let Some(entry) = self.entries.get_mut(&key) else {
            return;
        };
        let missed = std::mem::take(&mut entry.changed_in_flight) || read_again;
        match entry.absorb(report, now) {
            Some(later) => self.wake_at(later, key.clone()),
            None if entry.has_pods_without_status() && !missed => self.queue.put_off(key.clone(), now),
            None => self.enqueue(key.clone()),
        }
        // The job and its pods may have gone while the pass was under way.
        self.drop_if_empty(&key);
    }

    /// Whether memory is kept.
    fn learn(&mut self, report: &Report) {
        let kept = report.written.as_ref();
        self.kept |= kept.is_some_and(|(_, status)| remembers(status));
        let error = report.error.as_ref();
        self.kept &= error.is_none_or(|error| error.kind != ApplyErrorKind::Pruned);
        if self.probe.as_ref() == Some(&report.key) {
            self.probe = None;
        }
    }

    /// Which job to look at. Whoever waits for a probe comes first, once it is back; or is the next one to go.
    fn take(&mut self, now: Time) -> Option<JobKey> {
        let waits = !self.kept && self.probe.is_some();
        // Which namespaces wait matters only when all slots are taken.
        let share = if self.slots.are_taken() {
            self.slots.share(self.queue.namespaces())
        } else {
            usize::MAX
        };
        let may = |namespace: &Arc<str>| self.slots.may_begin(namespace, share);
        let behind = self.behind_probe.take_if(may, |_| !waits).map(|(_, key)| key);
        behind.or_else(|| self.queue.take(self.listed_jobs.is_none(), now, may))
    }

    /// Somebody else acts: nothing waits to be looked at.
    pub fn stop_leading(&mut self) {
        for key in self.queue.clear().chain(self.behind_probe.drain()) {
            if let Some(entry) = self.entries.get_mut(&key) {
                entry.rest();
            }
        }
    }

    /// It is ours to act: everything is to be looked at.
    pub fn start_leading(&mut self) {
        let all: Vec<JobKey> = self.entries.keys().cloned().collect();
        for key in all {
            self.enqueue(key);
        }
    }

    /// The next thing to be done about some job, if there is something to do now.
    pub fn next(&mut self, now: Time) -> Option<Writes> {
        while let Some((time, key)) = self.waking.first().cloned() {
            if time > now {
                break;
            }
            self.waking.pop_first();
            self.enqueue(key);
        }
        while let Some(key) = self.take(now) {
            let Some(entry) = self.entries.get_mut(&key) else {
                continue;
            };
            entry.queued = false;
            if entry.applying {
                // Its report leads to the next look.
                entry.changed_in_flight = true;
                continue;
            }
            match self.decide(&key, now) {
                Decision::Apply(writes) if !self.kept && writes.starts() && self.probe.is_some() => {
                    self.set(&key, |entry| entry.queued = true);
                    self.behind_probe.push(&Arc::clone(&key.namespace), key);
                }
                Decision::Apply(mut writes) => {
                    self.set(&key, |entry| entry.applying = true);
                    self.slots.begin(&key.namespace);
                    if !self.kept && writes.starts() {
                        // The others wait for the answer, so nothing else comes with it.
                        writes.actions.clear();
                        self.probe = Some(key);
                    } else if writes.starts() {
                        self.queue.starts(key);
                    }
                    return Some(*writes);
                }
                Decision::WakeAt(time) => self.wake_at(time, key),
                Decision::Idle | Decision::Reread => {}
            }
        }
        None
    }

    fn set(&mut self, key: &JobKey, change: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.entries.get_mut(key) {
            change(entry);
        }
    }

    /// How many jobs wait to be looked at.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.queue.len() + self.behind_probe.len()
    }

    /// When something is to be done by itself.
    #[must_use]
    pub fn wake(&self) -> Option<Time> {
        let waking = self.waking.first().map(|(time, _)| *time);
        waking.into_iter().chain(self.queue.wake()).min()
    }

    fn enqueue(&mut self, key: JobKey) {
        if let Some(entry) = self.entries.get_mut(&key)
            && !entry.queued
        {
            entry.queued = true;
            self.queue.push(key);
        }
    }

    /// One time a job: an earlier one that is still there only means one look too many.
    fn wake_at(&mut self, time: Time, key: JobKey) {
        if let Some(entry) = self.entries.get_mut(&key) {
            if let Some(before) = entry.wake.replace(time) {
                self.waking.remove(&(before, key.clone()));
            }
            self.waking.insert((time, key));
        }
    }

    fn drop_if_empty(&mut self, key: &JobKey) {
        if let Some(entry) = self.entries.get(key)
            && entry.is_empty()
        {
            if let Some(time) = entry.wake {
                self.waking.remove(&(time, key.clone()));
            }
            self.disclaim_groups(key);
            self.entries.remove(key);
        }
    }
}

fn remembers(status: &Value) -> bool {
    status.get(MEMORY_FIELD).is_some()
}

fn key_of(wire: &JobWire) -> JobKey {
    let text = |text: &Option<String>| Arc::<str>::from(text.as_deref().unwrap_or_default());
    JobKey {
        namespace: text(&wire.metadata.namespace),
        name: text(&wire.metadata.name),
    }
}

/// The job that a pod names; whether that job owns it is looked at when it matters.
fn owner_of(pod: &PodSeen) -> JobKey {
    JobKey {
        namespace: Arc::clone(&pod.namespace),
        name: Arc::clone(&pod.job),
    }
}

#[cfg(test)]
mod tests;
