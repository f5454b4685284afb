//! v1alpha1, the first shape: a list of replicas, and a chief named by `terminationPolicy`.

use std::sync::Arc;

use serde_json::Value;
use trainyard_core::RoleKind;
use trainyard_document::codes::Code;
use trainyard_document::fields::{Field, Fields};
use trainyard_document::problem::quoted;

use super::annotations::Wishes;
use super::roles::{self, Replica, Restart, Roles};
use super::run_policy::RunPolicy;
use super::spec::{Spec, Success};
use crate::compile::BUILT_IN;
use crate::pod_template::RestartPolicy;
use crate::tensorboard::TensorBoard;

/// Reads `spec` of the first version.
pub(super) fn read<'a>(mut fields: Fields<'a>, wishes: &Wishes<'a>) -> Option<Spec<'a>> {
    let place = fields.require("replicaSpecs");
    let mut run = RunPolicy::default();
    run.read_additions(None, wishes);
    run.read_clean(fields.get("cleanupPodPolicy"));
    let scheduler = fields.text("schedulerName").cloned();
    let chief = fields.get("terminationPolicy");
    fields.ignored("tfImage", "each template names its own image");
    let tensorboard = TensorBoard::read(&mut fields, wishes.tensorboard.as_ref());
    fields.skip(&["RuntimeId"]);
    fields.elsewhere("cleanPodPolicy", "spec.cleanupPodPolicy");
    only_in_later_versions(&mut fields);
    fields.finish();
    let place = place?;
    let mut roles = replicas(&place);
    if let Some(name) = scheduler {
        for replica in &mut roles.replicas {
            scheduled_by(replica, &name);
        }
    }
    let mut spec = Spec {
        complete: roles.complete(),
        replicas: roles.replicas,
        restart_path: "spec.replicaSpecs[*].template.spec.restartPolicy",
        run,
        success: Success::Default,
        dynamic_workers: false,
        place,
        spelt: RoleKind::tfjob_name,
        limit_path: None,
        success_path: BUILT_IN,
        tensorboard,
    };
    if let Some(field) = chief {
        spec.success = named_chief(&field, &spec).unwrap_or(Success::Default);
    }
    Some(spec)
}

/// Later fields under the first heading.
fn only_in_later_versions(fields: &mut Fields<'_>) {
    let names = [
        "runPolicy",
        "backoffLimit",
        "activeDeadlineSeconds",
        "ttlSecondsAfterFinished",
        "successPolicy",
        "enableDynamicWorker",
    ];
    for name in names {
        if let Some(found) = fields.refused(name) {
            let problem = found
                .key_problem(Code::UnknownField, format!("unknown field `{name}`"))
                .found(name);
            let hint = "remove it here; a manifest of `kubeflow.org/v1` can say it, and `trainyard convert --to tfjob` \
                        makes one";
            found.tell(problem.hint(hint));
        }
    }
}

fn replicas<'a>(place: &Field<'a>) -> Roles<'a> {
    let items = place.items();
    if items.is_empty() {
        let message = "`replicaSpecs` is empty: the job has no tasks";
        place.report(Code::MissingField, message);
    }
    let mut roles = Roles::default();
    for (index, item) in items.into_iter().enumerate() {
        let (kind, replica) = replica(&item, index);
        roles.take(&item, kind.map(|kind| (kind, kind.tfjob_name())), replica);
    }
    roles.in_order()
}

/// The role and the replica, as far as each could be read.
fn replica<'a>(item: &Field<'a>, index: usize) -> (Option<RoleKind>, Option<Replica<'a>>) {
    let Some(mut fields) = item.fields() else {
        return (None, None);
    };
    // The operator of that time took a replica without a type for the master.
    let kind = match fields.get("tfReplicaType") {
        None => Some(RoleKind::Master),
        Some(field) => field.text().and_then(|word| roles::find_or_report(word, &field)),
    };
    let port = fields.get("tfPort").map(|field| {
        let port = field.int(1..=65535);
        port.and_then(|port| u16::try_from(port).ok())
    });
    let from: Arc<str> = format!("spec.replicaSpecs[{index}].template.spec.restartPolicy").into();
    // Without a role the rest is read all the same, for its problems.
    let replica = Replica::read(kind.unwrap_or(RoleKind::Other), item, from, &mut fields);
    fields.elsewhere("restartPolicy", "template.spec.restartPolicy");
    fields.finish();
    let replica = replica.map(|mut replica| {
        replica.port = port.flatten();
        // The template's own policy is the only one this version has.
        replica.restart = match replica.template.restart_policy {
            Some((RestartPolicy::Always, _)) => Restart::Always,
            Some((RestartPolicy::OnFailure, _)) => Restart::OnFailure,
            Some((RestartPolicy::Never, _)) | None => Restart::Never,
        };
        replica
    });
    (kind, replica)
}

/// `schedulerName` of the job is meant for every template that names none.
fn scheduled_by(replica: &mut Replica<'_>, name: &Arc<str>) {
    if replica.template.scheduler_name.is_none() {
        replica.template.scheduler_name = Some(name.clone());
        if let Some(Value::Object(spec)) = replica.template.json.get_mut("spec") {
            spec.insert("schedulerName".into(), Value::String(name.to_string()));
        }
    }
}

/// `terminationPolicy.chief` names the task whose success is the job's.
fn named_chief(field: &Field<'_>, spec: &Spec<'_>) -> Option<Success> {
    let mut fields = field.fields()?;
    let chief = fields.get("chief");
    fields.finish();
    let Some(chief) = chief else {
        return Some(Success::Default);
    };
    let mut fields = chief.fields()?;
    let name_at = fields.get("replicaName");
    let index = fields.count("replicaIndex").unwrap_or(0);
    fields.finish();
    let kind = match &name_at {
        Some(field) => roles::find_or_report(field.text()?, field)?,
        None => RoleKind::Master,
    };
    let there = spec.replica(kind).is_some_and(|replica| index < replica.replicas);
    if spec.complete && !there {
        let role = kind.tfjob_name();
        let message = format!("the job has no `{role}` {index}, which is to decide");
        let problem = chief.problem(Code::DeciderMissing, message);
        chief.tell(problem.allowed(format!("a replica of {}", quoted(spec.roles()))));
    }
    Some(Success::Task(kind, index))
}
