//! Volcano's `Job`, `batch.volcano.sh/v1alpha1`.
//!
//! ```text
//! object ─▶ spec (fields, the webhook's defaults and checks) ─▶ rules, gang, pods ─▶ core's Job
//! ```
//!
//! What differs from Volcano's own controller, and why, is in `docs/differences.md`.

mod depends;
mod duration;
pub(crate) mod from;
mod gang;
pub(crate) mod plugins;
mod pods;
mod policy;
mod rules;
mod spec;
mod task;
mod volumes;

use std::sync::Arc;

use trainyard_core::{
    Addresses, Clean, ClusterForm, Conventions, GangChoice, GangScheduler, InPlace, Job, LabelValue, Limits,
    Role, RoleKind, RoleName,
};
use trainyard_document::codes::Code;

use self::spec::{Spec, Task};
use crate::check::{self, Places};
use crate::compile::{self, SETTLE, SETTLE_TOGETHER};
use crate::dialect::{Description, Dialect, RoleList};
use crate::manifest::{Metadata, Object, ReadJob};
use crate::pod_template::{Container, PodTemplate, RestartPolicy};
use crate::tensorboard;
use crate::tfjob::PORT_NAME;
use crate::tfjob::annotations::{GANG, scheduler as gang_choice};
use crate::tfjob::roles::{ROLES, lower};

/// Puts the evaluator into `cluster`, as Volcano's plugin does.
const EVALUATOR_IN_CLUSTER: &str = "trainyard.dev/evaluator-in-cluster";

/// What `maxRetry` says where restarts have no limit: the largest number that the field holds.
pub(crate) const UNLIMITED: u32 = i32::MAX.cast_unsigned();

/// The most that a ConfigMap may hold.
const MOST_HOST_BYTES: u64 = 1 << 20;
/// What Linux takes as one variable: `NAME=value` and a zero byte.
const MOST_VARIABLE_BYTES: u64 = 131_072;

/// Annotations of the pods that the operator makes.
const ANNOTATIONS: &[(&str, LabelValue)] = &[
    ("volcano.sh/job-name", LabelValue::Job),
    ("volcano.sh/task-spec", LabelValue::Role),
    ("volcano.sh/task-index", LabelValue::Index),
    ("volcano.sh/template-uid", LabelValue::JobAndRole),
    ("volcano.sh/queue-name", LabelValue::Queue),
    ("volcano.sh/job-version", LabelValue::Epoch),
    ("volcano.sh/job-retry-count", LabelValue::Paid),
];

/// Labels of the pods, Services and ConfigMaps that the operator makes.
const OPERATED_LABELS: &[(&str, LabelValue)] = &[
    (
        "trainyard.dev/operator-name",
        LabelValue::Fixed("volcano-job-controller"),
    ),
    ("volcano.sh/job-name", LabelValue::Job),
    ("volcano.sh/job-namespace", LabelValue::Namespace),
    ("volcano.sh/queue-name", LabelValue::Queue),
    ("volcano.sh/task-spec", LabelValue::Role),
    ("volcano.sh/task-index", LabelValue::Index),
];

/// Labels of the pods.
const LABELS: &[(&str, LabelValue)] = &[
    ("volcano.sh/job-name", LabelValue::Job),
    ("volcano.sh/job-namespace", LabelValue::Namespace),
    ("volcano.sh/task-spec", LabelValue::Role),
    ("volcano.sh/task-index", LabelValue::Index),
];

/// The dialect, for everything outside this module.
pub(crate) static DESCRIPTION: Description = Description {
    name: "volcano",
    kind: "Job",
    title: "Volcano Job",
    group: "batch.volcano.sh",
    versions: &["v1alpha1"],
    roles: RoleList {
        field: "tasks",
        name: Some("name"),
        minimums: &["/minAvailable", "/minSuccess"],
    },
    lists: &[],
    conventions: Conventions {
        pod_labels: LABELS,
        operated_labels: OPERATED_LABELS,
        operated_annotations: ANNOTATIONS,
        legacy_labels: &[],
        own_scheduler: Some(GangScheduler::Volcano),
    },
    read,
    write: crate::convert::volcano::write,
};

/// Reads a Volcano job.
pub(crate) fn read(object: &Object<'_>) -> Option<ReadJob> {
    let (metadata, spec) = object.open()?;
    metadata.check_our_annotations(&[EVALUATOR_IN_CLUSTER, GANG, tensorboard::ANNOTATION]);
    let mut spec = spec::read(spec?, metadata.annotation(tensorboard::ANNOTATION));
    if !hosts_fit(&spec, &metadata) {
        return None;
    }
    let mut job = compile(&spec, &metadata);
    let choice = metadata.annotation(GANG).and_then(gang_choice);
    let choice = choice.unwrap_or_else(|| GangChoice::Template(GangScheduler::named(&spec.scheduler)));
    if let (GangChoice::Named(named), Some(gang)) = (&choice, &mut job.gang) {
        gang.scheduler = named.clone();
    }
    if !object.root.problems.has_errors() {
        rules::report_shadowed(&job.rules, &spec);
    }
    check::job(&job, &places(&metadata, &spec));
    let mut read = object.read_as(Dialect::Volcano, &metadata, job);
    read.gang = choice;
    read.objects = pods::objects(&spec, &metadata);
    let board = spec.tensorboard.take();
    read.objects.extend(board.map(|board| board.object(&metadata)));
    Some(read)
}

