//! `status.json`: how a run stands. Written whole, after what was done about it (ADR 10); read by `ps` and its kin.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trainyard_core::{Memory, TaskId};

use crate::run::event::{ProgramEnd, RunEnd};
use crate::run::timestamp::Timestamp;

/// The form in which these files are written; a newer one is not touched.
pub const FORMAT: u32 = 1;

/// How a run stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// The form it is written in.
    pub format: u32,
    /// The job's name.
    pub job: Arc<str>,
    /// The process that was started, as the whole machine numbers it: killing it ends the run.
    pub pid: u32,
    /// When the run began.
    pub started: Timestamp,
    /// The job is over, or the run is being ended: tasks that still run are being stopped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopping: bool,
    /// How it ended, once it has; a run that has not and does not go on was interrupted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
    /// The same, as the summary shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<RunEnd>,
    /// Where `TensorBoard` answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tensorboard: Option<String>,
    /// Every task, by role and number.
    pub tasks: Vec<TaskStatus>,
    /// What the decisions stand on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
}

/// How a task stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskStatus {
    /// The task.
    pub task: TaskId,
    /// In one word.
    pub state: TaskState,
    /// Since when.
    pub since: Timestamp,
    /// Which start of the whole job its newest life belongs to, from 0.
    pub epoch: u32,
    /// Which start within that, from 0.
    pub attempt: u32,
    /// How often it has been started again, over all epochs and in place.
    pub restarts: u32,
    /// The port it is told to listen on, if it is told one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// How its newest life ended, once it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<ProgramEnd>,
    /// The log of its newest life, if it has had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<PathBuf>,
}

/// How a task stands, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TaskState {
    /// It has not been started.
    Waiting,
    /// It is being started: init containers run.
    Starting,
    /// Its main program runs.
    Running,
    /// It failed and will be started again.
    Restarting,
    /// It has been told to stop.
    Stopping,
    /// It ended well.
    Succeeded,
    /// It ended badly.
    Failed,
    /// It was stopped, by the job's rules or by the user.
    Stopped,
    /// The user starts it: `--debug`.
    LeftOut,
}

impl TaskState {
    /// The word that people read.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Restarting => "restarting",
            Self::Stopping => "stopping",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
            Self::LeftOut => "left out",
        }
    }
}
