//! A job in one of Kueue's queues. While Kueue has not admitted it, `step` sees a suspended job: what suspending does, evicting does too.
//!
//! What is written to its Workload is decided when there is nothing else to do about the job, as for its TensorBoard.

use std::borrow::Cow;
use std::sync::Arc;

use trainyard_core::{Hold, Job, Memory, Observed, Outcome, Refusal, Time};
use trainyard_manifest::kueue::{Amendment, Holding, Phase, Placement};

use super::wait::{Reason, Wait};
use super::waiting::{LASTS, SETTLES, Waiting, cut};
use super::{Decision, earlier, leave_waiting, write_beside};
use crate::apply::workload::WorkloadWrite;
use crate::job::{Compiled, JobKey, JobSeen, Meaning};
use crate::store::Entry;
use crate::workload::WorkloadSeen;

/// How a job stands with Kueue.
#[derive(Debug)]
pub enum Queueing {
    /// Kueue has no say: the job has no queue, or another controller sees to its Workload.
    Free,
    /// It may not run.
    Held(Why),
    /// It runs, and where new pods of it may run is not known yet.
    Unplaced,
    /// It may run, as the Workload of this name says.
    Admitted(Arc<str>, Arc<Placement>),
}

/// Why a job that has a queue does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It is not admitted, or is evicted.
    NotAdmitted,
    /// It was admitted for fewer or other pods than it has now.
    Outgrown,
    /// It was admitted, and where its pods may run is looked up.
    Unplaced,
}

impl Queueing {
    /// What Kueue says about a job.
    #[must_use]
    pub fn of(
        entry: &Entry,
        (job, compiled): (&JobSeen, &Compiled),
        memory: Option<&Memory>,
        observed: &Observed,
    ) -> Self {
        let is_over = memory.is_some_and(|memory| memory.verdict.is_some());
        let Some(queued) = compiled.queued.as_deref().filter(|_| !is_over) else {
            return Self::Free;
        };
        if entry.workloads.has_other(job) {
            return Self::Free;
        }
        let Some(own) = entry.workloads.own(job).filter(|own| !own.deleting) else {
            return Self::Held(Why::NotAdmitted);
        };
        let holding = Holding::of(compiled.job(), memory, &observed.tasks);
        let fits = queued.has_same_pods(&own.state, is_resumed(memory)) && holding.is_covered(&own.state);
        if own.state.phase != Phase::Admitted || !own.state.active {
            return Self::Held(Why::NotAdmitted);
        }
        if !fits {
            return Self::Held(Why::Outgrown);
        }
        let runs = memory.is_some_and(|memory| memory.started.is_some() && memory.held.is_none());
        match &own.state.placement {
            Some(placement) => Self::Admitted(Arc::clone(&own.name), Arc::clone(placement)),
            // Pods that run are where they were to be.
            None if runs => Self::Unplaced,
            None => Self::Held(Why::Unplaced),
        }
    }

