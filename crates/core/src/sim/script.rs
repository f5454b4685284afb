//! What happens to a job from outside: a list of faults, written by hand, by the command line or from a seed.
//!
//! Every moment is a whole second since the run began. A fault that needs a running task and finds none waits for
//! the next one; those that never happened are in [`Played::unused`](super::Played).

use serde::Serialize;

use crate::job::{RoleName, TaskId};
use crate::observed::{Fixture, Ordered, Storage};

/// Everything that goes wrong, or is changed, in one run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Script {
    /// In any order; those of one second happen in this order.
    pub faults: Vec<Fault>,
}

impl Script {
    /// A script of these faults.
    #[must_use]
    pub fn of(faults: impl IntoIterator<Item = Fault>) -> Self {
        Self {
            faults: faults.into_iter().collect(),
        }
    }
}

/// One thing that happens from outside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Fault {
    /// One life of a task ends so, after it has run so long.
    Ends {
        /// The task.
        task: TaskId,
        /// Which of its programs, from 0; restarts in place are counted.
        life: u32,
        /// Seconds after its start.
        after: u32,
        /// How it ends.
        end: ProgramEnd,
    },
    /// The task ends so at that moment, or as soon as it runs.
    EndsAt {
        /// The task.
        task: TaskId,
        /// From this second on.
        at: u32,
        /// How it ends.
        end: ProgramEnd,
    },
    /// The task is told to stop from outside, as by a drain; its program ends with this code and its instance goes.
    Drained {
        /// The task.
        task: TaskId,
        /// From this second on.
        at: u32,
        /// 143, or 0 if it saves its work first.
        code: i32,
    },
    /// The instance is gone at once, and its end is not seen.
    Vanishes {
        /// The task.
        task: TaskId,
        /// From this second on.
        at: u32,
    },
    /// The instance of a task that has ended is taken away.
    Collected {
        /// The task.
        task: TaskId,
        /// From this second on.
        at: u32,
    },
    /// One instance of a task takes longer to start.
    StartsLate {
        /// The task.
        task: TaskId,
        /// Which of its instances, from 0; what is restarted in place is the same instance.
        life: u32,
        /// Seconds.
        by: u32,
    },
    /// The programs of a task do not end when they are told to, for so long; past the grace they are killed.
    IgnoresTerm {
        /// The task.
        task: TaskId,
        /// Seconds.
        seconds: u32,
    },
    /// Something beside the program goes on when the program has ended, until it is told to stop.
    Lingers {
        /// The task.
        task: TaskId,
    },
    /// The node of the task's instance does not answer any more; the node controller tells the instance to stop, in vain.
    NodeLost {
        /// The task.
        task: TaskId,
        /// From this second on.
        at: u32,
        /// Seconds until it answers again; none if it never does.
        back_after: Option<u32>,
    },
    /// The manifest is changed to ask that nothing run.
    Suspend {
        /// In this second.
        at: u32,
    },
    /// The manifest is changed to ask that it go on.
    Resume {
        /// In this second.
        at: u32,
    },
    /// The manifest is changed to ask for another number of tasks.
    Replicas {
        /// The role.
        role: RoleName,
        /// In this second.
        at: u32,
        /// Number of tasks.
        count: u32,
    },
    /// A user or another controller gives an order.
    Ordered {
        /// In this second.
        at: u32,
        /// The order.
        what: Ordered,
    },
    /// The scheduler does not let the gang in before.
    GangOpens {
        /// In this second.
        at: u32,
    },
    /// Part of the gang is lost; the group heals when a new epoch begins.
    GangBreaks {
        /// In this second.
        at: u32,
    },
    /// A user deletes a shared object, the job's own or not.
    FixtureLost {
        /// The object.
        fixture: Fixture,
        /// In this second.
        at: u32,
    },
    /// A shared object of the job's own is changed by a user.
    FixtureWrong {
        /// The object.
        fixture: Fixture,
        /// In this second.
        at: u32,
    },
    /// A shared object of that name is made by others, where there is none.
    FixtureTaken {
        /// The object.
        fixture: Fixture,
        /// In this second.
        at: u32,
    },
    /// What is known about the storage of memory changes, as when the definition of the job's kind is replaced. While it
    /// drops memory nothing can be stored; what was stored before is still there when it keeps memory again.
    Storage {
        /// In this second.
        at: u32,
        /// What the operator knows from then on.
        seen: Storage,
    },
    /// Something that is not ours has the name of a task, for a while.
    NameTaken {
        /// The task.
        task: TaskId,
        /// From this second on.
        at: u32,
        /// Seconds.
        seconds: u32,
    },
    /// A user deletes the job; it is gone a few seconds later.
    Deleted {
        /// In this second.
        at: u32,
    },
    /// Something goes wrong with the operator.
    Operator(Trouble),
}

/// What may go wrong with the operator. None of it may change the outcome of the job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Trouble {
    /// It crashes right after a write, and starts again with nothing but what is stored.
    Crashes {
        /// Number of the write, from 0: statuses and actions are counted alike.
        after_write: u32,
        /// Seconds.
        down: u32,
    },
    /// A write is refused.
    WriteRefused {
        /// Number of the write, from 0.
        write: u32,
    },
    /// A write is carried out, and its response is lost.
    WriteTimesOut {
        /// Number of the write, from 0.
        write: u32,
    },
    /// Watch events arrive late: no change of this kind is seen for a while, except by its own writes.
    Lags {
        /// What is seen late.
        what: Delayed,
        /// From this second on.
        from: u32,
        /// Until this one.
        until: u32,
    },
    /// It stores memory as late as `step` allows, and acts first.
    StoresLate {
        /// From this second on.
        from: u32,
        /// Until this one.
        until: u32,
    },
    /// It makes no step for a while.
    Busy {
        /// From this second on.
        at: u32,
        /// Seconds.
        seconds: u32,
    },
    /// Its clock is set.
    ClockSteps {
        /// In this second.
        at: u32,
        /// Seconds.
        by: i32,
    },
    /// It reconciles once more, though nothing has happened.
    LooksAgain {
        /// In this second.
        at: u32,
    },
    /// Its watch is broken and it lists everything again; what has gone meanwhile is simply not there.
    Relists {
        /// In this second.
        at: u32,
    },
    /// A deposed leader acts once, on a memory that was stored some writes ago.
    OldLeader {
        /// In this second.
        at: u32,
        /// How many stored memories it is behind.
        behind: u32,
    },
}

/// What can be seen late.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Delayed {
    /// The instances of one task.
    Task(TaskId),
    /// The gang's group.
    Gang,
    /// Orders.
    Orders,
}

/// How a program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum ProgramEnd {
    /// With this exit code; 128+n for signal n.
    Code(i32),
    /// It used more memory than its limit.
    OutOfMemory,
    /// It could not be started.
    NotStarted,
    /// The node evicts it; what is left of it stays visible.
    Evicted,
    /// An init program before it ends with this code, or is not there; so it never runs.
    Init(Option<i32>),
    /// The node refuses the instance before anything of it runs, and names no disruption.
    Rejected,
}
