//! Everything that is known of every job, in one place: what the watches showed and what we have written since.
//!
//! It keeps the world's contract towards `step` (docs/architecture.md): an object is never replaced by an older one, our
//! own acknowledged writes are in it at once (W2), a pod that has vanished leaves a tombstone until a memory that absorbed
//! it has been stored (W4), and of one job there is one pass at a time.

mod addresses;
mod group;
mod line;
mod plot;
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

pub use self::addresses::{Addresses, Needed};
pub use self::group::{Ensure, Group};
use self::line::Line;
pub use self::plot::{LastTrouble, Plot};
pub use self::reread::{Panicked, words as panic_words};
use self::slots::Slots;
use self::tracked::{Named, Tracked};
use crate::job::{JobKey, JobWire, Reading};
use crate::look::Next;
use crate::pass::{Pass, Report, Sort};
use crate::turns::Turns;

/// All jobs.
#[derive(Debug, Default)]
pub struct Yard {
    reading: Reading,
    plots: BTreeMap<JobKey, Plot>,
    /// Jobs to look at.
    line: Line,
    waking: BTreeSet<(Time, JobKey)>,
    /// Jobs, pods, Services and groups that the list now being read has shown; none while no list is read.
    listed_jobs: Option<BTreeSet<JobKey>>,
    listed_pods: Option<BTreeSet<Arc<str>>>,
    listed_services: Option<BTreeSet<Arc<str>>>,
    listed_groups: Option<BTreeSet<Arc<str>>>,
    /// The API server has been seen to keep what we remember of a job; a foreign definition of `TFJob` drops it.
    kept: bool,
    /// While that is not known, one new job finds it out with its status, and other new ones wait behind it.
    scout: Option<JobKey>,
    behind: Turns<JobKey>,
    /// Passes that are under way.
    slots: Slots,
    /// Panics that have not been told.
    panics: Vec<Panicked>,
}

