//! What happens to a job from outside, in words that every world can carry out.

use serde::Deserialize;
use trainyard_core::{RoleName, TaskId};

/// One thing that happens. Moments are seconds since the job was handed in; a fault that needs a running task and
/// finds none waits for the next one. Programs that no fault ends run until they are stopped.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(
    rename_all = "kebab-case",
    rename_all_fields = "kebab-case",
    deny_unknown_fields
)]
pub enum Fault {
    /// A program exits by its own doing.
    Exit {
        /// Whose.
        task: TaskId,
        /// Which of the task's programs, from 0; those restarted in place are counted.
        #[serde(default)]
        life: u32,
        /// After it has run so long.
        after: u32,
        /// With this code; 128+n for signal n.
        code: i32,
    },
    /// A program uses more memory than it may.
    OutOfMemory {
        /// Whose.
        task: TaskId,
        /// Which of the task's programs, from 0.
        #[serde(default)]
        life: u32,
        /// After it has run so long.
        after: u32,
    },
    /// A program cannot be started: there is no such file.
    MissingProgram {
        /// Whose.
        task: TaskId,
        /// Which of the task's programs, from 0.
        #[serde(default)]
        life: u32,
    },
    /// An init container fails, so the program does not start.
    InitExit {
        /// Whose.
        task: TaskId,
        /// Which of the task's programs would have been next, from 0.
        #[serde(default)]
        life: u32,
        /// With this code; none where there is no such program.
        code: Option<i32>,
    },
    /// The node refuses the instance before anything of it runs, and names no disruption.
    Reject {
        /// Whose.
        task: TaskId,
        /// Which of the task's programs would have been next, from 0.
        #[serde(default)]
        life: u32,
    },
    /// The task is told to stop from outside, as by a drain; its program ends with this code and the instance goes.
    Drain {
        /// Whose.
        task: TaskId,
        /// From this second on.
        at: u32,
        /// 143, or 0 if it saves its work first.
        code: i32,
    },
    /// The node evicts the task; what is left of it stays visible.
    Evict {
        /// Whose.
        task: TaskId,
        /// From this second on.
        at: u32,
    },
    /// The instance is gone at once, and its end is not seen.
    Vanish {
        /// Whose.
        task: TaskId,
        /// From this second on.
        at: u32,
    },
    /// The object of a task that has ended is removed.
    RemoveObject {
        /// Whose.
        task: TaskId,
        /// From this second on.
        at: u32,
    },
    /// The programs of a task do not end when they are told to, for so long; past the grace they are killed.
    IgnoreTerm {
        /// Whose.
        task: TaskId,
        /// For so many seconds.
        seconds: u32,
    },
    /// A program takes longer to start.
    StartLate {
        /// Whose.
        task: TaskId,
        /// Which of the task's programs, from 0.
        #[serde(default)]
        life: u32,
        /// By so many seconds.
        by: u32,
    },
    /// Something beside the program goes on when the program has ended, until it is told to stop.
    Linger {
        /// Whose.
        task: TaskId,
    },
    /// The node of the task does not answer any more.
    LoseNode {
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
    /// An order, as by a Volcano Command.
    Order {
        /// In this second.
        at: u32,
        /// What.
        what: Order,
    },
    /// Part of the gang is lost.
    BreakGang {
        /// In this second.
        at: u32,
    },
}

/// What may be ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Start everything again, at a price.
    Restart,
    /// Stop everything and wait.
    Abort,
    /// Go on, at a price.
    Resume,
    /// End the job as it is.
    Terminate,
    /// End the job as a success.
    Complete,
}
