//! What the outer process does before the namespaces are made: from a job that was read to what its run is told.
//!
//! Every problem that the user can fix is reported here, all at once, before anything is started.
//! Python environments are made here, too, since the run may have no network.

mod pythons;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use trainyard_core::{Job, TaskId, addresses};
use trainyard_dialect::{ReadJob, Reading, read};
use trainyard_document::Source;
use trainyard_document::problem::did_you_mean;

pub use self::pythons::PythonChoice;
use self::pythons::choose_python;
use super::log_directories::log_directories;
use super::store::run_file::{RunFile, TensorBoard};
use super::store::status::FORMAT;
use super::timestamp::Timestamp;
use crate::error_chain;
use crate::gpus::{self, Gpu, Split};
use crate::images::{Config, choose, of_job};
use crate::pod::{
    Ignored, MOST_ADDRESSES, Machine, Network, Objects, Refusal, Setting, needs_addresses, survey,
};
use crate::python::{Cache, Packages, PythonError, Tell, Tools, Wanted, on_path};

/// What was asked for besides the manifest.
#[derive(Clone, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own on the command line"
)]
pub struct RunOptions {
    /// The manifest's file, as it was typed.
    pub source: Option<String>,
    /// Where the run was started.
    pub directory: PathBuf,
    /// `--with FILE`.
    pub with: Vec<Source>,
    /// `--volume NAME=DIR`, absolute.
    pub volumes: BTreeMap<String, PathBuf>,
    /// Where volumes are kept beyond a run.
    pub kept: PathBuf,
    /// `--no-keep-manifest`.
    pub manifest_not_kept: bool,
    /// `--share-gpus`.
    pub share_gpus: bool,
    /// `--isolate`.
    pub isolate: bool,
    /// `--allow-missing-mounts`.
    pub allow_missing_mounts: bool,
    /// `--python`, and whether there is an image at all.
    pub python: PythonChoice,
    /// `--debug TASK`.
    pub debug: Option<TaskId>,
    /// `--tensorboard DIR`.
    pub tensorboard: Option<PathBuf>,
    /// `--keep-tensorboard`: seconds; none keeps it until it is stopped.
    pub keep_tensorboard: Option<u64>,
}

/// What this machine has for a run.
#[derive(Clone, Debug, Default)]
pub struct Provisions {
    /// The user's configuration.
    pub config: Config,
    /// Where Python environments are kept; none if nothing says where.
    pub cache: Option<Cache>,
    /// The machine's GPUs.
    pub gpus: Vec<Gpu>,
}

/// A run that can begin.
#[derive(Clone, Debug)]
pub struct PreparedJob {
    /// What it is told.
    pub file: RunFile,
    /// The job.
    pub job: Arc<Job>,
    /// The objects beside it.
    pub objects: Objects,
    /// The machine it runs on.
    pub machine: Machine,
    /// What people should know first.
    pub notes: Vec<String>,
}

/// Makes a job ready to run, or says everything that is in the way.
pub fn prepare(
    read_job: &ReadJob,
    reading: &Reading,
    options: &RunOptions,
    provisions: &Provisions,
    tell: &mut Tell<'_>,
) -> Result<PreparedJob, Vec<Refusal>> {
    let job = &read_job.job;
    // Before anything is downloaded: a manifest that cannot run need not wait for it.
    let (mut setting, surveyed) = possible(read_job, reading, options, provisions)?;
    let images =
        choose_python(job, options, provisions, &setting.machine, tell).map_err(|refusal| vec![refusal])?;
    let mut ignored = if images.images.is_empty() {
        surveyed?
    } else {
        setting.images = images.images;
        survey(&setting)?
    };
    // With `--python own` the user knows that images are not used.
    ignored.retain(|ignored| !(options.python.ignores_images() && ignored.is_image));
    let asked = tensorboard(read_job, options, provisions, tell)?;
    let network = needs_addresses(job);
    let mut notes = images.notes;
    let unreachable_board = asked.is_some() && options.isolate;
    notes.extend(notices(unreachable_board, network.as_deref(), read_job));
    notes.extend(folded(ignored));
    let with = options.with.iter();
    let file = RunFile {
        format: FORMAT,
        job: job.name.clone(),
        document: read_job.document,
        kind: read_job.dialect.kind().to_owned(),
        source: options.source.clone(),
        started: Timestamp::now(),
        directory: options.directory.clone(),
        manifest_not_kept: options.manifest_not_kept,
        with: with.map(|source| source.text.to_string()).collect(),
        images: setting.images,
        gpus: setting.gpus,
        volumes: setting.volumes,
        kept: setting.kept,
        per_task_network: network.is_some(),
        allow_missing_mounts: options.allow_missing_mounts,
        debug: options.debug.clone(),
        tensorboard: asked.filter(|_| !options.isolate),
    };
    Ok(PreparedJob {
        file,
        job: setting.job,
        objects: setting.objects,
        machine: setting.machine,
        notes,
    })
}

