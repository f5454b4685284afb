//! Runs that are kept in the state directory: which one was meant, and how it stands.
//!
//! Nothing here asks the run itself. Its files say how it stood last, and the job's lock says whether it still goes on:
//! the kernel frees it however the run dies, so this holds after a crash and after a reboot.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::Value;
use trainyard_core::{FORMAT as MEMORY_FORMAT, Hold, Outcome, TaskId};
use trainyard_document::problem::{closest, escaped, shown};
use trainyard_local::run::store::directory::{DirectoryError, Home, JobRuns, RunDirectory};
use trainyard_local::run::store::run_file::RunFile;
use trainyard_local::run::store::status::{FORMAT, Status, TaskState, TaskStatus};

use crate::failure::Failure;

/// A run has a status so soon after its job is claimed.
const BEGINS_WITHIN: Duration = Duration::from_secs(1);
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// How a run stands, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum RunState {
    /// It goes on.
    Running,
    /// It goes on, and nothing may run for now.
    Suspended,
    /// It is about to end: what still runs has been told to.
    Stopping,
    /// The job ended well.
    Succeeded,
    /// The job ended badly.
    Failed,
    /// Somebody ended it.
    Stopped,
    /// It was killed, or the machine stopped: nothing of it runs, and it had no time to say how it ended.
    Interrupted,
}

impl RunState {
    /// The word that people read.
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

    /// Whether it goes on.
    pub fn goes_on(self) -> bool {
        matches!(self, Self::Running | Self::Suspended | Self::Stopping)
    }
}

/// Why a command cannot say what only the manifest of a run knows.
pub const NOT_KEPT: &str = "the run's manifest was not kept (`--no-keep-manifest`)";

/// A run and what its files say.
#[derive(Debug)]
pub struct KeptRun {
    pub directory: RunDirectory,
    pub file: RunFile,
    /// None if it never got so far.
    pub status: Option<Status>,
    pub state: RunState,
}

impl KeptRun {
    /// Reads a run. `goes_on`: the job's lock is held, and this is its newest run.
    pub fn read(directory: RunDirectory, goes_on: bool) -> Result<Self, Unreadable> {
        let file = directory
            .read_run()
            .map_err(|error| Unreadable::explain(&error))?;
        Unreadable::check_format(&directory.path.join("run.json"), file.format)?;
        let mut status = read_status(&directory, goes_on).map_err(|error| Unreadable::explain(&error))?;
        if let Some(status) = &status {
            let path = directory.path.join("status.json");
            Unreadable::check_format(&path, status.format)?;
            let memory = status.memory.as_ref();
            Unreadable::check_memory(&path, memory.map(|memory| u64::from(memory.format)))?;
        }
        if !goes_on && status.as_ref().is_none_or(|status| status.end.is_none()) {
            status = told_end(&directory, &file, status.as_ref()).or(status);
        }
        let state = state(status.as_ref(), goes_on);
        Ok(Self {
            directory,
            file,
            status,
            state,
        })
    }

    /// Its tasks; none if it never got so far.
    pub fn tasks(&self) -> &[TaskStatus] {
        self.status.as_ref().map_or(&[], |status| &status.tasks)
    }

