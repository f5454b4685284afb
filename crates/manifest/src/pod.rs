//! A pod from a role's template: labels, name in the network, ports, variables and `TF_CONFIG`.
//!
//! The template stays the user's: what is not ours to set passes through. Variables come in the order in which the
//! kubelet replaces `$(NAME)`: ours first, so that the template's may refer to them, and `TF_CONFIG` last.

use serde_json::{Map, Value, json};
use trainyard_core::{AddressBook, Cluster, Role, Subject, TaskId};

use crate::cluster_map::{CLUSTER_KEY, CLUSTER_VARIABLE, ClusterMap};
use crate::names::{COMPLETION_INDEX, INDEX_LABELS, INDEX_VARIABLE, SERVER_LABELS, of_pods};
use crate::nodes::{self, Seat};
use crate::service::PORT_NAME;
use crate::values::{list, object};

/// The container that is the task, where there is one of this name; else the first.
pub(crate) const MAIN: &str = "tensorflow";
const OLD_GPU: &str = "alpha.kubernetes.io/nvidia-gpu";
const GPU: &str = "nvidia.com/gpu";

/// How a pod knows its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index<'a> {
    /// It is one of an Indexed Job's, whose pods share a template and are called `<this><index>`.
    Completion {
        /// What stands before the index in the name of the host.
        prefix: &'a str,
    },
    /// It is made for this task alone.
    Fixed(u32),
}

/// Which pods get variables that say who they are and where the others are, besides `TF_CONFIG`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variables {
    /// All of them.
    Always,
    /// Those whose template mentions one. Every variable costs the API server time and every container room, and those
    /// who come from Kubeflow know `TF_CONFIG` alone (ADR 8).
    Mentioned,
}

impl Variables {
    /// How their names begin.
    const PREFIX: &'static str = "TRAINYARD_";

    /// Whether the pods of this role get them.
    fn are_for(self, role: &Role) -> bool {
        self == Self::Always || role.template.0.contains(Self::PREFIX)
    }
}

/// Everything that the pods of a job have in common.
#[derive(Debug)]
pub struct Pods<'a> {
    /// The job.
    pub subject: &'a Subject,
    /// Where every task is found.
    pub book: &'a AddressBook,
    /// What `TF_CONFIG` says.
    pub cluster: &'a Cluster,
    /// The map of addresses.
    pub map: &'a ClusterMap,
    /// The Service that gives the pods their names, if one does.
    pub subdomain: Option<&'a str>,
    /// Which of them get variables besides `TF_CONFIG`.
    pub variables: Variables,
}

