//! Which Python the tasks of a job use, and a line for the user that says which and why.

use std::path::{Path, PathBuf};

use trainyard_core::Job;

use super::{Provisions, RunOptions, python_refusal};
use crate::images::{Entrypoint, StandIn, StandIns, choose, of_job, stand_ins};
use crate::pod::{Machine, Refusal, items, templates};
use crate::python::ask::{LIMIT, ask};
use crate::python::users::{self, Found, StartedBy, UsersPython};
use crate::python::{Cache, Progress, Tell, Tools};

/// How the Python of a job's tasks is chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PythonChoice {
    /// By their images: an environment for each.
    #[default]
    Image,
    /// There is no image: the user's own, if it is activated or has TensorFlow, else an environment.
    Users,
    /// `--python own`: what is on PATH, whatever the images.
    Path,
    /// `--python PATH`: this interpreter, or the one of this environment.
    At(PathBuf),
}

impl PythonChoice {
    /// Whether images do not matter.
    pub(super) fn ignores_images(&self) -> bool {
        *self == Self::Path
    }
}

/// What stands for the images of a job, and which Python that is. Environments are made if they must be.
pub(super) fn choose_python(
    job: &Job,
    options: &RunOptions,
    provisions: &Provisions,
    machine: &Machine,
    tell: &mut Tell<'_>,
) -> Result<StandIns, Refusal> {
    let asked = |interpreter: &Path| ask(interpreter, LIMIT);
    match &options.python {
        PythonChoice::Image => {
            let mut found = match &provisions.cache {
                Some(cache) => made(job, provisions, cache, None, tell)?,
                // Images that need one have been refused.
                None => StandIns::default(),
            };
            let lines = of_images(&found);
            let lines = lines.or_else(|| first_on_path(job, options, machine, ""));
            found.notes.splice(0..0, lines);
            Ok(found)
        }
        PythonChoice::Path => {
            let line = first_on_path(job, options, machine, " (`--python own`)");
            Ok(StandIns {
                notes: line.into_iter().collect(),
                ..StandIns::default()
            })
        }
        PythonChoice::At(path) => {
            let named = users::named(path, &asked).map_err(|message| not_named(&message))?;
            Ok(at(job, provisions, &named))
        }
        PythonChoice::Users => {
            let started_by = main_program(job).map_or(StartedBy::Unknown, |program| {
                users::started_by(&program, machine, &options.directory)
            });
            let configured = of_job(job)
                .keys()
                .any(|image| provisions.config.image(image).is_some());
            match users::find(&started_by, machine, configured, &asked) {
                Found::Users(found) => Ok(users_own(job, &found)),
                Found::None { version, why } => instead(job, provisions, version.as_deref(), &why, tell),
            }
        }
    }
}

/// An environment for each image that has one.
fn made(
    job: &Job,
    provisions: &Provisions,
    cache: &Cache,
    version: Option<&str>,
    tell: &mut Tell<'_>,
) -> Result<StandIns, Refusal> {
    let gpus = !provisions.gpus.is_empty();
    let found = stand_ins(job, &provisions.config, gpus, version, cache, &Tools::look, tell);
    found.map_err(|error| python_refusal(&error))
}

/// A line per image with a Python of its own; none if no image has one.
fn of_images(found: &StandIns) -> Option<String> {
    let lines = found.images.iter().filter_map(|(image, stand_in)| {
        let python = stand_in.python.as_ref()?;
        Some(format!("{} (for `{image}`)", python.display()))
    });
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| format!("tasks use {}", lines.join(", ")))
}

/// The line about a Python that no image stands for; none if the command starts none that is known.
fn first_on_path(job: &Job, options: &RunOptions, machine: &Machine, reason: &str) -> Option<String> {
    match users::started_by(&main_program(job)?, machine, &options.directory) {
        StartedBy::Name(name) => {
            let file = users::on_path(&name, machine)?;
            Some(format!(
                "tasks use {}: the first `{name}` on PATH{reason}",
                file.display()
            ))
        }
        StartedBy::File(file, why) => Some(format!("tasks use {}: {why}", file.display())),
        StartedBy::Unknown => None,
    }
}

/// The program of the first role's main container.
fn main_program(job: &Job) -> Option<String> {
    let (_, template) = templates(job).find(|(role, _)| role.replicas > 0)?;
    let containers = &template["spec"]["containers"];
    let main = items(containers).find(|container| container["name"] == "tensorflow");
    let main = main.or_else(|| items(containers).next())?;
    let mut words = items(&main["command"]).chain(items(&main["args"]));
    words.next()?.as_str().map(str::to_owned)
}

/// The user's own Python in the place of every image.
fn users_own(job: &Job, found: &UsersPython) -> StandIns {
    let stand_in = StandIn {
        path: found.path.iter().cloned().collect(),
        environment: found.environment.clone(),
        entrypoint: Entrypoint::None,
        ..StandIn::default()
    };
    StandIns {
        images: of_job(job)
            .into_keys()
            .map(|image| (image, stand_in.clone()))
            .collect(),
        notes: vec![found.note()],
    }
}

/// A Python that was named, in the place of every image's.
fn at(job: &Job, provisions: &Provisions, named: &UsersPython) -> StandIns {
    let images = of_job(job).into_keys().map(|image| {
        let known = choose(&image, &provisions.config, false);
        let mut stand_in = known.map(|choice| choice.with(None)).unwrap_or_default();
        stand_in.path.extend(named.path.clone());
        stand_in.python = Some(named.interpreter.clone());
        stand_in.environment.clone_from(&named.environment);
        (image, stand_in)
    });
    StandIns {
        images: images.collect(),
        notes: vec![named.note()],
    }
}

/// An environment of ours for a job without an image, where the user has no Python that can be used.
fn instead(
    job: &Job,
    provisions: &Provisions,
    version: Option<&str>,
    why: &str,
    tell: &mut Tell<'_>,
) -> Result<StandIns, Refusal> {
    let Some(cache) = &provisions.cache else {
        let message = format!("there is no place for a Python environment, and {why}");
        let hint = "set HOME or XDG_CACHE_HOME to an absolute path, or name a Python that has TensorFlow: `--python PATH`";
        return Err(Refusal::new("Python", message, Some(hint.to_owned())));
    };
    // Making one may take minutes: the user is told first why it is made.
    let mut told = false;
    let mut first = |step: Progress| {
        if !std::mem::replace(&mut told, true) {
            tell(Progress::Because(format!(
                "{why}, so a Python environment is made; `--python PATH` names one that you have"
            )));
        }
        tell(step);
    };
    let mut found = made(job, provisions, cache, version, &mut first)?;
    let python = found
        .images
        .values()
        .find_map(|stand_in| stand_in.python.as_ref());
    let line = python.map(|python| {
        format!(
            "tasks use {}: {why}; `--python PATH` chooses another",
            python.display()
        )
    });
    found.notes.splice(0..0, line);
    Ok(found)
}

fn not_named(message: &str) -> Refusal {
    let hint = "`--python` takes the path of an interpreter or of an environment, `own` (what is on PATH) or `image`";
    Refusal::new("--python", message.to_owned(), Some(hint.to_owned()))
}
