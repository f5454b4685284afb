//! `run.json`: everything the supervisor must know, written by the outer process before the namespaces are made.
//!
//! The manifest itself is beside it, overrides applied (`manifest.yaml`); a run in the background reads it again. With
//! `--no-keep-manifest` it is nowhere on disk, and a run in the background is handed it ([`UnkeptManifest`]).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trainyard_core::TaskId;
use trainyard_dialect::{ReadJob, Reading};

use crate::gpus::Split;
use crate::images::StandIn;
use crate::run::timestamp::Timestamp;

/// What a run is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunFile {
    /// The form it is written in.
    pub format: u32,
    /// The job's name.
    pub job: Arc<str>,
    /// Which document of the manifest it is in, from 0.
    pub document: usize,
    /// Its kind, for lists: `TFJob`.
    pub kind: String,
    /// The file the manifest came from, as it was typed; none for a job made of flags.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// When it was begun.
    pub started: Timestamp,
    /// Where the run was started: programs start there that do not say where.
    pub directory: PathBuf,
    /// `--no-keep-manifest`: neither the manifest nor what was given with it is written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub manifest_not_kept: bool,
    /// Files given with `--with`, whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<String>,
    /// What stands for each image.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub images: BTreeMap<Arc<str>, StandIn>,
    /// Which GPUs each task sees.
    #[serde(default)]
    pub gpus: Split,
    /// `--volume NAME=DIR`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub volumes: BTreeMap<String, PathBuf>,
    /// Where volumes are kept beyond the run.
    pub kept: PathBuf,
    /// Every task has an address of its own.
    #[serde(default)]
    pub per_task_network: bool,
    /// `--allow-missing-mounts`.
    #[serde(default)]
    pub allow_missing_mounts: bool,
    /// The task that is left out: the user starts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub debug: Option<TaskId>,
    /// A `TensorBoard` beside the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tensorboard: Option<TensorBoard>,
}

impl RunFile {
    /// The run's job in its manifest.
    pub(crate) fn find_in<'r>(&self, manifest: &'r Reading) -> Option<&'r ReadJob> {
        let same = |read: &&ReadJob| read.document == self.document && read.job.name == self.job;
        manifest.jobs().find(same)
    }

    /// The same without what must not be on disk.
    pub(crate) fn to_keep(&self) -> Self {
        let mut kept = self.clone();
        if kept.manifest_not_kept {
            kept.with.clear();
        }
        kept
    }
}

/// What a run in the background is handed by the process that starts it, where it must not be on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnkeptManifest {
    /// The manifest, overrides applied.
    pub manifest: String,
    /// Files given with `--with`, whole.
    pub with: Vec<String>,
}

/// A `TensorBoard` beside a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TensorBoard {
    /// The program.
    pub program: PathBuf,
    /// The directories it shows.
    pub directories: Vec<PathBuf>,
    /// How many seconds it stays after the job has ended; none keeps it until it is stopped.
    pub keep: Option<u64>,
}