    /// The job that `step` decides about.
    #[must_use]
    pub fn job<'a>(&self, job: &'a Job) -> Cow<'a, Job> {
        match self {
            Self::Held(_) if !job.suspend => Cow::Owned(Job {
                suspend: true,
                ..job.clone()
            }),
            _ => Cow::Borrowed(job),
        }
    }

    /// Lets no pod be created before it is known where it may run.
    pub fn observe(&self, observed: &mut Observed, now: Time) {
        if matches!(self, Self::Unplaced) && observed.refused.is_none() {
            observed.refused = Some(Refusal { until: now + 1 });
        }
    }

    /// What new pods are told, and by which Workload.
    #[must_use]
    pub fn placement(self) -> Option<(Arc<str>, Arc<Placement>)> {
        match self {
            Self::Admitted(name, placement) => Some((name, placement)),
            Self::Free | Self::Held(_) | Self::Unplaced => None,
        }
    }

    /// Adds what the job waits for because of Kueue.
    pub fn waits(
        &self,
        entry: &Entry,
        (job, compiled): (&JobSeen, &Compiled),
        now: Time,
        waiting: &mut Waiting,
    ) {
        let refused = entry.workloads.refused();
        if let Some(refused) = refused.filter(|refused| refused.failures >= LASTS)
            && !matches!(self, Self::Free)
        {
            let wait = Wait::new(Reason::WorkloadRefused, cut(&refused.message));
            waiting.entries.push(wait);
            return;
        }
        let Self::Held(why) = self else { return };
        let own = entry.workloads.own(job);
        let Some(own) = own.filter(|_| !compiled.job().suspend) else {
            return;
        };
        let words = match why {
            Why::NotAdmitted => why_held(own, &job.key.namespace),
            Why::Outgrown => Some(
                "was admitted for fewer or other pods than the job has now: the job stops and queues again"
                    .to_owned(),
            ),
            Why::Unplaced => {
                // It starts at once: what was said before is not worth a write.
                let mut said = Wait::of_status(job.status.as_ref());
                said.retain(|wait| wait.reason.is_of_queue());
                waiting.entries.extend(said);
                return;
            }
        };
        let settled = own.created + SETTLES;
        if words.is_none() && settled > now {
            waiting.settles = earlier(waiting.settles, Some(settled));
            return;
        }
        let words = words.unwrap_or_else(|| {
            let queue = &own.state.queue;
            format!("waits in queue {queue}, and Kueue has said nothing about it: it may not run")
        });
        let words = format!("Workload {} {words}", own.name);
        waiting.entries.push(Wait::new(Reason::Queued, cut(&words)));
    }
}

/// What its Workload says of a job that is held; none while Kueue has said nothing.
fn why_held(own: &WorkloadSeen, namespace: &str) -> Option<String> {
    let state = &own.state;
    let (name, queue) = (&own.name, &state.queue);
    let said = state.words.as_deref();
    if own.deleting {
        return Some("is being deleted; another takes its place".to_owned());
    }
    if state.phase == Phase::Finished {
        return Some(format!(
            "has finished and the job has not ({}): `kubectl delete workload {name} -n {namespace}` lets another take its place",
            said.unwrap_or("Kueue does not say why")
        ));
    }
    if !state.active {
        return Some(format!(
            "is not active: {}; `kubectl patch workload {name} -n {namespace} --type merge -p '{{\"spec\":{{\"active\":true}}}}'` lets it \
             queue again",
            said.unwrap_or("a user or Kueue has set `spec.active: false`")
        ));
    }
    match (state.phase, said) {
        (Phase::Evicted, said) => Some(format!(
            "is evicted: {}",
            said.unwrap_or("Kueue does not say why")
        )),
        (_, Some(said)) => Some(format!("waits in queue {queue}: {said}")),
        (_, None) => None,
    }
}

/// Whether tasks that are created next are created after a pause.
fn is_resumed(memory: Option<&Memory>) -> bool {
    memory.is_some_and(|memory| memory.resumed || memory.held.is_some() && memory.started.is_some())
}

/// What is done about the Workload of a job about which there is nothing else to do.
#[must_use]
pub fn next(key: &JobKey, entry: &Entry, idle: Decision, now: Time) -> Decision {
    let wake = match idle {
        Decision::Idle => None,
        Decision::WakeAt(time) => Some(time),
        Decision::Apply(_) | Decision::Reread => return idle,
    };
    let Some(job) = entry
        .job
        .as_ref()
        .filter(|job| !job.deleting && job.other_manager.is_none())
    else {
        return idle;
    };
    let Meaning::Job(compiled) = &*job.meaning else {
        return idle;
    };
    // Most jobs are in no queue.
    if compiled.queued.is_none() && entry.workloads.is_empty() {
        return idle;
    }
    let Ok(Some(memory)) = job.memory(compiled.job()) else {
        return idle;
    };
    let Some(write) = due(entry, job, compiled, &memory) else {
        return idle;
    };
    let refused = entry.workloads.refused();
    write_beside(key, job, (wake, refused), now, |writes| {
        writes.workload = Some(write);
    })
}

