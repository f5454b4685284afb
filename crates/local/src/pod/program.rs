//! One container as a program: what is started, where, with which variables and mounts.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use trainyard_core::Task;

use super::Setting;
use super::default_env;
use super::downward::Identity;
use super::ignored;
use super::make::Make;
use super::quantity;
use super::report::Report;
use super::spec::{Container, Pod};
use super::variables::{Sources, Variables};
use super::volumes::Volumes;
use crate::gpus::RESOURCES;
use crate::images::{Entrypoint, StandIn};
use crate::process::launch::{Life, Mount, Program};
use crate::python::users::is_python_name;

/// Where every program finds the names of machines.
const HOSTS: &str = "/etc/hosts";

/// Makes the programs of one task, one after the other; they share volumes and GPUs.
pub(super) struct Builder<'a> {
    setting: &'a Setting,
    task: &'a Task,
    json: &'a Value,
    sources: Sources<'a>,
    /// The directories of this life of the task, and of its files.
    life: PathBuf,
    files: PathBuf,
    /// The name of this life.
    name: String,
    /// How many of the task's GPUs have been given to a container.
    gpus_given: usize,
    /// What must be there before the task starts.
    pub make: Vec<Make>,
    hosts: Option<Mount>,
}

impl<'a> Builder<'a> {
    pub fn new(setting: &'a Setting, task: &'a Task, in_place: u32, pod: &'a Pod, json: &'a Value) -> Self {
        let life = setting.life(&task.id, task.stamp);
        let mut make = Vec::new();
        let text = setting.network.hosts(&setting.job, pod, &setting.machine);
        let hosts = text.map(|text| {
            let path = life.join("hosts");
            make.push(Make::File {
                path: path.clone(),
                content: text.into_bytes().into(),
                mode: 0o644,
            });
            Mount {
                source: path,
                target: HOSTS.into(),
                read_only: false,
            }
        });
        let identity = Identity {
            job: &setting.job,
            task: &task.id,
            stamp: task.stamp,
            pod,
            machine: &setting.machine,
            address: setting.network.address(&task.id),
        };
        Self {
            setting,
            task,
            json,
            sources: Sources {
                identity,
                objects: &setting.objects,
            },
            life,
            files: setting.files(&task.id, task.stamp),
            name: Life::new(&task.id, task.stamp, in_place).to_string(),
            gpus_given: 0,
            make,
            hosts,
        }
    }

    /// The container as a program; none if something is wrong with it, which has been reported.
    pub fn program(
        &mut self,
        container: &Container,
        json: &Value,
        is_main: bool,
        report: &Report<'_>,
    ) -> Option<Program> {
        let setting = self.setting;
        ignored::container(json, report);
        let image = self.image(container, report);
        let mut variables = default_env::before(&setting.job, &setting.book, &self.task.id, &self.name);
        for (name, value) in image.into_iter().flat_map(|image| &image.env) {
            variables.set(name, value.as_str());
        }
        variables.read(container, &self.sources, report);
        if let Some(text) = self.task.tf_config.as_ref().filter(|_| is_main) {
            variables.set("TF_CONFIG", text.as_str());
        }
        default_env::after(
            &mut variables,
            &setting.machine,
            &setting.network.own_names(&setting.job),
        );
        self.show_gpus(container, &mut variables, report);
        put_first(image, &mut variables, setting);
        let argv = argv(container, image, &variables, report);
        let mounts = self.mounts(container, image, &variables, report);
        let workdir = container.working_dir.as_deref().filter(|path| !path.is_empty());
        let workdir = workdir.or_else(|| image.and_then(|image| image.workdir.as_deref()));
        Some(Program {
            container: container.name.clone(),
            argv: argv?,
            env: variables.into_environment(),
            workdir: workdir.map(PathBuf::from),
            mounts,
        })
    }

