//! Where the tasks of a run are reached: a port of its own for each, or a network of its own.
//!
//! Ports are chosen once and kept across restarts: the other tasks have been told. Only where nothing runs, as before
//! a whole job starts anew, is a port changed that another program has taken meanwhile.

use std::collections::BTreeMap;
use std::sync::Arc;

use trainyard_core::{AddressBook, Job, TaskId, addresses};

use crate::sandbox::ports::{PortError, Ports, is_free};

/// The addresses of a run.
#[derive(Debug)]
pub(crate) struct Addresses {
    ports: Ports,
    taken: BTreeMap<TaskId, u16>,
    per_task: bool,
    /// They have been chosen just now: they need not be looked at again.
    fresh: bool,
}

/// A port that was given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Moved {
    pub task: TaskId,
    pub from: u16,
    pub to: u16,
}

impl Addresses {
    /// Takes a port for every task, unless each has an address of its own.
    pub fn choose(job: &Job, run: &str, per_task: bool) -> Result<Self, PortError> {
        let mut addresses = Self {
            ports: Ports::new(run),
            taken: BTreeMap::new(),
            per_task,
            fresh: true,
        };
        addresses.extend(job)?;
        Ok(addresses)
    }

    /// Takes ports for tasks that have none yet.
    pub fn extend(&mut self, job: &Job) -> Result<(), PortError> {
        if self.per_task {
            return Ok(());
        }
        let mut new = Vec::new();
        for task in job.tasks().filter(|task| !self.taken.contains_key(task)) {
            match self.ports.take() {
                Ok(port) => new.push((task, port)),
                Err(error) => {
                    // All or none: a task without a port cannot be told of.
                    for (_, port) in &new {
                        self.ports.give_back(*port);
                    }
                    return Err(error);
                }
            }
        }
        self.taken.extend(new);
        Ok(())
    }

    /// From now on ports must be checked again: another program may have taken one.
    pub fn age(&mut self) {
        self.fresh = false;
    }

    /// A port beside those of the tasks.
    pub fn another(&mut self) -> Result<u16, PortError> {
        self.ports.take()
    }

    /// Changes the ports that another program listens on. To be called while no task runs.
    pub fn refresh(&mut self) -> Result<Vec<Moved>, PortError> {
        if self.fresh {
            return Ok(Vec::new());
        }
        let lost = self.taken.iter().filter(|(_, port)| !is_free(**port));
        let lost: Vec<(TaskId, u16)> = lost.map(|(task, port)| (task.clone(), *port)).collect();
        let mut moved = Vec::new();
        for (task, from) in lost {
            let to = self.ports.take()?;
            self.ports.give_back(from);
            self.taken.insert(task.clone(), to);
            moved.push(Moved { task, from, to });
        }
        Ok(moved)
    }

    /// Where each task is reached, as `TF_CONFIG` says it.
    pub fn book(&self, job: &Job) -> AddressBook {
        if self.per_task {
            // Names and ports as on a cluster.
            return addresses(job, None);
        }
        let address = |(task, port): (&TaskId, &u16)| (task.clone(), Arc::from(format!("127.0.0.1:{port}")));
        AddressBook(self.taken.iter().map(address).collect())
    }

    /// The port of a task that does not run, if another program listens on it.
    pub fn lost(&self, task: &TaskId) -> Option<u16> {
        self.port(task).filter(|port| !is_free(*port))
    }

    /// The port of every task that has one of its own on this machine.
    pub fn ports(&self) -> &BTreeMap<TaskId, u16> {
        &self.taken
    }

    /// The port of a task, if it has one of its own on this machine.
    pub fn port(&self, task: &TaskId) -> Option<u16> {
        self.taken.get(task).copied()
    }
}
