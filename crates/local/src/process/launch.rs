//! What is to be started, and how it ended: the words that the parts of a local run share.
//!
//! A pod template becomes a [`Launch`] (`pod`), a launch becomes processes ([`process`](crate::process::task)), and
//! what happens to them comes back as [`TaskEvent`]s.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trainyard_core::{Stamp, TaskId};

/// One container's program, fully resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The container's name.
    pub container: Arc<str>,
    /// The program and its arguments. A program without a slash is looked for on the `PATH` of `env`.
    pub argv: Vec<OsString>,
    /// Set on top of what passes of our own environment (see [`process`](crate::process::task)).
    pub env: BTreeMap<OsString, OsString>,
    /// Where it starts; none is the directory the run was started in.
    pub workdir: Option<PathBuf>,
    /// What it finds at which path.
    pub mounts: Vec<Mount>,
}

/// A file or directory that a program finds at another path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mount {
    /// An existing file or directory.
    pub source: PathBuf,
    /// The absolute path at which the program finds it.
    pub target: PathBuf,
    /// Whether writing is refused.
    pub read_only: bool,
}

/// One life of one task, ready to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Which life of which task.
    pub life: Life,
    /// Run first, one after the other; each must exit 0.
    pub init: Vec<Program>,
    /// The task: when it has ended, the task has.
    pub main: Program,
    /// Run beside the main program and stopped when it has ended.
    pub beside: Vec<Program>,
    /// Seconds between asking to stop and killing.
    pub grace: u32,
}

/// Which life of which task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Life {
    /// The task.
    pub task: TaskId,
    /// Which start of the whole job, from 0.
    pub epoch: u32,
    /// Which start of the task within that, from 0.
    pub attempt: u32,
    /// Which restart in place within that, from 0.
    pub in_place: u32,
}

impl Life {
    /// The life of a task with that stamp.
    #[must_use]
    pub fn new(task: &TaskId, stamp: Stamp, in_place: u32) -> Self {
        Self {
            task: task.clone(),
            epoch: stamp.epoch,
            attempt: stamp.attempt,
            in_place,
        }
    }

    /// The stamp that `step` gave it.
    pub(crate) fn stamp(&self) -> Stamp {
        let Self { epoch, attempt, .. } = *self;
        Stamp { epoch, attempt }
    }

    /// The name of its main log file: `worker-0.EPOCH.ATTEMPT.log`, with `+N` after N restarts in place. That of
    /// another container ends in `.CONTAINER.log`.
    pub(crate) fn log_name(&self, container: Option<&str>) -> String {
        match container {
            None => format!("{self}.log"),
            Some(container) => format!("{self}.{container}.log"),
        }
    }
}

/// The name of its directories, and of the mark that its processes carry.
impl fmt::Display for Life {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}.{}", self.task, self.epoch, self.attempt)?;
        match self.in_place {
            0 => Ok(()),
            times => write!(out, "+{times}"),
        }
    }
}

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ended {
    /// It exited with this code.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
    /// It could not be started; the sentence, for people, says why and what to do.
    NotStarted(String),
}

impl Ended {
    /// Whether it exited 0.
    pub(crate) fn is_success(&self) -> bool {
        *self == Self::Code(0)
    }

    /// The code that a container would show: 128 and the signal's number for a signal; none if it never ran.
    #[must_use]
    pub fn code(&self) -> Option<i32> {
        match self {
            Self::Code(code) => Some(*code),
            Self::Signal(signal) => Some(128 + signal),
            Self::NotStarted(_) => None,
        }
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(out, "exit code {code}"),
            Self::Signal(signal) => write!(out, "killed by signal {signal}"),
            Self::NotStarted(why) => write!(out, "not started: {why}"),
        }
    }
}

/// Something that happened to one life of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskEvent {
    /// Which life of which task.
    pub life: Life,
    /// What happened to it.
    pub change: TaskChange,
}

/// What may happen to a task. The order is: `Started`, `Ended`, `Gone`; the last two always come, once each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskChange {
    /// A mount is missing and the run goes on without it, as was asked.
    MountMissing {
        /// The container's name.
        container: Arc<str>,
        /// The mount that could not be made.
        mount: Mount,
        /// Why, for people.
        why: String,
    },
    /// An init program runs.
    Initialising {
        /// The container's name.
        container: Arc<str>,
        /// Its process, as the supervisor numbers processes.
        pid: u32,
    },
    /// The main program runs.
    Started {
        /// Its process, as the supervisor numbers processes.
        pid: u32,
    },
    /// A program beside the main one ended before it was asked to.
    BesideEnded {
        /// The container's name.
        container: Arc<str>,
        /// Its exit code or signal.
        ended: Ended,
    },
    /// The task has ended: its main program, or an init program that failed. Its log is complete.
    Ended {
        /// Whose end it was.
        container: Arc<str>,
        /// Whether that is the main one.
        main: bool,
        /// Its exit code or signal.
        ended: Ended,
        /// Whether programs beside it still run; they are being stopped.
        lingers: bool,
    },
    /// Nothing of it is left, no program beside it and no process it had left behind.
    Gone,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_life_is_named_by_task_stamp_and_restart_in_place() {
        let stamp = Stamp { epoch: 2, attempt: 1 };
        let task = TaskId::new("worker", 0);
        assert_eq!(Life::new(&task, stamp, 0).to_string(), "worker-0.2.1");
        assert_eq!(Life::new(&task, stamp, 3).to_string(), "worker-0.2.1+3");
    }

    #[test]
    fn a_signal_shows_as_containers_show_it() {
        let cases = [
            (Ended::Code(0), Some(0), true),
            (Ended::Code(7), Some(7), false),
            (Ended::Signal(9), Some(137), false),
            (Ended::NotStarted("no".into()), None, false),
        ];
        for (ended, code, success) in cases {
            assert_eq!((ended.code(), ended.is_success()), (code, success), "{ended}");
        }
    }
}
