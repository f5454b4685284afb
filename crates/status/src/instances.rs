//! The instances of a job's tasks that count: those with the current stamp.

use std::collections::BTreeMap;

use trainyard_core::{Memory, Observed, Seen, TaskId, TaskSeen};

/// The visible instance of each task that carries its current stamp.
pub(super) struct Instances<'a>(BTreeMap<&'a TaskId, &'a TaskSeen>);

impl<'a> Instances<'a> {
    /// Finds them.
    pub fn of(memory: &Memory, observed: &'a Observed) -> Self {
        let current = observed
            .tasks
            .iter()
            .filter(|seen| !matches!(seen.state, Seen::Gone(_)) && seen.stamp == memory.stamp(&seen.id));
        Self(current.map(|seen| (&seen.id, seen)).collect())
    }

    /// The one of a task.
    pub fn current(&self, task: &TaskId) -> Option<&'a TaskSeen> {
        self.0.get(task).copied()
    }
}
