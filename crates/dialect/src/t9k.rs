//! T9k's `TensorFlowTrainingJob`, `batch.tensorstack.dev/v1beta1`.
//!
//! ```text
//! object ─▶ spec (the roles of a TFJob as a list) ─┐
//!        └▶ modes, scheduler ──────────────────────┴▶ rules, gang, templates ─▶ Job ─▶ checks
//! ```
//!
//! Its controller is closed: what is here follows from its documents. Where they are silent or disagree, the choice
//! is in `docs/t9k.md`.

mod modes;
mod rules;
mod scheduler;
mod spec;

use trainyard_core::{
    Addresses, Clean, ClusterForm, Conventions, Gang, GangChoice, GangScheduler, InPlace, JOB_LABEL, Job,
    LabelValue, Limits, ROLE_LABEL, Role, TASK_INDEX_LABEL,
};

use self::modes::Modes;
use self::spec::Body;
use crate::check;
use crate::compile;
use crate::dialect::{Description, Dialect, RoleList};
use crate::manifest::{Metadata, Object, ReadJob};
use crate::tfjob::annotations::Wishes;
use crate::tfjob::gang::existing;
use crate::tfjob::roles::{Replica, lower, name};
use crate::tfjob::spec::Spec;
use crate::tfjob::{PORT, after, in_cluster, places, settle};

/// The dialect, for everything outside this module.
pub(crate) static DESCRIPTION: Description = Description {
    name: "tensorflowtrainingjob",
    kind: "TensorFlowTrainingJob",
    title: "TensorFlowTrainingJob",
    group: "batch.tensorstack.dev",
    versions: &["v1beta1"],
    roles: RoleList {
        field: "replicaSpecs",
        name: Some("type"),
        minimums: &[],
    },
    lists: &[],
    conventions: Conventions {
        pod_labels: &[("tensorstack.dev/owner-name", LabelValue::Job)],
        operated_labels: &[
            (JOB_LABEL, LabelValue::Job),
            (ROLE_LABEL, LabelValue::Role),
            (TASK_INDEX_LABEL, LabelValue::Index),
            ("tensorstack.dev/owner-name", LabelValue::Job),
            (
                "trainyard.dev/operator-name",
                LabelValue::Fixed("tensorflowtrainingjob-controller"),
            ),
        ],
        operated_annotations: &[],
        legacy_labels: &[],
        own_scheduler: None,
    },
    read,
    write: crate::convert::t9k::write,
};

/// Reads a `TensorFlowTrainingJob`.
pub(crate) fn read(object: &Object<'_>) -> Option<ReadJob> {
    let (metadata, body) = object.open()?;
    let wishes = Wishes::read(&metadata);
    let Body {
        spec,
        modes,
        scheduler,
    } = spec::read(body?, &wishes)?;
    spec.check();
    spec.check_tf_config();
    let mut job = job(&metadata, &wishes, &spec, &modes);
    let asked = scheduler.as_ref().map(|_| GangChoice::Named(GangScheduler::T9k));
    let choice = wishes.gang.or(asked).unwrap_or_default();
    if let (GangChoice::Named(named), Some(scheduler)) = (&choice, scheduler) {
        let gang = scheduler.gang(&job.roles, named.clone());
        job.gang = Some(Gang {
            existing: existing(&spec),
            ..gang
        });
    }
    if spec.complete {
        let mut places = places(&metadata, &spec);
        places.clean_name = spec::CLEAN_UP;
        places.clean_path = "spec.runPolicy.cleanUpPolicy";
        places.clean_better = "Unfinished";
        check::job(&job, &places);
    }
    let objects = spec.tensorboard.map(|board| board.object(&metadata));
    Some(ReadJob {
        gang: choice,
        objects: objects.into_iter().collect(),
        ..object.read_as(Dialect::TensorFlowTrainingJob, &metadata, job)
    })
}

fn job(metadata: &Metadata<'_>, wishes: &Wishes<'_>, spec: &Spec<'_>, modes: &Modes<'_>) -> Job {
    Job {
        name: metadata.name.clone(),
        namespace: metadata.namespace.clone(),
        uid: metadata.uid.clone(),
        roles: spec
            .replicas
            .iter()
            .map(|replica| role(replica, spec, modes))
            .collect(),
        rules: rules::compile(spec, &rules::retryable(metadata, wishes)),
        limits: Limits {
            restarts: spec.run.backoff_limit,
            deadline: spec.run.deadline,
            settle: settle(spec),
            ..Limits::default()
        },
        clean: spec.run.clean.unwrap_or(Clean::None),
        suspend: modes.paused,
        gang: None,
        addresses: wishes.addresses.unwrap_or(Addresses::PerJob),
        cluster: cluster(spec, wishes),
    }
}

fn role(replica: &Replica<'_>, spec: &Spec<'_>, modes: &Modes<'_>) -> Role {
    let template = modes.first(replica);
    Role {
        name: name(replica.kind),
        kind: replica.kind,
        tf_type: lower(replica.kind).into(),
        replicas: replica.replicas,
        resume_template: modes.resumed(replica, &template).as_ref().map(compile::template),
        template: compile::template(&template),
        // Pods are made anew, never restarted in place.
        in_place: InPlace::Never,
        port: PORT,
        ask: compile::in_thousandths(&replica.template.requests),
        after: after(replica.kind, spec),
    }
}

/// What `TF_CONFIG` says: T9k's own scripts read it, so one task alone gets it too.
fn cluster(spec: &Spec<'_>, wishes: &Wishes<'_>) -> ClusterForm {
    ClusterForm::Full {
        roles: in_cluster(spec, wishes),
        environment: false,
    }
}