impl Yard {
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
        let jobs = self.plots.values().filter(|plot| plot.job.is_some()).count();
        (jobs, self.plots.values().map(|plot| plot.pods.len()).sum())
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
        let known = self.plots.iter().filter(|(_, plot)| plot.job.is_some());
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
        let plot = self.plots.entry(key.clone()).or_default();
        let seen = self.reading.read(wire, plot.job.as_ref());
        let remembered = seen.status.as_ref().is_some_and(remembers);
        if plot.see(seen) {
            // That one is missing says nothing: a user may have taken it out of a status. What we write and is not there is dropped.
            self.kept |= remembered;
            self.look_at(key);
        }
    }

    /// A job is gone.
    pub fn job_gone(&mut self, wire: &JobWire) {
        let key = key_of(wire);
        let uid = wire.metadata.uid.as_deref().unwrap_or_default();
        self.set(&key, |plot| plot.departs(&uid.into()));
        self.forget_job(&key);
    }

    fn forget_job(&mut self, key: &JobKey) {
        if let Some(plot) = self.plots.get_mut(key) {
            plot.forget_job();
        }
        self.drop_if_empty(key);
    }

    /// A list of all our pods begins.
    pub fn pods_begin(&mut self) {
        self.listed_pods = Some(BTreeSet::new());
        for plot in self.plots.values_mut() {
            plot.pods_begin();
        }
    }

    /// Every pod has been listed: those that were not are gone, but for those we have made since the list began.
    pub fn pods_end(&mut self) {
        let Some(listed) = self.listed_pods.take() else {
            return;
        };
        let mut touched = Vec::new();
        for (key, plot) in &mut self.plots {
            if plot.pods_end(&listed) {
                touched.push(key.clone());
            }
        }
        for key in touched {
            self.drop_if_empty(&key);
            self.look_at(key);
        }
    }

    /// A pod is like this now.
    pub fn pod_seen(&mut self, pod: PodSeen) {
        if let Some(listed) = &mut self.listed_pods {
            listed.insert(Arc::clone(&pod.uid));
        }
        let key = owner_of(&pod);
        if self.plots.entry(key.clone()).or_default().see_pod(pod) {
            self.look_at(key);
        }
    }

    /// A pod is gone; this is what it was last.
    pub fn pod_gone(&mut self, pod: &PodSeen) {
        let key = owner_of(pod);
        if let Some(plot) = self.plots.get_mut(&key) {
            plot.lose_pod(pod);
            self.look_at(key.clone());
        }
        self.drop_if_empty(&key);
    }

    /// A list of all objects of one kind begins; what it shows is noted in the set.
    fn list_begins<T: Named>(&mut self, of: fn(&mut Plot) -> &mut Tracked<T>) -> BTreeSet<Arc<str>> {
        for plot in self.plots.values_mut() {
            of(plot).list_begins();
        }
        BTreeSet::new()
    }

    /// All objects of one kind have been listed.
    fn list_ends<T: Named>(
        &mut self,
        listed: Option<BTreeSet<Arc<str>>>,
        of: fn(&mut Plot) -> &mut Tracked<T>,
    ) {
        let Some(listed) = listed else { return };
        let mut touched = Vec::new();
        for (key, plot) in &mut self.plots {
            if of(plot).list_ends(&listed) {
                plot.clear_way();
                touched.push(key.clone());
            }
        }
        for key in touched {
            self.look_at(key.clone());
            self.drop_if_empty(&key);
        }
    }

    /// What a pass has done.
    pub fn reported(&mut self, mut report: Report, now: Time) {
        let key = report.key.clone();
        self.line.started(&key);
        self.slots.end(&key.namespace);
        self.learn(&report);
        if let Some(words) = report.panicked {
            return self.panicked(key, words, now);
        }
        let read_again = report.reread.is_some();
        if let Some(later) = self.read_again(&mut report, now) {
            return self.wake_at(later, key);
        }
        let Some(plot) = self.plots.get_mut(&key) else {
            return;
        };
        let missed = std::mem::take(&mut plot.missed) || read_again;
        match plot.absorb(report, now) {
            Some(later) => self.wake_at(later, key.clone()),
            None if plot.is_untold() && !missed => self.line.put_off(key.clone(), now),
            None => self.look_at(key.clone()),
        }
        // The job and its pods may have gone while the pass was under way.
        self.drop_if_empty(&key);
    }

    /// Whether memory is kept.
    fn learn(&mut self, report: &Report) {
        let kept = report.written.as_ref();
        self.kept |= kept.is_some_and(|(_, status)| remembers(status));
        let trouble = report.trouble.as_ref();
        self.kept &= trouble.is_none_or(|trouble| trouble.sort != Sort::Pruned);
        if self.scout.as_ref() == Some(&report.key) {
            self.scout = None;
        }
    }

    /// Which job to look at. Whoever waits for a scout comes first, once it is back; or is the next one to go.
    fn take(&mut self, now: Time) -> Option<JobKey> {
        let waits = !self.kept && self.scout.is_some();
        // Which namespaces wait matters only when all slots are taken.
        let share = if self.slots.are_taken() {
            self.slots.share(self.line.namespaces())
        } else {
            usize::MAX
        };
        let may = |namespace: &Arc<str>| self.slots.may_begin(namespace, share);
        let behind = self.behind.take_if(may, |_| !waits).map(|(_, key)| key);
        behind.or_else(|| self.line.take(self.listed_jobs.is_none(), now, may))
    }

    /// Somebody else acts: nothing waits to be looked at.
    pub fn stand_by(&mut self) {
        for key in self.line.clear().chain(self.behind.drain()) {
            if let Some(plot) = self.plots.get_mut(&key) {
                plot.rest();
            }
        }
    }

    /// It is ours to act: everything is to be looked at.
    pub fn stand_up(&mut self) {
        let all: Vec<JobKey> = self.plots.keys().cloned().collect();
        for key in all {
            self.look_at(key);
        }
    }

    /// The next thing to be done about some job, if there is something to do now.
    pub fn next(&mut self, now: Time) -> Option<Pass> {
        while let Some((time, key)) = self.waking.first().cloned() {
            if time > now {
                break;
            }
            self.waking.pop_first();
            self.look_at(key);
        }
        while let Some(key) = self.take(now) {
            let Some(plot) = self.plots.get_mut(&key) else {
                continue;
            };
            plot.due = false;
            if plot.busy {
                // Its report leads to the next look.
                plot.missed = true;
                continue;
            }
            match self.decide(&key, now) {
                Next::Do(pass) if !self.kept && pass.starts() && self.scout.is_some() => {
                    self.set(&key, |plot| plot.due = true);
                    self.behind.push(&Arc::clone(&key.namespace), key);
                }
                Next::Do(mut pass) => {
                    self.set(&key, |plot| plot.busy = true);
                    self.slots.begin(&key.namespace);
                    if !self.kept && pass.starts() {
                        // The others wait for the answer, so nothing else comes with it.
                        pass.actions.clear();
                        self.scout = Some(key);
                    } else if pass.starts() {
                        self.line.starts(key);
                    }
                    return Some(*pass);
                }
                Next::Wait(time) => self.wake_at(time, key),
                Next::Nothing | Next::Reread => {}
            }
        }
        None
    }

    fn set(&mut self, key: &JobKey, change: impl FnOnce(&mut Plot)) {
        if let Some(plot) = self.plots.get_mut(key) {
            change(plot);
        }
    }

    /// How many jobs wait to be looked at.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.line.len() + self.behind.len()
    }

    /// When something is to be done by itself.
    #[must_use]
    pub fn wake(&self) -> Option<Time> {
        let waking = self.waking.first().map(|(time, _)| *time);
        waking.into_iter().chain(self.line.wake()).min()
    }

    fn look_at(&mut self, key: JobKey) {
        if let Some(plot) = self.plots.get_mut(&key)
            && !plot.due
        {
            plot.due = true;
            self.line.push(key);
        }
    }

    /// One time a job: an earlier one that is still there only means one look too many.
    fn wake_at(&mut self, time: Time, key: JobKey) {
        if let Some(plot) = self.plots.get_mut(&key) {
            if let Some(before) = plot.wake.replace(time) {
                self.waking.remove(&(before, key.clone()));
            }
            self.waking.insert((time, key));
        }
    }

    fn drop_if_empty(&mut self, key: &JobKey) {
        if let Some(plot) = self.plots.get(key)
            && plot.is_empty()
        {
            if let Some(time) = plot.wake {
                self.waking.remove(&(time, key.clone()));
            }
            self.plots.remove(key);
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
