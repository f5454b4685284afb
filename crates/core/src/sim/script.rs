//! What happens to a job from outside: a list of faults, written by hand, by the command line or from a seed.
//!
//! Every moment is a whole second since the run began. A fault that needs a running task and finds none waits for
//! the next one; what never came about is told in [`Played::unused`](super::Played).

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
        /// Whose.
        task: TaskId,
        /// Which of its programs, from 0; restarts in place are counted.
        life: u32,
        /// After so many seconds.
        after: u32,
        /// How.
        end: ProgramEnd,
    },
    /// The task ends so at that moment, or as soon as it runs.
    EndsAt {
        /// Whose.
        task: TaskId,
        /// From this second on.
        at: u32,
        /// How.
        end: ProgramEnd,
    },
    /// Somebody else asks the task to stop, as a drain does; its program ends with this code and its instance goes.
    Drained {
        /// Whose.
        task: TaskId,
        /// From this second on.
        at: u32,
        /// 143, or 0 if it saves its work first.
        code: i32,
    },
    /// The instance is gone at once, and nobody saw how.
    Vanishes {
        /// Whose.
        task: TaskId,
        /// From this second on.
        at: u32,
    },
    /// The instance of a task that has ended is taken away.
    Collected {
        /// Whose.
        task: TaskId,
        /// From this second on.
        at: u32,
    },
    /// One instance of a task takes longer to start.
    StartsLate {
        /// Whose.
        task: TaskId,
        /// Which of its instances, from 0; what is restarted in place is the same instance.
        life: u32,
        /// By so many seconds.
        by: u32,
    },
    /// The programs of a task do not end when they are told to, for so long; past the grace they are killed.
    IgnoresTerm {
        /// Whose.
        task: TaskId,
        /// For so many seconds.
        seconds: u32,
    },
    /// Something beside the program goes on when the program has ended, until it is told to stop.
    Lingers {
        /// Whose.
        task: TaskId,
    },
    /// The node of the task's instance does not answer any more; somebody tells the instance to stop, in vain.
    NodeLost {
        /// Whose.
        task: TaskId,
        /// From this second on.
        at: u32,
        /// It answers again after so many seconds.
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
        /// Of which role.
        role: RoleName,
        /// In this second.
        at: u32,
        /// So many.
        count: u32,
    },
    /// Somebody orders something.
    Ordered {
        /// In this second.
        at: u32,
        /// What.
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
    /// A user deletes a shared object, whoever made it.
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
        /// Whose.
        task: TaskId,
        /// From this second on.
        at: u32,
        /// For so many seconds.
        seconds: u32,
    },
    /// Somebody deletes the job; it is gone a few seconds later.
    Deleted {
        /// In this second.
        at: u32,
    },
    /// Something goes wrong with whoever looks after the job.
    Operator(Trouble),
}

/// What may go wrong with whoever looks after a job. None of it may change what becomes of the job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Trouble {
    /// It dies right after a write, and begins again with nothing but what was written down.
    Crashes {
        /// After this one of all its writes, from 0.
        after_write: u32,
        /// For so many seconds.
        down: u32,
    },
    /// A write is refused.
    WriteRefused {
        /// This one, from 0.
        write: u32,
    },
    /// A write is carried out, and the answer is lost.
    WriteTimesOut {
        /// This one, from 0.
        write: u32,
    },
    /// Delayed arrive late: nothing of this kind is seen for a while, except what was written by itself.
    Lags {
        /// Delayed of what.
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
        /// For so many seconds.
        seconds: u32,
    },
    /// Its clock is set.
    ClockSteps {
        /// In this second.
        at: u32,
        /// By so many seconds.
        by: i32,
    },
    /// It looks once more, though nothing has happened.
    LooksAgain {
        /// In this second.
        at: u32,
    },
    /// It lost the thread of news and reads everything anew; what has gone meanwhile is simply not there.
    Relists {
        /// In this second.
        at: u32,
    },
    /// Another one that took itself for the leader acts once, on what had been written down some writes ago.
    OldLeader {
        /// In this second.
        at: u32,
        /// So many memories ago.
        behind: u32,
    },
}

/// What news may be about.
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
    /// It used more memory than it may.
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
