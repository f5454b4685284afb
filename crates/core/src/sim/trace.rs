//! What happened in a run, second by second: what a timeline or a report is made of.

use std::sync::Arc;

use serde::Serialize;

use super::script::Trouble;
use crate::job::{RoleName, TaskId};
use crate::memory::Hold;
use crate::observed::{Exit, Fixture, Ordered, Stamp};
use crate::step::Event;

/// Everything that happened, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Trace {
    /// In order of time; within a second, in the order in which it happened.
    pub entries: Vec<Entry>,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Seconds since the run began.
    pub at: u32,
    /// What.
    pub what: Happened,
}

/// What may happen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Happened {
    /// An instance was created.
    Created {
        /// Of which task.
        task: TaskId,
        /// Which life.
        stamp: Stamp,
    },
    /// A program started.
    Started {
        /// Of which task.
        task: TaskId,
        /// Which life.
        stamp: Stamp,
        /// How often it has been restarted in place.
        in_place: u32,
    },
    /// A program ended.
    Ended {
        /// Of which task.
        task: TaskId,
        /// Which life.
        stamp: Stamp,
        /// How.
        exit: Exit,
    },
    /// The world itself will start the program again in place.
    RestartsInPlace {
        /// Which task.
        task: TaskId,
        /// The how manieth time.
        times: u32,
        /// In so many seconds.
        wait: u32,
    },
    /// An instance was told to stop.
    Stopped {
        /// Of which task.
        task: TaskId,
        /// Which life.
        stamp: Stamp,
        /// By whom, and why.
        why: StopReason,
    },
    /// An instance is gone.
    Gone {
        /// Of which task.
        task: TaskId,
        /// Which life.
        stamp: Stamp,
    },
    /// A node stopped answering.
    NodeLost {
        /// The task it ran.
        task: TaskId,
    },
    /// A node answers again.
    NodeBack {
        /// The task it ran.
        task: TaskId,
    },
    /// A shared object was made.
    Ensured(Fixture),
    /// A shared object was taken away.
    Removed(Fixture),
    /// The gang was let in.
    GangOpened,
    /// Part of the gang was lost.
    GangBroken,
    /// The manifest was changed: nothing may run, or it may go on.
    SuspendSet(bool),
    /// The manifest was changed: another number of tasks.
    ReplicasSet {
        /// Of which role.
        role: RoleName,
        /// Before.
        from: u32,
        /// Now.
        to: u32,
    },
    /// Somebody ordered something.
    Ordered(Ordered),
    /// An order was taken away.
    Answered(Arc<str>),
    /// The job itself was deleted.
    JobDeleted,
    /// Somebody else's object took the name of a task, or gave it back.
    NameTaken {
        /// Whose name.
        task: TaskId,
        /// It is taken from now on.
        taken: bool,
    },
    /// Somebody wants the job deleted.
    Deleting,
    /// Something went wrong with whoever looks after the job.
    Trouble(Trouble),
    /// Whoever looks after the job is back after a crash.
    Recovered,
    /// A decision, once it had been written down.
    Decided(Event),
}

/// Why an instance was told to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum StopReason {
    /// Somebody else wanted it stopped.
    Asked,
    /// A newer life of its task takes its place.
    Restarted,
    /// The job no longer has that task.
    ScaledAway,
    /// Nothing may run for now.
    Held(Hold),
    /// Its task has ended, yet something of it still lives.
    Settled,
    /// The job has ended.
    CleanUp,
    /// It was told before, and its node does not answer.
    LostNode,
}
