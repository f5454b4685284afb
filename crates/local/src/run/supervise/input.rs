//! What a run was told: handed on by the process that prepared it, or read from its directory.

use std::fs;
use std::sync::Arc;

use trainyard_core::Job;
use trainyard_dialect::{Reading, read};
use trainyard_document::Source;

use super::{CannotRun, system};
use crate::pod::{Machine, Objects};
use crate::run::prepare::PreparedJob;
use crate::run::store::directory::RunDirectory;
use crate::run::store::run_file::{RunFile, UnkeptManifest};

/// One run, and what it was told.
#[derive(Debug)]
pub struct JobInput {
    pub(super) directory: RunDirectory,
    pub(super) prepared: PreparedJob,
    /// It runs in the background.
    pub(super) background: bool,
}

impl JobInput {
    /// A run that was just prepared.
    pub(crate) fn new(directory: RunDirectory, mut prepared: PreparedJob) -> Self {
        let job = Arc::make_mut(&mut prepared.job);
        job.uid = directory.id().into();
        // A job ends with its run: there is nothing left to delete later.
        job.limits.ttl = None;
        Self {
            directory,
            prepared,
            background: false,
        }
    }

    /// A run in the background: what the files in the directory say, and for a run that keeps no manifest what was handed to us.
    pub(crate) fn read(directory: RunDirectory, handed: Option<&UnkeptManifest>) -> Result<Self, CannotRun> {
        let file = directory.read_run()?;
        let (job, objects) = if let Some(UnkeptManifest { manifest, with }) = handed {
            read_job(&directory, &file, manifest.as_bytes(), with)?
        } else {
            let manifest = fs::read(directory.manifest()).map_err(system("read the run's manifest"))?;
            read_job(&directory, &file, &manifest, &file.with)?
        };
        let prepared = PreparedJob {
            file,
            job: Arc::new(job),
            objects,
            machine: Machine::look(),
            notes: Vec::new(),
        };
        Ok(Self {
            background: true,
            ..Self::new(directory, prepared)
        })
    }
}

/// The job of a run, and the objects beside it.
fn read_job(
    directory: &RunDirectory,
    file: &RunFile,
    manifest: &[u8],
    with: &[String],
) -> Result<(Job, Objects), CannotRun> {
    let changed = || CannotRun::Manifest {
        path: directory.manifest(),
        job: file.job.clone(),
    };
    let source = Source::from_bytes("manifest.yaml", manifest).map_err(|_| changed())?;
    let reading = read(&source);
    let read_job = file.find_in(&reading).ok_or_else(changed)?;
    let with = with
        .iter()
        .filter_map(|text| Source::from_bytes("with.yaml", text.as_bytes()).ok());
    let with: Vec<Reading> = with.map(|source| read(&source)).collect();
    let objects = Objects::beside(read_job, std::iter::once(&reading).chain(&with)).map_err(|_| changed())?;
    Ok((read_job.job.clone(), objects))
}
