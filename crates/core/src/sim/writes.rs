//! What a world is asked to do: this part of it is the API server.

use std::sync::Arc;

use super::instance::Instance;
use super::script::Fault;
use super::trace::{Happened, StopReason};
use super::world::{Gang, Refused, World};
use crate::job::TaskId;
use crate::observed::{Fixture, FixtureSeen, Stamp};

/// A fixture that is there and as it should be.
const OURS: FixtureSeen = FixtureSeen::Ours { right: true };

impl World {
    /// Creates an instance; refused while one of that task exists.
    pub fn create(&mut self, task: &TaskId, stamp: Stamp) -> Result<(), Refused> {
        if self.find(task).is_some() {
            return Err(Refused);
        }
        if matches!(self.gang, Gang::Broken { epoch } if stamp.epoch > epoch) {
            self.gang = Gang::Open;
        }
        let late = self.starts_late(task);
        let starts = self.now + self.options.start + late;
        let instance = Instance::new(task, stamp, self.creates, self.now, starts);
        self.instances.push(instance);
        self.creates += 1;
        self.note(Happened::Created {
            task: task.clone(),
            stamp,
        });
        Ok(())
    }

    /// How much later than usual the next instance of a task starts.
    fn starts_late(&mut self, of: &TaskId) -> u32 {
        let before = self.ours().filter(|instance| instance.task == *of).count();
        for pending in &mut self.faults {
            if let Fault::StartsLate { task, life, by } = &pending.fault
                && task == of
                && *life as usize == before
            {
                pending.used = true;
                return *by;
            }
        }
        0
    }

    /// Stops an instance and removes it; by force, without asking its node. False if there is no such instance.
    pub fn stop(&mut self, name: &str, force: bool, why: StopReason) -> bool {
        let named = |instance: &Instance| &*instance.name == name && instance.exists();
        let Some(at) = self.instances.iter().position(named) else {
            return false;
        };
        self.tell(at, 143, why);
        if force && self.instances[at].exists() {
            self.remove(at, None);
        }
        true
    }

    /// Makes a fixture, or makes it right; refused while others have one of that name.
    pub fn ensure(&mut self, fixture: Fixture) -> Result<(), Refused> {
        match self.fixtures.insert(fixture, OURS) {
            Some(FixtureSeen::Foreign) => {
                self.fixtures.insert(fixture, FixtureSeen::Foreign);
                Err(Refused)
            }
            Some(_) => Ok(()),
            None => {
                self.note(Happened::Ensured(fixture));
                self.appears(fixture);
                Ok(())
            }
        }
    }

    /// A fixture is there from now on: the scheduler lets a group in after a while.
    pub fn appears(&mut self, fixture: Fixture) {
        if fixture == Fixture::Gang {
            let opens = self.faults.iter_mut().find_map(|pending| match pending.fault {
                Fault::GangOpens { at } => {
                    pending.used = true;
                    Some(self.options.begin + at)
                }
                _ => None,
            });
            let at = (self.now + self.options.gang).max(opens.unwrap_or_default());
            self.gang = Gang::OpensAt(at);
        }
    }

    pub fn take_away(&mut self, fixture: Fixture) {
        if self.fixtures.remove(&fixture).is_some() {
            self.note(Happened::Removed(fixture));
            if fixture == Fixture::Gang {
                self.gang = Gang::Absent;
            }
        }
    }

    pub fn answer(&mut self, id: &Arc<str>) {
        self.orders.retain(|order| order.id != *id);
        self.note(Happened::Answered(Arc::clone(id)));
    }

    /// The job itself goes, and everything with it.
    pub fn delete_job(&mut self) {
        self.deleted = true;
        self.note(Happened::JobDeleted);
        for at in 0..self.instances.len() {
            if self.instances[at].exists() {
                self.remove(at, None);
            }
        }
        self.fixtures.clear();
    }
}
