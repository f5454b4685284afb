//! What `step` must remember: everything about a job that cannot be recomputed, and nothing else.
//!
//! It is stored beside the kind's own status on a cluster (`status.trainyard`), and in a file on one machine;
//! [`Persist`](crate::Persist) says when. It is bounded: indexes are ranges, not lists. Why each field is here: docs/architecture.md.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize};

use crate::job::{Addresses, Job, RoleName, TaskId};
use crate::observed::{Exit, Stamp, TaskSeen};
use crate::ranges::{Ranges, Runs};
use crate::time::Time;

/// Number of the stored form. A memory with a higher number was written by a newer release and is not touched.
pub const FORMAT: u32 = 1;

/// One job's memory.
///
/// Versions before and after this one read what is written here, so it changes by these rules only:
///
/// - a new fact is a new field that may be missing (`serde(default)`), and missing means what was true before there was one;
/// - no variant is added to, removed from or renamed in an enum that is stored here ([`Hold`], [`Outcome`], [`Cause`],
///   [`Why`](crate::Why)), and no field is renamed: a version that does not know the word could not read the memory at all, and
///   would do nothing about the job;
/// - fields that are not known are read over, and lost with the next write. A fact that must not be lost raises [`FORMAT`]:
///   then older versions leave the job alone.
///
/// `frozen.rs` fails when one of them is broken.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Memory {
    /// [`FORMAT`] of the release that wrote it.
    pub format: u32,
    /// The UID of the job it belongs to: a copied or restored status looks like our own.
    pub job: Arc<str>,
    /// Start of the whole job, from 0; suspending it begins a new one too.
    #[serde(default, skip_serializing_if = "is_default")]
    pub epoch: u32,
    /// When the job started, or was last resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<Time>,
    /// The job is suspended or aborted: nothing runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<Hold>,
    /// It was held after it had started: new tasks use the resume template.
    #[serde(default, skip_serializing_if = "is_default")]
    pub resumed: bool,
    /// Nothing of the job is created before this: the back-off of a restart of the whole job.
    #[serde(default, skip_serializing_if = "is_default")]
    pub not_before: Time,
    /// Restarts that drew on the budget.
    #[serde(default, skip_serializing_if = "is_default")]
    pub paid: u32,
    /// How often a rule or an order has restarted the whole job.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rounds: u32,
    /// Attempts of tasks in the epochs that whole restarts have ended: waits go on from there, not from the beginning.
    #[serde(default, skip_serializing_if = "is_default")]
    pub attempts_before: u32,
    /// Restarts in place of instances that are stale by now: their counts die with them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub in_place_gone: u32,
    /// The highest sum of restarts in place ever seen: it must not fall when an instance vanishes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub in_place_most: u32,
    /// How tasks find each other; none where that is our own way. It stays as the job began: tasks that run know each other by
    /// it. A suspended job has no tasks, so it may change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<AddressForm>,
    /// The name of the gang scheduler that places the tasks as a group; none where they are placed one by one. It stays as
    /// the job began, as `form` does: a group that begins in the middle would wait for members that are not in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gang: Option<Arc<str>>,
    /// How far a gang has come that is placed by scheduling gates.
    #[serde(default, skip_serializing_if = "is_default")]
    pub gates: GateMemory,
    /// What is known of each role, by name and never by position.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub roles: BTreeMap<RoleName, RoleMemory>,
    /// The first failure of the job; its instance is the first to go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_failure: Option<Failure>,
    /// Orders obeyed that are still visible, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub orders: Vec<Arc<str>>,
    /// How the job ended. Never changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
}

/// What is remembered of one role.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RoleMemory {
    /// The current attempt of each task within this epoch.
    #[serde(skip_serializing_if = "Runs::is_empty")]
    pub attempts: Runs,
    /// Tasks that have succeeded in this epoch.
    #[serde(skip_serializing_if = "Ranges::is_empty")]
    pub done: Ranges,
    /// Tasks that have failed for good in this epoch.
    #[serde(skip_serializing_if = "Ranges::is_empty")]
    pub failed: Ranges,
    /// Set to the number of tasks once all have been seen in this epoch: tells vanished from never created.
    #[serde(skip_serializing_if = "is_default")]
    pub born: u32,
    /// Task restarts over all epochs, for reports.
    #[serde(skip_serializing_if = "is_default")]
    pub restarts: u32,
    /// For each task, how often in a row a node has rejected it since it last ran.
    #[serde(skip_serializing_if = "Runs::is_empty")]
    pub rejections: Runs,
    /// For each task that waits before its next life, until when: seconds since 1970. The dead instance stays for as long, unless it was
    /// told to stop or a user takes it away.
    #[serde(skip_serializing_if = "Runs::is_empty")]
    pub not_before: Runs,
    /// For each task whose lives so far have not run, since when it has been trying to start: seconds since 1970.
    #[serde(skip_serializing_if = "Runs::is_empty")]
    pub starting_since: Runs,
}

