//! How a stored run stands.
//!
//! The run itself is not asked. Its files say how it stood last, and the job's lock says whether it still runs: the kernel frees
//! the lock however the run dies, so this holds after a crash and after a reboot.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::Value;
use trainyard_core::{FORMAT as MEMORY_FORMAT, Hold, Job, Outcome};
use trainyard_document::Source;
use trainyard_document::problem::escaped;

use super::directory::{DirectoryError, JobRuns, RunDirectory};
use super::run_file::RunFile;
use super::status::{FORMAT, Status, TaskState, TaskStatus};

/// A run writes its first status within this time after its job is locked.
const STATUS_WITHIN: Duration = Duration::from_secs(1);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The state of a run, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum RunState {
    /// It runs.
    Running,
    /// It runs, and all its tasks are held.
    Suspended,
    /// It is about to end: the tasks that still run were told to stop.
    Stopping,
    /// The job succeeded.
    Succeeded,
    /// The job failed.
    Failed,
    /// A user ended it.
    Stopped,
    /// It was killed, or the machine stopped, before it could write how it ended.
    Interrupted,
}

impl RunState {
    /// The word in tables and messages.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Suspended => "suspended",
            Self::Stopping => "stopping",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
            Self::Interrupted => "interrupted",
        }
    }

    /// Whether its supervisor runs.
    #[must_use]
    pub fn is_running(self) -> bool {
        matches!(self, Self::Running | Self::Suspended | Self::Stopping)
    }
}

/// A run, as its files describe it.
#[derive(Debug)]
pub struct StoredRun {
    /// Its directory.
    pub directory: RunDirectory,
    /// `run.json`.
    pub file: RunFile,
    /// `status.json`; none if the run ended before it wrote one.
    pub status: Option<Status>,
    /// From its status and its lock.
    pub state: RunState,
}

impl StoredRun {
    /// Reads a run. `is_running`: the job's lock is held, and this is the job's newest run.
    pub fn read(directory: RunDirectory, is_running: bool) -> Result<Self, Unreadable> {
        let explain = |error: DirectoryError| Unreadable::explain(&error);
        let file = directory.read_run().map_err(explain)?;
        Unreadable::check(&directory.path.join("run.json"), Some(file.format.into()), None)?;
        let mut status = read_status(&directory, is_running).map_err(explain)?;
        if let Some(status) = &status {
            let memory = status.memory.as_ref().map(|memory| memory.format.into());
            let path = directory.path.join("status.json");
            Unreadable::check(&path, Some(status.format.into()), memory)?;
        }
        if !is_running && status.as_ref().is_none_or(|status| status.end.is_none()) {
            status = told_end(&directory, &file, status.as_ref()).or(status);
        }
        let state = state(status.as_ref(), is_running);
        Ok(Self {
            directory,
            file,
            status,
            state,
        })
    }

    /// The job, as the stored manifest describes it; none if the manifest was not kept or cannot be read.
    #[must_use]
    pub fn job(&self) -> Option<Job> {
        read_job(&self.directory, &self.file)
    }

    /// Its tasks; empty if it has no status.
    #[must_use]
    pub fn tasks(&self) -> &[TaskStatus] {
        self.status.as_ref().map_or(&[], |status| &status.tasks)
    }

    /// The state of a task; one that ran when the run was interrupted is interrupted, too.
    #[must_use]
    pub fn task_word(&self, task: &TaskStatus) -> &'static str {
        let under_way = matches!(
            task.state,
            TaskState::Starting | TaskState::Running | TaskState::Restarting | TaskState::Stopping
        );
        if self.state == RunState::Interrupted && under_way {
            RunState::Interrupted.word()
        } else {
            task.state.word()
        }
    }
}

