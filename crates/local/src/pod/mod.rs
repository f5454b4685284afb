//! From a pod template to a [`Launch`]: the template carried out honestly, on this machine.
//!
//! ```text
//! Task (template, TF_CONFIG) ─┐
//! Setting (addresses, objects,├─▶ prepare ─▶ Prepared: Launch, files to make, what is ignored
//!   images, GPUs, options) ───┘        └──▶ refusals, all at once
//! ```
//!
//! `prepare` is pure: it reads no file and asks no clock, so that the same task is prepared the same way each time.
//! What it needs on disk it describes as `Make`s, and `make()` makes them.

mod default_env;
mod downward;
mod expand;
mod files;
mod ignored;
mod machine;
mod make;
mod network;
mod objects;
mod program;
mod report;
mod spec;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod variables;
mod volumes;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use trainyard_core::{AddressBook, Cluster, Job, Role, Stamp, Task, TaskId};
use trainyard_document::problem::did_you_mean;

pub(crate) use self::downward::{hash, quantity};
pub(crate) use self::machine::Machine;
pub(crate) use self::make::{Make, forget, make};
pub(crate) use self::network::{MOST_ADDRESSES, Network, needs_addresses};
pub(crate) use self::objects::Objects;
pub(crate) use self::report::Ignored;
pub use self::report::Refusal;
use self::report::{Findings, Report};
use self::spec::Pod;
pub(crate) use self::volumes::claim_path;
pub use self::volumes::kept_volumes;
use crate::gpus::Split;
use crate::images::StandIn;
use crate::process::launch::{Launch, Life};

/// How long a program may take to stop, where its template does not say: as on a cluster.
const GRACE: u32 = 30;

/// Everything that the tasks of a run share.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    /// The job.
    pub job: Arc<Job>,
    /// Where each task is reached.
    pub book: AddressBook,
    /// Whether each has an address of its own.
    pub network: Network,
    /// ConfigMaps and Secrets.
    pub objects: Objects,
    /// What stands for each image, by its name in the template; images that are not here are not known.
    pub images: BTreeMap<Arc<str>, StandIn>,
    /// Which GPUs each task sees.
    pub gpus: Split,
    /// This machine.
    pub machine: Machine,
    /// `--volume NAME=DIR`, absolute: by the name of a volume or of a claim.
    pub volumes: BTreeMap<String, PathBuf>,
    /// The directory under which each life of a task has its own.
    pub lives: PathBuf,
    /// The same for files that are written for it: ConfigMaps, Secrets. Often the same directory.
    pub files: PathBuf,
    /// The directory under which volumes are kept beyond the run.
    pub kept: PathBuf,
}

/// A task that can be started, once what it needs has been made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Prepared {
    /// What is started.
    pub launch: Launch,
    /// What must be there before: give it to [`make()`].
    pub make: Vec<Make>,
    /// What of the template is not carried out.
    pub ignored: Vec<Ignored>,
}

impl Setting {
    /// The directory of one life of a task: its `emptyDir`s and files. Restarts in place keep it; [`forget`] removes
    /// it.
    pub fn life(&self, task: &TaskId, stamp: Stamp) -> PathBuf {
        self.lives.join(Life::new(task, stamp, 0).to_string())
    }

    /// The directory of its files.
    pub fn files(&self, task: &TaskId, stamp: Stamp) -> PathBuf {
        self.files.join(Life::new(task, stamp, 0).to_string())
    }
}

/// Turns one life of a task into what is started. `in_place` counts its restarts in place.
pub(crate) fn prepare(setting: &Setting, task: &Task, in_place: u32) -> Result<Prepared, Vec<Refusal>> {
    let found = RefCell::new(Findings::default());
    let report = Report::new(task.id.role.to_string(), &found);
    let prepared = launch(setting, task, in_place, &report);
    let Findings { refusals, ignored } = found.into_inner();
    match prepared {
        Some((launch, make)) if refusals.is_empty() => Ok(Prepared {
            launch,
            make,
            ignored,
        }),
        _ => Err(refusals),
    }
}

