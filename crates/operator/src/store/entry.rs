//! One job's place in the store.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use trainyard_core::{Memory, Observed, Seen, Time};
use trainyard_manifest::observe::PodSeen;
use trainyard_status::MEMORY_FIELD;

use super::addresses::Addresses;
use super::boards::Boards;
use super::extras::Extras;
use super::groups::Groups;
use super::pools::Gating;
use super::reread::{Panics, PendingReread};
use super::tombstones::{Tombstones, not_later};
use super::tracked::Tracked;
use super::workloads::Workloads;
use crate::apply::{ApplyError, ApplyErrorKind, Report};
use crate::job::{Compiled, JobSeen, Meaning, version};
use crate::order::OrderSeen;
use crate::reconcile::warnings::Warned;

/// An apply that was refused is tried again after this many seconds, then twice as many, and so on.
const FIRST_RETRY: u32 = 1;
const LAST_RETRY: u32 = 60;
/// When a pod that we have told to stop should have stopped, until the watch shows what the API server says.
const NOT_SAID: Time = Time(u64::MAX);

/// What is known of one job, and what is in flight.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a state of its own: what is under way, what stands in line, what was put off"
)]
pub struct Entry {
    /// The job; none while only pods are known that name it.
    pub job: Option<JobSeen>,
    /// Pods that name it, by their names.
    pub pods: BTreeMap<Arc<str>, HeldPod>,
    /// Lives whose pods are gone.
    gone: Tombstones,
    /// UIDs of pods that went while an apply was in flight, which may have made or read them; of the job, too.
    pub(super) deleted_in_flight: BTreeSet<Arc<str>>,
    /// What its tasks find each other by.
    pub addresses: Addresses,
    /// What its tasks are placed as.
    pub groups: Groups,
    /// Objects that give it orders.
    pub orders: Tracked<OrderSeen>,
    /// Extra objects of its kind that exist.
    pub extras: Extras,
    /// Its TensorBoard.
    pub board: Boards,
    /// What stands for it in a queue of Kueue's.
    pub workloads: Workloads,
    /// What its gang was told, where that is held by gates.
    pub gating: Gating,
    /// An apply is in flight.
    pub applying: bool,
    /// The last apply creates objects.
    pub creating: bool,
    /// It is queued.
    pub queued: bool,
    /// A watch showed a change while an apply was in flight.
    pub changed_in_flight: bool,
    /// When it is to be reconciled by itself.
    pub wake: Option<Time>,
    /// When its status was last written.
    pub status_written: Time,
    /// Since when counts differ from those in its status, and nothing else does.
    pub counts_since: Option<Time>,
    /// Passes refused in a row.
    pub failures: u32,
    /// What the last of them was refused.
    pub last_error: Option<LastError>,
    /// What was refused is not tried before this.
    pub retry_at: Time,
    /// The last reconcile put off what was refused.
    pub creates_deferred: bool,
    /// A conflicting object was deleted while requests were in flight: retry at once.
    conflict_gone: bool,
    /// What has been told about it beside its status.
    pub warned: Warned,
    /// Panics of ours about it.
    pub panics: Panics,
    /// It is to be read again, since what is known of it is not believed.
    pub pending_reread: Option<PendingReread>,
    /// What it means is kept whole though it seems to have ended: more was needed of it.
    pub keep_whole: bool,
    /// Called before each reconcile.
    #[cfg(test)]
    pub hook: Option<fn()>,
}

/// What was refused last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastError {
    /// What it means for the job.
    pub kind: ApplyErrorKind,
    /// A quota of the namespace is used up.
    pub is_quota: bool,
    /// What the API server said.
    pub message: String,
}

/// A pod, and whether it is known from our own write alone.
#[derive(Debug)]
pub struct HeldPod {
    /// The pod.
    pub pod: PodSeen,
    /// We have made it, and the list that is being read may have begun before that.
    unlisted: bool,
}

impl Entry {
    /// Takes a job in; false if it is older than what is known.
    pub fn see(&mut self, seen: JobSeen) -> bool {
        if let Some(known) = &self.job {
            let same = known.uid == seen.uid;
            if same && seen.version <= known.version {
                return false;
            }
            if same && !Arc::ptr_eq(&known.meaning, &seen.meaning) {
                // The edit may have mended what was refused.
                self.clear_errors();
            }
            if !same {
                self.addresses.forget_maps();
                self.extras.clear();
                self.board.clear();
                self.workloads.clear();
                self.clear_errors();
                self.keep_whole = false;
            }
        }
        self.gone.sort_out(&seen);
        self.job = Some(seen);
        self.shrink();
        true
    }

