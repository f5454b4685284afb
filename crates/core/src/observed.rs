//! What a world saw of a job: the only thing `step` knows about the outside.
//!
//! Worlds (a cluster, local processes, the simulator) keep a contract towards `step`; see docs/architecture.md,
//! W1 to W7. In short: every instance is shown, none goes back in time, our own acknowledged writes are included,
//! and an instance that has vanished is shown as [`Seen::Gone`] until a memory that absorbed it has been persisted.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::job::TaskId;
use crate::memory::Outcome;
use crate::time::Time;

/// One observation of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Observed {
    /// Every instance of this job, stale ones too, and the gone ones not yet absorbed. The order means nothing.
    pub tasks: Vec<TaskSeen>,
    /// How far the gang scheduler has come with the group.
    pub gang: GangSeen,
    /// Orders of users and of other controllers. The order means nothing.
    pub orders: Vec<Order>,
    /// Shared objects that exist. One that is not listed is absent.
    pub fixtures: Vec<(Fixture, FixtureSeen)>,
    /// The world was refused something that it was to create.
    pub refused: Option<Refusal>,
    /// Whether memory that is written is kept.
    pub storage: Storage,
    /// The job itself is being deleted: decide nothing, create nothing.
    pub deleting: bool,
}

/// A create or an ensure failed: a name is taken, a quota is used up, an admission webhook denies it.
///
/// The world keeps one per job and owns the back-off (1, 2, 4 … 60 s). Until then `step` creates nothing; what is to be
/// stopped, stored or judged does not wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Refusal {
    /// When the world wants to try again.
    pub until: Time,
}

/// Whether the world keeps the memory that is written to it. A custom resource definition that is not ours may drop it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Storage {
    /// It does.
    #[default]
    Keeps,
    /// Not known yet: memory is stored before anything is done, and the answer to that write tells.
    Unknown,
    /// It does not: nothing is done, since a restart that is not remembered would be free.
    Drops,
}

/// Which life of a task: written on every instance when it is created.
///
/// Killing means moving the stamp in memory. An end is answered only if its stamp is current, so one life is
/// answered at most once, however often it is seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Stamp {
    /// Start of the whole job, from 0.
    pub epoch: u32,
    /// Start of the task within the epoch, from 0.
    pub attempt: u32,
}

impl Stamp {
    /// No life of ours ever has a higher epoch or attempt: at one restart every ten seconds that takes three months, and
    /// waits soon are six minutes. A higher number on an instance was not written by us, and a restart that would need one
    /// fails the job instead: a stamp that saturates would not move, and deciding relies on every restart moving one.
    pub const MOST: u32 = 1_000_000;

    /// Whether we can have written it.
    #[must_use]
    pub fn is_possible(self) -> bool {
        self.epoch <= Self::MOST && self.attempt <= Self::MOST
    }
}

/// One instance of a task: a pod, a process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct TaskSeen {
    /// The task that it runs.
    pub id: TaskId,
    /// The life of the task, as written on the instance.
    pub stamp: Stamp,
    /// Pod UID, or the name of the process.
    pub instance: Arc<str>,
    /// Its state as last seen.
    pub state: Seen,
    /// When it was created, by the world's clock.
    pub created: Time,
    /// How often the kubelet, or the local supervisor, has restarted its program in place.
    pub in_place: u32,
    /// How its program last ended before it was restarted in place.
    pub last: Option<Exit>,
    /// It was told to stop, by us or others: when its grace period ends or ended.
    pub stopping: Option<Time>,
    /// The main program has ended, and a sidecar still runs.
    pub lingers: bool,
    /// How far it is on its way to a node.
    pub placement: Placement,
}

impl TaskSeen {
    /// Whether something of it still runs or may start to.
    #[must_use]
    pub fn alive(&self) -> bool {
        match self.state {
            Seen::Waiting | Seen::Running { .. } => true,
            Seen::Ended(_) => self.lingers,
            Seen::Gone(_) => false,
        }
    }

    /// How it ended, if it has and that was seen.
    #[must_use]
    pub fn exit(&self) -> Option<&Exit> {
        match &self.state {
            Seen::Ended(exit) | Seen::Gone(Some(exit)) => Some(exit),
            Seen::Waiting | Seen::Running { .. } | Seen::Gone(None) => None,
        }
    }
}

/// How far an instance is on its way to a node. On one machine every instance is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Placement {
    /// Nothing but the gate of its gang keeps the scheduler from placing it.
    Gated,
    /// A gate of another controller keeps the scheduler from placing it.
    Blocked,
    /// The scheduler may place it, and has not.
    Unplaced,
    /// It has a node, since then where that is known.
    Placed(Option<Time>),
}

impl Default for Placement {
    fn default() -> Self {
        Self::Placed(None)
    }
}

/// The state of an instance.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Seen {
    /// Created, not running yet.
    Waiting,
    /// Its main program runs.
    Running {
        /// Its readiness probe succeeds, or it has none.
        ready: bool,
    },
    /// Its main program has ended; the instance is still there.
    Ended(Exit),
    /// The instance is gone; how it ended, if that was seen.
    Gone(Option<Exit>),
}

