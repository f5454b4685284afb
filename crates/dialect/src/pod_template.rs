//! A pod template is checked, and what the job model needs is taken out of it.
//!
//! It stands between a dialect's reader, which finds the template in its own place, and core's Job, for which the
//! template itself is opaque JSON.

pub mod check;
mod container;
mod files;
pub(crate) mod resources;
pub mod schema;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use trainyard_document::codes::Code;
use trainyard_document::fields::Field;
use trainyard_document::problem::Span;
use trainyard_document::quantity::Quantity;
use trainyard_document::{Entry, Map, Node};

use self::container::{items, text_of};

/// Amounts by the name of the resource: `cpu`, `memory`, `nvidia.com/gpu`.
pub type Resources = BTreeMap<Arc<str>, Quantity>;

/// What the job model needs to know of a pod template.
#[derive(Clone, Debug)]
pub struct PodTemplate {
    /// The template as JSON, as it was written but for the old name of the GPU.
    pub json: Value,
    /// `metadata.labels`.
    pub labels: BTreeMap<Arc<str>, Arc<str>>,
    /// `metadata.annotations`.
    pub annotations: BTreeMap<Arc<str>, Arc<str>>,
    /// `spec.containers`.
    pub containers: Vec<Container>,
    /// `spec.initContainers`.
    pub init_containers: Vec<Container>,
    /// What one pod asks for, as the scheduler counts.
    pub requests: Resources,
    /// `spec.schedulerName`.
    pub scheduler_name: Option<Arc<str>>,
    /// `spec.schedulingGroup.podGroupName`: a group of Kubernetes' own.
    pub scheduling_group: Option<Arc<str>>,
    /// `spec.restartPolicy`, and where it is written.
    pub restart_policy: Option<(RestartPolicy, Span)>,
    /// `spec.hostNetwork`.
    pub host_network: bool,
    /// Where the template is written: the place for problems about it as a whole.
    pub at: Span,
}

/// `spec.restartPolicy` of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RestartPolicy {
    /// Restart whatever the exit code.
    Always,
    /// Restart after a failure.
    OnFailure,
    /// Never restart.
    Never,
}

/// One container of a pod.
#[derive(Clone, Debug)]
pub struct Container {
    /// `name`; empty if it is missing, which has been reported.
    pub name: Arc<str>,
    /// `image`; empty if it is missing, which has been reported.
    pub image: Arc<str>,
    /// `command`.
    pub command: Vec<Arc<str>>,
    /// `args`.
    pub args: Vec<Arc<str>>,
    /// `ports`.
    pub ports: Vec<Port>,
    /// `env`, in order.
    pub env: Vec<Variable>,
    /// What it asks for: requests, and limits where there is no request.
    pub requests: Resources,
    /// `resources.limits`.
    pub limits: Resources,
    /// Whether it is an init container that stays beside the others (`restartPolicy: Always`).
    pub stays: bool,
    /// Where it is written.
    pub at: Span,
}

/// One port of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// `name`.
    pub name: Option<Arc<str>>,
    /// `containerPort`.
    pub number: u16,
}

/// One environment variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// `name`.
    pub name: Arc<str>,
    /// `value`, empty if there is none; `None` where it comes from elsewhere (`valueFrom`).
    pub value: Option<Arc<str>>,
    /// Where its name is written.
    pub at: Span,
}

impl PodTemplate {
    /// The container with this name.
    #[must_use]
    pub fn container(&self, name: &str) -> Option<&Container> {
        self.containers.iter().find(|container| &*container.name == name)
    }

    /// The port with this name in the container with that one.
    #[must_use]
    pub fn port(&self, container: &str, port: &str) -> Option<u16> {
        self.container(container)?.port(port)
    }
}

impl Container {
    /// The number of the port with this name.
    #[must_use]
    pub fn port(&self, name: &str) -> Option<u16> {
        self.ports
            .iter()
            .find(|port| port.name.as_deref() == Some(name))
            .map(|port| port.number)
    }
}

