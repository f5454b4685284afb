//! Everything that is known of every job, in one place: what the watches showed and what we have written since.
//!
//! It keeps the world's contract towards `step` (docs/architecture.md): an object is never replaced by an older one, our
//! own acknowledged writes are in it at once (W2), a pod that has vanished leaves a tombstone until a memory that absorbed
//! it has been stored (W4), and of one job there is one apply at a time.

mod addresses;
mod beside;
mod boards;
mod entry;
pub mod extras;
mod groups;
mod homes;
mod orders;
mod policies;
mod pools;
mod queue;
mod queues;
mod refused;
mod reread;
mod room;
mod slots;
mod tombstones;
mod tracked;
mod workloads;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use trainyard_core::{Action, Storage, Time};
use trainyard_manifest::gang::{GroupApi, QueueApi};
use trainyard_manifest::observe::PodSeen;
use trainyard_status::MEMORY_FIELD;

pub use self::addresses::{Addresses, NeededObject};
pub use self::entry::{Entry, HeldPod, LastError};
pub use self::extras::{ExtraSeen, Extras, Listed, Sort};
use self::groups::GroupIndex;
pub use self::groups::{GroupChange, GroupWrite, Groups, Unlisted};
use self::homes::Homes;
pub use self::policies::PolicySeen;
use self::pools::GatedGangs;
pub use self::pools::Gating;
use self::queue::Queue;
use self::queues::Queues;
pub use self::refused::Refused;
pub use self::reread::{Panicked, words as panic_words};
pub use self::room::{Advice, Lack};
use self::slots::Slots;
use crate::apply::{ApplyErrorKind, Report, Writes};
use crate::job::{JobKey, JobWire, Reading};
use crate::kinds::Kind;
use crate::reconcile::Decision;

