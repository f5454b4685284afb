//! Rules as data: what may end or restart a job, in order, first match first.
//!
//! Each dialect compiles its own fields into such a list; only [`policy::judge`](crate::policy) reads it. A rule
//! looks either at an *edge* (one life of one task ended so; consumed once, by its stamp) or at a *level* (true or
//! false now, over memory and what is observed).

use std::sync::Arc;

use serde::Serialize;

use crate::job::RoleName;
use crate::memory::Outcome;

/// When something holds, then something is done.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Rule {
    /// What it waits for.
    pub when: When,
    /// Seconds it must have been so. Counted from what is visible (an end, a creation), so it needs no memory; a
    /// [`When::Count`] and a [`When::GangBroken`] show no such moment and ignore it.
    pub held: u32,
    /// What is done.
    pub then: Then,
    /// The field it comes from, or `built in`.
    pub from: Arc<str>,
}

/// What a rule waits for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum When {
    /// Edge: one life of a task ended so.
    Ended {
        /// The tasks that are meant.
        who: Who,
        /// Any of these ends.
        how: Vec<How>,
    },
    /// Level: all of these counts hold. Counts memory, not pods.
    Count(Vec<Count>),
    /// Level: the visible current instance of a task does not run, since its creation or its end.
    Down {
        /// The tasks that are meant.
        who: Who,
        /// Any of these states.
        why: Vec<Down>,
    },
    /// Level: restarts in place, summed over the live instances.
    InPlace {
        /// The tasks whose restarts are added up.
        who: Who,
        /// Smallest sum for which it is true.
        at_least: u32,
    },
    /// Level: the scheduler has lost part of this epoch's gang. Always restarts the whole job.
    GangBroken,
}

/// In which way a task is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Down {
    /// Created for the first time and not running yet.
    FirstStart,
    /// Created again and not running yet.
    Again,
    /// Ended with a failure and kept so.
    Failed,
}

/// Some tasks: all, those of a role, or one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Who {
    /// Only tasks of this role.
    pub role: Option<RoleName>,
    /// Only the task with this number in its role.
    pub index: Option<u32>,
}

impl Who {
    /// Every task of the job.
    #[must_use]
    pub fn any() -> Self {
        Self {
            role: None,
            index: None,
        }
    }

    /// Every task of a role.
    #[must_use]
    pub fn role(name: &RoleName) -> Self {
        Self {
            role: Some(name.clone()),
            index: None,
        }
    }

    /// One task.
    #[must_use]
    pub fn task(name: &RoleName, index: u32) -> Self {
        Self {
            role: Some(name.clone()),
            index: Some(index),
        }
    }

    /// Whether that task is meant.
    #[must_use]
    pub fn includes(&self, role: &RoleName, index: u32) -> bool {
        self.role.as_ref().is_none_or(|name| name == role) && self.index.is_none_or(|only| only == index)
    }
}

/// How a life may end, as rules name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum How {
    /// Exited 0, and was not told to stop before.
    Succeeded,
    /// Any failure of its own: every code, out of memory and not started included.
    Failed,
    /// A failure with an exit code in this range, ends included.
    Codes(i32, i32),
    /// The program could not be started.
    NotStarted,
    /// It was told to stop from outside: drained, evicted, preempted, deleted.
    Disrupted,
    /// It is gone, and its end was not seen.
    Vanished,
}

/// One condition over counted tasks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Count {
    /// The tasks that are looked at.
    pub who: Who,
    /// Those of them that are counted.
    pub what: Settled,
    /// How many there must be.
    pub test: Test,
}

/// What has been settled about a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Settled {
    /// It has succeeded.
    Succeeded,
    /// It has succeeded, or failed for good.
    Ended,
}

/// How many there must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Test {
    /// All; false when there is none to look at.
    All,
    /// At least this many.
    AtLeast(u32),
    /// Fewer than this many.
    Below(u32),
}

/// What a rule does.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Then {
    /// The task stays ended, well or badly; nothing else follows.
    Keep,
    /// Tasks are started again.
    Restart {
        /// The tasks that start again.
        scope: Scope,
        /// Whether it draws on the budget. Without a token left, the rule does not match.
        paid: bool,
    },
    /// Everything stops and waits for an order to resume.
    Abort,
    /// The job ends.
    Finish(Outcome),
}

impl Then {
    /// Whether it draws on the budget of restarts.
    #[must_use]
    pub fn is_paid(&self) -> bool {
        matches!(self, Self::Restart { paid: true, .. })
    }
}

/// Which tasks a restart takes with it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Scope {
    /// The task itself.
    Task,
    /// All tasks of these roles, the succeeded ones too.
    Roles(Vec<RoleName>),
    /// All tasks, as a new epoch.
    Job,
}