/// Reads a pod template. `None` only if it is no map at all; everything else that is wrong is reported and left out.
#[must_use]
pub fn read(field: &Field<'_>) -> Option<PodTemplate> {
    _ = field.fields()?;
    check::check(field, &schema::POD_TEMPLATE);
    let metadata = field.get("metadata");
    if let Some(metadata) = &metadata {
        stripped(metadata);
    }
    let texts = |name: &str| Some(text_map(metadata.as_ref()?.node.get(name)?.as_map()?));
    let mut out = PodTemplate {
        json: json(field.node),
        labels: texts("labels").unwrap_or_default(),
        annotations: texts("annotations").unwrap_or_default(),
        containers: Vec::new(),
        init_containers: Vec::new(),
        requests: Resources::new(),
        scheduler_name: None,
        scheduling_group: None,
        restart_policy: None,
        host_network: false,
        at: field.at,
    };
    match field.get("spec") {
        Some(spec) if spec.node.as_map().is_some() => out.read_spec(&spec),
        _ => field.report(
            Code::NoContainers,
            "the template has no `spec` and so no containers",
        ),
    }
    Some(out)
}

impl PodTemplate {
    fn read_spec(&mut self, spec: &Field<'_>) {
        self.scheduler_name = text_of(spec, "schedulerName").filter(|text| !text.is_empty());
        let group = spec.get("schedulingGroup");
        let group = group.and_then(|group| text_of(&group, "podGroupName"));
        self.scheduling_group = group.filter(|text| !text.is_empty());
        self.host_network = spec
            .get("hostNetwork")
            .and_then(|field| field.node.as_bool())
            .unwrap_or(false);
        if let Some(grace) = spec.get("terminationGracePeriodSeconds") {
            // Only its range is checked.
            let _ = grace.int(0..=i64::from(i32::MAX));
        }
        self.restart_policy = spec.node.get("restartPolicy").and_then(RestartPolicy::read);
        let volumes = container::volumes(spec);
        let mut names = container::Unique::default();
        let mut read = |name: &str| -> Vec<Container> {
            items(spec, name)
                .iter()
                .filter_map(|item| container::read(item, &mut names, &volumes))
                .collect()
        };
        self.init_containers = read("initContainers");
        self.containers = read("containers");
        if self.containers.is_empty() {
            spec.missing("containers", Code::NoContainers, "the template has no containers");
        }
        let whole = spec
            .get("resources")
            .map(|field| resources::Amounts::read(&field).requests);
        let overhead = spec.get("overhead").map(|field| resources::amounts(&field));
        self.requests = resources::pod_requests(
            &self.containers,
            &self.init_containers,
            &whole.unwrap_or_default(),
            &overhead.unwrap_or_default(),
        );
    }
}

impl RestartPolicy {
    fn read(node: &Node) -> Option<(Self, Span)> {
        let policy = match node.as_text()? {
            "Always" => Self::Always,
            "OnFailure" => Self::OnFailure,
            "Never" => Self::Never,
            _ => return None,
        };
        Some((policy, node.span))
    }
}

fn text_map(map: &Map) -> BTreeMap<Arc<str>, Arc<str>> {
    let entry = |entry: &Entry| Some((Arc::clone(&entry.key), Arc::from(entry.value.as_text()?)));
    map.entries().iter().filter_map(entry).collect()
}

/// Finalizers and owners in a template would keep its pods alive or give them away.
fn stripped(metadata: &Field<'_>) {
    for name in ["finalizers", "ownerReferences"] {
        let Some(found) = metadata.get(name) else {
            continue;
        };
        if found.node.as_list().is_some_and(|list| !list.is_empty()) {
            let message = format!("`{name}` is removed from the template");
            let problem = found.problem(Code::StrippedMetadata, message);
            found.tell(problem.hint("remove it"));
        }
    }
}

/// The template as JSON, with the GPU under the name it has today.
fn json(node: &Node) -> Value {
    let mut json = node.to_json();
    let Some(spec) = json.get_mut("spec").and_then(Value::as_object_mut) else {
        return json;
    };
    for list in ["containers", "initContainers"] {
        let containers = spec.get_mut(list).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            for part in ["limits", "requests"] {
                let amounts = container
                    .get_mut("resources")
                    .and_then(|resources| resources.get_mut(part));
                let Some(amounts) = amounts.and_then(Value::as_object_mut) else {
                    continue;
                };
                if let Some(count) = amounts.shift_remove(resources::OLD_GPU) {
                    amounts.entry(resources::GPU).or_insert(count);
                }
            }
        }
    }
    json
}

#[cfg(test)]
mod tests;
