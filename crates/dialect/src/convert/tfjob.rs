//! The job as a `TFJob`.

use serde_json::{Map, Value, json};
use trainyard_core::{Clean, ClusterForm, GangScheduler, RoleKind};

use super::outline::{Outline, Success};
use super::present;
use crate::dialect::Dialect;
use crate::tensorboard::FIELD;
use crate::tfjob::{MAIN_CONTAINER, PORT, PORT_NAME};

/// The manifest; what a `TFJob` cannot say is left out.
pub(crate) fn write(outline: &Outline<'_>) -> Value {
    let mut replicas = Map::new();
    let roles = outline.roles.iter();
    for role in roles.filter(|role| role.role.kind != RoleKind::Other) {
        let mut template = role.template.clone();
        super::schedule(&mut template, outline.job.gang.as_ref());
        name_port(&mut template, role.role.port);
        let entry = json!({
            "replicas": role.role.replicas,
            "restartPolicy": role.restart.word(),
            "template": template,
        });
        replicas.insert(role.role.kind.tfjob_name().into(), entry);
    }
    let spec = present(json!({
        "runPolicy": run_policy(outline),
        "successPolicy": (outline.success == Success::AllWorkers).then_some("AllWorkers"),
        "enableDynamicWorker": (outline.job.cluster == ClusterForm::Sparse).then_some(true),
        "tfReplicaSpecs": replicas,
        FIELD: outline.board_field(Dialect::TfJob),
    }));
    json!({ "apiVersion": "kubeflow.org/v1", "kind": "TFJob", "metadata": outline.metadata(Dialect::TfJob), "spec": spec })
}

/// Names the port in the template, where it is not the usual one.
fn name_port(template: &mut Value, port: u16) {
    let containers = template.pointer_mut("/spec/containers");
    let mut containers = containers.and_then(Value::as_array_mut).into_iter().flatten();
    let main = containers.find(|container| container["name"] == MAIN_CONTAINER);
    let Some(Value::Object(main)) = main.filter(|_| port != PORT) else {
        return;
    };
    let ports = main.entry("ports").or_insert_with(|| json!([]));
    if let Value::Array(ports) = ports {
        ports.retain(|entry| entry["containerPort"] != port && entry["name"] != PORT_NAME);
        ports.push(json!({ "name": PORT_NAME, "containerPort": port }));
    }
}

fn run_policy(outline: &Outline<'_>) -> Value {
    let (job, limits) = (outline.job, &outline.job.limits);
    let clean = match job.clean {
        Clean::None => "None",
        Clean::Unfinished => "Running",
        Clean::All => "All",
    };
    present(json!({
        "cleanPodPolicy": clean,
        "backoffLimit": limits.restarts,
        "activeDeadlineSeconds": limits.deadline,
        "ttlSecondsAfterFinished": limits.ttl,
        "lostNodeSeconds": limits.lost_node,
        "suspend": job.suspend.then_some(true),
        "schedulingPolicy": scheduling(outline),
    }))
}

fn scheduling(outline: &Outline<'_>) -> Option<Value> {
    let gang = outline.job.gang.as_ref().filter(|gang| gang.existing.is_none())?;
    let class = gang.priority.as_ref();
    Some(present(json!({
        "minAvailable": gang.members,
        "queue": gang.queue,
        "priorityClass": class.filter(|_| gang.scheduler != GangScheduler::T9k),
        "scheduleTimeoutSeconds": gang.timeout,
    })))
}
