//! What may be asked of a run while it goes on: one line of JSON each way, over `control.sock`.

use serde::{Deserialize, Serialize};
use trainyard_core::{RoleName, TaskId};

/// Something to be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "camelCase")]
pub enum Order {
    /// ProgramEnd the run: ask the tasks to stop, and kill what is left when their grace is over.
    Stop {
        /// At once, without asking.
        now: bool,
    },
    /// Kill a task's programs, as a crash would.
    Kill {
        /// Which.
        task: TaskId,
    },
    /// Take a task away as a drained node would: it is asked to stop, and that is nobody's failure.
    Drain {
        /// Which.
        task: TaskId,
    },
    /// Stop everything and wait, as `suspend: true` in the manifest says.
    Suspend,
    /// Go on.
    Resume,
    /// Change how many tasks a role has.
    Scale {
        /// Which.
        role: RoleName,
        /// To so many.
        replicas: u32,
    },
}

/// What became of an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OrderReply {
    /// It is being done.
    Done,
    /// It cannot be, and why, for people.
    Refused(String),
}
