//! What a job needs of the quota that Kueue has reserved for it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use trainyard_core::{Job, Memory, Scope, Seen, TaskId, TaskSeen, Then};

use super::pod_set;
use super::state::WorkloadState;

/// Which tasks of a job hold quota, and whether they run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holding {
    /// By pod set: tasks that have not finished for good, and pods that still run.
    pub needed: BTreeMap<Arc<str>, u32>,
    /// Something of the job runs, or may start to.
    pub alive: bool,
    /// Every task that is not done runs.
    pub ready: bool,
    /// Tasks that have finished do not run again, so their quota can be given back.
    gives_back: bool,
}

impl Holding {
    /// What a job with this memory needs, with these pods.
    #[must_use]
    pub fn of(job: &Job, memory: Option<&Memory>, tasks: &[TaskSeen]) -> Self {
        let over =
            |task: &TaskId| memory.is_some_and(|memory| memory.is_done(task) || memory.is_failed(task));
        let here = |which: fn(&TaskSeen) -> bool| -> BTreeSet<&TaskId> {
            let tasks = tasks.iter().filter(|seen| which(seen));
            tasks.map(|seen| &seen.id).collect()
        };
        let alive = here(TaskSeen::alive);
        // That a task has succeeded is stored a moment after its pod says so.
        let running = here(|seen| match &seen.state {
            Seen::Running { .. } => seen.stopping.is_none(),
            Seen::Ended(exit) | Seen::Gone(Some(exit)) => exit.code == Some(0),
            Seen::Waiting | Seen::Gone(None) => false,
        });
        let mut needed = BTreeMap::new();
        let mut ready = true;
        for role in &job.roles {
            let open: BTreeSet<TaskId> = role.tasks().filter(|task| !over(task)).collect();
            ready &= open.iter().all(|task| running.contains(task));
            let others = alive
                .iter()
                .filter(|task| task.role == role.name && !open.contains(**task));
            let count = u32::try_from(open.len().saturating_add(others.count())).unwrap_or(u32::MAX);
            needed.insert(Arc::from(pod_set(role)), count);
        }
        let restarts_more =
            |then: &Then| matches!(then, Then::Restart { scope, .. } if !matches!(scope, Scope::Task));
        Self {
            needed,
            alive: !alive.is_empty(),
            ready,
            gives_back: !job.rules.iter().any(|rule| restarts_more(&rule.then)),
        }
    }

    /// Whether the quota that is reserved suffices.
    #[must_use]
    pub fn is_covered(&self, seen: &WorkloadState) -> bool {
        self.needed.iter().all(|(name, needed)| {
            let of = |counts: &BTreeMap<Arc<str>, u32>| counts.get(name).copied().unwrap_or_default();
            *needed <= of(&seen.assigned).saturating_sub(of(&seen.reclaimed))
        })
    }

    /// How many pods of each pod set are given back, of so many. What was given back stays so while quota is reserved.
    #[must_use]
    pub fn reclaimable(&self, seen: &WorkloadState, reserved: bool) -> BTreeMap<Arc<str>, u32> {
        let counts = if reserved { &seen.assigned } else { &seen.counts };
        let of = |(name, count): (&Arc<str>, &u32)| {
            let before = seen.reclaimed.get(name).copied().filter(|_| reserved);
            let needed = self.needed.get(name).copied().unwrap_or_default();
            let free = if self.gives_back {
                count.saturating_sub(needed)
            } else {
                0
            };
            let free = free.max(before.unwrap_or_default()).min(*count);
            (free > 0 || before.is_some()).then(|| (Arc::clone(name), free))
        };
        counts.iter().filter_map(of).collect()
    }
}