    /// What stands for the container's image.
    fn image(&self, container: &Container, report: &Report<'_>) -> Option<&'a StandIn> {
        let name = container.image.as_deref().unwrap_or_default();
        let found = self.setting.images.get(name);
        if found.is_none() && !name.is_empty() {
            let why = format!(
                "the image `{name}` is ignored: this machine's own programs run; to run another environment in its place, write \
                 `images: {{'{name}': {{like: 'tensorflow/tensorflow'}}}}` into ~/.config/trainyard/config.yaml"
            );
            report.at("image").ignore_image(why);
        }
        found
    }

    /// The GPUs that the container asks for, of those its task has.
    fn show_gpus(&mut self, container: &Container, variables: &mut Variables, report: &Report<'_>) {
        if !self.setting.gpus.any {
            return;
        }
        let own = self.setting.gpus.tasks.get(&self.task.id);
        let own: &[Arc<str>] = own.map_or(&[], Vec::as_slice);
        let asked = asked_gpus(container, report);
        let left = own.get(self.gpus_given..).unwrap_or_default();
        let shown = &left[..asked.min(left.len())];
        self.gpus_given += shown.len();
        let shown = if shown.is_empty() {
            "-1".to_owned()
        } else {
            shown.join(",")
        };
        variables.default_to("CUDA_VISIBLE_DEVICES", shown);
    }

    fn mounts(
        &mut self,
        container: &Container,
        image: Option<&StandIn>,
        variables: &Variables,
        report: &Report<'_>,
    ) -> Vec<Mount> {
        let mut volumes = Volumes {
            life: &self.life,
            files: &self.files,
            kept: &self.setting.kept,
            given: &self.setting.volumes,
            sources: &self.sources,
            json: &self.json["spec"]["volumes"],
            roots: BTreeMap::new(),
            make: Vec::new(),
        };
        let own = volumes.mounts(container, variables, report);
        for one in volumes.make {
            if !self.make.contains(&one) {
                self.make.push(one);
            }
        }
        let taken = |target: &Path| own.iter().any(|mount| mount.target == target);
        let mut mounts: Vec<Mount> = Vec::new();
        mounts.extend(self.hosts.clone().filter(|hosts| !taken(&hosts.target)));
        // What the image holds lies under what the template mounts.
        for (target, source) in image.into_iter().flat_map(|image| &image.files) {
            if !taken(target) {
                mounts.push(Mount {
                    source: source.clone(),
                    target: target.clone(),
                    read_only: false,
                });
            }
        }
        mounts.extend(own);
        mounts.sort_by_key(|mount| mount.target.components().count());
        mounts
    }
}

fn asked_gpus(container: &Container, report: &Report<'_>) -> usize {
    for list in ["limits", "requests"] {
        let list = &container.resources[list];
        let mut asked = 0;
        for value in RESOURCES.iter().filter_map(|name| list.get(name)) {
            match quantity(value) {
                Ok(amount) => asked += usize::try_from(amount.milli / 1000).unwrap_or(0),
                Err(message) => report.at("resources").refuse(message, None),
            }
        }
        if asked > 0 {
            return asked;
        }
    }
    0
}

/// Puts what stands for the image first on the path.
fn put_first(image: Option<&StandIn>, variables: &mut Variables, setting: &Setting) {
    let Some(image) = image.filter(|image| !image.path.is_empty()) else {
        return;
    };
    let rest = variables.get("PATH").or_else(|| setting.machine.variable("PATH"));
    let first = image.path.iter().map(|path| path.as_os_str().as_bytes());
    let path: Vec<&[u8]> = first.chain(rest.filter(|rest| !rest.is_empty())).collect();
    variables.set("PATH", path.join(&b':'));
    if let Some(environment) = &image.environment {
        variables.default_to("VIRTUAL_ENV", environment.as_os_str().as_bytes());
    }
}

/// The program and its arguments: `command` instead of the image's own, `args` behind it.
fn argv(
    container: &Container,
    image: Option<&StandIn>,
    variables: &Variables,
    report: &Report<'_>,
) -> Option<Vec<OsString>> {
    let expand =
        |words: &[String]| -> Vec<OsString> { words.iter().map(|word| variables.expand(word)).collect() };
    let command = container.command.as_deref().unwrap_or_default();
    let args = container.args.as_deref().unwrap_or_default();
    let mut argv = if command.is_empty() {
        match image.map(|image| &image.entrypoint) {
            Some(Entrypoint::Command(words)) => words.iter().map(OsString::from).collect(),
            Some(Entrypoint::None) if !args.is_empty() => Vec::new(),
            _ => return no_command(container, args, report),
        }
    } else {
        expand(command)
    };
    argv.extend(expand(args));
    if let Some((image, python)) = image.and_then(|image| Some((image, image.python.as_ref()?)))
        && let Some(first) = argv.first().and_then(|first| first.to_str())
    {
        // Of an environment `python` is first on PATH; an interpreter alone may have any name.
        let by_name = image.environment.is_none() && is_python_name(first);
        if by_name || is_python_of_image(first) {
            argv[0] = python.into();
        }
    }
    Some(argv)
}

fn no_command<T>(container: &Container, args: &[String], report: &Report<'_>) -> Option<T> {
    let image = container.image.as_deref().unwrap_or_default();
    let message = if args.is_empty() {
        "no command: what the image would start is not known here"
    } else {
        "arguments without a command: what the image would start with them is not known here"
    };
    let hint = format!(
        "say it with `--command 'python train.py'`, or in the configuration as `command` of image `{image}`"
    );
    report.refuse_without_image(message, hint);
    None
}

/// Whether a program is the Python of an image by its place there, rather than by name: ours lies elsewhere.
fn is_python_of_image(program: &str) -> bool {
    let place = ["/usr/bin/", "/usr/local/bin/", "/bin/", "/opt/conda/bin/"];
    let mut names = place.iter().filter_map(|place| program.strip_prefix(place));
    names.any(is_python_name)
}