/// What is remembered of a gang that is placed by scheduling gates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GateMemory {
    /// The epoch in which enough of its members had nodes at the same time. What is lost of it later is placed singly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placed: Option<u32>,
    /// When it was last rolled back: since then it waits for its next turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rolled_back: Option<Time>,
    /// How often in a row it was rolled back.
    #[serde(skip_serializing_if = "is_default")]
    pub times: u32,
}

/// A way in which tasks find each other that is not our own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AddressForm {
    /// One Service per replica: the job, or a flag of the operator, said so when the job began.
    PerReplica,
    /// The same, and everything else in `TF_CONFIG` as Kubeflow's operator writes it, which began the job.
    Kubeflow,
}

/// Why nothing runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Hold {
    /// The manifest says so.
    Suspended,
    /// A rule or an order said so; an order resumes. Not a verdict.
    Aborted,
}

/// A failure of a task's own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Failure {
    /// The task that failed.
    pub task: TaskId,
    /// The life that failed.
    pub stamp: Stamp,
    /// How it ended.
    pub exit: Exit,
}

/// How the job ended.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Verdict {
    /// Success, failure or termination.
    pub outcome: Outcome,
    /// What decided it.
    pub cause: Cause,
    /// When it was decided.
    pub at: Time,
}

/// The outcome of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Outcome {
    /// The rules say that it is complete.
    Succeeded,
    /// A rule, the budget or the deadline failed it.
    Failed,
    /// Ended by an order or a rule, neither success nor failure.
    Terminated,
}

/// What ended the job.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Cause {
    /// A rule of the manifest, or a bound of ours.
    Rule {
        /// The field it comes from.
        from: Arc<str>,
        /// The task it looked at, if it was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
    },
    /// No restarts were left.
    Restarts {
        /// The task that needed one, if it was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
    },
    /// It ran longer than its deadline allows.
    Deadline,
    /// An order.
    Order,
}

impl Cause {
    /// The task that ended the job, if it was one.
    #[must_use]
    pub fn task(&self) -> Option<&TaskId> {
        match self {
            Self::Rule { task, .. } | Self::Restarts { task } => task.as_ref(),
            Self::Deadline | Self::Order => None,
        }
    }

    /// The bound on deciding that the job has exceeded, in words, if that has ended it: no field of its manifest has.
    #[must_use]
    pub fn exceeded(&self) -> Option<&str> {
        match self {
            Self::Rule { from, .. } => crate::policy::bounds::exceeded_bound(from),
            Self::Restarts { .. } | Self::Deadline | Self::Order => None,
        }
    }
}

impl Memory {
    /// The memory of a job nothing is known about yet.
    #[must_use]
    pub fn new(job: &Job) -> Self {
        Self {
            format: FORMAT,
            job: job.uid.clone(),
            epoch: 0,
            started: None,
            held: None,
            resumed: false,
            not_before: Time::default(),
            paid: 0,
            rounds: 0,
            attempts_before: 0,
            in_place_gone: 0,
            in_place_most: 0,
            form: None,
            gang: None,
            gates: GateMemory::default(),
            roles: BTreeMap::new(),
            first_failure: None,
            orders: Vec::new(),
            verdict: None,
        }
    }

    /// The memory of a job that Kubeflow's operator began then, and whose tasks all live their first life.
    #[must_use]
    pub fn begun_elsewhere(job: &Job, started: Time) -> Self {
        let mut memory = Self::new(job);
        memory.started = Some(started);
        memory.form = Some(AddressForm::Kubeflow);
        memory.note_beginning(job);
        memory
    }

