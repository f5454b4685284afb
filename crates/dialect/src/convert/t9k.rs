//! The job as a `TensorFlowTrainingJob`.

use serde_json::{Value, json};
use trainyard_core::{Clean, RoleKind};

use super::outline::{Outline, RoleOutline};
use super::present;
use crate::dialect::Dialect;
use crate::tensorboard::FIELD;
use crate::tfjob::roles::lower;

/// The manifest; what this kind cannot say is left out.
pub(crate) fn write(outline: &Outline<'_>) -> Value {
    let job = outline.job;
    let replicas = outline.roles.iter();
    let replicas = replicas.filter(|role| role.role.kind != RoleKind::Other);
    let replica = |role: &RoleOutline<'_>| {
        json!({
            "type": lower(coordinator(role.role.kind)),
            "replicas": role.role.replicas,
            "restartPolicy": role.restart.word(),
            "template": role.template,
        })
    };
    let gang = job.gang.as_ref().filter(|gang| gang.existing.is_none());
    let scheduler = gang.map(|gang| {
        let priority = gang.priority.as_ref();
        let priority = priority.and_then(|priority| priority.parse::<u32>().ok());
        let scheduler = present(json!({
            "queue": gang.queue.as_deref().unwrap_or("default"),
            "priority": priority.filter(|priority| *priority <= 100),
        }));
        json!({ "t9kScheduler": scheduler })
    });
    let spec = present(json!({
        "replicaSpecs": replicas.map(replica).collect::<Vec<_>>(),
        "runPolicy": run_policy(outline),
        "runMode": job.suspend.then(|| json!({ "pause": { "enabled": true } })),
        "scheduler": scheduler,
        FIELD: outline.board_field(Dialect::TensorFlowTrainingJob),
    }));
    json!({
        "apiVersion": "batch.tensorstack.dev/v1beta1",
        "kind": "TensorFlowTrainingJob",
        "metadata": outline.metadata(Dialect::TensorFlowTrainingJob),
        "spec": spec,
    })
}

/// This kind knows no master; a chief is the same under another name.
fn coordinator(kind: RoleKind) -> RoleKind {
    match kind {
        RoleKind::Master => RoleKind::Chief,
        kind => kind,
    }
}

fn run_policy(outline: &Outline<'_>) -> Value {
    let (job, limits) = (outline.job, &outline.job.limits);
    let clean = match job.clean {
        Clean::None => "None",
        Clean::Unfinished => "Unfinished",
        Clean::All => "All",
    };
    present(json!({
        "cleanUpPolicy": clean,
        "backoffLimit": limits.restarts,
        "activeDeadlineSeconds": limits.deadline,
    }))
}
