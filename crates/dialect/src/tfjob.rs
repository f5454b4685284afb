//! Kubeflow's `TFJob`, in every version there was.
//!
//! ```text
//! object ─▶ spec (v1alpha2 … v1) ─┐
//!        └▶ first (v1alpha1)  ────┴▶ Spec ─▶ rules, gang, cluster ─▶ Job ─▶ checks
//! ```
//!
//! What differs between versions is where a field stands; after [`spec::Spec`] nothing asks for the version.

pub(crate) mod annotations;
mod first;
pub(crate) mod gang;
pub(crate) mod roles;
pub(crate) mod rules;
pub(crate) mod run_policy;
mod served;
pub(crate) mod spec;

use trainyard_core::{
    Addresses, After, Clean, ClusterForm, Conventions, GangChoice, InPlace, Job, LabelValue, Limits, Role,
    RoleKind, RoleName,
};
use trainyard_document::tfjob_api::MANAGERS;

use self::annotations::Wishes;
use self::roles::{Replica, Restart};
use self::run_policy::RestartScope;
use self::spec::Spec;
use crate::check::{self, Places};
use crate::compile;
use crate::dialect::{Description, Dialect, RoleList};
use crate::manifest::{Metadata, Object, ReadJob};

pub use self::served::not_served;

/// The container that is the task.
pub(crate) const MAIN_CONTAINER: &str = "tensorflow";
/// The port TensorFlow listens on, where the template does not say another.
pub(crate) const PORT: u16 = 2222;
/// The name of that port in the template.
pub(crate) const PORT_NAME: &str = "tfjob-port";
/// Jobs that name one of these in `managedBy` are ours to run.
pub const OURSELVES: &[&str] = &[MANAGERS[0], MANAGERS[1]];

/// The dialect, for everything outside this module.
pub(crate) static DESCRIPTION: Description = Description {
    name: "tfjob",
    kind: "TFJob",
    title: "TFJob",
    group: "kubeflow.org",
    versions: &["v1", "v1beta2", "v1beta1", "v1alpha2", "v1alpha1"],
    roles: RoleList {
        field: "tfReplicaSpecs",
        name: None,
        minimums: &["/runPolicy/schedulingPolicy/minAvailable"],
    },
    lists: &[RoleList {
        field: "replicaSpecs",
        name: Some("tfReplicaType"),
        minimums: &[],
    }],
    conventions: Conventions {
        pod_labels: &[
            ("training.kubeflow.org/job-name", LabelValue::Job),
            ("training.kubeflow.org/replica-type", LabelValue::Role),
            ("training.kubeflow.org/job-role", LabelValue::Leader("master")),
            ("training.kubeflow.org/replica-index", LabelValue::Index),
        ],
        operated_labels: &[
            (
                "training.kubeflow.org/operator-name",
                LabelValue::Fixed("tfjob-controller"),
            ),
            ("training.kubeflow.org/job-name", LabelValue::Job),
            ("training.kubeflow.org/replica-type", LabelValue::Role),
            ("training.kubeflow.org/replica-index", LabelValue::Index),
        ],
        operated_annotations: &[],
        legacy_labels: &[
            // Those of tf-operator 0.2 to training-operator 1.5, all at once: selectors were written for one of them.
            ("group-name", LabelValue::Fixed("kubeflow.org")),
            ("group_name", LabelValue::Fixed("kubeflow.org")),
            ("job-name", LabelValue::Job),
            ("tf-job-name", LabelValue::Job),
            ("tf_job_name", LabelValue::Job),
            ("controller-name", LabelValue::Fixed("tf-operator")),
            ("replica-type", LabelValue::Role),
            ("tf-replica-type", LabelValue::Role),
            ("replica-index", LabelValue::Index),
            ("tf-replica-index", LabelValue::Index),
            ("job-role", LabelValue::Leader("master")),
            ("tf-job-role", LabelValue::Leader("master")),
            ("tf_job_role", LabelValue::Leader("master")),
        ],
        own_scheduler: None,
    },
    read,
    write: crate::convert::tfjob::write,
};

/// Reads a `TFJob`.
pub(crate) fn read(object: &Object<'_>) -> Option<ReadJob> {
    let (metadata, body) = object.open()?;
    let wishes = Wishes::read(&metadata);
    let spec = match object.version {
        "v1alpha1" => first::read(body?, &wishes)?,
        version => spec::read(body?, version, &wishes)?,
    };
    spec.check();
    let choice = gang::choice(&spec, &wishes);
    let job = job(&metadata, &wishes, &spec, choice.clone());
    if job.cluster != ClusterForm::None {
        spec.check_tf_config();
    }
    if spec.complete {
        let mut places = places(&metadata, &spec);
        (places.clean_name, places.clean_path) = clean_up(object.version);
        check::job(&job, &places);
    }
    let managed_by = spec.run.managed_by.clone();
    let board = spec.tensorboard.map(|board| board.object(&metadata));
    Some(ReadJob {
        gang: choice,
        managed_by: managed_by.filter(|name| !OURSELVES.contains(&&**name)),
        objects: board.into_iter().collect(),
        ..object.read_as(Dialect::TfJob, &metadata, job)
    })
}

