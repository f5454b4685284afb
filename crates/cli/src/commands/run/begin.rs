//! The directories of runs that begin: claimed, made, and written to.

use std::fs;
use std::path::Path;

use trainyard_local::run::directory::{Claim, DirectoryError, JobRuns, RunDirectory};
use trainyard_local::run::event::{RunEvent, What};
use trainyard_local::run::file::RunFile;
use trainyard_local::run::moment::Moment;
use trainyard_local::run::prepare::Ready;
use trainyard_local::run::supervise::Given;

use super::input::home;
use crate::failure::Failure;

/// Runs that may begin: nobody else runs these jobs as long as this lives.
pub struct Begun {
    runs: Vec<Run>,
    claims: Vec<Claim>,
}

struct Run {
    runs: JobRuns,
    directory: RunDirectory,
    ready: Ready,
}

impl Begun {
    /// The directories, in the order of the manifest.
    pub fn directories(&self) -> impl Iterator<Item = &RunDirectory> {
        self.runs.iter().map(|run| &run.directory)
    }

    /// The names of the jobs.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.runs.iter().map(|run| run.runs.name.as_str())
    }

    /// The mark of every process of these runs.
    pub fn id(&self) -> String {
        let ids: Vec<String> = self.directories().map(RunDirectory::id).collect();
        ids.first().cloned().unwrap_or_default()
    }

    /// What is told first of each, to programs.
    pub fn started(&self) -> impl Iterator<Item = RunEvent> {
        self.runs.iter().map(|run| RunEvent {
            time: Moment::now(),
            job: run.ready.file.job.clone(),
            what: What::RunStarted {
                run: run.directory.id(),
                directory: run.directory.path.clone(),
                tasks: u32::try_from(run.ready.job.size()).unwrap_or(u32::MAX),
            },
        })
    }

    /// What the supervisor needs of them. Letting go of the claims means nothing there: the outer process holds them.
    pub fn into_runs(self) -> Vec<Given> {
        let given = self
            .runs
            .into_iter()
            .map(|run| Given::ready(run.directory, run.ready));
        given.collect()
    }

    /// Lets go of the right to run them: another process takes it over.
    pub fn take_claims(&mut self) -> Vec<Claim> {
        std::mem::take(&mut self.claims)
    }
}

/// Claims every job, and then writes what their runs are told: a disk that does not take that refuses the run, before anything is
/// started. Where a run is refused, nothing is left of it.
pub fn begin(manifest: &str, ready: Vec<Ready>) -> Result<Begun, Failure> {
    let home = home()?;
    let several = ready.len() > 1;
    let mut begun = Begun {
        runs: Vec::new(),
        claims: Vec::new(),
    };
    for ready in &ready {
        let runs = home.job(&ready.file.job);
        match runs.claim().map_err(|error| unusable(&error))? {
            Some(claim) => begun.claims.push(claim),
            None => return Err(goes_on(&runs, &another_name(&ready.file, several))),
        }
    }
    for ready in ready {
        let runs = home.job(&ready.file.job);
        let directory = runs.begin().map_err(|error| unusable(&error))?;
        let written = write(manifest, &directory, &ready.file);
        begun.runs.push(Run {
            runs,
            directory,
            ready,
        });
        if let Err(failure) = written {
            for directory in begun.directories() {
                // What cannot be removed either is an empty run, and `trainyard rm` removes it.
                let _ = directory.remove();
            }
            return Err(failure);
        }
    }
    Ok(begun)
}

fn write(manifest: &str, directory: &RunDirectory, file: &RunFile) -> Result<(), Failure> {
    let path = directory.manifest();
    fs::write(&path, manifest).map_err(|cause| unwritable(&path, cause))?;
    directory.write_run(file).map_err(|error| unusable(&error))
}

/// How a job is given another name.
fn another_name(file: &RunFile, several: bool) -> String {
    let name = &file.job;
    match &file.source {
        None => format!("`--name {name}-2`"),
        // It would be the name of all of them.
        Some(_) if several => "its `metadata.name` in the manifest".to_owned(),
        Some(_) => format!("`--set metadata.name={name}-2`"),
    }
}

fn goes_on(runs: &JobRuns, another_name: &str) -> Failure {
    let name = &runs.name;
    let since = runs.newest().ok().flatten().map(|run| run.id());
    let since = since.map(|id| format!(" (run {id})")).unwrap_or_default();
    let hint = format!(
        "end that one with `trainyard stop {name}`, look at it with `trainyard logs -f {name}`, or give this one \
         another name: {another_name}"
    );
    Failure::usage(
        format!("a job named `{name}` is running already{since}"),
        Some(hint),
    )
}

fn unusable(error: &DirectoryError) -> Failure {
    let hint = "runs are kept in TRAINYARD_STATE, by default ~/.local/state/trainyard".to_owned();
    Failure::usage(error.to_string(), Some(hint))
}

fn unwritable(path: &Path, cause: std::io::Error) -> Failure {
    Failure::File {
        path: path.display().to_string(),
        cause,
    }
}
