//! The job as a `TensorFlowTrainingJob`.

use serde_json::{Map, Value, json};
use trainyard_core::{Clean, RoleKind};

use super::outline::Outline;
use crate::dialect::Dialect;

/// The manifest; what this kind cannot say is left out.
pub(crate) fn write(outline: &Outline<'_>) -> Value {
    let job = outline.job;
    let replicas: Vec<Value> = outline
        .roles
        .iter()
        .filter_map(|role| {
            // It knows no master; a chief is the same under another name.
            let kind = match role.role.kind {
                RoleKind::Chief | RoleKind::Master => "chief",
                RoleKind::Worker => "worker",
                RoleKind::Ps => "ps",
                RoleKind::Evaluator => "evaluator",
                RoleKind::Other => return None,
            };
            Some(json!({
                "type": kind,
                "replicas": role.role.replicas,
                "restartPolicy": role.restart.word(),
                "template": role.template,
            }))
        })
        .collect();
    let mut spec = Map::new();
    spec.insert("replicaSpecs".into(), replicas.into());
    spec.insert("runPolicy".into(), run_policy(outline));
    if job.suspend {
        spec.insert("runMode".into(), json!({ "pause": { "enabled": true } }));
    }
    if let Some(gang) = job.gang.as_ref().filter(|gang| gang.existing.is_none()) {
        let queue = gang.queue.as_deref().unwrap_or("default");
        let mut scheduler = json!({ "queue": queue });
        let number = gang
            .priority
            .as_ref()
            .and_then(|priority| priority.parse::<u32>().ok());
        if let Some(priority) = number.filter(|priority| *priority <= 100) {
            scheduler["priority"] = priority.into();
        }
        spec.insert("scheduler".into(), json!({ "t9kScheduler": scheduler }));
    }
    json!({
        "apiVersion": "batch.tensorstack.dev/v1beta1",
        "kind": "TensorFlowTrainingJob",
        "metadata": outline.metadata(Dialect::TensorFlowTrainingJob),
        "spec": spec,
    })
}

fn run_policy(outline: &Outline<'_>) -> Value {
    let (job, limits) = (outline.job, &outline.job.limits);
    let clean = match job.clean {
        Clean::None => "None",
        Clean::Unfinished => "Unfinished",
        Clean::All => "All",
    };
    let mut policy = Map::new();
    policy.insert("cleanUpPolicy".into(), clean.into());
    if let Some(limit) = limits.restarts {
        policy.insert("backoffLimit".into(), limit.into());
    }
    if let Some(deadline) = limits.deadline {
        policy.insert("activeDeadlineSeconds".into(), deadline.into());
    }
    Value::Object(policy)
}