/// A watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// Jobs of a kind.
    Jobs(&'static Kind),
    /// Pods with the label of a kind.
    Pods(&'static Kind),
    /// Services with the label of a kind.
    Services(&'static Kind),
    /// Objects that give orders to jobs of a kind.
    Orders(&'static Kind),
    /// Deployments of `TensorBoard`s with the label of a kind.
    Boards(&'static Kind),
    /// NetworkPolicies of isolated jobs, whichever kind they are of.
    Policies,
    /// Pods of `TensorBoard`s of jobs of a kind.
    BoardPods(&'static Kind),
    /// Groups of a gang scheduler, by plural and API group, whichever kind their jobs are of.
    Groups(&'static str, &'static str),
    /// Queues of a gang scheduler, by plural and API group.
    Queues(&'static str, &'static str),
    /// What stands for jobs in queues of Kueue's, whichever kind they are of.
    Workloads,
    /// Nodes, for gangs by scheduling gates.
    Nodes,
}

impl Source {
    /// What the watch shows, for people.
    #[must_use]
    pub const fn objects(self) -> &'static str {
        match self {
            Self::Jobs(_) => "jobs",
            Self::Pods(_) | Self::BoardPods(_) => "pods",
            Self::Services(_) => "services",
            Self::Orders(_) => "orders",
            Self::Boards(_) => "deployments",
            Self::Policies => "networkpolicies",
            Self::Groups(..) => "groups",
            Self::Queues(..) => "queues",
            Self::Workloads => "workloads",
            Self::Nodes => "nodes",
        }
    }

    /// Whether jobs are run while its objects are unknown to the cluster or may not be listed.
    #[must_use]
    pub const fn is_optional(self) -> bool {
        match self {
            Self::Groups(..)
            | Self::Queues(..)
            | Self::Orders(_)
            | Self::Boards(_)
            | Self::BoardPods(_)
            | Self::Policies
            | Self::Workloads
            | Self::Nodes => true,
            Self::Jobs(_) | Self::Pods(_) | Self::Services(_) => false,
        }
    }

    /// The watch of this API.
    #[must_use]
    pub const fn groups(api: &GroupApi) -> Self {
        Self::Groups(api.plural, api.group)
    }

    /// The watch of this API.
    #[must_use]
    pub const fn queues(api: &QueueApi) -> Self {
        Self::Queues(api.plural, api.group)
    }
}

/// All jobs.
#[derive(Debug, Default)]
pub struct Store {
    reading: Reading,
    entries: BTreeMap<JobKey, Entry>,
    /// Jobs to reconcile.
    queue: Queue,
    waking: BTreeSet<(Time, JobKey)>,
    /// The jobs that watched objects name.
    homes: Homes,
    /// UIDs that the lists now being read have shown.
    listed: BTreeMap<Source, BTreeSet<Arc<str>>>,
    /// Groups of gang schedulers.
    groups: GroupIndex,
    /// The queues that these are put into.
    queues: Queues,
    /// Gangs that are held by gates.
    gates: GatedGangs,
    /// Kinds of which the Deployments of `TensorBoard`s are known, as far as they can be.
    boards_listed: BTreeSet<&'static Kind>,
    /// Workloads have not been listed since the operator started. Jobs with a queue wait.
    workloads_unlisted: Option<Unlisted>,
    /// Whether the installed definition of a kind keeps memory, as far as a write has shown it; a foreign one drops it.
    storage: BTreeMap<&'static Kind, Storage>,
    /// Passes that are in flight.
    slots: Slots,
    /// Panics that have not been told.
    panics: Vec<Panicked>,
}

impl Store {
    /// An empty one.
    #[must_use]
    pub fn new(reading: Reading) -> Self {
        Self {
            groups: GroupIndex::awaiting(reading.gang.apis()),
            workloads_unlisted: reading.kueue.then_some(Unlisted::Awaited),
            gates: GatedGangs::new(&reading),
            reading,
            ..Self::default()
        }
    }

    /// An empty one, with so many applies at a time.
    #[must_use]
    pub fn with_slots(reading: Reading, most: usize) -> Self {
        Self {
            slots: Slots::new(most.max(1)),
            ..Self::new(reading)
        }
    }

    /// The kinds of jobs that are run.
    #[must_use]
    pub fn kinds(&self) -> Vec<&'static Kind> {
        self.reading.kinds.clone()
    }

    /// How many jobs and pods are known.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        let jobs = self.entries.values().filter(|entry| entry.job.is_some()).count();
        (jobs, self.entries.values().map(|entry| entry.pods.len()).sum())
    }

    /// A complete list begins.
    pub fn list_begins(&mut self, source: Source) {
        self.listed.insert(source, BTreeSet::new());
        for (key, entry) in &mut self.entries {
            match source {
                Source::Pods(kind) if key.kind == kind => entry.pods_begin(),
                Source::Services(kind) if key.kind == kind => entry.addresses.services.list_begins(),
                Source::Orders(kind) if key.kind == kind => entry.orders.list_begins(),
                Source::Boards(kind) if key.kind == kind => entry.board.deployments.list_begins(),
                Source::Policies => entry.extras.policies.list_begins(),
                Source::BoardPods(kind) if key.kind == kind => entry.board.pods.list_begins(),
                Source::Workloads => entry.workloads.known.list_begins(),
                _ => {}
            }
        }
    }

    /// The list is complete: what it did not show is gone, but for what we have made since it began.
    pub fn list_ends(&mut self, source: Source) {
        let Some(listed) = self.listed.remove(&source) else {
            return;
        };
        self.homes.list_ends(source, &listed);
        if source == Source::Nodes {
            self.gates.nodes_listed(&listed);
        } else {
            self.gates.source_known(source);
        }
        let mut touched = Vec::new();
        for (key, entry) in &mut self.entries {
            let lost = match source {
                Source::Jobs(kind) => {
                    let known = entry.job.as_ref().filter(|_| key.kind == kind);
                    known.is_some_and(|job| !listed.contains(&job.uid))
                }
                Source::Pods(kind) => key.kind == kind && entry.pods_end(&listed),
                Source::Services(kind) => {
                    key.kind == kind
                        && entry.addresses.services.list_ends(&listed)
                        && entry.conflict_removed()
                }
                Source::Orders(kind) => key.kind == kind && entry.orders.list_ends(&listed),
                Source::Boards(kind) => key.kind == kind && entry.board.deployments.list_ends(&listed),
                Source::Policies => entry.extras.policies_end(&listed),
                Source::BoardPods(kind) => key.kind == kind && entry.board.pods.list_ends(&listed),
                Source::Workloads => entry.workloads.known.list_ends(&listed),
                Source::Groups(..) | Source::Queues(..) | Source::Nodes => false,
            };
            if lost {
                touched.push(key.clone());
            }
        }
        if let Source::Boards(kind) = source {
            self.boards_known(kind);
        }
        if source == Source::Workloads {
            self.workloads_known();
        }
        for key in touched {
            if matches!(source, Source::Jobs(_)) {
                self.forget_job(&key);
            } else {
                self.enqueue(key.clone());
                self.drop_if_empty(&key);
            }
        }
    }

    /// Notes what a list shows, while one is read.
    fn list_shows(&mut self, source: Source, uid: &Arc<str>) {
        if let Some(listed) = self.listed.get_mut(&source) {
            listed.insert(Arc::clone(uid));
        }
    }

    /// A watch shows a job.
    pub fn job_seen(&mut self, kind: &'static Kind, wire: JobWire) {
        let key = key_of(kind, &wire);
        let entry = self.entries.entry(key.clone()).or_default();
        let seen = self.reading.read(kind, wire, entry.job.as_ref());
        let uid = Arc::clone(&seen.uid);
        let remembered = seen.status.as_ref().is_some_and(remembers);
        let is_new = entry.see(seen);
        self.list_shows(Source::Jobs(kind), &uid);
        if is_new {
            // A missing memory proves nothing: a user may have removed it. One that we write and is not stored does.
            if remembered {
                self.memory_is_kept(kind);
            }
            self.enqueue_namesakes(&key);
            self.claim_groups(&key);
            self.enqueue(key);
        }
    }

    /// A job is gone.
    pub fn job_gone(&mut self, kind: &'static Kind, wire: &JobWire) {
        let key = key_of(kind, wire);
        let uid = wire.metadata.uid.as_deref().unwrap_or_default();
        self.set(&key, |entry| entry.departs(&uid.into()));
        self.forget_job(&key);
    }

    fn forget_job(&mut self, key: &JobKey) {
        self.set(key, Entry::forget_job);
        self.gates.mark(key);
        self.drop_if_empty(key);
        self.enqueue_namesakes(key);
    }

    /// Jobs of other kinds with the same name may have waited for this one to go.
    fn enqueue_namesakes(&mut self, key: &JobKey) {
        let others: Vec<JobKey> = self.namesakes(key).collect();
        for other in others {
            self.enqueue(other);
        }
    }

    fn namesakes(&self, key: &JobKey) -> impl Iterator<Item = JobKey> {
        let others = self.reading.kinds.iter().filter(|kind| **kind != key.kind);
        others.map(|kind| key.namesake(kind))
    }

    /// The job of another kind that has the names which the objects of this one would have: one that has begun, or the older one.
    fn name_holder(&self, key: &JobKey) -> Option<JobKey> {
        let claim = |key: &JobKey| Some((self.entries.get(key)?.claim()?, key.kind));
        let own = claim(key)?;
        self.namesakes(key)
            .find(|other| claim(other).is_some_and(|other| other < own))
    }

    /// A watch for jobs of this kind shows a pod.
    pub fn pod_seen(&mut self, kind: &'static Kind, mut pod: PodSeen) {
        self.gates.shrink(&mut pod);
        self.list_shows(Source::Pods(kind), &pod.uid);
        let key = owner_of(kind, &pod);
        if let Some(before) = self.homes.settle(Source::Pods(kind), (&pod.name, &pod.uid), &key) {
            self.pod_leaves(&before, &pod.clone().for_kind(kind.api));
        }
        let entry = self.entries.entry(key.clone()).or_default();
        if entry.see_pod(pod.for_kind(kind.api)) {
            self.enqueue(key);
        }
    }

    /// A pod is gone; this is what it was last.
    pub fn pod_gone(&mut self, kind: &'static Kind, pod: &PodSeen) {
        let key = owner_of(kind, pod);
        self.homes.leave(Source::Pods(kind), &pod.name, &key);
        self.pod_leaves(&key, &pod.clone().for_kind(kind.api));
    }

    fn pod_leaves(&mut self, key: &JobKey, pod: &PodSeen) {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.lose_pod(pod);
            self.enqueue(key.clone());
        }
        self.drop_if_empty(key);
    }

    /// What an apply has done.
    pub fn applied(&mut self, mut report: Report, now: Time) {
        let key = report.key.clone();
        self.gates.mark(&key);
        for pod in report.made.iter_mut().chain(&mut report.ungated) {
            self.gates.shrink(pod);
        }
        self.queue.started(&key);
        self.slots.end(&key.namespace);
        self.learn(&report);
        // Whether it has begun may be known now.
        self.enqueue_namesakes(&key);
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
        // The job and its pods may have gone while the apply was in flight.
        self.drop_if_empty(&key);
    }

    /// Whether memory is kept.
    fn learn(&mut self, report: &Report) {
        let written = report.written.as_ref();
        let error = report.error.as_ref();
        if error.is_some_and(|error| error.kind == ApplyErrorKind::Pruned) {
            self.storage.insert(report.key.kind, Storage::Drops);
        } else if written.is_some_and(|(_, status)| remembers(status)) {
            self.memory_is_kept(report.key.kind);
        }
    }

    /// The installed definition keeps memory. While it did not, `step` decided nothing and asked for no wake-up, so every job of the kind
    /// is reconciled.
    fn memory_is_kept(&mut self, kind: &'static Kind) {
        if self.storage.insert(kind, Storage::Keeps) == Some(Storage::Drops) {
            self.enqueue_all(|key| key.kind == kind);
        }
    }

    /// The job that is reconciled next.
    fn take(&mut self, now: Time) -> Option<JobKey> {
        // Which namespaces wait matters only when all slots are taken.
        let share = if self.slots.are_taken() {
            self.slots.share(self.queue.namespaces())
        } else {
            usize::MAX
        };
        let may = |namespace: &Arc<str>| self.slots.may_begin(namespace, share);
        let listing = self.listed.keys().any(|source| matches!(source, Source::Jobs(_)));
        self.queue.take(!listing, now, may)
    }

    /// Another operator acts: the queue is emptied.
    pub fn stop_leading(&mut self) {
        for key in self.queue.clear() {
            if let Some(entry) = self.entries.get_mut(&key) {
                entry.rest();
            }
        }
    }

    /// This operator acts: every job is reconciled.
    pub fn start_leading(&mut self) {
        self.enqueue_all(|_| true);
    }

    fn enqueue_all(&mut self, which: impl Fn(&JobKey) -> bool) {
        let all: Vec<JobKey> = self.entries.keys().filter(|key| which(key)).cloned().collect();
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
        self.take_turns(now);
        while let Some(key) = self.take(now) {
            let Some(entry) = self.entries.get_mut(&key) else {
                continue;
            };
            entry.queued = false;
            if entry.applying {
                // Its report leads to the next reconcile.
                entry.changed_in_flight = true;
                continue;
            }
            match self.decide(&key, now) {
                Decision::Apply(writes) => {
                    let creates = writes.actions.iter().any(Action::makes);
                    self.set(&key, |entry| (entry.applying, entry.creating) = (true, creates));
                    self.slots.begin(&key.namespace);
                    if writes.starts() {
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

    /// How many jobs wait to be reconciled.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// When something is to be done by itself.
    #[must_use]
    pub fn wake(&self) -> Option<Time> {
        let waking = self.waking.first().map(|(time, _)| *time);
        let turns = self.gates.wake();
        waking.into_iter().chain(self.queue.wake()).chain(turns).min()
    }

    fn enqueue(&mut self, key: JobKey) {
        self.gates.mark(&key);
        if let Some(entry) = self.entries.get_mut(&key)
            && !entry.queued
        {
            entry.queued = true;
            self.queue.push(key);
        }
    }

    /// One time a job: an earlier one that is still there only means one reconcile too many.
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

fn key_of(kind: &'static Kind, wire: &JobWire) -> JobKey {
    let text = |text: &Option<String>| Arc::<str>::from(text.as_deref().unwrap_or_default());
    JobKey {
        kind,
        namespace: text(&wire.metadata.namespace),
        name: text(&wire.metadata.name),
    }
}

/// The job that a pod names; whether that job owns it is checked when it matters.
fn owner_of(kind: &'static Kind, pod: &PodSeen) -> JobKey {
    JobKey::of(kind, &pod.namespace, &pod.job)
}

#[cfg(test)]
mod tests;
