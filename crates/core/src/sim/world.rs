//! The true state of everything: instances, shared objects, the manifest, the memory that was written down.
//!
//! Time passes here by itself ([`World::pass`]), and writes are carried out here. Nothing is decided here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::instance::{Instance, Node, State, Told};
use super::options::Options;
use super::script::{End, Fault, Script};
use super::trace::{Entry, Happened, StopReason, Trace};
use crate::job::{Job, TaskId};
use crate::memory::Memory;
use crate::observed::{Exit, Fixture, GangSeen, Order, Stamp};
use crate::time::Time;

pub(super) struct World {
    pub options: Options,
    pub now: Time,
    /// The manifest as it is now.
    pub job: Job,
    /// The memory last written down.
    pub memory: Option<Memory>,
    /// Every instance, gone ones too, by the order of their creation.
    pub instances: Vec<Instance>,
    pub fixtures: BTreeSet<Fixture>,
    pub gang: Gang,
    pub orders: Vec<Order>,
    pub deleted: bool,
    pub trace: Trace,
    pub faults: Vec<Pending>,
    /// How many programs of each task have been started.
    lives: BTreeMap<TaskId, u32>,
    pub creates: u32,
    pub stops: u32,
}

pub(super) struct Pending {
    pub fault: Fault,
    pub used: bool,
}

/// The gang's group, as it truly is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Gang {
    Absent,
    OpensAt(Time),
    Open,
    Broken { epoch: u32 },
}

/// Why a write was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// Something of that name exists already.
    Exists,
    /// There is no such thing.
    Absent,
}

impl World {
    pub fn new(job: &Job, script: &Script, options: &Options) -> Self {
        let pending = |fault: &Fault| Pending {
            fault: fault.clone(),
            used: false,
        };
        Self {
            now: options.begin,
            options: options.clone(),
            job: job.clone(),
            memory: None,
            instances: Vec::new(),
            fixtures: BTreeSet::new(),
            gang: Gang::Absent,
            orders: Vec::new(),
            deleted: false,
            trace: Trace::default(),
            faults: script.faults.iter().map(pending).collect(),
            lives: BTreeMap::new(),
            creates: 0,
            stops: 0,
        }
    }

    /// Seconds since the run began.
    pub fn elapsed(&self) -> u32 {
        u32::try_from(self.now.since(self.options.begin)).unwrap_or(u32::MAX)
    }

    pub fn note(&mut self, what: Happened) {
        let at = self.elapsed();
        self.trace.entries.push(Entry { at, what });
    }

    /// The next moment at which something happens by itself.
    pub fn next(&self) -> Option<Time> {
        let instances = self
            .instances
            .iter()
            .filter_map(|instance| instance.next(self.now));
        let begin = self.options.begin;
        let faults = self.faults.iter().filter(|pending| !pending.used);
        let faults = faults.filter_map(|pending| super::faults::moment(&pending.fault).map(|at| begin + at));
        let gang = match self.gang {
            Gang::OpensAt(at) => Some(at),
            _ => None,
        };
        let all = instances.chain(faults).chain(gang);
        all.filter(|at| *at > self.now).min()
    }

    /// Lets everything happen that is due at that moment.
    pub fn pass(&mut self, now: Time) {
        self.now = now;
        loop {
            let fired = super::faults::fire(self);
            let moved = self.move_instances();
            let opened = self.open_gang();
            if !(fired || moved || opened) {
                return;
            }
        }
    }

    fn open_gang(&mut self) -> bool {
        let due = matches!(self.gang, Gang::OpensAt(at) if at <= self.now);
        if due {
            self.gang = Gang::Open;
            self.note(Happened::GangOpened);
        }
        due
    }

    fn move_instances(&mut self) -> bool {
        let mut moved = false;
        for at in 0..self.instances.len() {
            while self.instances[at]
                .next(self.now)
                .is_some_and(|due| due <= self.now)
            {
                moved = true;
                self.move_on(at);
            }
            // Becoming ready shows, and is no event of its own.
            let now = self.now;
            self.instances[at].show(now);
        }
        moved
    }