fn compile(spec: &Spec<'_>, metadata: &Metadata<'_>) -> Job {
    let positions = spec.positions();
    let role = |task: &Task<'_>| {
        let template = pods::template(task, spec, metadata);
        let kind = kind(spec, &task.name);
        Role {
            name: RoleName::new(&task.name),
            kind,
            tf_type: tf_type(kind, &task.name),
            replicas: task.replicas,
            template: compile::template(&template),
            resume_template: None,
            in_place: in_place(&template),
            port: port(spec, &template),
            ask: compile::in_thousandths(&template.requests),
            after: depends::after(task, &spec.tasks, &positions),
        }
    };
    let mut job = Job {
        name: metadata.name.clone(),
        namespace: metadata.namespace.clone(),
        uid: metadata.uid.clone(),
        roles: spec.tasks.iter().map(role).collect(),
        rules: rules::compile(spec),
        limits: Limits {
            // The n-th request to restart ends the job, so one fewer can be had.
            restarts: (spec.max_retry < UNLIMITED).then(|| spec.max_retry.saturating_sub(1)),
            ttl: spec.ttl,
            ..Limits::default()
        },
        clean: Clean::Unfinished,
        suspend: false,
        gang: Some(gang::gang(spec)),
        addresses: Addresses::PerJobShort,
        cluster: cluster(spec, metadata),
    };
    job.limits.settle = if job.restarts_whole() {
        SETTLE_TOGETHER
    } else {
        SETTLE
    };
    job
}

/// What TensorFlow takes a task for: what the plugin is told, or else what its name says.
fn kind(spec: &Spec<'_>, task: &str) -> RoleKind {
    if let Some(plugin) = &spec.plugins.tensorflow {
        return plugin.role(task).unwrap_or(RoleKind::Other);
    }
    let named = |(_, kind): &&(&str, RoleKind)| lower(*kind) == task;
    ROLES
        .iter()
        .find(named)
        .map_or(RoleKind::Other, |(_, kind)| *kind)
}

fn tf_type(kind: RoleKind, task: &str) -> Arc<str> {
    match kind {
        RoleKind::Other => task.into(),
        kind => lower(kind).into(),
    }
}

/// The restart policy is the template's own, and Kubernetes takes a template without one for `Always`.
fn in_place(template: &PodTemplate) -> InPlace {
    match template.restart_policy {
        None | Some((RestartPolicy::Always, _)) => InPlace::Always,
        Some((RestartPolicy::OnFailure, _)) => InPlace::OnFailure,
        Some((RestartPolicy::Never, _)) => InPlace::Never,
    }
}

fn port(spec: &Spec<'_>, template: &PodTemplate) -> u16 {
    if let Some(plugin) = &spec.plugins.tensorflow {
        return plugin.port;
    }
    let named = |container: &Container| container.port(PORT_NAME);
    template
        .containers
        .iter()
        .find_map(named)
        .unwrap_or(plugins::PORT)
}

/// The tensorflow plugin writes `TF_CONFIG`, unless there is one pod alone. The evaluator is outside of the cluster,
/// since TensorFlow waits for every task inside; an annotation puts it back.
fn cluster(spec: &Spec<'_>, metadata: &Metadata<'_>) -> ClusterForm {
    let alone = matches!(&spec.tasks[..], [only] if only.replicas == 1);
    let Some(plugin) = spec.plugins.tensorflow.as_ref().filter(|_| !alone) else {
        return ClusterForm::None;
    };
    let inside = metadata
        .annotation(EVALUATOR_IN_CLUSTER)
        .is_some_and(|field| field.choice(&[("true", true), ("false", false)]) == Some(true));
    let has = |name: &str| spec.tasks.iter().any(|task| &*task.name == name);
    let listed = |kind| kind != RoleKind::Evaluator || inside;
    let in_cluster = plugin
        .roles
        .iter()
        .filter(|(kind, name)| has(name) && listed(*kind));
    ClusterForm::Full {
        roles: in_cluster.map(|(_, name)| RoleName::new(name)).collect(),
        environment: false,
    }
}

/// Where problems of the compiled job are shown.
fn places<'a>(metadata: &Metadata<'a>, spec: &Spec<'a>) -> Places<'a> {
    Places {
        name: metadata.place.clone(),
        generate_name: metadata.generate_name,
        roles: spec.tasks.iter().map(|task| task.place.clone()).collect(),
        clean: None,
        clean_name: "",
        clean_path: "",
        clean_better: "",
    }
}

/// Whether the names of all pods fit where the svc plugin puts them; it is said if not.
fn hosts_fit(spec: &Spec<'_>, metadata: &Metadata<'_>) -> bool {
    let Some(service) = &spec.plugins.svc else {
        return true;
    };
    let tell = |message: String, most: u64, hint: &str| {
        let problem = metadata.place.problem(Code::VolcanoHosts, message);
        let problem = problem.allowed(format!("at most {most} bytes"));
        metadata.place.tell(problem.hint(hint));
        false
    };
    let bytes = pods::hosts_bytes(spec, &metadata.name);
    if bytes > MOST_HOST_BYTES {
        let message = format!("the names of all pods take {bytes} bytes, which no ConfigMap can hold");
        let hint = "use fewer replicas or a shorter name, or take the plugin `svc` away";
        return tell(message, MOST_HOST_BYTES, hint);
    }
    let longest = pods::longest_variable(spec, &metadata.name).filter(|_| service.hosts_in_variables);
    if let Some((name, bytes)) = longest.filter(|(_, bytes)| *bytes > MOST_VARIABLE_BYTES) {
        let message =
            format!("the variable `{name}` would have {bytes} bytes, with which Linux starts no program");
        let hint =
            "give the plugin `svc` the argument `--inject-hosts-env=false`: the names stay in /etc/volcano";
        return tell(message, MOST_VARIABLE_BYTES, hint);
    }
    true
}