fn due(entry: &Entry, job: &JobSeen, compiled: &Compiled, memory: &Memory) -> Option<WorkloadWrite> {
    let own = entry.workloads.own(job);
    if own.is_some_and(|own| own.deleting) {
        return None;
    }
    if memory.verdict.is_some() {
        return finish(own?, memory);
    }
    let (queued, other) = (compiled.queued.as_deref(), entry.workloads.has_other(job));
    own.map(drop).or_else(|| queued.map(drop))?;
    let observed = entry.observed(&job.uid, job.deleting);
    let holding = Holding::of(compiled.job(), Some(memory), &observed.tasks);
    let Some(queued) = queued.filter(|_| !other) else {
        return own.map(delete);
    };
    if compiled.job().suspend || memory.held == Some(Hold::Aborted) {
        // Quota is held as long as something runs.
        return own.filter(|_| !holding.alive).map(delete);
    }
    let resumed = is_resumed(Some(memory));
    let Some(own) = own else {
        return memory.held.map(|_| WorkloadWrite::Create { resumed });
    };
    let state = &own.state;
    let fits = || queued.has_same_pods(state, resumed) && holding.is_covered(state);
    match state.phase {
        Phase::Pending if !queued.is_same(state, resumed) => Some(WorkloadWrite::Correct {
            uid: Arc::clone(&own.uid),
            resumed,
        }),
        Phase::Pending => {
            let free = holding.reclaimable(state, false);
            (free != state.reclaimed).then(|| {
                let reclaimable = Some(free);
                amend(
                    own,
                    Amendment {
                        reclaimable,
                        ..Amendment::default()
                    },
                )
            })
        }
        Phase::Evicted => (!holding.alive).then(|| {
            let (release, reclaimable) = (true, Some(holding.reclaimable(state, false)));
            amend(
                own,
                Amendment {
                    release,
                    reclaimable,
                    ..Amendment::default()
                },
            )
        }),
        // Kueue evicts it.
        Phase::Reserved | Phase::Admitted if !state.active => None,
        Phase::Reserved | Phase::Admitted if !fits() => (!holding.alive).then(|| delete(own)),
        Phase::Reserved | Phase::Finished => None,
        Phase::Admitted if state.placement.is_none() => Some(WorkloadWrite::Place {
            uid: Arc::clone(&own.uid),
        }),
        Phase::Admitted => report(own, &holding),
    }
}

/// Tells Kueue which pods are ready, and gives back what those that have finished held.
fn report(own: &WorkloadSeen, holding: &Holding) -> Option<WorkloadWrite> {
    let ready = (own.state.ready.unwrap_or_default() != holding.ready).then_some(holding.ready);
    let free = holding.reclaimable(&own.state, true);
    let reclaimable = (free != own.state.reclaimed).then_some(free);
    let change = Amendment {
        ready,
        reclaimable,
        ..Amendment::default()
    };
    (change != Amendment::default()).then(|| amend(own, change))
}

/// Tells Kueue that the job has ended.
fn finish(own: &WorkloadSeen, memory: &Memory) -> Option<WorkloadWrite> {
    let verdict = memory.verdict.as_ref()?;
    let succeeded = verdict.outcome == Outcome::Succeeded;
    let words = if succeeded {
        "Job finished successfully"
    } else {
        "Job failed"
    };
    let finished = Some((succeeded, words.to_owned()));
    (own.state.phase != Phase::Finished).then(|| {
        amend(
            own,
            Amendment {
                finished,
                ..Amendment::default()
            },
        )
    })
}

fn amend(own: &WorkloadSeen, change: Amendment) -> WorkloadWrite {
    WorkloadWrite::Amend {
        name: Arc::clone(&own.name),
        uid: Arc::clone(&own.uid),
        change,
    }
}

fn delete(own: &WorkloadSeen) -> WorkloadWrite {
    WorkloadWrite::Delete {
        name: Arc::clone(&own.name),
        uid: Arc::clone(&own.uid),
    }
}

/// The cluster has no Workloads: nothing is done about a job with a queue but to say so.
#[must_use]
pub fn not_installed(key: &JobKey, entry: &Entry, now: Time) -> Decision {
    let Some(job) = &entry.job else {
        return Decision::Idle;
    };
    let message = "the operator cannot list workloads.kueue.x-k8s.io (v1beta2), and the job's label `kueue.x-k8s.io/queue-name` asks for a queue: install \
                   Kueue 0.15 or later, since older ones serve v1beta1 alone; let `trainyard install --kueue` give the operator the rights, or remove the label";
    leave_waiting(key, job, &Wait::new(Reason::KueueNotInstalled, message), now)
}
