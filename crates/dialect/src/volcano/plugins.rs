//! Plugins: which of Volcano's there are, which are carried out here, and their arguments.

use std::sync::Arc;

use trainyard_core::RoleKind;
use trainyard_document::codes::Code;
use trainyard_document::fields::{Field, Fields};
use trainyard_document::problem::{closest, did_you_mean, quoted, shown};

use super::spec::Task;

/// The port of the tensorflow plugin, unless it is told another.
pub(super) const PORT: u16 = 2222;

/// What `--evaluator` says to keep the evaluator out of `cluster`: no task is called so, and the type of a task that the plugin
/// does not know is the task's own name.
pub(crate) const NO_TASK: &str = "none";

/// The plugins a job uses, after the webhook's additions.
#[derive(Clone, Debug, Default)]
pub(super) struct Plugins {
    /// `env`: each pod learns its number.
    pub env: bool,
    /// `svc`: pods find each other by name, and read all names from files and variables.
    pub svc: Option<Service>,
    /// `tensorflow`: `TF_CONFIG`.
    pub tensorflow: Option<TensorFlow>,
}

/// Arguments of `svc`.
#[derive(Clone, Debug)]
pub(super) struct Service {
    /// Only the job's own pods may reach its pods.
    pub network_policy: bool,
    /// All names in variables, not only in files.
    pub hosts_in_variables: bool,
}

/// Arguments of `tensorflow`.
#[derive(Clone, Debug)]
pub(super) struct TensorFlow {
    /// The roles in the order of `cluster`, each with the name of its task.
    pub roles: [(RoleKind, Arc<str>); 4],
    /// The port of every task.
    pub port: u16,
}

impl TensorFlow {
    /// The role that a task has.
    pub fn role(&self, task: &str) -> Option<RoleKind> {
        let found = self.roles.iter().find(|(_, name)| &**name == task);
        found.map(|(kind, _)| *kind)
    }
}

/// Programs that need a shell on another pod, which the plugin `ssh` would give them.
const OVER_SSH: &[&str] = &["ssh", "sshd", "scp", "mpirun", "mpiexec", "horovodrun"];

/// Plugins that do something TensorFlow has no use for, and why each is refused.
const REFUSED: &[(&str, &str)] = &[
    (
        "mpi",
        "it starts programs over ssh with mpirun, which is not TensorFlow's way",
    ),
    (
        "pytorch",
        "it prepares PyTorch's variables, and this program runs TensorFlow",
    ),
    ("ray", "it starts a Ray cluster, and this program runs TensorFlow"),
    (
        "hcclrank",
        "ranks of Huawei's collective library are not handed out",
    ),
];

const CARRIED_OUT: &[&str] = &["env", "svc", "tensorflow"];

/// Reads `plugins`. Their arguments may refer to tasks by name.
pub(super) fn read(fields: &mut Fields<'_>, tasks: &[Task<'_>]) -> Plugins {
    let mut plugins = Plugins::default();
    let Some(mut map) = fields.map("plugins") else {
        return plugins;
    };
    let names: Vec<Arc<str>> = tasks.iter().map(|task| task.name.clone()).collect();
    let has_tensorflow = map.has("tensorflow");
    for (name, field) in map.entries() {
        match &**name {
            "env" => {
                let mut arguments = Arguments::read(&field);
                arguments.finish("env");
                plugins.env = true;
            }
            "svc" => plugins.svc = Some(service(&field)),
            "tensorflow" => plugins.tensorflow = Some(tensorflow(&field, &names)),
            "ssh" => ssh(&field, tasks, has_tensorflow),
            other => refuse(other, &field),
        }
    }
    map.finish();
    if plugins.tensorflow.is_some() {
        plugins.svc.get_or_insert(Service {
            network_policy: true,
            hosts_in_variables: true,
        });
    }
    plugins
}

/// No keys are handed out. Many manifests list the plugin by habit: that is an error only where a program needs it.
fn ssh(field: &Field<'_>, tasks: &[Task<'_>], has_tensorflow: bool) {
    let over_ssh = tasks
        .iter()
        .filter(|_| !has_tensorflow)
        .find_map(program_over_ssh);
    let Some(program) = over_ssh else {
        let message =
            "the plugin `ssh` has no effect: no keys are handed out, and TensorFlow's tasks talk over gRPC";
        let problem = field.key_problem(Code::FieldIgnored, message);
        return field.tell(problem.hint("remove the plugin"));
    };
    let message = format!("the plugin `ssh` is not carried out, and `{program}` needs a shell on other pods");
    let problem = field.key_problem(Code::VolcanoCannot, message).found("ssh");
    field.tell(problem.allowed(quoted(CARRIED_OUT)));
}

