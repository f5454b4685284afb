//! From what was typed to jobs that can be run: the manifest or the flags, the overrides, what the machine gives.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};

use trainyard_dialect::{ReadJob, Reading, placeholders, with_placeholders};
use trainyard_document::Source;
use trainyard_document::names::{mended_label, wrong_label};
use trainyard_document::problem::shown;
use trainyard_local::images::{self, Config};
use trainyard_local::overrides::{Overrides, Quick, words};
use trainyard_local::run::execute::RunRequest;
use trainyard_local::run::prepare::{PythonChoice, RunOptions};
use trainyard_local::run::store::directory::Home;

use crate::args::{Keep, Python, Run};
use crate::commands::{jobs, lookup};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::inputs;
use crate::printer::Printer;
use crate::report;
use crate::run::Glob;

/// The most names in a list of a message.
const MANY: usize = 12;

/// The manifest as it will be run.
pub struct Input {
    /// Its text, overrides applied.
    pub source: Source,
    /// What is in it.
    pub reading: Reading,
}

/// Reads the manifest, or makes it from flags, and reports its problems.
pub fn read(typed: &Run, printer: &mut Printer) -> Result<Input, Failure> {
    check_usage(typed)?;
    let source = match &typed.file {
        Some(path) => report::read(path, Exit::Unable, printer)?,
        None => from_flags(typed)?,
    };
    let source = overrides(typed)?
        .rewrite(&source, typed.job.as_deref())
        .map_err(|refusals| super::refused(&refusals, printer))?;
    let mut reading = trainyard_dialect::read(&source);
    // On one machine an image's name may have no effect.
    let unfilled = report::as_warnings(placeholders(&source));
    reading.problems = with_placeholders(reading.problems, unfilled);
    report::show(&reading.problems, Some(&source.text), printer)?;
    if reading.has_errors() {
        return Err(Failure::Reported(Exit::Unable));
    }
    Ok(Input { source, reading })
}

/// A manifest, or tasks and what they run: one of the two.
fn check_usage(typed: &Run) -> Result<(), Failure> {
    if typed.file.is_some()
        && let Some((flag, instead)) = typed.quick.given()
    {
        let message = format!("`{flag}` is for a job without a manifest");
        let hint = format!("change the manifest with `{}`", shown(&instead));
        return Err(Failure::usage(message, hint));
    }
    let tasks = typed.quick.workers.is_some() || typed.quick.ps.is_some() || typed.quick.chief;
    let (message, hint) = match (&typed.file, tasks, typed.command_line.is_empty()) {
        (Some(_), _, false) => (
            "a manifest and a command after `--` exclude each other",
            "give every task another command with `--command 'python train.py'`",
        ),
        (None, false, false) => (
            "the number of tasks is missing",
            "give it with `trainyard run --workers 1 -- COMMAND`",
        ),
        (None, false, true) => (
            "nothing to run",
            "give a manifest (`trainyard run job.yaml`) or a command (`trainyard run --workers 2 -- python train.py`)",
        ),
        _ => return Ok(()),
    };
    Err(Failure::usage(message, hint))
}

/// The TFJob that the flags stand for.
fn from_flags(typed: &Run) -> Result<Source, Failure> {
    let flags = &typed.quick;
    if let Some(name) = &flags.name
        && let Some(wrong) = wrong_label(name)
    {
        let message = format!("`--name {}` cannot be the name of a job: {wrong}", shown(name));
        let hint = mended_label(name).map(|name| format!("for example `--name {name}`"));
        return Err(Failure::usage(message, hint));
    }
    let quick = Quick {
        name: flags.name.clone(),
        workers: flags.workers.unwrap_or(0),
        ps: flags.ps.unwrap_or(0),
        chief: flags.chief,
        evaluator: flags.evaluator,
        gpus: flags.gpus.unwrap_or(0),
        restart_scope: flags.restart_scope.clone(),
        restarts: flags.restarts,
        image: flags.image.clone(),
        env: Vec::new(),
        workdir: None,
        command: typed.command_line.clone(),
    };
    let text = quick
        .to_yaml()
        .map_err(|error| Failure::usage(error.to_string(), None))?;
    Source::from_bytes("the flags", text.as_bytes())
        .map_err(|problem| Failure::usage(problem.message.clone(), None))
}

fn overrides(typed: &Run) -> Result<Overrides, Failure> {
    let changes = &typed.overrides;
    let command = changes.command.as_deref().map(words).transpose();
    Ok(Overrides {
        set: changes.set.clone(),
        replicas: changes.replicas.clone(),
        env: changes.env.clone(),
        command: command.map_err(|error| Failure::usage(format!("--command: {error}"), None))?,
        workdir: changes.workdir.clone(),
    })
}