    /// The job is gone; its pods go by themselves, since it owned them.
    pub fn forget_job(&mut self) {
        self.job = None;
        self.addresses.forget_maps();
        self.extras.clear();
        self.board.clear();
        self.workloads.clear();
        self.gone.clear();
        self.counts_since = None;
        if let Some(pending) = &mut self.pending_reread {
            pending.claim = None;
        }
        self.clear_errors();
    }

    /// Takes a pod in; false if it is older than what is known.
    pub fn see_pod(&mut self, mut pod: PodSeen) -> bool {
        if let Some(known) = self.pods.get(&pod.name) {
            keep_end(&known.pod, &mut pod);
            let older = version(Some(&pod.version)) < version(Some(&known.pod.version));
            if older {
                return false;
            }
            if known.pod.uid != pod.uid {
                // The one before it vanished while no watch was open.
                self.gone.add(self.job.as_ref(), &known.pod);
            }
        }
        let held = HeldPod { pod, unlisted: false };
        self.pods.insert(Arc::clone(&held.pod.name), held);
        true
    }

    /// Something of the job's name is gone that may have been in the way, as what a deleted job of that name has left is: what was refused
    /// because of it is tried at once.
    ///
    /// Always true, for callers that ask whether something was lost.
    pub fn conflict_removed(&mut self) -> bool {
        if self.applying {
            self.conflict_gone = true;
        } else if self.creates_deferred || self.was_refused_a_create() {
            // Another refusal may have come since, as of a status while the creates were put off.
            self.clear_errors();
        }
        true
    }

    /// How good the job's claim to its name is against jobs of other kinds, best first: one that has begun, then the oldest. None if
    /// there is no job, or another controller runs it. A job that is being read again keeps the claim that it had.
    #[must_use]
    pub fn claim(&self) -> Option<(bool, Time)> {
        if let Some(pending) = &self.pending_reread {
            return pending.claim;
        }
        let job = self.job.as_ref()?;
        let ours = |held: &HeldPod| held.pod.owner.as_ref() == Some(&job.uid);
        let remembers = |status: &Value| status.get(MEMORY_FIELD).is_some();
        let creating = self.applying && self.creating;
        let begun = creating || job.status.as_ref().is_some_and(remembers) || self.pods.values().any(ours);
        (!matches!(*job.meaning, Meaning::NotOurs)).then_some((!begun, job.created))
    }

    /// An object is gone that an apply may tell of which is in flight.
    pub fn departs(&mut self, uid: &Arc<str>) {
        if self.applying {
            self.deleted_in_flight.insert(Arc::clone(uid));
        }
    }

    /// A pod is gone.
    pub fn lose_pod(&mut self, pod: &PodSeen) {
        self.departs(&pod.uid);
        let known = self.pods.get(&pod.name).map(|held| &held.pod);
        if let Some(known) = known.filter(|known| known.uid == pod.uid) {
            let mut last = pod.clone();
            keep_end(known, &mut last);
            self.pods.remove(&pod.name);
            self.gone.add(self.job.as_ref(), &last);
        }
        if self.is_foreign(pod) && !self.pods.values().any(|held| self.is_foreign(&held.pod)) {
            self.conflict_removed();
        }
    }

    /// Whether a pod that names the job is none of its tasks', as those of a deleted job of that name are.
    fn is_foreign(&self, pod: &PodSeen) -> bool {
        let job = self.job.as_ref().map(|job| &job.uid);
        job.is_some_and(|uid| pod.owner.as_ref() != Some(uid) || pod.task.is_none())
    }

    /// From now on, what we make may be missing in the list.
    pub fn pods_begin(&mut self) {
        for held in self.pods.values_mut() {
            held.unlisted = false;
        }
    }

    /// Drops what was not listed; true if something was.
    pub fn pods_end(&mut self, listed: &BTreeSet<Arc<str>>) -> bool {
        let lost: Vec<PodSeen> = self
            .pods
            .values()
            .filter(|held| !held.unlisted && !listed.contains(&held.pod.uid))
            .map(|held| held.pod.clone())
            .collect();
        for pod in &lost {
            self.lose_pod(pod);
        }
        !lost.is_empty()
    }

