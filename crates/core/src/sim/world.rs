//! The true state of everything: instances, shared objects, the manifest, the memory that is stored.
//!
//! Time passes here by itself ([`World::advance`]), and writes are carried out here. Nothing is decided here.

use std::collections::BTreeMap;
use std::ops::Range;

use super::instance::{Instance, Node, State};
use super::options::Options;
use super::script::{Delayed, Fault, Script, Trouble};
use super::trace::{Entry, Happened, Trace};
use crate::job::{Job, TaskId};
use crate::memory::Memory;
use crate::observed::{Fixture, FixtureSeen, GangSeen, Order, Storage};
use crate::time::Time;

pub(super) struct World {
    pub options: Options,
    pub now: Time,
    /// The manifest as it is now.
    pub job: Job,
    /// The memory that is stored.
    pub memory: Option<Memory>,
    /// Every instance, gone ones too, by the order of their creation.
    pub instances: Vec<Instance>,
    pub fixtures: BTreeMap<Fixture, FixtureSeen>,
    pub gang: Gang,
    pub orders: Vec<Order>,
    /// The job is being deleted, and will be gone then.
    pub deleting: Option<Time>,
    pub deleted: bool,
    pub operator: Operator,
    pub trace: Trace,
    pub faults: Vec<Pending>,
    /// How many programs of each task have been started.
    pub lives: BTreeMap<TaskId, u32>,
    pub creates: u32,
}

pub(super) struct Pending {
    pub fault: Fault,
    pub used: bool,
}

/// The state of the operator, as far as faults change it.
#[derive(Default)]
pub(super) struct Operator {
    /// Its clock is ahead by so much.
    pub skew: i64,
    /// It makes no step before this.
    pub away_until: Time,
    /// Seconds in which it made no step, over the whole run.
    pub away: u32,
    /// It is to list everything again.
    pub relists: bool,
    /// What it knows about the storage of its memory.
    pub storage: Storage,
    /// Old leaders that are about to act, by how many memories they are behind.
    pub old_leaders: Vec<u32>,
}

/// The gang's group, as it truly is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Gang {
    Absent,
    OpensAt(Time),
    Open,
    Broken { epoch: u32 },
}

/// A write was refused: something of that name exists already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refused;

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
            fixtures: BTreeMap::new(),
            gang: Gang::Absent,
            orders: Vec::new(),
            deleting: None,
            deleted: false,
            operator: Operator::default(),
            trace: Trace::default(),
            faults: script.faults.iter().map(pending).collect(),
            lives: BTreeMap::new(),
            creates: 0,
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
        let faults = self.faults.iter();
        let faults = faults.flat_map(|pending| super::faults::moments(&pending.fault).map(|at| begin + at));
        let gang = match self.gang {
            Gang::OpensAt(at) => Some(at),
            _ => None,
        };
        let away = (!self.deleted).then_some(self.operator.away_until);
        let all = instances
            .chain(faults)
            .chain(gang)
            .chain(self.deleting)
            .chain(away);
        all.filter(|at| *at > self.now).min()
    }

    /// Lets everything happen that is due at that moment.
    pub fn advance(&mut self, now: Time) {
        self.now = now;
        loop {
            let fired = super::faults::fire(self);
            let moved = self.move_instances();
            let opened = self.open_gang();
            if !(fired || moved || opened) {
                break;
            }
        }
        if self.deleting.is_some_and(|at| at <= now) && !self.deleted {
            self.delete_job();
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

    /// The newest instance of a task that exists.
    pub fn find(&self, task: &TaskId) -> Option<usize> {
        self.instances
            .iter()
            .rposition(|instance| instance.task == *task && instance.exists())
    }

    /// Every instance of the job's own.
    pub fn ours(&self) -> impl Iterator<Item = &Instance> {
        self.instances.iter().filter(|instance| instance.ours)
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

    /// What goes wrong with the operator's write of that number, if something does.
    pub fn trouble_with(&mut self, number: u32) -> Option<Trouble> {
        let meant = |pending: &&mut Pending| match &pending.fault {
            Fault::Operator(
                Trouble::Crashes {
                    after_write: write, ..
                }
                | Trouble::WriteRefused { write }
                | Trouble::WriteTimesOut { write },
            ) => *write == number && !pending.used,
            _ => false,
        };
        let found = self.faults.iter_mut().find(meant)?;
        found.used = true;
        let Fault::Operator(trouble) = found.fault.clone() else {
            return None;
        };
        self.note(Happened::Trouble(trouble.clone()));
        Some(trouble)
    }

    /// Whether what is observed of that kind is out of date now.
    pub fn lags(&self, is_meant: impl Fn(&Delayed) -> bool) -> bool {
        self.is_in_window(|trouble| match trouble {
            Trouble::Lags { what, from, until } if is_meant(what) => Some(*from..*until),
            _ => None,
        })
    }

    /// Whether the operator stores memory as late as it may now.
    pub fn stores_late(&self) -> bool {
        self.is_in_window(|trouble| match trouble {
            Trouble::StoresLate { from, until } => Some(*from..*until),
            _ => None,
        })
    }

    fn is_in_window(&self, window: impl Fn(&Trouble) -> Option<Range<u32>>) -> bool {
        let now = self.elapsed();
        self.faults.iter().any(|pending| match &pending.fault {
            Fault::Operator(trouble) => window(trouble).is_some_and(|window| window.contains(&now)),
            _ => false,
        })
    }

    /// The time on the operator's clock.
    pub fn clock(&self) -> Time {
        Time(self.now.0.saturating_add_signed(self.operator.skew))
    }
}
