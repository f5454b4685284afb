//! How every task stands, for people: what `ps`, the footer and the summary show.
//!
//! The world writes it as things happen; nothing is decided from it.

use std::collections::BTreeMap;
use std::path::Path;

use trainyard_core::{Ending, Exit, Job, TaskId};

use crate::run::event::{Life, ProgramEnd};
use crate::run::store::status::{TaskState, TaskStatus};
use crate::run::timestamp::Timestamp;

/// Every task, in the order of the job.
#[derive(Debug)]
pub(crate) struct TaskTable {
    tasks: Vec<TaskStatus>,
    places: BTreeMap<TaskId, usize>,
    /// Tasks that are to be started again, and how they stood before that was decided.
    resting: BTreeMap<TaskId, TaskState>,
    /// Something has changed since it was last shown.
    changed: bool,
}

impl TaskTable {
    pub fn new(job: &Job, port: impl Fn(&TaskId) -> Option<u16>) -> Self {
        let mut table = Self {
            tasks: Vec::new(),
            places: BTreeMap::new(),
            resting: BTreeMap::new(),
            changed: true,
        };
        table.extend(job, port);
        table
    }

    /// Takes in tasks that are new, and ports that have changed.
    pub fn extend(&mut self, job: &Job, port: impl Fn(&TaskId) -> Option<u16>) {
        let now = Timestamp::now();
        for task in job.tasks() {
            let port = port(&task);
            if let Some(place) = self.places.get(&task) {
                self.tasks[*place].port = port;
                continue;
            }
            self.places.insert(task.clone(), self.tasks.len());
            self.tasks.push(TaskStatus {
                task,
                state: TaskState::Waiting,
                since: now,
                epoch: 0,
                attempt: 0,
                restarts: 0,
                port,
                end: None,
                log: None,
            });
        }
        self.changed = true;
    }

    pub fn tasks(&self) -> &[TaskStatus] {
        &self.tasks
    }

    pub fn get(&self, task: &TaskId) -> Option<&TaskStatus> {
        self.places.get(task).map(|place| &self.tasks[*place])
    }

    /// Whether something has changed since it was last shown.
    pub fn changed(&self) -> bool {
        self.changed
    }

    /// The same; from now on it has been shown.
    pub fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    /// A new life begins.
    pub fn begins(&mut self, life: &Life, logs: &Path) {
        let log = logs.join(life.log_name(None));
        self.change(&life.task, TaskState::Starting, |status| {
            // It has had a life before.
            if status.log.is_some() {
                status.restarts += 1;
            }
            status.epoch = life.epoch;
            status.attempt = life.attempt;
            status.end = None;
            status.log = Some(log);
        });
    }

    /// It goes over to another state.
    pub fn is(&mut self, task: &TaskId, state: TaskState) {
        self.change(task, state, |_| {});
    }

    /// Its newest life has ended; in an init container, that one's log says why.
    pub fn ended(&mut self, life: &Life, exit: &Exit, end: ProgramEnd, logs: &Path) {
        let log = logs.join(life.log_name(end.container.as_deref()));
        self.change(&life.task, ended_state(Some(exit)), |status| {
            status.end = Some(end);
            status.log = Some(log);
        });
    }

    /// It has ended, however that was, and is started again after a while.
    pub fn starts_again(&mut self, task: &TaskId) {
        let state = self.get(task).map(|status| status.state);
        if let Some(state @ (TaskState::Failed | TaskState::Stopped | TaskState::Succeeded)) = state {
            self.resting.insert(task.clone(), state);
            self.is(task, TaskState::Restarting);
        }
    }

    /// Nothing is started again any more: the job has ended, or is held.
    pub fn nothing_starts_again(&mut self) {
        for (task, before) in std::mem::take(&mut self.resting) {
            if self
                .get(&task)
                .is_some_and(|status| status.state == TaskState::Restarting)
            {
                self.is(&task, before);
            }
        }
    }

    /// It will not be started again in place, though it was to be.
    pub fn stays_down(&mut self, task: &TaskId) {
        let well = self
            .get(task)
            .and_then(|status| status.end.as_ref())
            .is_some_and(|end| end.code == Some(0));
        self.is(
            task,
            if well {
                TaskState::Succeeded
            } else {
                TaskState::Failed
            },
        );
    }

    fn change(&mut self, task: &TaskId, state: TaskState, change: impl FnOnce(&mut TaskStatus)) {
        let Some(place) = self.places.get(task) else {
            return;
        };
        let status = &mut self.tasks[*place];
        if status.state != state {
            status.state = state;
            status.since = Timestamp::now();
        }
        change(status);
        self.changed = true;
    }
}

fn ended_state(exit: Option<&Exit>) -> TaskState {
    match Ending::of(exit) {
        Ending::Succeeded => TaskState::Succeeded,
        Ending::Failed(_) | Ending::NotStarted => TaskState::Failed,
        Ending::Disrupted | Ending::Vanished => TaskState::Stopped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod::testing::{job, role};

    #[test]
    fn whatever_has_ended_and_is_started_again_is_shown_so() {
        use TaskState::{Failed, Restarting, Running, Starting, Stopped, Succeeded};
        let mut table = TaskTable::new(&job(vec![role("worker", 1)]), |_| None);
        let task: TaskId = "worker-0".parse().unwrap();
        for (state, shown) in [
            (Failed, Restarting),
            (Stopped, Restarting),
            (Succeeded, Restarting),
            // It is there again already.
            (Starting, Starting),
            (Running, Running),
        ] {
            table.is(&task, state);
            table.starts_again(&task);
            assert_eq!(table.get(&task).unwrap().state, shown, "{state:?}");
            table.nothing_starts_again();
            assert_eq!(table.get(&task).unwrap().state, state, "as it ended");
        }
    }
}
