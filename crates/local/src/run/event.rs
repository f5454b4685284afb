//! What happens in a run: told to a reporter, kept in `events.jsonl`, printed by `-o json`.
//!
//! Its form is stable: docs/json.md. The runner makes these, after what they tell of was done.

pub(crate) mod text;

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trainyard_core::{FailureCause, Outcome, TaskId};

use super::store::status::TaskStatus;
use super::timestamp::Timestamp;
use crate::logs::pump::LogSink;
use crate::process::launch::Ended;
pub use crate::process::launch::Life;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunEvent {
    /// By the wall clock.
    pub time: Timestamp,
    /// To which job.
    pub job: Arc<str>,
    /// The event itself.
    #[serde(flatten)]
    pub what: What,
}

/// What may happen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum What {
    /// The run has begun.
    RunStarted {
        /// Its id.
        run: String,
        /// Where everything about it is kept.
        directory: PathBuf,
        /// How many tasks it has.
        tasks: u32,
    },
    /// A program of a task runs: its main one, or before that an init container's.
    TaskStarted {
        /// The life of the task.
        #[serde(flatten)]
        life: Life,
        /// The init container; none for the main one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        init: Option<Arc<str>>,
        /// Its process, numbered as in the run's pid namespace.
        pid: u32,
        /// The port it is told to listen on, if it is told one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        port: Option<u16>,
    },
    /// A task has ended.
    TaskEnded {
        /// The life of the task.
        #[serde(flatten)]
        life: Life,
        /// How its program ended.
        #[serde(flatten)]
        end: ProgramEnd,
        /// We stopped it: then its code is no success and no failure.
        stopped: bool,
    },
    /// The world starts a task's program again, as a kubelet does, after so many seconds.
    RestartsInPlace {
        /// The life to come.
        #[serde(flatten)]
        life: Life,
        /// Seconds until then.
        seconds: u32,
    },
    /// Tasks are started again by a rule or an order.
    Restarting {
        /// Which, in words: `worker-1`, `the whole job`.
        what: String,
        /// Because of this one, if it was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// The field of the manifest that says so, if it was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<Arc<str>>,
        /// Whether it counts against the limit of restarts.
        paid: bool,
        /// Seconds until then.
        seconds: u32,
    },
    /// Nothing may run for now.
    Held {
        /// The manifest says so, or `trainyard suspend`; otherwise a rule or an order.
        suspended: bool,
    },
    /// It goes on.
    Resumed,
    /// What people should know, in a sentence.
    Note {
        /// The sentence.
        text: String,
    },
    /// A task is left out, and this is how it is started by hand.
    #[serde(rename = "byHand")]
    DebugTask {
        /// The task.
        task: TaskId,
        /// What people should know, one sentence per line.
        text: String,
        /// What a shell is given. The task's variables are in a file that it names, and not here: they may be secret.
        script: String,
    },
    /// What may be wrong, in a sentence or two.
    Hint {
        /// With this task, if it is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// The sentences.
        text: String,
    },
    /// `TensorBoard` answers.
    TensorBoard {
        /// Its address on this machine.
        url: String,
    },
    /// The job has ended, and nothing of it is left.
    RunEnded(Box<RunEnd>),
}

/// How a program ended, as these files write it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProgramEnd {
    /// Its exit code; 128 and the signal's number for a signal; none if it never ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// The signal that killed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Why it could not be started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_started: Option<String>,
    /// The container, if it was not the main one: an init container that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<Arc<str>>,
    /// Why it failed, as far as its output says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Arc<FailureCause>>,
}

impl From<&Ended> for ProgramEnd {
    fn from(ended: &Ended) -> Self {
        let (signal, not_started) = match ended {
            Ended::Code(_) => (None, None),
            Ended::Signal(signal) => (Some(*signal), None),
            Ended::NotStarted(why) => (None, Some(why.clone())),
        };
        Self {
            code: ended.code(),
            signal,
            not_started,
            container: None,
            cause: None,
        }
    }
}

/// How a run ended: what the summary shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunEnd {
    /// Well or badly; none if it was ended before the job had a verdict.
    pub outcome: Option<Outcome>,
    /// By what, in a sentence: which rule, the deadline, an order.
    pub cause: String,
    /// The task whose end decided, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<TaskId>,
    /// It ran into its deadline.
    pub deadline: bool,
    /// The signal that ended it: 2 for Ctrl-C.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// How long it took.
    pub seconds: f64,
    /// The first failure: the root cause, as a rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_failure: Option<FirstFailure>,
    /// What a job that succeeded should be looked at for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<RunWarning>,
    /// Tasks that the job's clean-up policy leaves running; the end of the run stopped them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_alive: Vec<TaskId>,
    /// How each task ended.
    pub tasks: Vec<TaskStatus>,
}

/// Something about a job that succeeded which its user would not expect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunWarning {
    /// The task that failed, or died while it was being stopped, and which the job did not need; none if it is about all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// What happened, and what helps.
    pub cause: FailureCause,
}

/// The first task that failed by its own doing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FirstFailure {
    /// Which life of which task.
    #[serde(flatten)]
    pub life: Life,
    /// How its program ended.
    #[serde(flatten)]
    pub end: ProgramEnd,
    /// What that means, in a sentence.
    pub meaning: String,
    /// Its log.
    pub log: PathBuf,
    /// The log's last lines.
    pub last_lines: Vec<String>,
}

/// Shows a run of one job. Called from many threads; it must not call back.
pub trait Reporter: LogSink {
    /// Something happened.
    fn event(&self, event: &RunEvent);

    /// This is how all tasks stand now; called when something about them has changed.
    fn tasks(&self, tasks: &[TaskStatus]);
}