    /// One instance does what is due.
    fn move_on(&mut self, at: usize) {
        let now = self.now;
        let instance = &mut self.instances[at];
        let task = instance.task.clone();
        if instance.node != Node::Answers {
            instance.node = Node::Answers;
            self.note(Happened::NodeBack { task });
            self.end_if_told(at);
            return;
        }
        match instance.state.clone() {
            State::Waiting { .. } | State::Resting { .. } => self.start_program(at),
            State::Running {
                ends: Some((due, end)),
                ..
            } if due <= now => self.end_program(at, end),
            State::Lingering { exit, .. } => self.remove(at, Some(exit)),
            State::Running { .. } | State::Ended(_) | State::Gone(_) => {}
        }
    }

    fn start_program(&mut self, at: usize) {
        let now = self.now;
        let task = self.instances[at].task.clone();
        let life = self.lives.entry(task.clone()).or_default();
        let number = *life;
        *life += 1;
        let end = self.end_of_life(&task, number);
        if let Some((_, End::NotStarted)) = end {
            self.end_program(at, End::NotStarted);
            return;
        }
        let ready = now + self.options.ready;
        let instance = &mut self.instances[at];
        instance.state = State::Running {
            since: now,
            ready,
            ends: end.map(|(after, end)| (now + after, end)),
        };
        instance.show(now);
        let (stamp, in_place) = (instance.stamp, instance.in_place);
        self.note(Happened::Started {
            task,
            stamp,
            in_place,
        });
    }

    /// How and when a program ends by itself: as a fault says, or as programs do.
    fn end_of_life(&mut self, of: &TaskId, number: u32) -> Option<(u32, End)> {
        for pending in &mut self.faults {
            if let Fault::Ends {
                task,
                life,
                after,
                end,
            } = &pending.fault
                && task == of
                && *life == number
            {
                pending.used = true;
                return Some((*after, *end));
            }
        }
        let kind = self.job.role(&of.role).map(|(_, role)| role.kind);
        let endless = kind.is_some_and(|kind| self.options.endless.contains(&kind));
        (!endless).then_some((self.options.run, End::Code(0)))
    }

    /// The program of an instance ends now.
    pub fn end_program(&mut self, at: usize, end: End) {
        let now = self.now;
        let instance = &self.instances[at];
        let exit = instance.exit(end, now);
        let (task, stamp) = (instance.task.clone(), instance.stamp);
        self.note(Happened::Ended {
            task: task.clone(),
            stamp,
            exit: exit.clone(),
        });
        let policy = self
            .job
            .role(&task.role)
            .map_or(crate::InPlace::Never, |(_, role)| role.in_place);
        if self.instances[at].told.is_some() {
            self.instances[at].state = State::Ended(exit.clone());
            self.instances[at].show(now);
            self.remove(at, Some(exit));
        } else if Instance::comes_back(policy, &exit) {
            self.rest(at, exit);
        } else {
            let lingers = self.lingers(&task);
            let instance = &mut self.instances[at];
            instance.state = if lingers {
                State::Lingering { exit, until: None }
            } else {
                State::Ended(exit)
            };
            instance.show(now);
        }
    }

    /// The world starts the program again in place, later and later.
    fn rest(&mut self, at: usize, exit: Exit) {
        let now = self.now;
        let times = self.instances[at].in_place.min(31);
        let wait = self.options.in_place_first.saturating_mul(1 << times);
        // At least a second, or a program that ends at once would be started for ever in one.
        let wait = wait.clamp(1, self.options.in_place_most.max(1));
        let instance = &mut self.instances[at];
        instance.in_place += 1;
        instance.last = Some(exit);
        instance.state = State::Resting { until: now + wait };
        instance.show(now);
        let (task, times) = (instance.task.clone(), instance.in_place);
        self.note(Happened::RestartsInPlace { task, times, wait });
    }

    fn lingers(&mut self, of: &TaskId) -> bool {
        let named = |pending: &&mut Pending| matches!(&pending.fault, Fault::Lingers { task } if task == of);
        let found = self.faults.iter_mut().find(named);
        found.map(|pending| pending.used = true).is_some()
    }

    /// The instance is no more.
    pub fn remove(&mut self, at: usize, exit: Option<Exit>) {
        let now = self.now;
        let instance = &mut self.instances[at];
        instance.state = State::Gone(exit);
        instance.node = Node::Answers;
        instance.show(now);
        let (task, stamp) = (instance.task.clone(), instance.stamp);
        self.note(Happened::Gone { task, stamp });
    }

    /// Somebody tells an instance to stop.
    pub fn tell(&mut self, at: usize, code: i32, why: StopReason) {
        let now = self.now;
        let instance = &mut self.instances[at];
        if instance.told.is_none() {
            instance.told = Some(Told { at: now, code });
            instance.show(now);
            let (task, stamp) = (instance.task.clone(), instance.stamp);
            self.note(Happened::Stopped { task, stamp, why });
            self.end_if_told(at);
        }
    }