/// How a life ended. It is stored (`firstFailure`), so what is added here is optional, and [`Why`] gets no new variant: an
/// older release must be able to read what a newer one wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Exit {
    /// The exit code; 128+n for signal n. None where it is not known.
    pub code: Option<i32>,
    /// Whose doing the end was.
    pub why: Why,
    /// It was told to stop before it ended, and not by us: then 0 is no success and 143 no failure.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asked: bool,
    /// When it ended.
    pub at: Time,
    /// Seconds that it had run.
    pub ran: u32,
    /// Its main program never ran: an init program failed, a program could not be started, the node refused the instance.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub never_ran: bool,
    /// The node refused the instance, and nothing says that this was a disruption: it is one only a few times in a row.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rejected: bool,
    /// The container that ended so, where it is not the task's main one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<Arc<str>>,
    /// The last line of what the world says about it: a program's last words, or the node's reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Arc<str>>,
    /// Why it failed, as far as the world could find out from the program's output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Arc<FailureCause>>,
}

impl Exit {
    /// Bytes of a message that are kept.
    pub const MOST_MESSAGE: usize = 512;

    /// The last line of `text` that says something, cut to [`Self::MOST_MESSAGE`] bytes; none where no line does.
    #[must_use]
    pub fn last_line(text: &str) -> Option<Arc<str>> {
        let mut lines = text.lines().rev().map(str::trim);
        let line = lines.find(|line| !line.is_empty())?;
        Some(line[..line.floor_char_boundary(Self::MOST_MESSAGE)].into())
    }
}

/// Why a program failed, in words: found by `trainyard-causes`, stored and shown, and never decided by.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FailureCause {
    /// Its entry in the catalogue (`TR001`), which `trainyard explain` knows; none for a cause that is not in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<Arc<str>>,
    /// One word of a closed set, for metrics. What is read back from a cluster may hold any other.
    pub class: Arc<str>,
    /// What went wrong: `ModuleNotFoundError: No module named 'pandas'`.
    pub sentence: Arc<str>,
    /// Where in the user's own code: `train.py:2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Arc<str>>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<Arc<str>>,
}

impl FailureCause {
    /// The sentence and the place in one line.
    #[must_use]
    pub fn headline(&self) -> String {
        match &self.place {
            Some(place) => format!("{} ({place})", self.sentence),
            None => self.sentence.to_string(),
        }
    }
}

/// Whose doing the end of a life was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Why {
    /// The program's own doing.
    #[default]
    Itself,
    /// It used more memory than its limit.
    OutOfMemory,
    /// The program could not be started.
    NotStarted,
    /// The node's or the cluster's: evicted, preempted, rejected, lost.
    Disrupted,
}

/// The group of a gang, as its scheduler shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum GangSeen {
    /// There is none, and none is needed.
    #[default]
    NotNeeded,
    /// There is none yet.
    Absent,
    /// The scheduler has not let it in.
    Held,
    /// It has been let in.
    Open,
    /// It had been, and part of it is lost. Without the epoch a stale view would be charged twice.
    Broken {
        /// The epoch of the lost members.
        epoch: u32,
    },
    /// Its turn is over and not enough of it was placed: what was placed gives its room back. Without the epoch a stale view would
    /// roll it back twice.
    Expired {
        /// The epoch of the members that had the turn.
        epoch: u32,
    },
}

/// An order of a user or another controller, to be obeyed once: a Volcano Command, `trainyard stop`, an annotation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Order {
    /// Tells it from every other order of the job: it is obeyed once.
    pub id: Arc<str>,
    /// What to do.
    pub what: Ordered,
}

/// What can be ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Ordered {
    /// Start everything again.
    RestartJob {
        /// Whether it draws on the budget; without a token left the job fails.
        paid: bool,
    },
    /// End the job.
    Finish(Outcome),
    /// Stop everything and wait.
    Abort,
    /// Go on after [`Ordered::Abort`].
    Resume {
        /// Whether it draws on the budget; without a token left the job fails.
        paid: bool,
    },
    /// Nothing, as an action that says nothing to a job in this state: the order is answered all the same.
    Nothing,
}

/// Objects that all tasks of a job share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Fixture {
    /// What makes the tasks' addresses resolve.
    Addresses,
    /// The group that a gang scheduler places together.
    Gang,
    /// Objects that the job's kind needs before its pods. Most jobs have none, so it is needed only where the world lists it.
    Extras,
}

impl Fixture {
    /// Every fixture, in the order in which they are made.
    pub const ALL: [Self; 3] = [Self::Addresses, Self::Gang, Self::Extras];
}

/// How a fixture is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum FixtureSeen {
    /// Needed, and not there. For [`Fixture::Extras`]; the others are missing when they are not listed.
    Missing,
    /// Made for this job.
    Ours {
        /// Whether all of it is there, and as the job wants it now.
        right: bool,
    },
    /// Made by others under the name that ours would have: used as it is, never written and never removed.
    Foreign,
}