    /// What `step` may know.
    #[must_use]
    pub fn observed(&self, uid: &Arc<str>, deleting: bool) -> Observed {
        let ours = |pod: &&PodSeen| pod.owner.as_ref() == Some(uid);
        let here = self.pods.values().map(|held| &held.pod).filter(ours);
        let tasks = here.filter_map(|pod| pod.task.as_ref()).chain(self.gone.of(uid));
        let job = || self.job.iter();
        let annotated = job().filter_map(|job| job.order.clone()?.ok());
        let orders = annotated.chain(job().filter_map(|job| self.ordered(job)));
        Observed {
            tasks: tasks.cloned().collect(),
            orders: orders.collect(),
            deleting,
            ..Observed::default()
        }
    }

    /// Foreign clocks are not believed about the future (W7): what one says is later than now was now, and stays so. A wait of a
    /// second after it does not last until that clock's time has come.
    pub fn not_later(&mut self, now: Time) {
        let here = self.pods.values_mut().filter_map(|held| held.pod.task.as_mut());
        for task in here.chain(self.gone.all_mut()) {
            not_later(task, now);
        }
    }

    /// Tombstones that a stored memory has absorbed are needed no longer.
    pub fn drop_absorbed(&mut self, compiled: &Compiled, memory: &Memory) {
        self.gone.drop_absorbed(compiled.job(), memory);
    }

    /// Takes in what an apply has done. If it was refused, says when to try again.
    pub fn absorb(&mut self, mut report: Report, now: Time) -> Option<Time> {
        self.applying = false;
        let is_it = self.job.as_ref().is_some_and(|job| job.uid == report.uid);
        if is_it {
            if let Some((version, status)) = report.written.take() {
                self.stored(version, status, now);
            }
            if let Some(job) = &mut self.job {
                job.deleting |= report.deleted;
            }
        }
        self.absorb_fixtures(&mut report, is_it);
        if let Some(board) = report.board.take().filter(|_| is_it) {
            self.board.absorb(board, now);
        }
        self.board.deployments.apply_finished();
        self.board.pods.apply_finished();
        if let Some(workload) = report.workload.take().filter(|_| is_it) {
            self.workloads.absorb(workload, now);
        }
        self.workloads.known.apply_finished();
        let deleted_in_flight = std::mem::take(&mut self.deleted_in_flight);
        let made = std::mem::take(&mut report.made);
        for pod in made
            .into_iter()
            .filter(|pod| !deleted_in_flight.contains(&pod.uid))
        {
            self.see_made(pod);
        }
        for pod in std::mem::take(&mut report.ungated) {
            let known = self
                .pods
                .get(&pod.name)
                .is_some_and(|held| held.pod.uid == pod.uid);
            if known {
                self.see_pod(pod);
            }
        }
        let stopped: BTreeMap<&Arc<str>, bool> =
            report.stopped.iter().map(|(uid, force)| (uid, *force)).collect();
        for task in self.pods.values_mut().filter_map(|held| held.pod.task.as_mut()) {
            if let Some(force) = stopped.get(&task.instance) {
                // The watch may have been faster than the answer, but for a pod that was told before.
                task.stopping = task.stopping.filter(|_| !force).or(Some(NOT_SAID));
            }
        }
        self.retry(report.error.filter(|_| is_it), now)
    }

    /// The job's status is this now.
    fn stored(&mut self, version: u64, status: Value, now: Time) {
        let Some(job) = self.job.as_mut().filter(|job| version > job.version) else {
            return;
        };
        job.version = version;
        job.status = Some(status);
        self.status_written = now;
        self.drop_absorbed_by_stored();
        self.keep_whole = false;
        self.shrink();
    }

    /// Services, maps and groups. What was made for another job of this name is not this one's.
    fn absorb_fixtures(&mut self, report: &mut Report, is_it: bool) {
        if is_it {
            for map in report.maps.drain(..) {
                self.addresses.see_map(map);
            }
            for service in report.services.drain(..) {
                self.addresses.services.see(service, true);
            }
            self.extras.absorb(report);
            for group in report.groups.drain(..) {
                self.groups.see(group, true);
            }
        }
        for uid in &report.removed {
            self.addresses.services.removed(uid);
        }
        self.addresses.services.apply_finished();
        for uid in &report.answered {
            self.orders.removed(uid);
        }
        self.orders.apply_finished();
        for uid in &report.ungrouped {
            self.groups.removed(uid);
        }
        self.groups.apply_finished();
        self.extras
            .known
            .retain(|extra| !report.removed_extras.contains(&extra.uid));
        for uid in &report.removed_extras {
            self.extras.policies.removed(uid);
        }
        self.extras.policies.apply_finished();
    }