    /// How a task stands: what ran when the run was interrupted, was interrupted.
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

/// How a run stands. One that has just begun says so in a moment.
fn read_status(directory: &RunDirectory, goes_on: bool) -> Result<Option<Status>, DirectoryError> {
    let until = Instant::now() + BEGINS_WITHIN;
    loop {
        let status = directory.read_status()?;
        if status.is_some() || !goes_on || Instant::now() > until {
            return Ok(status);
        }
        thread::sleep(BETWEEN_LOOKS);
    }
}

/// A status that knows the run's end, where only the events do: on a full disk they may have found room that the status did not.
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

fn state(status: Option<&Status>, goes_on: bool) -> RunState {
    let unended = || {
        let held = status.and_then(|status| status.memory.as_ref()?.held);
        match (goes_on, held) {
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

/// Whether a run has written down its end and takes no orders any more: nothing of it is left.
pub fn is_over(run: &RunDirectory) -> bool {
    let status = run.read_status();
    let ended = status.is_ok_and(|status| status.is_some_and(|status| status.end.is_some()));
    ended && !run.socket().exists()
}

/// Something kept there that cannot be read: said, and passed over.
#[derive(Clone, Debug, Serialize)]
pub struct Unreadable {
    /// Which file or directory.
    pub path: String,
    /// Why, as a sentence.
    pub message: String,
}

impl Unreadable {
    fn new(path: &Path, message: String) -> Self {
        Self {
            path: path.display().to_string(),
            message,
        }
    }

    /// An error of reading. Where a newer version wrote the file, that is the reason, whatever was stumbled over.
    pub fn explain(error: &DirectoryError) -> Self {
        let written = fs::read(&error.path)
            .ok()
            .and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
        let written = written.unwrap_or_default();
        let form = written["format"]
            .as_u64()
            .and_then(|form| u32::try_from(form).ok());
        let newer = form.and_then(|form| Self::check_format(&error.path, form).err());
        let newer =
            newer.or_else(|| Self::check_memory(&error.path, written["memory"]["format"].as_u64()).err());
        newer.unwrap_or_else(|| Self::new(&error.path, escaped(&error.to_string())))
    }

    /// What is remembered of the job has a form of its own, as in the status of a job on a cluster.
    fn check_memory(path: &Path, format: Option<u64>) -> Result<(), Self> {
        let Some(format) = format.filter(|format| *format > u64::from(MEMORY_FORMAT)) else {
            return Ok(());
        };
        let message = format!(
            "`memory` in `{}` was written by a newer version of trainyard: its format is {format}, this one reads up to {MEMORY_FORMAT}",
            path.display()
        );
        Err(Self::new(path, message))
    }

    fn check_format(path: &Path, format: u32) -> Result<(), Self> {
        if format <= FORMAT {
            return Ok(());
        }
        let message = format!(
            "`{}` was written by a newer version of trainyard: its format is {format}, this one reads up to {FORMAT}",
            path.display()
        );
        Err(Self::new(path, message))
    }
}

/// The state directory of the user who started us, closed to all others.
pub fn home() -> Result<Home, Failure> {
    let home = Home::of_user().ok_or_else(|| {
        let hint = "set TRAINYARD_STATE to an absolute path; without it, HOME or XDG_STATE_HOME says where";
        Failure::usage("nothing says where runs are kept", Some(hint.into()))
    })?;
    home.closed().map_err(|error| {
        let hint = "set TRAINYARD_STATE to a directory of your own".to_owned();
        Failure::usage(error.to_string(), Some(hint))
    })
}

/// What could not be listed at all.
pub fn unlisted(error: &DirectoryError) -> Failure {
    Failure::usage(error.to_string(), None)
}

/// The jobs of these names. All that do not exist are told at once.
pub fn jobs(home: &Home, names: &[String]) -> Result<Vec<JobRuns>, Failure> {
    let all = home.jobs().map_err(|error| unlisted(&error))?;
    let mut found: Vec<JobRuns> = Vec::new();
    let mut unknown = Vec::new();
    for name in names {
        match all.iter().find(|job| job.name == *name) {
            None => unknown.push(name.as_str()),
            Some(job) if found.contains(job) => {}
            Some(job) => found.push(job.clone()),
        }
    }
    let (Some(first), more) = (unknown.first(), unknown.len() > 1) else {
        return Ok(found);
    };
    let list: Vec<String> = unknown.iter().map(|name| format!("`{}`", shown(name))).collect();
    let message = format!(
        "no run of {} {} is kept on this machine",
        if more { "the jobs" } else { "the job" },
        list.join(", ")
    );
    let known: Vec<&str> = all.iter().map(|job| &*job.name).collect();
    let near = closest(first, known.iter().copied()).filter(|_| !more);
    Err(Failure::usage(
        message,
        Some(nearest_or_all("jobs", near, &known)),
    ))
}

/// The job of this name.
pub fn job(home: &Home, name: &str) -> Result<JobRuns, Failure> {
    let mut found = jobs(home, &[name.to_owned()])?;
    // Exactly one was asked for, and it is there.
    found
        .pop()
        .ok_or_else(|| Failure::usage("no job was named", None))
}

fn nearest_or_all(what: &str, near: Option<&str>, known: &[&str]) -> String {
    match near {
        Some(near) => format!("did you mean `{}`?", shown(near)),
        None if known.is_empty() => format!("there are no {what} yet: `trainyard run FILE` starts one"),
        None => {
            let known: Vec<String> = known.iter().map(|name| shown(name)).collect();
            format!("the {what} are {}", known.join(", "))
        }
    }
}

/// The run with that id, or the newest.
pub fn run(job: &JobRuns, id: Option<&str>) -> Result<RunDirectory, Failure> {
    let mut runs = job.runs().map_err(|error| unlisted(&error))?;
    let Some(id) = id else {
        let none = || {
            let hint = "it may be just about to begin, or nothing of it is left".to_owned();
            Failure::usage(format!("`{}` has no runs", shown(&job.name)), Some(hint))
        };
        return runs.pop().ok_or_else(none);
    };
    if let Some(run) = runs.iter().find(|run| run.id() == id) {
        return Ok(run.clone());
    }
    let ids: Vec<String> = runs.iter().rev().map(RunDirectory::id).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    Err(Failure::usage(
        format!("`{}` has no run `{}`", shown(&job.name), shown(id)),
        Some(nearest_or_all("runs", None, &ids)),
    ))
}

/// The run with that id, or the newest, and what its files say.
pub fn read_run(job: &JobRuns, id: Option<&str>) -> Result<KeptRun, Failure> {
    let chosen = run(job, id)?;
    let newest = run(job, None)?;
    let goes_on = chosen == newest && job.goes_on();
    KeptRun::read(chosen, goes_on).map_err(|unreadable| Failure::usage(unreadable.message, None))
}

/// The task of that name: `worker-1`, or as its pod is called, `mnist-worker-1`.
pub fn task(run: &KeptRun, typed: &str) -> Result<TaskId, Failure> {
    let short = typed
        .strip_prefix(&*run.file.job)
        .and_then(|rest| rest.strip_prefix('-'));
    let tasks = run.tasks();
    let found = [Some(typed), short]
        .into_iter()
        .flatten()
        .filter_map(|text| text.parse::<TaskId>().ok())
        .find(|id| tasks.iter().any(|task| task.task == *id));
    found.ok_or_else(|| no_such_task(run, typed))
}

/// Tells which tasks there are.
pub fn no_such_task(run: &KeptRun, typed: &str) -> Failure {
    let names: Vec<String> = run.tasks().iter().map(|task| task.task.to_string()).collect();
    // Of a role that exists no number is nearer than another.
    let known_role = typed
        .parse::<TaskId>()
        .is_ok_and(|typed| run.tasks().iter().any(|task| task.task.role == typed.role));
    let near = closest(typed, names.iter().map(String::as_str)).filter(|_| !known_role);
    let hint = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None if names.is_empty() => "no task has been started".to_owned(),
        None if names.len() > MOST_NAMED => format!(
            "the tasks are {} … {}; `trainyard ps {}` lists all {}",
            names[..MOST_NAMED - 1].join(", "),
            names[names.len() - 1],
            run.file.job,
            names.len()
        ),
        None => format!("the tasks are {}", names.join(", ")),
    };
    let message = format!("`{}` has no task `{}`", run.file.job, shown(typed));
    Failure::usage(message, Some(hint))
}

/// More tasks than this are not named one by one in a hint.
const MOST_NAMED: usize = 12;
