//! Which logs were meant.

use trainyard_document::problem::shown;
use trainyard_local::logs::files::Lives;
use trainyard_local::logs::pump::LogSource;

use super::lookup;
use crate::args::runs::Logs;
use crate::failure::Failure;
use crate::report::suggest;
use crate::run::Glob;
use trainyard_local::run::store::state::StoredRun;

/// The name by which the main container goes, whatever the manifest calls it.
const MAIN: &str = "main";

/// Which tasks, which lives, which container.
pub struct Choice {
    job: String,
    tasks: Vec<Glob>,
    container: Option<Container>,
    pub lives: Lives,
}

enum Container {
    Main,
    Named(String),
}

impl Choice {
    /// What was typed, checked against what there is.
    pub fn of(typed: &Logs, run: &StoredRun, listed: &[LogSource]) -> Result<Self, Failure> {
        let lives = match (typed.previous, typed.all_lives) {
            (true, _) => Lives::Previous,
            (_, true) => Lives::All,
            _ => Lives::Newest,
        };
        let choice = Self {
            job: run.file.job.to_string(),
            tasks: typed.task.iter().map(|glob| Glob::new(glob)).collect(),
            container: None,
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
        let container = typed
            .container
            .as_deref()
            .map(|name| container(name, run, listed))
            .transpose()?;
        Ok(Self { container, ..choice })
    }

    /// Those of the meant tasks and of the meant container.
    pub fn filter(&self, sources: Vec<LogSource>) -> Vec<LogSource> {
        let means = |source: &LogSource| {
            let task =
                self.tasks.is_empty() || self.tasks.iter().any(|glob| glob.means(&self.job, &source.task));
            task && match &self.container {
                None => true,
                Some(Container::Main) => source.container.is_none(),
                Some(Container::Named(name)) => source.container.as_deref() == Some(name.as_str()),
            }
        };
        sources.into_iter().filter(means).collect()
    }
}

fn container(typed: &str, run: &StoredRun, listed: &[LogSource]) -> Result<Container, Failure> {
    if typed == MAIN {
        return Ok(Container::Main);
    }
    let mut named: Vec<&str> = listed
        .iter()
        .filter_map(|source| source.container.as_deref())
        .collect();
    named.sort_unstable();
    named.dedup();
    if named.contains(&typed) {
        return Ok(Container::Named(typed.to_owned()));
    }
    // Whatever else the manifest calls a container writes no log of its own: it is the main one, or has not begun.
    let declared = declared(run);
    if let Some((_, beside)) = declared.iter().find(|(name, _)| name == typed) {
        return Ok(if *beside {
            Container::Named(typed.to_owned())
        } else {
            Container::Main
        });
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