    /// We have made a pod. The watch may have been faster than the answer.
    fn see_made(&mut self, pod: PodSeen) {
        let name = Arc::clone(&pod.name);
        let known = self.pods.get(&name).is_some_and(|held| held.pod.uid == pod.uid);
        if !known
            && self.see_pod(pod)
            && let Some(held) = self.pods.get_mut(&name)
        {
            held.unlisted = true;
        }
    }

    /// Another operator acts: what it has stored need not be kept here.
    pub fn rest(&mut self) {
        self.queued = false;
        self.drop_absorbed_by_stored();
    }

    /// Tombstones that the stored memory has absorbed are needed no longer.
    fn drop_absorbed_by_stored(&mut self) {
        let Some(job) = self.job.as_ref().filter(|_| !self.gone.is_empty()) else {
            return;
        };
        let meaning = Arc::clone(&job.meaning);
        if let Meaning::Job(compiled) = &*meaning
            && let Ok(Some(memory)) = job.memory(compiled.job())
        {
            self.drop_absorbed(compiled, &memory);
        }
    }

    /// An apply that was refused is tried again later and later; but at once where what was in its way has gone since.
    fn retry(&mut self, error: Option<ApplyError>, now: Time) -> Option<Time> {
        let cleared = std::mem::take(&mut self.conflict_gone);
        let Some(error) = error else {
            if !self.creates_deferred || cleared {
                self.clear_errors();
            }
            return None;
        };
        if cleared {
            self.clear_errors();
        }
        self.groups.refused();
        self.last_error = Some(LastError {
            kind: error.kind,
            is_quota: error.refused.is_quota,
            message: error.refused.message,
        });
        let wait = backoff(self.failures);
        self.failures = self.failures.saturating_add(1);
        self.retry_at = if cleared && self.was_refused_a_create() {
            now
        } else {
            now + wait
        };
        Some(self.retry_at)
    }

    /// Whether pods, or what they need, are what was refused last.
    #[must_use]
    pub fn was_refused_a_create(&self) -> bool {
        let error = self.last_error.as_ref();
        error.is_some_and(|error| matches!(error.kind, ApplyErrorKind::Creating(_)))
    }

    /// Nothing is refused any more.
    fn clear_errors(&mut self) {
        self.failures = 0;
        self.last_error = None;
        self.creates_deferred = false;
        self.retry_at = Time::default();
    }

    /// Whether its pods have been made and nothing has been said of it.
    #[must_use]
    pub fn has_pods_without_status(&self) -> bool {
        let job = self.job.as_ref().filter(|job| job.status.is_none());
        job.is_some_and(|job| self.has_pods_of(&job.uid))
    }

    /// Whether the job with that UID has pods of its tasks.
    #[must_use]
    pub fn has_pods_of(&self, uid: &Arc<str>) -> bool {
        let mut pods = self.pods.values().map(|held| &held.pod);
        pods.any(|pod| pod.owner.as_ref() == Some(uid) && pod.task.is_some())
    }

    /// Whether nothing is known here any more.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.job.is_none()
            && self.pods.is_empty()
            && self.addresses.services.is_empty()
            && self.groups.is_empty()
            && self.orders.is_empty()
            && self.board.deployments.is_empty()
            && self.extras.policies.is_empty()
            && self.board.pods.is_empty()
            && self.workloads.known.is_empty()
            && !self.applying
            && self.pending_reread.is_none()
    }
}

/// How many seconds to wait after so many refusals in a row and one more.
pub fn backoff(failures: u32) -> u32 {
    let wait = FIRST_RETRY.checked_shl(failures).unwrap_or(LAST_RETRY);
    wait.clamp(FIRST_RETRY, LAST_RETRY)
}

/// The end of a task that has been seen stands, whatever is done to its pod in the same second: times are whole seconds,
/// and a pod that is deleted right after its end seems to have been asked to stop.
fn keep_end(known: &PodSeen, pod: &mut PodSeen) {
    let before = known.task.as_ref().filter(|_| known.uid == pod.uid);
    if let Some(Seen::Ended(first)) = before.map(|task| &task.state)
        && let Some(Seen::Ended(exit)) = pod.task.as_mut().map(|task| &mut task.state)
    {
        *exit = first.clone();
    }
}
