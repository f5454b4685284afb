//! What may be asked of a run while it goes on: one line of JSON each way, over `control.sock`.

use serde::{Deserialize, Serialize};
use trainyard_core::{RoleName, TaskId};

/// An order to a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "camelCase")]
pub enum Order {
    /// End the run: ask the tasks to stop, and kill what is left when their grace is over.
    Stop {
        /// At once, without asking.
        now: bool,
    },
    /// Kill a task's programs, as a crash would.
    Kill {
        /// The task.
        task: TaskId,
    },
    /// Take a task away as a drained node would: it is asked to stop, and that counts as no failure.
    Drain {
        /// The task.
        task: TaskId,
    },
    /// Stop everything and wait, as `suspend: true` in the manifest says.
    Suspend,
    /// Go on.
    Resume,
    /// Change how many tasks a role has.
    Scale {
        /// The role's name.
        role: RoleName,
        /// To so many.
        replicas: u32,
    },
}

/// The run's reply to an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OrderReply {
    /// The run carries it out.
    Done,
    /// The run does not, and why, for people.
    Refused(String),
}
