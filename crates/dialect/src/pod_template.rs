//! A pod template is checked, and what the job model needs is taken out of it.
//!
//! It stands between a dialect's reader, which finds the template in its own place, and core's Job, for which the
//! template itself is opaque JSON.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::codes::Code;
use crate::fields::{Field, Fields};
use crate::problem::Span;
use crate::quantity::Quantity;

/// Amounts by the name of the resource: `cpu`, `memory`, `nvidia.com/gpu`.
pub type Resources = BTreeMap<Arc<str>, Quantity>;

/// What the job model needs to know of a pod template.
#[derive(Clone, Debug)]
pub struct PodTemplate {
    /// The template as JSON, as it was written.
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
    /// `spec.priorityClassName`.
    pub priority_class_name: Option<Arc<str>>,
    /// `spec.restartPolicy`, and where it is written.
    pub restart_policy: Option<(RestartPolicy, Span)>,
    /// `spec.hostNetwork`.
    pub host_network: bool,
    /// `spec.hostname`.
    pub hostname: Option<Arc<str>>,
    /// `spec.subdomain`.
    pub subdomain: Option<Arc<str>>,
    /// `spec.terminationGracePeriodSeconds`.
    pub grace_seconds: Option<u32>,
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
    /// `workingDir`.
    pub working_dir: Option<Arc<str>>,
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
    /// `value`; `None` where it comes from elsewhere (`valueFrom`).
    pub value: Option<Arc<str>>,
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
    let mut template = field.fields()?;
    let metadata = template.map("metadata");
    let (labels, annotations) = metadata.map(metadata_of).unwrap_or_default();
    let spec = template.map("spec");
    template.finish();
    let mut out = PodTemplate {
        json: field.node.to_json(),
        labels,
        annotations,
        containers: Vec::new(),
        init_containers: Vec::new(),
        requests: Resources::new(),
        scheduler_name: None,
        priority_class_name: None,
        restart_policy: None,
        host_network: false,
        hostname: None,
        subdomain: None,
        grace_seconds: None,
        at: field.at,
    };
    let Some(mut spec) = spec else {
        field.report(
            Code::NoContainers,
            "the template has no `spec` and so no containers",
        );
        return Some(out);
    };
    out.scheduler_name = spec.text("schedulerName").cloned();
    out.priority_class_name = spec.text("priorityClassName").cloned();
    out.restart_policy = spec.get("restartPolicy").and_then(|found| {
        let words = [
            ("Always", RestartPolicy::Always),
            ("OnFailure", RestartPolicy::OnFailure),
            ("Never", RestartPolicy::Never),
        ];
        Some((found.choice(&words)?, found.node.span))
    });
    out.host_network = spec.bool("hostNetwork").unwrap_or(false);
    out.hostname = spec.text("hostname").cloned();
    out.subdomain = spec.text("subdomain").cloned();
    out.grace_seconds = spec.count("terminationGracePeriodSeconds");
    out.containers = spec.list("containers").iter().filter_map(container).collect();
    out.init_containers = spec.list("initContainers").iter().filter_map(container).collect();
    Some(out)
}

type Texts = BTreeMap<Arc<str>, Arc<str>>;

fn metadata_of(mut metadata: Fields<'_>) -> (Texts, Texts) {
    let mut texts = |name| -> Texts {
        let Some(mut map) = metadata.map(name) else {
            return Texts::new();
        };
        map.entries()
            .iter()
            .filter_map(|(key, value)| Some(((*key).clone(), value.text()?.clone())))
            .collect()
    };
    (texts("labels"), texts("annotations"))
}

fn container(field: &Field<'_>) -> Option<Container> {
    let mut fields = field.fields()?;
    let texts = |list: Vec<Field<'_>>| list.iter().filter_map(|item| item.text().cloned()).collect();
    Some(Container {
        name: fields
            .require("name")
            .and_then(|name| name.text().cloned())
            .unwrap_or_default(),
        image: fields
            .require("image")
            .and_then(|image| image.text().cloned())
            .unwrap_or_default(),
        command: texts(fields.list("command")),
        args: texts(fields.list("args")),
        working_dir: fields.text("workingDir").cloned(),
        ports: Vec::new(),
        env: Vec::new(),
        requests: Resources::new(),
        limits: Resources::new(),
        stays: false,
        at: field.at,
    })
}