/// The compiled job.
fn job(metadata: &Metadata<'_>, wishes: &Wishes<'_>, spec: &Spec<'_>, choice: GangChoice) -> Job {
    let roles: Vec<Role> = spec.replicas.iter().map(|replica| role(replica, spec)).collect();
    let gang = gang::needs(spec, &roles, choice);
    let cluster = cluster(spec, wishes);
    Job {
        name: metadata.name.clone(),
        namespace: metadata.namespace.clone(),
        uid: metadata.uid.clone(),
        rules: rules::compile(spec, wishes),
        limits: Limits {
            restarts: spec.run.backoff_limit,
            count_in_place: true,
            deadline: spec.run.deadline,
            ttl: spec.run.ttl,
            lost_node: spec.run.lost_node,
            settle: settle(spec),
            ..Limits::default()
        },
        clean: spec.run.clean.unwrap_or(Clean::None),
        suspend: spec.run.suspend,
        gang,
        addresses: wishes.addresses.unwrap_or(Addresses::PerJob),
        cluster,
        roles,
    }
}

fn role(replica: &Replica<'_>, spec: &Spec<'_>) -> Role {
    let alone = spec.run.scope.of(replica.kind) == RestartScope::Replica;
    let in_place = match replica.restart {
        Restart::OnFailure if alone => InPlace::OnFailure,
        Restart::Always if alone => InPlace::Always,
        _ => InPlace::Never,
    };
    let named = replica.template.port(MAIN_CONTAINER, PORT_NAME);
    Role {
        name: roles::name(replica.kind),
        kind: replica.kind,
        tf_type: roles::lower(replica.kind).into(),
        replicas: replica.replicas,
        template: compile::template(&replica.template),
        resume_template: None,
        in_place,
        port: named.or(replica.port).unwrap_or(PORT),
        ask: compile::in_thousandths(&replica.template.requests),
        after: after(replica.kind, spec),
    }
}

/// Which role a role waits for: the one named before it in `startOrder`; roles that are not named wait for the last one.
pub(crate) fn after(kind: RoleKind, spec: &Spec<'_>) -> Option<After> {
    let order = &spec.run.start_order;
    let mine = order.iter().position(|named| *named == kind);
    let mut earlier = order[..mine.unwrap_or(order.len())].iter().rev();
    let before = earlier.find_map(|named| spec.replica(*named))?;
    Some(After {
        roles: vec![(roles::name(before.kind), before.replicas)],
        any: false,
    })
}

/// What `TF_CONFIG` says. One task alone gets none.
fn cluster(spec: &Spec<'_>, wishes: &Wishes<'_>) -> ClusterForm {
    let total: u64 = spec
        .replicas
        .iter()
        .map(|replica| u64::from(replica.replicas))
        .sum();
    if total == 1 {
        return ClusterForm::None;
    }
    if spec.dynamic_workers {
        return ClusterForm::Sparse;
    }
    ClusterForm::Full {
        roles: in_cluster(spec, wishes),
        environment: true,
    }
}

/// The roles that `TF_CONFIG` lists, in the order of the alphabet, as Kubeflow writes them.
pub(crate) fn in_cluster(spec: &Spec<'_>, wishes: &Wishes<'_>) -> Vec<RoleName> {
    let mut alphabet = vec![RoleKind::Chief, RoleKind::Master, RoleKind::Ps, RoleKind::Worker];
    if wishes.evaluator_in_cluster {
        alphabet.insert(1, RoleKind::Evaluator);
    }
    alphabet.retain(|kind| spec.replica(*kind).is_some());
    alphabet.into_iter().map(roles::name).collect()
}

/// How long an end is left unanswered: longer where the tasks of a job restart together.
pub(crate) fn settle(spec: &Spec<'_>) -> u32 {
    match spec.run.scope {
        RestartScope::Replica => compile::SETTLE,
        RestartScope::Roles(_) | RestartScope::Job => compile::SETTLE_TOGETHER,
    }
}

/// What a version calls its clean-up policy, and where it belongs.
fn clean_up(version: &str) -> (&'static str, &'static str) {
    match version {
        "v1alpha1" => ("cleanupPodPolicy", "spec.cleanupPodPolicy"),
        "v1" => ("cleanPodPolicy", "spec.runPolicy.cleanPodPolicy"),
        _ => ("cleanPodPolicy", "spec.cleanPodPolicy"),
    }
}

/// Where problems of the compiled job are shown.
pub(crate) fn places<'a>(metadata: &Metadata<'a>, spec: &Spec<'a>) -> Places<'a> {
    Places {
        name: metadata.place.clone(),
        generate_name: metadata.generate_name,
        roles: spec
            .replicas
            .iter()
            .map(|replica| replica.field.clone())
            .collect(),
        clean: spec.run.clean_at.clone(),
        clean_name: "cleanPodPolicy",
        clean_path: "spec.runPolicy.cleanPodPolicy",
        clean_better: "Running",
    }
}