/// The first word of a task's commands that is a program which starts others over ssh.
fn program_over_ssh(task: &Task<'_>) -> Option<&'static str> {
    let template = &task.template;
    let containers = template.containers.iter().chain(&template.init_containers);
    let mut texts = containers.flat_map(|container| container.command.iter().chain(&container.args));
    texts.find_map(|text| {
        let mut words =
            text.split(|letter: char| !letter.is_alphanumeric() && letter != '_' && letter != '-');
        words.find_map(|word| OVER_SSH.iter().copied().find(|program| *program == word))
    })
}

fn refuse(name: &str, field: &Field<'_>) {
    let problem = if let Some((_, why)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
        let message = format!("the plugin `{name}` is not carried out: {why}");
        field.key_problem(Code::VolcanoCannot, message)
    } else {
        let message = format!("there is no plugin `{}`", shown(name));
        let problem = field.key_problem(Code::VolcanoUnknownPlugin, message);
        problem.maybe_hint(did_you_mean(name, CARRIED_OUT.iter().copied()))
    };
    field.tell(problem.found(name).allowed(quoted(CARRIED_OUT)));
}

fn service(field: &Field<'_>) -> Service {
    let mut arguments = Arguments::read(field);
    if let Some((false, place)) = arguments.flag("publish-not-ready-addresses") {
        let message = "the argument has no effect: addresses are always published before pods are ready";
        place.report(Code::FieldIgnored, message);
    }
    let off = arguments
        .flag("disable-network-policy")
        .is_some_and(|(off, _)| off);
    let hosts = arguments.flag("inject-hosts-env").is_none_or(|(on, _)| on);
    arguments.finish("svc");
    Service {
        network_policy: !off,
        hosts_in_variables: hosts,
    }
}

fn tensorflow(field: &Field<'_>, tasks: &[Arc<str>]) -> TensorFlow {
    let mut arguments = Arguments::read(field);
    let mut named = |role: &'static str| -> Arc<str> {
        let Some((name, place)) = arguments.text(role) else {
            return role.into();
        };
        if &*name == NO_TASK && role == "evaluator" {
            return role.into();
        }
        if !tasks.contains(&name) {
            let shown = shown(&name);
            let message = format!("`--{role}` names the task `{shown}`, which the job does not have");
            let problem = place.problem(Code::VolcanoPluginArgument, message).found(&name);
            let hint = did_you_mean(&name, tasks.iter().map(|task| &**task));
            place.tell(problem.maybe_hint(hint));
        }
        name
    };
    let roles = [
        (RoleKind::Ps, named("ps")),
        (RoleKind::Worker, named("worker")),
        (RoleKind::Chief, named("chief")),
        (RoleKind::Evaluator, named("evaluator")),
    ];
    let port = arguments.text("port").and_then(|(text, place)| {
        let port = text.parse::<u16>().ok().filter(|port| *port > 0);
        if port.is_none() {
            let message = format!("`{}` is not a port", shown(&text));
            let problem = place.problem(Code::VolcanoPluginArgument, message).found(&text);
            place.tell(problem.allowed("a whole number from 1 to 65535"));
        }
        port
    });
    arguments.finish("tensorflow");
    TensorFlow {
        roles,
        port: port.unwrap_or(PORT),
    }
}

/// Arguments as Go's flag package takes them: `--name=value`, `-name=value`, `--name value`, and `--name` for true.
struct Arguments<'a> {
    given: Vec<Argument<'a>>,
    asked: Vec<&'static str>,
}

struct Argument<'a> {
    name: String,
    value: Option<Arc<str>>,
    place: Field<'a>,
}

impl<'a> Arguments<'a> {
    fn read(field: &Field<'a>) -> Self {
        let mut given: Vec<Argument<'a>> = Vec::new();
        // A plugin without arguments may be written as nothing at all.
        let items = if field.node.is_null() {
            Vec::new()
        } else {
            field.items()
        };
        for place in items {
            let Some(text) = place.text() else { continue };
            let plain = text.strip_prefix("--").or_else(|| text.strip_prefix('-'));
            match (plain, given.last_mut()) {
                (Some(plain), _) => {
                    let (name, value) = match plain.split_once('=') {
                        Some((name, value)) => (name, Some(value.into())),
                        None => (plain, None),
                    };
                    given.push(Argument {
                        name: name.to_owned(),
                        value,
                        place,
                    });
                }
                (None, Some(last)) if last.value.is_none() => last.value = Some(text.clone()),
                (None, _) => {
                    let message = format!("`{}` is not an argument", shown(text));
                    let problem = place.problem(Code::VolcanoPluginArgument, message).found(text);
                    place.tell(problem.allowed("`--name=value`"));
                }
            }
        }
        Self {
            given,
            asked: Vec::new(),
        }
    }

    /// The value of an argument; the last one counts, as in Go.
    fn text(&mut self, name: &'static str) -> Option<(Arc<str>, Field<'a>)> {
        self.asked.push(name);
        let argument = self.given.iter().rev().find(|argument| argument.name == name)?;
        if argument.value.is_none() {
            let message = format!("`--{name}` needs a value");
            argument.place.report(Code::VolcanoPluginArgument, message);
        }
        Some((argument.value.clone()?, argument.place.clone()))
    }

    /// An argument that is on or off.
    fn flag(&mut self, name: &'static str) -> Option<(bool, Field<'a>)> {
        self.asked.push(name);
        let argument = self.given.iter().rev().find(|argument| argument.name == name)?;
        let on = match argument.value.as_deref() {
            None | Some("1" | "t" | "T" | "true" | "TRUE" | "True") => true,
            Some("0" | "f" | "F" | "false" | "FALSE" | "False") => false,
            Some(other) => {
                let message = format!("`--{name}` is on or off, not `{}`", shown(other));
                let problem = argument.place.problem(Code::VolcanoPluginArgument, message);
                let problem = problem.found(other).allowed("`true` or `false`");
                argument.place.tell(problem);
                return None;
            }
        };
        Some((on, argument.place.clone()))
    }

    /// Reports every argument that was not asked for.
    fn finish(&mut self, plugin: &str) {
        let unknown = self
            .given
            .iter()
            .filter(|given| !self.asked.contains(&given.name.as_str()));
        for argument in unknown {
            let Argument { name, place, .. } = argument;
            let message = format!("the plugin `{plugin}` has no argument `--{}`", shown(name));
            let problem = place.problem(Code::VolcanoPluginArgument, message).found(name);
            let hint =
                closest(name, self.asked.iter().copied()).map(|near| format!("did you mean `--{near}`?"));
            place.tell(problem.maybe_hint(hint));
        }
    }
}
