//! The directories of runs that begin: claimed, made, and written to.

use std::path::Path;

use trainyard_local::run::prepare::Ready;
use trainyard_local::run::store::directory::{Claim, DirectoryError, Home, JobRuns, RunDirectory};
use trainyard_local::run::store::run_file::{Handed, RunFile};
use trainyard_local::run::supervise::Given;
use trainyard_local::system::private;

use crate::commands::kept::home;
use crate::failure::Failure;

/// Runs that may begin: nobody else runs these jobs as long as this lives.
pub struct Begun {
    runs: Vec<Run>,
    claims: Vec<(JobRuns, Claim)>,
}

struct Run {
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
        self.runs.iter().map(|run| &*run.ready.file.job)
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

    /// What a process that takes them over must be handed, since it is not on disk; none if it is.
    pub fn handed(&self, manifest: &str) -> Option<Handed> {
        let file = &self.runs.first()?.ready.file;
        file.manifest_not_kept.then(|| Handed {
            manifest: manifest.to_owned(),
            with: file.with.clone(),
        })
    }

    /// Lets go of the right to run them: another process takes it over.
    pub fn take_claims(&mut self) -> Vec<Claim> {
        let claims = std::mem::take(&mut self.claims);
        claims.into_iter().map(|(_, claim)| claim).collect()
    }

    /// Removes what has been made, as if nothing had begun. What cannot be removed holds nothing that runs, and `trainyard rm` removes it.
    pub fn undo(self) {
        for directory in self.directories() {
            let _ = directory.remove();
        }
        for (runs, claim) in self.claims {
            runs.forget_if_empty(claim);
        }
    }

    fn claim(&mut self, home: &Home, file: &RunFile, alone: bool) -> Result<(), Failure> {
        let runs = home.job(&file.job);
        match runs.claim().map_err(|error| unusable(&error))? {
            Some(claim) => self.claims.push((runs, claim)),
            None => return Err(goes_on(&runs, &another_name(file, alone))),
        }
        Ok(())
    }

    fn make(&mut self, home: &Home, manifest: &str, ready: Ready) -> Result<(), Failure> {
        let runs = home.job(&ready.file.job);
        let directory = runs.begin().map_err(|error| unusable(&error))?;
        let written = write(manifest, &directory, &ready.file);
        self.runs.push(Run { directory, ready });
        written
    }
}

/// Claims every job, and then writes what their runs are told: a disk that does not take that refuses the run, before anything is
/// started. Where a run is refused, nothing is left of it. `alone`: it is the only job of its manifest, and was not asked for
/// by its name.
pub fn begin(manifest: &str, ready: Vec<Ready>, alone: bool) -> Result<Begun, Failure> {
    let home = home()?;
    let mut begun = Begun {
        runs: Vec::new(),
        claims: Vec::new(),
    };
    let mut claimed = ready
        .iter()
        .try_for_each(|ready| begun.claim(&home, &ready.file, alone));
    if claimed.is_ok() {
        claimed = ready
            .into_iter()
            .try_for_each(|ready| begun.make(&home, manifest, ready));
    }
    match claimed {
        Ok(()) => Ok(begun),
        Err(failure) => {
            begun.undo();
            Err(failure)
        }
    }
}

fn write(manifest: &str, directory: &RunDirectory, file: &RunFile) -> Result<(), Failure> {
    if !file.manifest_not_kept {
        let path = directory.manifest();
        private::write(&path, manifest).map_err(|cause| unwritable(&path, cause))?;
    }
    directory.write_run(file).map_err(|error| unusable(&error))
}

/// How a job is given another name.
fn another_name(file: &RunFile, alone: bool) -> String {
    let name = &file.job;
    match &file.source {
        None => format!("give this one another name: `--name {name}-2`"),
        Some(_) if alone => format!("give this one another name: `--set metadata.name={name}-2`"),
        // The option would name all of them so.
        Some(_) => "change this one's `metadata.name` in the manifest".to_owned(),
    }
}

fn goes_on(runs: &JobRuns, another_name: &str) -> Failure {
    let name = &runs.name;
    let since = runs.newest().ok().flatten().map(|run| run.id());
    let since = since.map(|id| format!(" (run {id})")).unwrap_or_default();
    let hint = format!(
        "end that one with `trainyard stop {name}`, look at it with `trainyard logs -f {name}`, or {another_name}"
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
