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
    /// What happened.
    pub what: Happened,
}

/// What may happen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Happened {
    /// An instance was created.
    Created {
        /// The task.
        task: TaskId,
        /// Its life.
        stamp: Stamp,
    },
    /// A program started.
    Started {
        /// The task.
        task: TaskId,
        /// Its life.
        stamp: Stamp,
        /// How often it has been restarted in place.
        in_place: u32,
    },
    /// A program ended.
    Ended {
        /// The task.
        task: TaskId,
        /// Its life.
        stamp: Stamp,
        /// How it ended.
        exit: Exit,
    },
    /// The kubelet will start the program again in the same pod.
    RestartsInPlace {
        /// The task.
        task: TaskId,
        /// Restarts in place of this instance so far, this one included.
        times: u32,
        /// Seconds until then.
        wait: u32,
    },
    /// An instance was told to stop.
    Stopped {
        /// The task.
        task: TaskId,
        /// Its life.
        stamp: Stamp,
        /// Who stopped it, and why.
        why: StopReason,
    },
    /// An instance is gone.
    Gone {
        /// The task.
        task: TaskId,
        /// Its life.
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
    /// A shared object was created.
    Ensured(Fixture),
    /// A shared object was deleted.
    Removed(Fixture),
    /// The gang was let in.
    GangOpened,
    /// Part of the gang was lost.
    GangBroken,
    /// The manifest was changed: nothing may run, or it may go on.
    SuspendSet(bool),
    /// The manifest was changed: another number of tasks.
    ReplicasSet {
        /// The role.
        role: RoleName,
        /// Replicas before.
        from: u32,
        /// Replicas from now on.
        to: u32,
    },
    /// A user or another controller gave an order.
    Ordered(Ordered),
    /// An order was deleted.
    Answered(Arc<str>),
    /// The job itself was deleted.
    JobDeleted,
    /// An object of another job took the name of a task, or released it.
    NameTaken {
        /// The task.
        task: TaskId,
        /// It is taken from now on.
        taken: bool,
    },
    /// A user deletes the job.
    Deleting,
    /// Something went wrong with the operator.
    Trouble(Trouble),
    /// The operator is back after a crash.
    Recovered,
    /// A decision, once it was stored.
    Decided(Event),
}

/// Why an instance was told to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum StopReason {
    /// It was told to stop from outside.
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
