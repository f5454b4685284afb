//! Chooses logs by task, attempt and container.

use trainyard_document::problem::shown;
use trainyard_local::logs::files::Lives;
use trainyard_local::logs::pump::LogSource;

use super::lookup;
use crate::args::runs::Logs;
use crate::failure::Failure;
use crate::report::suggest;
use crate::run::Glob;
use trainyard_local::run::store::state::StoredRun;

/// A name for the main container, whatever its name in the manifest is.
const MAIN: &str = "main";

/// The tasks, attempts and containers whose logs to show.
pub struct Choice {
    job: String,
    tasks: Vec<Glob>,
    /// Only these containers, all if empty; `None` is the main one, as in [`LogSource`].
    containers: Vec<Option<String>>,
    pub lives: Lives,
}

impl Choice {
    /// What was typed, checked against what there is.
    pub fn of(typed: &Logs, run: &StoredRun, listed: &[LogSource]) -> Result<Self, Failure> {
        let lives = match (typed.previous, typed.all_attempts) {
            (true, _) => Lives::Previous,
            (_, true) => Lives::All,
            _ => Lives::Newest,
        };
        let choice = Self {
            job: run.file.job.to_string(),
            tasks: typed.task.iter().map(|glob| Glob::new(glob)).collect(),
            containers: Vec::new(),
            lives,
        };
        let tasks = || {
            let known = run.tasks().iter().map(|task| &task.task);
            known.chain(listed.iter().map(|source| &source.task))
        };
        for (typed, glob) in typed.task.iter().zip(&choice.tasks) {
            if !tasks().any(|task| glob.means(&choice.job, task)) {
                return Err(lookup::no_such_task(run, typed));
            }
        }
        let container = typed.container.iter();
        let containers = container.map(|name| container_named(name, run, listed));
        Ok(Self {
            containers: containers.collect::<Result<_, _>>()?,
            ..choice
        })
    }

    /// The logs of the chosen tasks and containers.
    pub fn filter(&self, sources: Vec<LogSource>) -> Vec<LogSource> {
        let means = |source: &LogSource| {
            let task =
                self.tasks.is_empty() || self.tasks.iter().any(|glob| glob.means(&self.job, &source.task));
            let mut containers = self.containers.iter().map(Option::as_deref);
            task && (self.containers.is_empty() || containers.any(|name| name == source.container.as_deref()))
        };
        sources.into_iter().filter(means).collect()
    }
}

/// The container of that name; `None` is the main one.
fn container_named(typed: &str, run: &StoredRun, listed: &[LogSource]) -> Result<Option<String>, Failure> {
    if typed == MAIN {
        return Ok(None);
    }
    let mut named: Vec<&str> = listed
        .iter()
        .filter_map(|source| source.container.as_deref())
        .collect();
    named.sort_unstable();
    named.dedup();
    if named.contains(&typed) {
        return Ok(Some(typed.to_owned()));
    }
    // Whatever else the manifest calls a container writes no log of its own: it is the main one, or has not begun.
    let declared = declared(run);
    if let Some((_, beside)) = declared.iter().find(|(name, _)| name == typed) {
        return Ok(beside.then(|| typed.to_owned()));
    }
    let all: Vec<&str> = std::iter::once(MAIN).chain(named).collect();
    let mut hint = suggest("containers", typed, &all);
    let mut message = format!("`{}` has no container `{}`", run.file.job, shown(typed));
    if run.file.manifest_not_kept {
        message.push_str(" with a log of its own");
        hint = format!(
            "{hint}; {}, so what else it names cannot be told",
            lookup::NOT_KEPT
        );
    }
    Err(Failure::usage(message, hint))
}

/// The containers that the manifest names, and whether each is beside the main one.
fn declared(run: &StoredRun) -> Vec<(String, bool)> {
    let job = run.job();
    let mut names = Vec::new();
    for role in job.iter().flat_map(|job| &job.roles) {
        let template: serde_json::Value = serde_json::from_str(&role.template.0).unwrap_or_default();
        let of = |field: &str| {
            let list = template["spec"][field].as_array();
            let names = list.into_iter().flatten().filter_map(|one| one["name"].as_str());
            names.map(str::to_owned).collect::<Vec<String>>()
        };
        let containers = of("containers");
        // The one named `tensorflow` is the task, else the first.
        let main = containers
            .iter()
            .position(|name| name == "tensorflow")
            .unwrap_or(0);
        for (position, name) in containers.into_iter().enumerate() {
            names.push((name, position != main));
        }
        names.extend(of("initContainers").into_iter().map(|name| (name, true)));
    }
    names
}