/// Everything that the run needs to know.
pub fn request<'a>(typed: &Run, input: &'a Input, printer: &mut Printer) -> Result<RunRequest<'a>, Failure> {
    let jobs: Vec<&ReadJob> = jobs::chosen(typed.job.as_deref(), &input.reading)?;
    check_globs(typed, &jobs)?;
    check_tensorboard(typed, &jobs)?;
    let home = lookup::home()?;
    Ok(RunRequest {
        manifest: &input.source.text,
        reading: &input.reading,
        jobs,
        by_name: typed.job.is_some(),
        config: config(printer)?,
        options: options(typed, &home, printer)?,
        home,
        background: typed.detach,
    })
}

/// Refuses a pattern that matches no task: the run would show nothing.
fn check_globs(typed: &Run, chosen: &[&ReadJob]) -> Result<(), Failure> {
    let tasks = || {
        chosen
            .iter()
            .flat_map(|read| read.job.tasks().map(|task| (&read.job.name, task)))
    };
    for typed in &typed.view.task {
        let glob = Glob::new(typed);
        if !tasks().any(|(job, task)| glob.means(job, &task)) {
            let names: Vec<String> = tasks().take(MANY).map(|(_, task)| task.to_string()).collect();
            let more = if tasks().nth(MANY).is_some() { ", …" } else { "" };
            let hint = format!(
                "the tasks of this run are {}{more}; `worker` and `worker-*` match several",
                names.join(", ")
            );
            return Err(Failure::usage(format!("no task matches `{typed}`"), hint));
        }
    }
    Ok(())
}

/// Refuses to keep a TensorBoard that is not started.
fn check_tensorboard(typed: &Run, chosen: &[&ReadJob]) -> Result<(), Failure> {
    let machine = &typed.machine;
    let has_own = |read: &&ReadJob| read.objects.iter().any(|object| object["kind"] == "TensorBoard");
    if machine.keep_tensorboard.is_none() || machine.tensorboard.is_some() || chosen.iter().any(has_own) {
        return Ok(());
    }
    Err(Failure::usage(
        "`--keep-tensorboard` has no effect: this run starts no TensorBoard",
        "start one with `--tensorboard DIR`",
    ))
}

fn options(typed: &Run, home: &Home, printer: &mut Printer) -> Result<RunOptions, Failure> {
    let directory = env::current_dir()
        .map_err(|error| Failure::usage(format!("cannot find the current directory: {error}"), None))?;
    let machine = &typed.machine;
    let mut with = Vec::new();
    for path in &machine.with {
        let unusable = || Failure::usage(format!("cannot use `--with {}`", path.display()), None);
        with.push(
            report::read(path, Exit::Unable, printer).map_err(|failure| failure.or_reported(unusable))?,
        );
    }
    let volumes: BTreeMap<String, PathBuf> = machine
        .volume
        .iter()
        .map(|(name, path)| (name.clone(), directory.join(path)))
        .collect();
    if let Some((name, path)) = volumes.iter().find(|(_, path)| !path.exists()) {
        let message = format!("`--volume {name}`: `{}` does not exist", path.display());
        let hint = "create it first; it is not created here, in case the path is mistyped";
        return Err(Failure::usage(message, hint));
    }
    Ok(RunOptions {
        source: typed.file.as_ref().map(|file| inputs::shown_path(file)),
        with,
        volumes,
        kept: home.volumes(),
        manifest_not_kept: typed.no_keep_manifest,
        share_gpus: machine.share_gpus,
        isolate: machine.isolate,
        allow_missing_mounts: machine.allow_missing_mounts,
        python: python(typed, &directory),
        debug: machine.debug.clone(),
        tensorboard: machine.tensorboard.as_ref().map(|path| directory.join(path)),
        keep_tensorboard: match machine.keep_tensorboard {
            None => Some(0),
            Some(Keep::Seconds(seconds)) => Some(seconds.into()),
            Some(Keep::Forever) => None,
        },
        directory,
    })
}

/// How the Python of the tasks is chosen. A job without a manifest has no image unless one was named.
fn python(typed: &Run, directory: &Path) -> PythonChoice {
    match &typed.machine.python {
        Some(Python::Own) => PythonChoice::Path,
        Some(Python::At(path)) => PythonChoice::At(directory.join(path)),
        None if typed.file.is_none() && typed.quick.image.is_none() => PythonChoice::Users,
        Some(Python::Image) | None => PythonChoice::Image,
    }
}

/// The user's configuration.
fn config(printer: &mut Printer) -> Result<Config, Failure> {
    let Some(path) = images::place() else {
        return Ok(Config::default());
    };
    let message = format!("the configuration `{}` cannot be used", path.display());
    let unusable = || Failure::usage(message, None);
    let source = match report::read(&path, Exit::Unable, printer) {
        Ok(source) => source,
        Err(failure) => return Err(failure.or_reported(unusable)),
    };
    let directory = path.parent().unwrap_or_else(|| Path::new("/"));
    let home = env::var_os("HOME").map(PathBuf::from);
    Config::read(&source, directory, home.as_deref()).or_else(|problems| {
        report::show(&problems, Some(&source.text), printer)?;
        Err(unusable())
    })
}
