//! Kueue's Workloads of jobs, as far as they are known to exist.

use trainyard_core::Time;

use super::groups::Unlisted;
use super::refused::Refused;
use super::tracked::{Tracked, named_by_fields};
use super::{Source, Store};
use crate::apply::workload::WorkloadReport;
use crate::job::{JobKey, JobSeen, Meaning};
use crate::workload::WorkloadSeen;

named_by_fields!(WorkloadSeen);

/// The Workloads of one job.
#[derive(Debug, Default)]
pub struct Workloads {
    /// Those that name the job as their controller.
    pub(super) known: Tracked<WorkloadSeen>,
    /// What was refused.
    refused: Option<Refused>,
}

impl Workloads {
    /// The one that this operator created for a job.
    #[must_use]
    pub fn own(&self, job: &JobSeen) -> Option<&WorkloadSeen> {
        let mut all = self.known.all();
        all.find(|seen| seen.is_ours && seen.owner.2 == job.uid)
    }

    /// Whether another controller or a user has created one for a job: Kueue's own integration, for example.
    #[must_use]
    pub fn has_other(&self, job: &JobSeen) -> bool {
        let mut all = self.known.all();
        all.any(|seen| !seen.is_ours && !seen.deleting && seen.owner.2 == job.uid)
    }

    /// Whether none is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// What was refused last, unless something was done since.
    #[must_use]
    pub const fn refused(&self) -> Option<&Refused> {
        self.refused.as_ref()
    }

    /// Forgets what was refused to another job.
    pub fn clear(&mut self) {
        self.refused = None;
    }

    /// Takes in what an apply has done for this job.
    pub fn absorb(&mut self, report: WorkloadReport, now: Time) {
        if let Some(written) = report.written {
            self.known.see(*written, true);
        }
        if let Some(uid) = &report.removed {
            self.known.removed(uid);
        }
        let refused = report.refused.map(|refused| refused.message);
        self.refused = Refused::after(self.refused.take(), refused, now);
    }
}

impl Store {
    /// Whether a job has to wait because the Workloads are not known.
    pub(super) fn unlisted_workloads(&self, job: &JobSeen) -> Option<Unlisted> {
        let unlisted = self.workloads_unlisted?;
        match &*job.meaning {
            Meaning::Job(compiled) => compiled.queued.as_ref().map(|_| unlisted),
            _ => None,
        }
    }

    /// The cluster has no Workloads, or does not let us list them. Those that were listed before stay as they were.
    pub(super) fn workloads_unknown(&mut self) {
        if self.workloads_unlisted == Some(Unlisted::Awaited) {
            self.workloads_unlisted = Some(Unlisted::Unknown);
            self.enqueue_all(|_| true);
        }
    }

    /// All Workloads have been listed.
    pub(super) fn workloads_known(&mut self) {
        if self.workloads_unlisted.take().is_some() {
            self.enqueue_all(|_| true);
        }
    }

    /// A watch shows a Workload.
    pub fn workload_seen(&mut self, workload: WorkloadSeen) {
        if let Some(key) = self.job_queued(&workload) {
            self.beside_seen(Source::Workloads, key, workload, |entry| {
                &mut entry.workloads.known
            });
        } else {
            self.list_shows(Source::Workloads, &workload.uid);
        }
    }

    /// A Workload is gone.
    pub fn workload_gone(&mut self, workload: &WorkloadSeen) {
        if let Some(key) = self.job_queued(workload) {
            self.beside_gone(Source::Workloads, &key, workload, |entry| {
                &mut entry.workloads.known
            });
        }
    }

    /// The job that a Workload is of.
    fn job_queued(&self, workload: &WorkloadSeen) -> Option<JobKey> {
        let (api, name, _) = &workload.owner;
        let kind = self.reading.kinds.iter().find(|kind| kind.api == *api)?;
        Some(JobKey::of(kind, &workload.namespace, name))
    }
}
