//! Kueue's Workloads of jobs, as far as they are known to exist.

use std::sync::Arc;

use trainyard_core::Time;

use super::entry::backoff;
use super::groups::Unlisted;
use super::tracked::{Named, Tracked};
use super::{Source, Store};
use crate::apply::workload::WorkloadReport;
use crate::job::{JobKey, JobSeen, Meaning};
use crate::workload::WorkloadSeen;

impl Named for WorkloadSeen {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn uid(&self) -> &Arc<str> {
        &self.uid
    }

    fn version(&self) -> u64 {
        self.version
    }
}

/// The Workloads of one job.
#[derive(Debug, Default)]
pub struct Workloads {
    /// Those that name the job as their controller.
    pub(super) known: Tracked<WorkloadSeen>,
    /// What was refused.
    refused: Option<WorkloadRefused>,
}

/// A request about a Workload that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadRefused {
    /// What the API server said, or why nothing was sent.
    pub message: String,
    /// Requests refused in a row.
    pub failures: u32,
    /// Nothing is tried before this.
    pub until: Time,
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

    /// What was refused last, unless something was done since.
    #[must_use]
    pub const fn refused(&self) -> Option<&WorkloadRefused> {
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
        let failures = self.refused.take().map_or(0, |refused| refused.failures);
        self.refused = report.refused.map(|refused| WorkloadRefused {
            message: refused.message,
            failures: failures.saturating_add(1),
            until: now + backoff(failures),
        });
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
        self.list_shows(Source::Workloads, &workload.uid);
        let Some(key) = self.job_queued(&workload) else {
            return;
        };
        let entry = self.entries.entry(key.clone()).or_default();
        if entry.workloads.known.see(workload, false) {
            self.enqueue(key);
        }
    }

    /// A Workload is gone.
    pub fn workload_gone(&mut self, workload: &WorkloadSeen) {
        let Some(key) = self.job_queued(workload) else {
            return;
        };
        if let Some(entry) = self.entries.get_mut(&key) {
            let busy = entry.applying;
            entry.workloads.known.lose(&workload.name, &workload.uid, busy);
            self.enqueue(key.clone());
        }
        self.drop_if_empty(&key);
    }

    /// The job that a Workload is of.
    fn job_queued(&self, workload: &WorkloadSeen) -> Option<JobKey> {
        let (api, name, _) = &workload.owner;
        let kind = self.reading.kinds.iter().find(|kind| kind.api == *api)?;
        Some(JobKey {
            kind,
            namespace: Arc::clone(&workload.namespace),
            name: Arc::clone(name),
        })
    }
}
