//! The directories of runs that begin: claimed, made, and written to.

use std::fs;
use std::path::Path;

use trainyard_local::run::directory::{Claim, DirectoryError, JobRuns, RunDirectory};
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
/// started. If one of the jobs goes on, nothing has been made.
pub fn begin(manifest: &str, ready: Vec<Ready>) -> Result<Begun, Failure> {
    let home = home()?;
    let mut begun = Begun {
        runs: Vec::new(),
        claims: Vec::new(),
    };
    for ready in &ready {
        let runs = home.job(&ready.file.job);
        match runs.claim().map_err(|error| unusable(&error))? {
            Some(claim) => begun.claims.push(claim),
            None => return Err(goes_on(&runs, ready.file.source.is_none())),
        }
    }
    for ready in ready {
        let runs = home.job(&ready.file.job);
        let directory = runs.begin().map_err(|error| unusable(&error))?;
        let path = directory.manifest();
        fs::write(&path, manifest).map_err(|cause| unwritable(&path, cause))?;
        directory
            .write_run(&ready.file)
            .map_err(|error| unusable(&error))?;
        begun.runs.push(Run {
            runs,
            directory,
            ready,
        });
    }
    Ok(begun)
}

fn goes_on(runs: &JobRuns, of_flags: bool) -> Failure {
    let name = &runs.name;
    let since = runs.newest().ok().flatten().map(|run| run.id());
    let since = since.map(|id| format!(" (run {id})")).unwrap_or_default();
    let hint = format!(
        "end that one with `trainyard stop {name}`, look at it with `trainyard logs -f {name}`, or give this one \
         another name: `{}{name}-2`",
        if of_flags {
            "--name "
        } else {
            "--set metadata.name="
        }
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
