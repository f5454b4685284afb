//! Lives of tasks whose pods are gone, until a stored memory has absorbed them (W4).
//!
//! Only a life of a task of the job is kept, and few of one task: a user who may make pods in a namespace may also make and delete any number
//! of them that look like ours.

use std::collections::BTreeMap;
use std::sync::Arc;

use trainyard_core::{Job, Memory, Seen, TaskId, TaskSeen, Time, task_name};
use trainyard_manifest::observe::PodSeen;

use crate::job::{JobSeen, Meaning};

/// Lives of one task that are kept. The next life is made when the memory that absorbed the last one has been stored, so there is one, or
/// two after a restart of ours.
const OF_A_TASK: usize = 4;
/// Lives that are kept while it is not known which tasks there are: the job has not been listed yet, or cannot be read.
const UNKNOWN: usize = 256;

/// Lives whose pods are gone, by task: a job may have ten thousand, and all of them may go at once.
#[derive(Debug, Default)]
pub struct Tombstones {
    by_task: BTreeMap<TaskId, Vec<Tombstone>>,
    count: usize,
}

#[derive(Debug)]
struct Tombstone {
    /// The UID of the job that owned the pod.
    owner: Arc<str>,
    /// The pod's name.
    name: Arc<str>,
    task: TaskSeen,
}

impl Tombstones {
    /// A pod is gone.
    pub fn add(&mut self, job: Option<&JobSeen>, pod: &PodSeen) {
        let (Some(owner), Some(task)) = (&pod.owner, pod.gone()) else {
            return;
        };
        let stone = Tombstone {
            owner: Arc::clone(owner),
            name: Arc::clone(&pod.name),
            task,
        };
        self.keep(stone, job);
    }

    fn keep(&mut self, stone: Tombstone, job: Option<&JobSeen>) {
        if self.has_room_for(&stone, job) {
            self.count += 1;
            self.by_task.entry(stone.task.id.clone()).or_default().push(stone);
        }
    }

    fn has_room_for(&self, stone: &Tombstone, job: Option<&JobSeen>) -> bool {
        if job.is_some_and(|job| job.uid != stone.owner) {
            return false;
        }
        match job.map(|job| &*job.meaning) {
            // A job that has ended waits for no task.
            Some(Meaning::Job(compiled)) if compiled.shrunk => false,
            Some(Meaning::Job(compiled)) => {
                let task = &stone.task.id;
                stone.is_of(compiled.job()) && self.lives_of(task) < OF_A_TASK
            }
            Some(Meaning::NotOurs) => false,
            Some(Meaning::Broken(_) | Meaning::Waits(_)) | None => self.count < UNKNOWN,
        }
    }

    fn lives_of(&self, task: &TaskId) -> usize {
        self.by_task.get(task).map_or(0, Vec::len)
    }

    /// The job is known now, or has changed: drops what is no life of its tasks.
    pub fn sort_out(&mut self, job: &JobSeen) {
        let all = std::mem::take(self);
        for stone in all.by_task.into_values().flatten() {
            self.keep(stone, Some(job));
        }
    }

    /// The lives of a job's tasks.
    pub fn of<'a>(&'a self, job: &'a Arc<str>) -> impl Iterator<Item = &'a TaskSeen> {
        let all = self.by_task.values().flatten();
        let ours = all.filter(move |stone| stone.owner == *job);
        ours.map(|stone| &stone.task)
    }

    /// All of them.
    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut TaskSeen> {
        self.by_task.values_mut().flatten().map(|stone| &mut stone.task)
    }

    /// A memory has been stored: what it has absorbed is needed no longer.
    pub fn drop_absorbed(&mut self, job: &Job, memory: &Memory) {
        for stones in self.by_task.values_mut() {
            stones.retain(|stone| stone.owner == job.uid && !memory.has_absorbed(job, &stone.task));
        }
        self.by_task.retain(|_, stones| !stones.is_empty());
        self.count = self.by_task.values().map(Vec::len).sum();
    }

    /// None is needed any more.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl Tombstone {
    /// Whether it is of a task that the job has, by the name that the operator gives to its pod.
    fn is_of(&self, job: &Job) -> bool {
        let task = &self.task.id;
        let has = job
            .role(&task.role)
            .is_some_and(|(_, role)| task.index < role.replicas);
        has && *self.name == *task_name(job, task)
    }
}

/// Foreign clocks are not believed about the future.
pub fn not_later(task: &mut TaskSeen, now: Time) {
    task.created = task.created.min(now);
    if let Seen::Ended(exit) | Seen::Gone(Some(exit)) = &mut task.state {
        exit.at = exit.at.min(now);
    }
}