/// What is different from what the manifest's author may expect.
fn notices(
    unreachable_board: bool,
    network: Option<&str>,
    read_job: &ReadJob,
) -> impl Iterator<Item = String> {
    let board = unreachable_board
        .then(|| "TensorBoard is not started: with `--isolate` it could not be reached".to_owned());
    let network = network.map(|why| format!("tasks share a private network without outside access: {why}"));
    let managed = read_job.managed_by.as_ref();
    let managed = managed.map(|by| format!("`managedBy: {by}` does not matter here: it is run"));
    let isolated = read_job.isolation.as_ref();
    let isolated = isolated.map(|_| {
        "`trainyard.dev/network-policy` has no effect here: it asks a cluster for a NetworkPolicy; `--isolate` gives a run a network of its own"
            .to_owned()
    });
    let remarks = read_job.remarks();
    board
        .into_iter()
        .chain(network)
        .chain(managed)
        .chain(isolated)
        .chain(remarks)
}

/// What a look at all tasks of a job found.
type Surveyed = Result<Vec<Ignored>, Vec<Refusal>>;

/// The setting of a job's tasks as far as it is known without its images, and what was found there; or everything that is in
/// the way.
fn possible(
    read_job: &ReadJob,
    reading: &Reading,
    options: &RunOptions,
    provisions: &Provisions,
) -> Result<(Setting, Surveyed), Vec<Refusal>> {
    let job = &read_job.job;
    let mut refusals = Vec::new();
    let network = needs_addresses(job);
    if let Some(debug) = &options.debug {
        refusals.extend(unknown_debug(job, debug));
        refusals.extend(network.as_ref().map(|why| no_way_in(debug, why)));
    }
    if network.is_some() && job.size() > MOST_ADDRESSES {
        refusals.push(too_many_addresses(job.size()));
    }
    let gpus = gpus::split(job, &provisions.gpus, options.share_gpus).unwrap_or_else(|error| {
        refusals.push(error);
        Split::default()
    });
    let with: Vec<Reading> = options.with.iter().map(read).collect();
    let objects = Objects::beside(read_job, std::iter::once(reading).chain(&with)).unwrap_or_else(|bad| {
        refusals.extend(bad);
        Objects::default()
    });
    let setting = Setting {
        job: job.clone().into(),
        book: addresses(job, None),
        network: Network::Shared,
        objects,
        images: BTreeMap::new(),
        gpus,
        machine: Machine::look(),
        volumes: options.volumes.clone(),
        // Nothing is made while a job is looked at.
        lives: PathBuf::from("/"),
        files: PathBuf::from("/"),
        kept: options.kept.clone(),
    };
    let surveyed = survey(&setting);
    refusals.extend(not_about_images(&surveyed));
    refusals.extend(no_cache(job, options, provisions));
    if refusals.is_empty() {
        Ok((setting, surveyed))
    } else {
        Err(refusals)
    }
}