/// The status. A run that has just begun has one in a moment.
fn read_status(directory: &RunDirectory, is_running: bool) -> Result<Option<Status>, DirectoryError> {
    let until = Instant::now() + STATUS_WITHIN;
    loop {
        let status = directory.read_status()?;
        if status.is_some() || !is_running || Instant::now() > until {
            return Ok(status);
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// A status made from the events, where only they know the end: on a full disk there may have been room for the one and not the other.
fn told_end(directory: &RunDirectory, file: &RunFile, status: Option<&Status>) -> Option<Status> {
    let (time, end) = directory.read_end()?;
    Some(Status {
        format: FORMAT,
        job: file.job.clone(),
        pid: status.map_or(0, |status| status.pid),
        started: file.started,
        stopping: false,
        ended: Some(time),
        tensorboard: None,
        tasks: end.tasks.clone(),
        end: Some(end),
        memory: status.and_then(|status| status.memory.clone()),
    })
}

fn state(status: Option<&Status>, is_running: bool) -> RunState {
    let unended = || {
        let held = status.and_then(|status| status.memory.as_ref()?.held);
        match (is_running, held) {
            (false, _) => RunState::Interrupted,
            (true, _) if status.is_some_and(|status| status.stopping) => RunState::Stopping,
            (true, Some(Hold::Suspended | Hold::Aborted)) => RunState::Suspended,
            (true, None) => RunState::Running,
        }
    };
    status
        .and_then(|status| status.end.as_ref())
        .map_or_else(unended, |end| match end.outcome {
            Some(Outcome::Succeeded) => RunState::Succeeded,
            Some(Outcome::Failed) => RunState::Failed,
            Some(Outcome::Terminated) | None => RunState::Stopped,
        })
}

/// Whether a run has written its end and takes no orders any more: none of its processes is left.
#[must_use]
pub fn is_over(run: &RunDirectory) -> bool {
    let status = run.read_status();
    let ended = status.is_ok_and(|status| status.is_some_and(|status| status.end.is_some()));
    ended && !run.socket().exists()
}

/// A stored file that cannot be read.
#[derive(Clone, Debug, Serialize)]
pub struct Unreadable {
    /// The file or directory.
    pub path: String,
    /// Why, for people.
    pub message: String,
}

impl Unreadable {
    fn new(path: &Path, message: String) -> Self {
        Self {
            path: path.display().to_string(),
            message,
        }
    }

    /// Explains an error of reading. If a newer version wrote the file, that is the reason, whatever the error was.
    #[must_use]
    pub fn explain(error: &DirectoryError) -> Self {
        let written = fs::read(&error.path).ok();
        let written = written.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
        let written = written.unwrap_or_default();
        let memory = written["memory"]["format"].as_u64();
        let newer = Self::check(&error.path, written["format"].as_u64(), memory).err();
        newer.unwrap_or_else(|| Self::new(&error.path, escaped(&error.to_string())))
    }

    /// Refuses a file that a newer version wrote. The job's memory in it has a format number of its own, as in the
    /// status of a job on a cluster.
    fn check(path: &Path, format: Option<u64>, memory: Option<u64>) -> Result<(), Self> {
        let shown = path.display();
        let table = [
            (format!("`{shown}`"), format, FORMAT),
            (format!("`memory` in `{shown}`"), memory, MEMORY_FORMAT),
        ];
        for (what, format, newest) in table {
            if let Some(format) = format.filter(|format| *format > newest.into()) {
                let newer = "was written by a newer version of trainyard";
                let message =
                    format!("{what} {newer}: its format is {format}, this one reads up to {newest}");
                return Err(Self::new(path, message));
            }
        }
        Ok(())
    }
}

/// The job of a run, from its stored manifest; none if that was not kept or cannot be read.
#[must_use]
pub fn read_job(directory: &RunDirectory, file: &RunFile) -> Option<Job> {
    let source = Source::read(directory.manifest().to_str()?).ok()?;
    let reading = trainyard_dialect::read(&source);
    file.find_in(&reading).map(|read| read.job.clone())
}

impl JobRuns {
    /// Reads a run of this job.
    pub fn read(&self, run: RunDirectory) -> Result<StoredRun, Unreadable> {
        let newest = self.newest().map_err(|error| Unreadable::explain(&error))?;
        let is_running = newest.as_ref() == Some(&run) && self.is_running();
        StoredRun::read(run, is_running)
    }
}
