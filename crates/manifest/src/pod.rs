//! A pod from a role's template: labels, name in the network, ports, variables and `TF_CONFIG`.
//!
//! The template stays the user's: what is not ours to set passes through. Variables come in the order in which the
//! kubelet replaces `$(NAME)`: ours first, so that the template's may refer to them, and `TF_CONFIG` last.

use serde_json::{Map, Value, json};
use trainyard_core::{AddressBook, Cluster, ClusterForm, GangScheduler, Role, Subject, TaskId, Template};

use crate::cluster_map::{CLUSTER_KEY, CLUSTER_VARIABLE, ClusterMap};
use crate::names::{COMPLETION_INDEX, INDEX_LABELS, INDEX_VARIABLE, SERVER_LABELS, of_pods};
use crate::nodes::{self, Seat};
use crate::service::PORT_NAME;
use crate::values::{list, object, present};

/// The container of this name is the task; without one, the first is.
pub(crate) const MAIN: &str = "tensorflow";
const OLD_GPU: &str = "alpha.kubernetes.io/nvidia-gpu";
const GPU: &str = "nvidia.com/gpu";

/// Where a pod's number within its role comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index<'a> {
    /// The pods of an Indexed Job share a template, and are called `<prefix><index>`.
    Completion {
        /// The name of the host without the index.
        prefix: &'a str,
    },
    /// The pod is made for this task alone.
    Fixed(u32),
}

/// Which pods get variables that say who they are and where the others are, besides `TF_CONFIG`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variables {
    /// All of them.
    Always,
    /// Those whose template mentions one. Every variable costs the API server time and every container memory, and manifests
    /// for Kubeflow's operator know `TF_CONFIG` alone (ADR 8).
    Mentioned,
}

/// A template, parsed: once per role, however many pods are made from it.
#[derive(Debug)]
pub struct ParsedTemplate {
    /// Labels and annotations; nothing else of a template's metadata is for pods.
    metadata: [Map<String, Value>; 2],
    spec: Map<String, Value>,
    /// It mentions one of our variables.
    mentions: bool,
}

impl ParsedTemplate {
    /// Parses a template. One that is no object is empty.
    #[must_use]
    pub fn of(template: &Template) -> Self {
        let mut written: Value = serde_json::from_str(&template.0).unwrap_or_default();
        let mut map = |path: &str| match written.pointer_mut(path).map(Value::take) {
            Some(Value::Object(map)) => map,
            _ => Map::new(),
        };
        let mut labels = map("/metadata/labels");
        labels.retain(|key, _| !SERVER_LABELS.contains(&key.as_str()));
        Self {
            metadata: [labels, map("/metadata/annotations")],
            spec: map("/spec"),
            mentions: template.0.contains("TRAINYARD_"),
        }
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
    /// The pod template of a role's Indexed Job, whose pods are called `<prefix><index>`.
    #[must_use]
    pub fn of_role(&self, role: &Role, prefix: &str) -> Value {
        let written = ParsedTemplate::of(&role.template);
        self.template(&written, role, Index::Completion { prefix }, None)
    }

    /// The pod template of a role, or of one task of it.
    #[must_use]
    pub fn template(
        &self,
        written: &ParsedTemplate,
        role: &Role,
        index: Index<'_>,
        seat: Option<&Seat>,
    ) -> Value {
        let mut pod = written.spec.clone();
        self.place(&mut pod, seat);
        let main = main_container(&pod);
        let ours = self.variables == Variables::Always || written.mentions;
        let ours = if ours { self.given(role, index) } else { Vec::new() };
        for (key, main) in [("initContainers", None), ("containers", main)] {
            let containers = pod.get_mut(key).and_then(Value::as_array_mut);
            for (position, container) in containers.into_iter().flatten().enumerate() {
                let Value::Object(container) = container else {
                    continue;
                };
                mend_resources(container);
                let is_main = main == Some(position);
                let mut last = Vec::new();
                if is_main {
                    open_port(container, role.port, seat.map(|seat| seat.port));
                    last = self.tf_config(role, index);
                }
                self.set_variables(container, &ours, last, is_main);
            }
        }
        let fixed = match index {
            Index::Fixed(index) => Some(index),
            Index::Completion { .. } => {
                ask_for_completion_index(&mut pod);
                None
            }
        };
        let [mut labels, annotations] = written.metadata.clone();
        labels.extend(of_pods(self.subject, role, fixed));
        let annotations = Some(annotations).filter(|annotations| !annotations.is_empty());
        let metadata = present(json!({ "labels": labels, "annotations": annotations }));
        json!({ "metadata": metadata, "spec": pod })
    }

    /// What the pod as a whole gets: its name in the network, its scheduler, and that the kubelet does not restart it in place.
    fn place(&self, pod: &mut Map<String, Value>, seat: Option<&Seat>) {
        pod.shift_remove("hostname");
        match self.subdomain {
            Some(name) => pod.insert("subdomain".into(), name.into()),
            None => pod.shift_remove("subdomain"),
        };
        // A Job's `podFailurePolicy` needs it.
        pod.insert("restartPolicy".into(), "Never".into());
        // A pod on its node's network asks the node's DNS by default, which knows no names of the cluster.
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
    /// jobs, and other pods would wait for it for ever where it is not installed. Where it places the job, it is named again.
    fn brings_scheduler(&self, pod: &Map<String, Value>) -> bool {
        let own = self.subject.conventions.own_scheduler.as_ref();
        let name = own.and_then(GangScheduler::name);
        name.is_some_and(|name| pod.get("schedulerName") == Some(&name.into()))
    }

    /// Sets a container's variables: ours that the template does not set, the template's, and `last`.
    fn set_variables(
        &self,
        container: &mut Map<String, Value>,
        ours: &[Value],
        last: Vec<Value>,
        is_main: bool,
    ) {
        let Some(env) = list(container, "env") else { return };
        let gives_cluster = is_main && self.subject.job.cluster != ClusterForm::None;
        env.retain(|variable| {
            let name = variable["name"].as_str().unwrap_or_default();
            name != INDEX_VARIABLE && !(gives_cluster && name == "TF_CONFIG")
        });
        let is_set = |ours: &&Value| env.iter().any(|variable| variable["name"] == ours["name"]);
        let mut all: Vec<Value> = ours.iter().filter(|ours| !is_set(ours)).cloned().collect();
        all.append(env);
        all.extend(last);
        if all.is_empty() {
            container.shift_remove("env");
        } else {
            *env = all;
        }
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
                let own = self.address(role, index);
                self.cluster.pattern(&role.name, &index.to_string(), own, shared)
            }
        };
        let Some(text) = text else { return Vec::new() };
        let shared = shared.map(|_| self.map.variable(CLUSTER_VARIABLE, CLUSTER_KEY));
        let tf_config = json!({ "name": "TF_CONFIG", "value": text });
        shared.into_iter().chain([tf_config]).collect()
    }