fn too_many_addresses(size: u64) -> Refusal {
    let message = format!("{size} tasks need an address each, and {MOST_ADDRESSES} can have one");
    Refusal::new(
        "tasks",
        message,
        Some("run fewer: `--replicas worker=2`".to_owned()),
    )
}

/// The problems that do not depend on what stands for the images.
fn not_about_images(surveyed: &Surveyed) -> impl Iterator<Item = Refusal> {
    let found = surveyed.as_ref().err().into_iter().flatten();
    found.filter(|refusal| !refusal.concerns_image).cloned()
}

/// What is not carried out, each reason once, with every place it holds for.
fn folded(ignored: Vec<Ignored>) -> Vec<String> {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for Ignored { path, why, .. } in ignored.into_iter().filter(|ignored| ignored.matters) {
        places.entry(why).or_default().push(path);
    }
    let words = |(why, paths): (String, Vec<String>)| format!("{why} ({})", paths.join(", "));
    places.into_iter().map(words).collect()
}

fn unknown_debug(job: &Job, debug: &TaskId) -> Option<Refusal> {
    let names: Vec<String> = job.tasks().map(|task| task.to_string()).collect();
    if names.contains(&debug.to_string()) {
        return None;
    }
    let hint = did_you_mean(&debug.to_string(), names.iter().map(String::as_str));
    let hint = hint.or_else(|| Some(format!("its tasks are {}", names.join(", "))));
    let message = format!("the job `{}` has no such task", job.name);
    Some(Refusal::new(format!("--debug {debug}"), message, hint))
}

/// Images that need an environment, and no place for one.
fn no_cache(job: &Job, options: &RunOptions, provisions: &Provisions) -> Option<Refusal> {
    if provisions.cache.is_some() || options.python != PythonChoice::Image {
        return None;
    }
    let needs =
        |image: &str| choose(image, &provisions.config, false).is_some_and(|choice| choice.wanted.is_some());
    let (image, _) = of_job(job).into_iter().find(|(image, _)| needs(image))?;
    let message = format!("there is no place for the Python environment of `{image}`");
    let hint = "set HOME or XDG_CACHE_HOME to an absolute path, or use this machine's Python: `--python own`"
        .to_owned();
    Some(Refusal::new("Python", message, Some(hint)))
}

/// Starting one task by hand needs a network that it can be started in.
fn no_way_in(debug: &TaskId, why: &str) -> Refusal {
    let message = format!("its tasks have a network each, which another terminal is not in: {why}");
    Refusal::new(format!("--debug {debug}"), message, None)
}

fn python_refusal(error: &PythonError) -> Refusal {
    Refusal::new("Python", error_chain(error), error.hint().map(str::to_owned))
}

/// The `TensorBoard` that was asked for, on the command line or by the manifest.
fn tensorboard(
    read_job: &ReadJob,
    options: &RunOptions,
    provisions: &Provisions,
    tell: &mut Tell<'_>,
) -> Result<Option<TensorBoard>, Vec<Refusal>> {
    let directories = match &options.tensorboard {
        Some(directory) => vec![directory.clone()],
        None => log_directories(read_job, &options.volumes, &options.kept),
    };
    if directories.is_empty() {
        return Ok(None);
    }
    let program = match on_path("tensorboard") {
        Some(program) if options.python.ignores_images() => program,
        _ => {
            let Some(cache) = &provisions.cache else {
                let message =
                    "there is no place for TensorBoard's environment: set XDG_CACHE_HOME or HOME".to_owned();
                return Err(vec![Refusal::new("TensorBoard", message, None)]);
            };
            let wanted = Wanted {
                python: None,
                packages: Packages::TensorBoard,
            };
            let made = cache.ensure(&wanted, &Tools::look, tell);
            let made = made.map_err(|error| vec![python_refusal(&error)])?;
            made.bin().join("tensorboard")
        }
    };
    Ok(Some(TensorBoard {
        program,
        directories,
        keep: options.keep_tensorboard,
    }))
}
