//! The state of the model: the true world, what the operator sees of it, what it has persisted and what it is about
//! to do. Only what `step` can tell apart is kept, so that the space stays small.

use std::sync::Arc;

use trainyard_core::{Memory, Stamp, Storage};

/// The most tasks a job of the model has.
pub const SLOTS: usize = 3;

/// The first second of the model. Ticks are seconds after it.
pub const DAWN: u64 = 100;

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct End {
    pub code: u8,
    /// It was told to stop before it ended.
    pub asked: bool,
    /// At which tick.
    pub at: u8,
}

impl End {
    /// Exited 0, and was not told to stop before.
    pub fn is_success(self) -> bool {
        self.code == 0 && !self.asked
    }
}

/// What a pod does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Life {
    Waiting,
    Running,
    Ended(End),
}

/// One instance of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pod {
    /// Tells it from the others of the same task of which anything is still known.
    pub serial: u8,
    pub stamp: Stamp,
    pub life: Life,
    /// It was told to stop, at this tick.
    pub stopping: Option<u8>,
    pub created: u8,
}

impl Pod {
    pub fn alive(&self) -> bool {
        !matches!(self.life, Life::Ended(_))
    }

    pub fn has_succeeded(&self) -> bool {
        matches!(self.life, Life::Ended(end) if end.is_success())
    }
}

/// One task: its true instance and the operator's view of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Slot {
    /// The instance there is. One at most: its name is taken (W1).
    pub here: Option<Pod>,
    /// One that is gone, in its last state, of which the operator has not heard yet.
    pub unheard: Option<Pod>,
    /// What the operator believes to be here. It may be behind, never ahead (W2).
    pub seen: Option<Pod>,
    /// One the operator saw go, until a memory that absorbed it is persisted (W4).
    pub gone: Option<Pod>,
}

/// Something the operator does, as the model knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Move {
    Ensure,
    EnsureGroup,
    Stop { slot: u8, serial: u8 },
    Create { slot: u8, stamp: Stamp },
    Remove,
    RemoveGroup,
}

/// The group that a gang scheduler places together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Group {
    #[default]
    Absent,
    Ours,
    /// Made by others under the name that ours would have.
    Foreign,
}

/// What has happened, kept beside the world so that properties can speak of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Past {
    /// The lives whose end a persisted step has answered.
    pub answered: Vec<(u8, Stamp)>,
    /// The lives, or the epochs, with an end that the job's rules charge for.
    pub costly: Vec<(u8, Stamp)>,
    /// Some program failed by its own doing, in a job whose rules charge nothing for that.
    pub failed: bool,
    /// For each task the epoch, counted from 1, in which it truly succeeded, if that is the current one; else 0.
    /// Also 0 once nothing shows it any more.
    pub succeeded: [u8; SLOTS],
    /// Promises that have been broken, as bits of [`super::properties::Promise`].
    pub broken: u16,
}

/// Everything.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    pub now: u8,
    pub suspend: bool,
    pub slots: [Slot; SLOTS],
    /// Whether the shared addresses exist.
    pub addresses: bool,
    pub group: Group,
    /// Last stored.
    pub memory: Option<Arc<Memory>>,
    /// What the operator knows about storage.
    pub storage: Storage,
    /// Something that it was to make was refused, and it is not time yet to try again.
    pub refused: bool,
    /// What is left to be carried out, last first.
    pub pass: Vec<Move>,
    /// A request of a deposed leader that is still under way.
    pub late: Option<Move>,
    pub past: Past,
    /// How often the manifest may still be suspended or resumed.
    pub toggles: u8,
    /// How many disruptions from outside may still come.
    pub mischief: u8,
    /// How often the leader may still be deposed.
    pub depositions: u8,
    /// How often a create or an ensure may still be refused for no reason of ours.
    pub refusals: u8,
    /// How often what is known about storage may still change.
    pub flips: u8,
}

impl State {
    /// Marks a promise as broken, for good.
    pub fn breaks(&mut self, promise: super::properties::Promise) {
        self.past.broken |= promise as u16;
    }

    /// A number for a new instance of a task that is not in use.
    pub fn free_serial(&self, slot: u8) -> u8 {
        let Slot {
            here,
            unheard,
            seen,
            gone,
        } = &self.slots[usize::from(slot)];
        let known = |serial: u8| {
            let pods = [here, unheard, seen, gone];
            let named = |action: &Move| matches!(action, Move::Stop { slot: at, serial: of } if (*at, *of) == (slot, serial));
            pods.iter().any(|pod| pod.is_some_and(|pod| pod.serial == serial))
                || self.pass.iter().chain(&self.late).any(named)
        };
        (0..u8::MAX).find(|&serial| !known(serial)).unwrap_or(u8::MAX)
    }
}
