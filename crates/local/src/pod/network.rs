//! Whether tasks share this machine's addresses, or have one each as pods do.
//!
//! Sharing is the rule: every task listens on a loopback port of its own, and `TF_CONFIG` says which. Some manifests
//! cannot be run that way. Volcano's tutorial reads host names from `/etc/volcano/worker.host` and puts `:2222` behind
//! each itself; others write `--ps_hosts=job-ps-0.ns.svc:2222` into their arguments. Each of their tasks listens on the
//! same port. TensorFlow's servers listen on every address of the machine, whatever host they are told, so two of
//! them cannot have one port in one network: no spelling of host names mends that, nor does an address of its own in
//! 127.0.0.0/8. What does is a network for each task, as a pod has one, joined by a bridge, and the names in
//! `/etc/hosts`. The price: tasks reach each other and no other host. So it is used where a template needs it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::Ipv4Addr;

use serde_json::Value;
use trainyard_core::{ClusterForm, Job, TaskId, task_name};

use super::items;
use super::machine::Machine;
use super::spec::{HostAlias, Pod};

/// Where tasks are reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// All share this machine's addresses, and each has a port of its own.
    #[default]
    Shared,
    /// Each has an address of its own, and the port that the manifest says.
    PerTask(BTreeMap<TaskId, Ipv4Addr>),
}

/// The addresses of tasks with a network each: 10.77.0.0/16.
const FIRST: u32 = 0x0a4d_0001;

/// How many tasks can have an address each: a bridge of the kernel has 1,024 ports.
pub const MOST_ADDRESSES: u64 = 1_000;

impl Network {
    /// An address for each task of a job, in the order of the tasks.
    pub(crate) fn per_task(job: &Job) -> Self {
        let addresses = (FIRST + 1..).map(Ipv4Addr::from_bits);
        Self::PerTask(job.tasks().zip(addresses).collect())
    }

    /// The addresses of tasks that have one each.
    pub(crate) fn addresses(&self) -> Option<&BTreeMap<TaskId, Ipv4Addr>> {
        match self {
            Self::Shared => None,
            Self::PerTask(addresses) => Some(addresses),
        }
    }

    /// The address at which a task finds itself.
    pub fn address(&self, task: &TaskId) -> Ipv4Addr {
        let own = self.addresses().and_then(|addresses| addresses.get(task));
        own.copied().unwrap_or(Ipv4Addr::LOCALHOST)
    }

    /// Endings of names that must not be sent to a proxy.
    pub(super) fn own_names(&self, job: &Job) -> Vec<String> {
        match self {
            Self::Shared => Vec::new(),
            Self::PerTask(_) => vec![
                format!(".{}", job.name),
                ".svc".to_owned(),
                "10.77.0.0/16".to_owned(),
            ],
        }
    }

    /// The text of `/etc/hosts` for a task, where it must be another than the machine's.
    pub(super) fn hosts(&self, job: &Job, pod: &Pod, machine: &Machine) -> Option<String> {
        let aliases = pod.spec.host_aliases.as_deref().unwrap_or_default();
        let named = self.addresses();
        if aliases.is_empty() && named.is_none() {
            return None;
        }
        let mut text = machine.hosts().to_owned();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        for (task, address) in named.into_iter().flatten() {
            let names = names(job, task).join(" ");
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{address} {names}");
        }
        for HostAlias { ip, hostnames } in aliases {
            let names = hostnames.as_deref().unwrap_or_default().join(" ");
            let _ = writeln!(text, "{ip} {names}");
        }
        Some(text)
    }
}

/// Every name that a pod of this task would have on a cluster.
fn names(job: &Job, task: &TaskId) -> Vec<String> {
    let (pod, service, namespace) = (task_name(job, task), &job.name, &job.namespace);
    let mut names = vec![
        pod.clone(),
        format!("{pod}.{service}"),
        format!("{pod}.{namespace}"),
    ];
    for middle in [format!("{service}.{namespace}"), namespace.to_string()] {
        for end in ["svc", "svc.cluster.local"] {
            names.push(format!("{pod}.{middle}.{end}"));
        }
    }
    names
}

/// Why a job's tasks need an address each; none if they can share the machine's.
pub(crate) fn needs_addresses(job: &Job) -> Option<String> {
    if job.size() < 2 {
        return None;
    }
    let beginnings = job
        .roles
        .iter()
        .map(|role| format!("{}-{}-", job.name, role.name));
    let beginnings: Vec<String> = beginnings.collect();
    for role in &job.roles {
        let Ok(template) = serde_json::from_str::<Value>(&role.template.0) else {
            continue;
        };
        let mut texts = Vec::new();
        gather(&template["spec"], &mut texts);
        if let Some(name) = texts.iter().find_map(|text| task_named(text, &beginnings, job)) {
            return Some(format!(
                "role `{}` names the task `{name}` as on a cluster",
                role.name
            ));
        }
        let hosts = job.cluster == ClusterForm::None && mounts_hosts(&template["spec"]);
        if hosts || texts.iter().any(|text| text.contains("/etc/volcano/")) {
            let role = &role.name;
            return Some(format!(
                "role `{role}` reads the names of tasks from `/etc/volcano` and adds a port itself"
            ));
        }
    }
    None
}

/// Every text that a container is started with.
fn gather<'v>(spec: &'v Value, texts: &mut Vec<&'v str>) {
    for container in items(&spec["containers"]).chain(items(&spec["initContainers"])) {
        let words = items(&container["command"]).chain(items(&container["args"]));
        texts.extend(words.filter_map(Value::as_str));
        texts.extend(items(&container["env"]).filter_map(|variable| variable["value"].as_str()));
    }
}

/// The first name of a task in a text: its beginning and a number.
fn task_named<'t>(text: &'t str, beginnings: &[String], job: &Job) -> Option<&'t str> {
    // With a port or a domain behind it a name is an address; `job-worker-0.log` is not one.
    let is_address = |rest: &str| {
        let domain = |rest: &str| {
            [&*job.name, &*job.namespace, "svc"]
                .iter()
                .any(|name| rest.starts_with(name))
        };
        let port = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
        rest.strip_prefix('.').is_some_and(domain) || rest.strip_prefix(':').is_some_and(port)
    };
    beginnings.iter().find_map(|beginning| {
        text.match_indices(beginning.as_str()).find_map(|(at, _)| {
            let before = text[..at].chars().next_back();
            let rest = &text[at + beginning.len()..];
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let apart = before.is_none_or(|c| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '.' | '/'));
            (apart && digits > 0 && is_address(&rest[digits..]))
                .then(|| &text[at..at + beginning.len() + digits])
        })
    })
}

fn mounts_hosts(spec: &Value) -> bool {
    let mut mounts = items(&spec["containers"]).flat_map(|container| items(&container["volumeMounts"]));
    mounts.any(|mount| mount["mountPath"] == "/etc/volcano")
}