fn launch(setting: &Setting, task: &Task, in_place: u32, report: &Report<'_>) -> Option<(Launch, Vec<Make>)> {
    let json: Value = serde_json::from_str(&task.template.0).unwrap_or(Value::Null);
    let pod = match Pod::read(&json) {
        Ok(pod) => pod,
        Err(error) => {
            report.refuse(format!("the pod template cannot be read: {error}"), None);
            return None;
        }
    };
    let Some(main) = pod.main() else {
        report.refuse("the pod template has no containers", None);
        return None;
    };
    ignored::pod(&json, report);
    let mut builder = program::Builder::new(setting, task, in_place, &pod, &json);
    let mut init = Vec::new();
    let mut beside = Vec::new();
    for (position, container) in pod.init_containers().iter().enumerate() {
        let report = report.at(&format!("initContainers[{}]", container.name));
        let json = &json["spec"]["initContainers"][position];
        let program = builder.program(container, json, false, &report);
        if container.stays() {
            report.ignore("it starts with the main container, not before the init containers behind it");
            beside.extend(program);
        } else {
            init.extend(program);
        }
    }
    let mut own = None;
    for (position, container) in pod.spec.containers.iter().enumerate() {
        let report = report.at(&format!("containers[{}]", container.name));
        let is_main = position == main;
        let program = builder.program(container, &json["spec"]["containers"][position], is_main, &report);
        if is_main {
            own = program;
        } else {
            beside.extend(program);
        }
    }
    let launch = Launch {
        life: Life::new(&task.id, task.stamp, in_place),
        init,
        main: own?,
        beside,
        grace: pod.spec.termination_grace_period_seconds.unwrap_or(GRACE),
    };
    Some((launch, builder.make))
}

/// Prepares the first task of every role, to find out what is wrong and what is ignored before anything is started.
pub(crate) fn survey(setting: &Setting) -> Result<Vec<Ignored>, Vec<Refusal>> {
    let cluster = Cluster::of(&setting.job, &setting.book);
    let mut refusals = unknown_volumes(setting);
    let mut ignored = BTreeSet::new();
    for role in setting.job.roles.iter().filter(|role| role.replicas > 0) {
        let first = TaskId::new(role.name.as_str(), 0);
        for resumed in [false, true] {
            let task = Task::of(&setting.job, &cluster, &first, Stamp::default(), resumed);
            match task.map(|task| prepare(setting, &task, 0)) {
                Some(Ok(prepared)) => ignored.extend(prepared.ignored),
                Some(Err(more)) => refusals.extend(more),
                None => {}
            }
            if role.resume_template.is_none() {
                break;
            }
        }
    }
    if refusals.is_empty() {
        Ok(ignored.into_iter().collect())
    } else {
        let mut seen = BTreeSet::new();
        refusals.retain(|refusal| seen.insert(refusal.clone()));
        Err(refusals)
    }
}

/// The pod templates of a job's roles as JSON: for first starts, and where a role has one, for resuming.
pub(crate) fn templates(job: &Job) -> impl Iterator<Item = (&Role, Value)> {
    job.roles.iter().flat_map(|role| {
        let templates = std::iter::once(&role.template).chain(&role.resume_template);
        templates.map(move |template| (role, serde_json::from_str(&template.0).unwrap_or_default()))
    })
}

/// The items of a JSON list; none where there is no list.
pub(crate) fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// The image of a role's main container, as the manifest names it.
pub(crate) fn image_of(role: &Role) -> Option<String> {
    let template: Value = serde_json::from_str(&role.template.0).ok()?;
    let containers = &template["spec"]["containers"];
    let named = items(containers).find(|container| container["name"] == "tensorflow");
    let main = named.or_else(|| containers.get(0))?;
    main["image"].as_str().map(str::to_owned)
}

/// `--volume` for volumes that no template has.
fn unknown_volumes(setting: &Setting) -> Vec<Refusal> {
    let mut known: BTreeSet<String> = BTreeSet::new();
    for (_, template) in templates(&setting.job) {
        for volume in items(&template["spec"]["volumes"]) {
            let claim = &volume["persistentVolumeClaim"]["claimName"];
            let names = [&volume["name"], claim];
            known.extend(names.into_iter().filter_map(Value::as_str).map(str::to_owned));
        }
    }
    let unknown = setting.volumes.keys().filter(|name| !known.contains(*name));
    unknown
        .map(|name| {
            let hint = did_you_mean(name, known.iter().map(String::as_str));
            let message = format!("no template of the job has a volume `{name}`");
            Refusal::new(format!("--volume {name}"), message, hint)
        })
        .collect()
}
