//! Finds stored runs, jobs and tasks by the names that were typed.

use trainyard_core::TaskId;
use trainyard_document::problem::{closest, shown};
use trainyard_local::run::store::directory::{DirectoryError, Home, JobRuns, RunDirectory};
use trainyard_local::run::store::state::StoredRun;

use crate::failure::Failure;
use crate::report::{list, quoted, suggest};

/// Why a command cannot answer what only the manifest of a run contains.
pub const NOT_KEPT: &str = "the run's manifest was not kept (`--no-keep-manifest`)";

/// The state directory of this user, which no other user can read.
pub fn home() -> Result<Home, Failure> {
    let home = Home::of_user().ok_or_else(|| {
        let hint = "set TRAINYARD_STATE to an absolute path; without it, HOME or XDG_STATE_HOME says where";
        Failure::usage("nothing says where runs are kept", hint)
    })?;
    home.closed().map_err(|error| {
        let hint = "set TRAINYARD_STATE to a directory of your own";
        Failure::usage(error.to_string(), hint)
    })
}

impl From<DirectoryError> for Failure {
    fn from(error: DirectoryError) -> Self {
        Self::usage(error.to_string(), None)
    }
}

/// The jobs of these names; the error names all that do not exist.
pub fn jobs(home: &Home, names: &[String]) -> Result<Vec<JobRuns>, Failure> {
    let all = home.jobs()?;
    let mut found: Vec<JobRuns> = Vec::new();
    let mut unknown = Vec::new();
    for name in names {
        match all.iter().find(|job| job.name == *name) {
            None => unknown.push(name.as_str()),
            Some(job) if found.contains(job) => {}
            Some(job) => found.push(job.clone()),
        }
    }
    let known: Vec<&str> = all.iter().map(|job| &*job.name).collect();
    let hint = match unknown.as_slice() {
        [] => return Ok(found),
        _ if known.is_empty() => "there are no jobs yet: `trainyard run FILE` starts one".into(),
        [name] => suggest("jobs", name, &known),
        _ => list("jobs", &known),
    };
    let word = if unknown.len() > 1 { "jobs" } else { "job" };
    let message = format!(
        "no run of the {word} {} is kept on this machine",
        quoted(&unknown)
    );
    Err(Failure::usage(message, hint))
}

/// The job of this name.
pub fn job(home: &Home, name: &str) -> Result<JobRuns, Failure> {
    let mut found = jobs(home, &[name.to_owned()])?;
    // Exactly one was asked for, and it is there.
    found
        .pop()
        .ok_or_else(|| Failure::usage("no job was named", None))
}

/// The run with that id, or the newest.
pub fn run(job: &JobRuns, id: Option<&str>) -> Result<RunDirectory, Failure> {
    let mut runs = job.runs()?;
    let Some(id) = id else {
        let hint = "it may be just about to begin, or nothing of it is left";
        let none = || Failure::usage(format!("`{}` has no runs", shown(&job.name)), hint);
        return runs.pop().ok_or_else(none);
    };
    if let Some(run) = runs.iter().find(|run| run.id() == id) {
        return Ok(run.clone());
    }
    let message = format!("`{}` has no run `{}`", shown(&job.name), shown(id));
    let ids: Vec<String> = runs.iter().rev().map(RunDirectory::id).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let hint = if ids.is_empty() {
        "there are no runs yet: `trainyard run FILE` starts one".into()
    } else {
        list("runs", &ids)
    };
    Err(Failure::usage(message, hint))
}

/// The run with that id, or the newest, and what its files say.
pub fn read_run(job: &JobRuns, id: Option<&str>) -> Result<StoredRun, Failure> {
    job.read(run(job, id)?)
        .map_err(|unreadable| Failure::usage(unreadable.message, None))
}

/// The task of that name in a run.
pub fn task(run: &StoredRun, typed: &str) -> Result<TaskId, Failure> {
    let exists = |id: &TaskId| run.tasks().iter().any(|task| task.task == *id);
    task_named(typed, &run.file.job, exists).ok_or_else(|| no_such_task(run, typed))
}

/// The task by its name, `worker-1`, or by the name of its pod, `mnist-worker-1`.
pub fn task_named(typed: &str, job: &str, exists: impl Fn(&TaskId) -> bool) -> Option<TaskId> {
    let short = typed.strip_prefix(job).and_then(|rest| rest.strip_prefix('-'));
    let names = [Some(typed), short].into_iter().flatten();
    names.filter_map(|text| text.parse().ok()).find(exists)
}

/// Tells which tasks there are.
pub fn no_such_task(run: &StoredRun, typed: &str) -> Failure {
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
    Failure::usage(message, hint)
}

/// More tasks than this are not named one by one in a hint.
const MOST_NAMED: usize = 12;