impl Pods<'_> {
    /// The pod template of a role, or of one task of it.
    #[must_use]
    pub fn template(&self, role: &Role, index: Index<'_>, seat: Option<&Seat>) -> Value {
        let written = serde_json::from_str(&role.template.0).unwrap_or_default();
        let Value::Object(mut written) = written else {
            return json!({});
        };
        let mut pod = match written.remove("spec") {
            Some(Value::Object(pod)) => pod,
            _ => Map::new(),
        };
        self.place(&mut pod, seat);
        let main = main_container(&pod);
        for (key, containers) in &mut pod {
            let is_main_list = key == "containers";
            if !is_main_list && key != "initContainers" {
                continue;
            }
            for (position, container) in containers.as_array_mut().into_iter().flatten().enumerate() {
                let is_main = is_main_list && Some(position) == main;
                if let Value::Object(container) = container {
                    self.container(container, role, index, is_main, seat);
                }
            }
        }
        if let Index::Completion { .. } = index {
            ask_for_completion_index(&mut pod);
        }
        let metadata = self.metadata(written.remove("metadata"), role, index);
        json!({ "metadata": metadata, "spec": pod })
    }

    /// Of a template's metadata only labels and annotations are for the pods.
    fn metadata(&self, written: Option<Value>, role: &Role, index: Index<'_>) -> Value {
        let mut metadata = Map::new();
        let mut written = match written {
            Some(Value::Object(written)) => written,
            _ => Map::new(),
        };
        let mut labels = match written.remove("labels") {
            Some(Value::Object(labels)) => labels,
            _ => Map::new(),
        };
        labels.retain(|key, _| !SERVER_LABELS.contains(&key.as_str()));
        let fixed = match index {
            Index::Fixed(index) => Some(index),
            Index::Completion { .. } => None,
        };
        labels.extend(of_pods(self.subject, role, fixed));
        metadata.insert("labels".into(), labels.into());
        if let Some(Value::Object(annotations)) = written.remove("annotations") {
            metadata.insert("annotations".into(), annotations.into());
        }
        metadata.into()
    }

    /// What the pod as a whole gets: its name in the network, who places it, that nobody restarts it in place.
    fn place(&self, pod: &mut Map<String, Value>, seat: Option<&Seat>) {
        pod.shift_remove("hostname");
        match self.subdomain {
            Some(name) => pod.insert("subdomain".into(), name.into()),
            None => pod.shift_remove("subdomain"),
        };
        // A Job answers ends by `podFailurePolicy` only where the kubelet does not answer them first.
        pod.insert("restartPolicy".into(), "Never".into());
        // On its node's network a pod asks its node for names, which knows none of the cluster's.
        if pod.get("hostNetwork") == Some(&true.into()) {
            pod.entry("dnsPolicy")
                .or_insert_with(|| "ClusterFirstWithHostNet".into());
        }
        if self.brings_scheduler(pod) {
            pod.shift_remove("schedulerName");
        }
        if let Some(seat) = seat {
            nodes::sit(pod, seat);
        }
    }

    /// Whether the template's scheduler is the one that the job's kind gives to every pod: it places gangs of its own
    /// jobs, and pods of plain Jobs would wait for it for ever where it is not installed.
    fn brings_scheduler(&self, pod: &Map<String, Value>) -> bool {
        let gang = self.subject.job.gang.as_ref().map(|gang| &gang.scheduler);
        let own = self.subject.conventions.own_scheduler.as_ref();
        let name = own.filter(|own| gang == Some(*own)).and_then(|own| own.name());
        name.is_some_and(|name| pod.get("schedulerName") == Some(&name.into()))
    }

    fn container(
        &self,
        container: &mut Map<String, Value>,
        role: &Role,
        index: Index<'_>,
        is_main: bool,
        seat: Option<&Seat>,
    ) {
        mend_resources(container);
        if is_main {
            open_port(container, role.port, seat.map(|seat| seat.port));
        }
        let Some(env) = list(container, "env") else { return };
        let own = std::mem::take(env);
        let is_ours = |variable: &Value| {
            let name = variable["name"].as_str().unwrap_or_default();
            name == INDEX_VARIABLE || is_main && name == "TF_CONFIG" && self.cluster_is_given()
        };
        let own: Vec<Value> = own.into_iter().filter(|variable| !is_ours(variable)).collect();
        let is_set = |ours: &Value| own.iter().any(|variable| variable["name"] == ours["name"]);
        let mut all = Vec::new();
        if self.variables.are_for(role) {
            let ours = given(role, index).into_iter().chain(self.map.host_variables());
            all.extend(ours.filter(|ours| !is_set(ours)));
        }
        all.extend(own);
        if is_main {
            all.extend(self.tf_config(role, index));
        }
        if all.is_empty() {
            container.shift_remove("env");
        } else {
            *env = all;
        }
    }

    fn cluster_is_given(&self) -> bool {
        self.subject.job.cluster != trainyard_core::ClusterForm::None
    }

    /// `TF_CONFIG`, and what it refers to.
    fn tf_config(&self, role: &Role, index: Index<'_>) -> Vec<Value> {
        let reference = format!("$({CLUSTER_VARIABLE})");
        let shared = self.map.large.then_some(&*reference);
        let text = match index {
            Index::Completion { prefix } => {
                let number = format!("$({INDEX_VARIABLE})");
                let own = self.own_address(role, prefix, &number);
                self.cluster.pattern(&role.name, &number, &own, shared)
            }
            Index::Fixed(index) => {
                let task = TaskId {
                    role: role.name.clone(),
                    index,
                };
                let own = self.book.0.get(&task).map_or("", |address| address);
                self.cluster.pattern(&role.name, &index.to_string(), own, shared)
            }
        };
        let Some(text) = text else { return Vec::new() };
        let shared = shared.map(|_| self.map.variable(CLUSTER_VARIABLE, CLUSTER_KEY));
        let tf_config = json!({ "name": "TF_CONFIG", "value": text });
        shared.into_iter().chain([tf_config]).collect()
    }

    /// The address of whoever has that number: the first one's, with the number in place of its 0.
    fn own_address(&self, role: &Role, prefix: &str, number: &str) -> String {
        let first = TaskId {
            role: role.name.clone(),
            index: 0,
        };
        let first = self.book.0.get(&first).map_or("", |address| address);
        let rest = first.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('0'));
        format!("{prefix}{number}{}", rest.unwrap_or_default())
    }
}