    /// What was told to stop does, if its node answers.
    fn end_if_told(&mut self, at: usize) {
        let now = self.now;
        if self.instances[at].node != Node::Answers {
            return;
        }
        let Some(told) = self.instances[at].told else {
            return;
        };
        let task = self.instances[at].task.clone();
        let (wait, code) = self.obeys_after(&task, told.code);
        match &mut self.instances[at].state {
            State::Running { ends, .. } => {
                let due = now + wait;
                if ends.as_ref().is_none_or(|(own, _)| *own > due) {
                    *ends = Some((due, End::Code(code)));
                }
            }
            State::Lingering { until, .. } => *until = Some(now + wait),
            State::Waiting { .. } | State::Resting { .. } => self.remove(at, None),
            State::Ended(exit) => {
                let exit = exit.clone();
                self.remove(at, Some(exit));
            }
            State::Gone(_) => {}
        }
    }

    /// How long a program takes to end once it is told to, and with which code it does.
    fn obeys_after(&mut self, of: &TaskId, code: i32) -> (u32, i32) {
        let (term, grace) = (self.options.term, self.options.grace);
        for pending in &mut self.faults {
            if let Fault::IgnoresTerm { task, seconds } = &pending.fault
                && task == of
            {
                pending.used = true;
                return if *seconds >= grace {
                    (grace, 137)
                } else {
                    (*seconds, code)
                };
            }
        }
        (term.min(grace), code)
    }

    /// The newest instance of a task that exists.
    pub fn find(&self, task: &TaskId) -> Option<usize> {
        self.instances
            .iter()
            .rposition(|instance| instance.task == *task && instance.exists())
    }

    /// Creates an instance; refused while one of that task exists.
    pub fn create(&mut self, task: &TaskId, stamp: Stamp) -> Result<(), Refused> {
        if self.find(task).is_some() {
            return Err(Refused::Exists);
        }
        if matches!(self.gang, Gang::Broken { epoch } if stamp.epoch > epoch) {
            self.gang = Gang::Open;
        }
        let late = self.starts_late(task);
        let now = self.now;
        let mut instance = Instance {
            task: task.clone(),
            stamp,
            name: Arc::from(format!("{task}#{}", self.creates)),
            created: now,
            state: State::Waiting {
                starts: now + self.options.start + late,
            },
            in_place: 0,
            last: None,
            told: None,
            node: Node::Answers,
            history: Vec::new(),
        };
        instance.show(now);
        self.instances.push(instance);
        self.creates += 1;
        self.note(Happened::Created {
            task: task.clone(),
            stamp,
        });
        Ok(())
    }

    fn starts_late(&mut self, of: &TaskId) -> u32 {
        let next = self.lives.get(of).copied().unwrap_or(0);
        for pending in &mut self.faults {
            if let Fault::StartsLate { task, life, by } = &pending.fault
                && task == of
                && *life == next
            {
                pending.used = true;
                return *by;
            }
        }
        0
    }

    /// Stops an instance and takes it away; by force, without asking its node.
    pub fn stop(&mut self, name: &str, force: bool, why: StopReason) -> Result<(), Refused> {
        let named = |instance: &Instance| &*instance.name == name && instance.exists();
        let Some(at) = self.instances.iter().position(named) else {
            return Err(Refused::Absent);
        };
        self.stops += 1;
        self.tell(at, 143, why);
        if force && self.instances[at].exists() {
            self.remove(at, None);
        }
        Ok(())
    }

    /// The group as its owner shows it.
    pub fn gang_seen(&self) -> GangSeen {
        let Some(wanted) = &self.job.gang else {
            return GangSeen::NotNeeded;
        };
        match self.gang {
            Gang::Absent if wanted.existing.is_some() => GangSeen::Open,
            Gang::Absent => GangSeen::Absent,
            Gang::OpensAt(_) => GangSeen::Held,
            Gang::Open => GangSeen::Open,
            Gang::Broken { epoch } => GangSeen::Broken { epoch },
        }
    }

    pub fn ensure(&mut self, fixture: Fixture) {
        if !self.fixtures.insert(fixture) {
            return;
        }
        self.note(Happened::Ensured(fixture));
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
        if self.fixtures.remove(&fixture) {
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