    /// Takes note of how the job's tasks find each other and who places them.
    pub(crate) fn note_beginning(&mut self, job: &Job) {
        self.form = match (self.form, job.addresses) {
            (Some(AddressForm::Kubeflow), _) => Some(AddressForm::Kubeflow),
            (_, Addresses::PerReplica) => Some(AddressForm::PerReplica),
            _ => None,
        };
        let scheduler = job.gang.as_ref().and_then(|gang| gang.scheduler.name());
        self.gang = scheduler.map(Into::into);
    }

    /// The current life of a task.
    #[must_use]
    pub fn stamp(&self, task: &TaskId) -> Stamp {
        self.stamp_of(&task.role, task.index)
    }

    pub(crate) fn stamp_of(&self, role: &RoleName, index: u32) -> Stamp {
        Stamp {
            epoch: self.epoch,
            attempt: self.of_role(role).attempts.get(index),
        }
    }

    /// Whether a task has succeeded in this epoch.
    #[must_use]
    pub fn is_done(&self, task: &TaskId) -> bool {
        self.of_role(&task.role).done.contains(task.index)
    }

    /// Whether a task has failed for good in this epoch.
    #[must_use]
    pub fn is_failed(&self, task: &TaskId) -> bool {
        self.of_role(&task.role).failed.contains(task.index)
    }

    /// What is known of a role, which may be nothing.
    pub(crate) fn of_role(&self, name: &RoleName) -> &RoleMemory {
        static NOTHING: LazyLock<RoleMemory> = LazyLock::new(RoleMemory::default);
        self.roles.get(name).unwrap_or(&NOTHING)
    }

    /// Whether everything that can be learnt from an instance is in here already: once such a memory has been
    /// persisted, a world need not show an instance that is gone any longer.
    #[must_use]
    pub fn has_absorbed(&self, job: &Job, seen: &TaskSeen) -> bool {
        let known = job
            .role(&seen.id.role)
            .is_some_and(|(_, role)| seen.id.index < role.replicas);
        let answered =
            self.is_done(&seen.id) || self.is_failed(&seen.id) || seen.stamp < self.stamp(&seen.id);
        let answered = answered || !seen.stamp.is_possible();
        self.verdict.is_some() || !known || answered
    }

    /// Restarts that have drawn on the budget so far.
    #[must_use]
    pub fn spent(&self, job: &Job) -> u32 {
        let in_place = if job.limits.count_in_place {
            self.in_place_most
        } else {
            0
        };
        self.paid.saturating_add(in_place)
    }

    /// Whether one more restart can be paid for.
    #[must_use]
    pub fn can_pay(&self, job: &Job) -> bool {
        job.limits.restarts.is_none_or(|limit| self.spent(job) < limit)
    }

    /// The moments that memory knows to have passed.
    pub(crate) fn moments(&self) -> impl Iterator<Item = Time> {
        let verdict = self.verdict.as_ref().map(|verdict| verdict.at);
        let failure = self.first_failure.as_ref().map(|failure| failure.exit.at);
        [self.started, verdict, failure].into_iter().flatten()
    }

    pub(crate) fn role(&mut self, name: &RoleName) -> &mut RoleMemory {
        self.roles.entry(name.clone()).or_default()
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod frozen;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::testing::{Bench, ended, worker};

    #[test]
    fn an_instance_is_absorbed_once_its_end_is_answered_or_cannot_matter() {
        let bench = Bench::workers(3);
        let mut memory = bench.memory();
        let role = memory.role(&worker(0).role);
        role.done.insert(0);
        role.failed.insert(1);
        role.attempts.set(2, 1);
        let stamp = |attempt| Stamp { epoch: 0, attempt };
        let rows = [
            (worker(0), stamp(0), true),
            (worker(1), stamp(0), true),
            (worker(2), stamp(0), true),
            (worker(2), stamp(1), false),
            (worker(2), stamp(2), false),
            (worker(2), stamp(Stamp::MOST + 1), true),
            (worker(3), stamp(0), true),
        ];
        for (task, stamp, absorbed) in rows {
            let seen = ended(task, stamp, 1, 5);
            assert_eq!(memory.has_absorbed(&bench.job, &seen), absorbed, "{seen:?}");
        }
        memory.verdict = Some(Verdict {
            outcome: Outcome::Failed,
            cause: Cause::Deadline,
            at: Time(5),
        });
        assert!(memory.has_absorbed(&bench.job, &ended(worker(2), stamp(1), 1, 5)));
    }
}
