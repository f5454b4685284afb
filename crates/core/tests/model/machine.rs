//! One state machine: a small job, what may happen to it, and how far.

use std::sync::Arc;

use stateright::Property;
use trainyard_core::{Job, Stamp, Storage, TaskId, step};

use super::environment::{self, Change};
use super::operator::{self, Decide, Deed};
use super::properties;
use super::world::{End, Group, Life, Past, SLOTS, Slot, State};

/// What the job's rules charge a restart for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charge {
    /// Each life that failed by its own doing.
    FailedLives,
    /// Each epoch in which some life did.
    FailedEpochs,
    /// Each epoch in which a task was disrupted or lost.
    DisruptedEpochs,
}

/// A small job and its world.
#[derive(Clone)]
pub struct Machine {
    /// The manifest, and the same one suspended.
    pub jobs: [Job; 2],
    pub tasks: Vec<TaskId>,
    /// Names of instances, by serial number.
    pub names: Vec<Arc<str>>,
    /// For each task, the codes its program may exit with.
    pub exits: Vec<&'static [u8]>,
    pub charge: Charge,
    /// The tasks, by position, that must have succeeded when the job has.
    pub deciders: Vec<usize>,
    /// How many seconds pass at most.
    pub ticks: u8,
    pub toggles: u8,
    pub mischief: u8,
    pub depositions: u8,
    pub refusals: u8,
    pub flips: u8,
    pub decide: Decide,
}

impl Machine {
    /// A model of that job with the shipped `step`, in which nothing happens from outside yet.
    pub fn of(job: Job, charge: Charge, exits: Vec<&'static [u8]>, deciders: Vec<usize>) -> Self {
        let tasks: Vec<TaskId> = job.tasks().collect();
        assert!(tasks.len() <= SLOTS && tasks.len() == exits.len());
        let mut suspended = job.clone();
        suspended.suspend = true;
        Self {
            jobs: [job, suspended],
            tasks,
            names: (0..8).map(|serial| format!("pod {serial}").into()).collect(),
            exits,
            charge,
            deciders,
            ticks: 0,
            toggles: 0,
            mischief: 0,
            depositions: 0,
            refusals: 0,
            flips: 0,
            decide: step,
        }
    }

    /// The manifest as it is now.
    pub fn job(&self, state: &State) -> &Job {
        &self.jobs[usize::from(state.suspend)]
    }

    /// Notes the end of a program.
    pub fn note_end(&self, state: &mut State, slot: u8) {
        let Some((stamp, end)) = ended(state, slot) else {
            return;
        };
        let past = &mut state.past;
        if end.is_success() {
            past.succeeded[usize::from(slot)] = u8::try_from(stamp.epoch + 1).unwrap();
        } else if !end.asked {
            match self.charge {
                Charge::FailedLives => note(past, slot, stamp),
                Charge::FailedEpochs => note(past, 0, epoch_of(stamp)),
                Charge::DisruptedEpochs => past.failed = true,
            }
        }
    }

    /// Notes that something was done to a task from outside.
    pub fn note_disruption(&self, state: &mut State, slot: u8) {
        let Some(pod) = &state.slots[usize::from(slot)].here else {
            return;
        };
        if self.charge == Charge::DisruptedEpochs {
            note(&mut state.past, 0, epoch_of(pod.stamp));
        }
    }
}

fn ended(state: &State, slot: u8) -> Option<(Stamp, End)> {
    let pod = state.slots[usize::from(slot)].here?;
    match pod.life {
        Life::Ended(end) => Some((pod.stamp, end)),
        Life::Waiting | Life::Running => None,
    }
}

fn epoch_of(stamp: Stamp) -> Stamp {
    Stamp { attempt: 0, ..stamp }
}

fn note(past: &mut Past, slot: u8, stamp: Stamp) {
    if let Err(at) = past.costly.binary_search(&(slot, stamp)) {
        past.costly.insert(at, (slot, stamp));
    }
}

/// Anything that may happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Next {
    World(Change),
    Operator(Deed),
}

impl stateright::Model for Machine {
    type State = State;
    type Action = Next;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            now: 0,
            suspend: false,
            slots: [Slot::default(); SLOTS],
            addresses: false,
            group: Group::Absent,
            memory: None,
            storage: Storage::Keeps,
            refused: false,
            pass: Vec::new(),
            late: None,
            past: Past::default(),
            toggles: self.toggles,
            mischief: self.mischief,
            depositions: self.depositions,
            refusals: self.refusals,
            flips: self.flips,
        }]
    }

    fn actions(&self, state: &State, found: &mut Vec<Next>) {
        let (mut changes, mut deeds) = (Vec::new(), Vec::new());
        environment::changes(self, state, &mut changes);
        operator::deeds(self, state, &mut deeds);
        found.extend(changes.into_iter().map(Next::World));
        found.extend(deeds.into_iter().map(Next::Operator));
    }

    fn next_state(&self, last: &State, next: Next) -> Option<State> {
        let mut state = last.clone();
        match next {
            Next::World(change) => environment::change(self, &mut state, change),
            Next::Operator(deed) => operator::act(self, &mut state, deed),
        }
        (state != *last).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::of(self)
    }
}