/// Who the task is.
fn given(role: &Role, index: Index<'_>) -> Vec<Value> {
    let mut variables = Vec::new();
    let number = match index {
        Index::Completion { .. } => {
            let path = format!("metadata.annotations['{COMPLETION_INDEX}']");
            // Kubernetes adds it too, but at the end, where nothing before it can refer to it.
            variables
                .push(json!({ "name": INDEX_VARIABLE, "valueFrom": { "fieldRef": { "fieldPath": path } } }));
            format!("$({INDEX_VARIABLE})")
        }
        Index::Fixed(index) => index.to_string(),
    };
    variables.push(json!({ "name": "TRAINYARD_ROLE", "value": *role.tf_type }));
    variables.push(json!({ "name": "TRAINYARD_INDEX", "value": number }));
    variables
}

/// The position of the container that is the task.
#[must_use]
pub fn main_container(pod: &Map<String, Value>) -> Option<usize> {
    let containers = pod.get("containers")?.as_array()?;
    let named = containers.iter().position(|container| container["name"] == MAIN);
    named.or(if containers.is_empty() { None } else { Some(0) })
}

/// The old name of GPUs is offered by no node any more; and `0.5` is a quantity to the API server itself, but to a CRD
/// only as text.
fn mend_resources(container: &mut Map<String, Value>) {
    let Some(Value::Object(resources)) = container.get_mut("resources") else {
        return;
    };
    for (_, amounts) in resources.iter_mut() {
        let Value::Object(amounts) = amounts else { continue };
        if let Some(count) = amounts.shift_remove(OLD_GPU) {
            amounts.entry(GPU).or_insert(count);
        }
        for (_, amount) in amounts.iter_mut().filter(|(_, amount)| amount.is_f64()) {
            *amount = amount.to_string().into();
        }
    }
}

/// Says on which port TensorFlow listens; `instead` where it is to be another one than the template's.
fn open_port(container: &mut Map<String, Value>, port: u16, instead: Option<u16>) {
    let Some(ports) = list(container, "ports") else {
        return;
    };
    let chosen = instead.unwrap_or(port);
    if let Some(entry) = ports.iter_mut().find(|entry| entry["containerPort"] == port) {
        entry["containerPort"] = chosen.into();
        if chosen != port && entry.get("hostPort").is_some() {
            entry["hostPort"] = chosen.into();
        }
    } else {
        let mut entry = json!({ "containerPort": chosen });
        if ports.iter().all(|other| other["name"] != PORT_NAME) {
            entry = json!({ "name": PORT_NAME, "containerPort": chosen });
        }
        ports.push(entry);
    }
}

/// Pods of an Indexed Job share their labels, so one that asks for its number by a label of its own finds none: it is
/// asked for where Kubernetes puts it.
fn ask_for_completion_index(pod: &mut Map<String, Value>) {
    for (key, value) in pod.iter_mut() {
        match value {
            Value::String(path) if key == "fieldPath" => {
                let asked = |list: &str, label: &str| *path == format!("metadata.{list}['{label}']");
                let is_index = |label: &&str| asked("labels", label) || asked("annotations", label);
                if INDEX_LABELS.iter().any(is_index) {
                    *path = format!("metadata.annotations['{COMPLETION_INDEX}']");
                }
            }
            Value::Object(inner) => ask_for_completion_index(inner),
            Value::Array(items) => {
                for inner in items.iter_mut().filter_map(Value::as_object_mut) {
                    ask_for_completion_index(inner);
                }
            }
            _ => {}
        }
    }
}

/// Merges labels or annotations of the manifest's own with ours; ours win.
#[must_use]
pub fn merged(own: &Map<String, Value>, ours: Map<String, Value>) -> Map<String, Value> {
    let mut all = own.clone();
    all.extend(ours);
    all
}

/// The pod spec inside a pod template.
pub(crate) fn spec_of(template: &mut Value) -> Option<&mut Map<String, Value>> {
    template
        .as_object_mut()
        .and_then(|template| object(template, "spec"))
}