    /// The address of the task with the number that a variable holds: the first one's, with the variable in place of its 0.
    fn own_address(&self, role: &Role, prefix: &str, number: &str) -> String {
        let first = self.address(role, 0);
        let rest = first.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('0'));
        format!("{prefix}{number}{}", rest.unwrap_or_default())
    }

    fn address(&self, role: &Role, index: u32) -> &str {
        let role = role.name.clone();
        let task = TaskId { role, index };
        self.book.0.get(&task).map_or("", |address| address)
    }

    /// The variables that say which task it is and where the others are.
    fn given(&self, role: &Role, index: Index<'_>) -> Vec<Value> {
        let path = format!("metadata.annotations['{COMPLETION_INDEX}']");
        let (shared, number) = match index {
            // Kubernetes adds it too, but at the end, where nothing before it can refer to it.
            Index::Completion { .. } => (
                Some(json!({ "name": INDEX_VARIABLE, "valueFrom": { "fieldRef": { "fieldPath": path } } })),
                format!("$({INDEX_VARIABLE})"),
            ),
            Index::Fixed(index) => (None, index.to_string()),
        };
        let own = [("TRAINYARD_ROLE", &*role.tf_type), ("TRAINYARD_INDEX", &number)];
        let own = own.map(|(name, value)| json!({ "name": name, "value": value }));
        let hosts = self.map.host_variables();
        shared.into_iter().chain(own).chain(hosts).collect()
    }
}

/// The position of the container that is the task.
#[must_use]
pub fn main_container(pod: &Map<String, Value>) -> Option<usize> {
    let containers = pod.get("containers")?.as_array()?;
    let named = containers.iter().position(|container| container["name"] == MAIN);
    named.or_else(|| (!containers.is_empty()).then_some(0))
}

/// No node offers GPUs under their old name any more. The API server reads the number `0.5` as a quantity, but a CRD only the text.
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

/// Declares the port that TensorFlow listens on: `instead` of the template's, where tasks share a node.
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

/// Pods of an Indexed Job share their labels, so a `fieldRef` to a label with the task's number finds none: it is changed to the
/// annotation that Kubernetes sets.
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

/// The pod spec inside a pod template.
pub(crate) fn spec_of(template: &mut Value) -> Option<&mut Map<String, Value>> {
    object(template.as_object_mut()?, "spec")
}
