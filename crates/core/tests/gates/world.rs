//! The state of the model: the room of two sets of nodes, the pods of two gangs, what the operator sees of them, what it has stored and is about to do.

use std::sync::Arc;

use trainyard_core::gates::Pools;
use trainyard_core::{Memory, Stamp, Time};

/// The second in which everything happens: clocks are set back instead.
pub const NOW: Time = Time(1_000_000);
/// The most tasks of a gang.
pub const SLOTS: usize = 3;

/// How far a pod is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    Gated,
    Free,
    /// On a node of this set.
    Bound(u8),
    /// It has exited 0 on its node.
    Done,
}

impl Place {
    pub const fn is_bound(self) -> bool {
        matches!(self, Self::Bound(_))
    }
}

/// A pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pod {
    pub stamp: Stamp,
    pub place: Place,
    pub stopping: bool,
}

/// One task: its true pod and the operator's view of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Slot {
    pub here: Option<Pod>,
    pub seen: Option<Pod>,
    /// The life of one that the operator saw go, until a stored memory has absorbed it.
    pub gone: Option<Stamp>,
}

/// A request that the operator is about to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Move {
    Create(u8, Stamp),
    Stop(u8, Stamp),
    Ungate(u8, Stamp),
}

/// One job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Gang {
    pub memory: Option<Arc<Memory>>,
    pub slots: [Slot; SLOTS],
    /// What is left to be sent, last first.
    pub pass: Vec<Move>,
    /// How often others had the turn while it waited.
    pub overtaken: u8,
}

impl Gang {
    pub fn has_ended(&self) -> bool {
        self.memory
            .as_ref()
            .is_some_and(|memory| memory.verdict.is_some())
    }
}

/// Everything.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    pub gangs: [Gang; 2],
    pub pools: Pools<u8>,
    pub crashes: u8,
    pub losses: u8,
    /// How often labels of nodes may still change.
    pub changes: u8,
    /// Which jobs must be able to end.
    pub needed: [bool; 2],
}

impl State {
    /// Whether the jobs that must end have ended, and hold no node.
    pub fn is_over(&self) -> bool {
        let mut needed = self.gangs.iter().zip(self.needed).filter(|(_, needed)| *needed);
        needed.all(|(gang, _)| gang.has_ended())
    }

    /// How many nodes of a set are taken. A pod that has ended takes none.
    pub fn taken(&self, nodes: u8) -> usize {
        let slots = self.gangs.iter().flat_map(|gang| &gang.slots);
        let pods = slots.filter_map(|slot| slot.here);
        pods.filter(|pod| pod.place == Place::Bound(nodes)).count()
    }
}
