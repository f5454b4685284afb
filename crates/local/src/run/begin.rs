//! The directories of runs that begin: jobs are claimed, directories made and written, before anything is started.

use super::prepare::PreparedJob;
use super::store::directory::{Claim, DirectoryError, Home, JobRuns, RunDirectory, cannot};
use super::store::run_file::{RunFile, UnkeptManifest};
use super::supervise::JobInput;
use crate::system::private;

/// Why no run was begun.
#[derive(Debug, thiserror::Error)]
pub enum CannotBegin {
    /// Another run holds the job's lock.
    #[error("a job named `{job}` is running already{}", run.as_ref().map(|id| format!(" (run {id})")).unwrap_or_default())]
    Running {
        /// The job's name.
        job: String,
        /// The id of that run, if it is known.
        run: Option<String>,
        /// How to give the new run another name.
        rename: String,
    },
    /// A directory or file of the run could not be made.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
}

impl CannotBegin {
    /// What the user can do about it.
    #[must_use]
    pub fn help(&self) -> String {
        match self {
            Self::Running { job, rename, .. } => format!(
                "end that one with `trainyard stop {job}`, look at it with `trainyard logs -f {job}`, or {rename}"
            ),
            Self::Directory(_) => {
                "runs are kept in TRAINYARD_STATE, by default ~/.local/state/trainyard".to_owned()
            }
        }
    }
}

/// Runs that may begin. Their jobs are locked as long as this lives.
pub(super) struct Begun {
    runs: Vec<(RunDirectory, PreparedJob)>,
    claims: Vec<(JobRuns, Claim)>,
}

impl Begun {
    /// Claims every job, then writes what the runs are told. If one is refused, nothing is left of any. `alone`: the manifest
    /// has no other job, and the job was not chosen by name.
    pub(super) fn new(
        home: &Home,
        manifest: &str,
        jobs: Vec<PreparedJob>,
        alone: bool,
    ) -> Result<Self, CannotBegin> {
        let mut begun = Self {
            runs: Vec::new(),
            claims: Vec::new(),
        };
        let claimed = jobs
            .iter()
            .try_for_each(|job| begun.claim(home, &job.file, alone));
        let made = claimed.and_then(|()| {
            jobs.into_iter()
                .try_for_each(|job| begun.make(home, manifest, job))
        });
        if let Err(error) = made {
            begun.undo();
            return Err(error);
        }
        Ok(begun)
    }

    /// The directories, in the order of the manifest.
    pub(super) fn directories(&self) -> impl Iterator<Item = &RunDirectory> {
        self.runs.iter().map(|(directory, _)| directory)
    }

    /// The id of the first run: the mark of all processes of these runs.
    pub(super) fn id(&self) -> String {
        self.directories()
            .next()
            .map(RunDirectory::id)
            .unwrap_or_default()
    }

    /// What the supervisor needs. The outer process keeps the claims.
    pub(super) fn into_inputs(self) -> Vec<JobInput> {
        let runs = self.runs.into_iter();
        runs.map(|(directory, job)| JobInput::new(directory, job))
            .collect()
    }

    /// What the background process must be handed because it is not on disk.
    pub(super) fn unkept(&self, manifest: &str) -> Option<UnkeptManifest> {
        let file = &self.runs.first()?.1.file;
        file.manifest_not_kept.then(|| UnkeptManifest {
            manifest: manifest.to_owned(),
            with: file.with.clone(),
        })
    }

    /// Gives up the locks, so that another process can take them.
    pub(super) fn release(&mut self) {
        self.claims.clear();
    }

    /// Removes what was made. What cannot be removed holds nothing that runs, and `trainyard rm` removes it.
    pub(super) fn undo(self) {
        for directory in self.directories() {
            let _ = directory.remove();
        }
        for (runs, claim) in self.claims {
            runs.forget_if_empty(claim);
        }
    }

    fn claim(&mut self, home: &Home, file: &RunFile, alone: bool) -> Result<(), CannotBegin> {
        let runs = home.job(&file.job);
        let Some(claim) = runs.claim()? else {
            return Err(CannotBegin::Running {
                run: runs.newest().ok().flatten().map(|run| run.id()),
                rename: rename(file, alone),
                job: runs.name,
            });
        };
        self.claims.push((runs, claim));
        Ok(())
    }

    fn make(&mut self, home: &Home, manifest: &str, job: PreparedJob) -> Result<(), CannotBegin> {
        let directory = home.job(&job.file.job).begin()?;
        self.runs.push((directory.clone(), job));
        let (_, job) = &self.runs[self.runs.len() - 1];
        if !job.file.manifest_not_kept {
            let path = directory.manifest();
            private::write(&path, manifest).map_err(cannot("write", &path))?;
        }
        Ok(directory.write_run(&job.file)?)
    }
}

/// How to give a job another name.
fn rename(file: &RunFile, alone: bool) -> String {
    let name = &file.job;
    match &file.source {
        None => format!("give this one another name: `--name {name}-2`"),
        Some(_) if alone => format!("give this one another name: `--set metadata.name={name}-2`"),
        // The option would give all jobs of the manifest that name.
        Some(_) => "change this one's `metadata.name` in the manifest".to_owned(),
    }
}
