//! `spec`: the roles as a list, limits, and the fields that only T9k has.

use std::sync::Arc;

use trainyard_core::{Clean, RoleKind};
use trainyard_document::codes::Code;
use trainyard_document::fields::{Field, Fields};
use trainyard_document::problem::Problem;

use super::modes::{self, Modes};
use super::rules::PRIMARY;
use super::scheduler::Scheduler;
use crate::pod_template::RestartPolicy;
use crate::tensorboard::TensorBoard;
use crate::tfjob::annotations::Wishes;
use crate::tfjob::roles::{Replica, Restart, Roles, lower};
use crate::tfjob::run_policy::{RunPolicy, seconds};
use crate::tfjob::spec::{Spec, Success};

/// What T9k calls its clean-up policy.
pub(super) const CLEAN_UP: &str = "cleanUpPolicy";

/// The roles, as T9k spells them. There is no master.
pub(super) const TYPES: [(&str, RoleKind); 4] = [
    ("chief", RoleKind::Chief),
    ("worker", RoleKind::Worker),
    ("ps", RoleKind::Ps),
    ("evaluator", RoleKind::Evaluator),
];

const CLEAN: [(&str, Clean); 3] = [
    ("None", Clean::None),
    ("Unfinished", Clean::Unfinished),
    ("All", Clean::All),
];

/// Fields of other kinds, and what does the same here.
const BORROWED: &[(&str, &str)] = &[
    (
        "tfReplicaSpecs",
        "here the roles are a list: `replicaSpecs`, each with its `type`",
    ),
    (
        "successPolicy",
        "remove it: here the chief decides, or worker 0 where there is none",
    ),
    (
        "successRules",
        "remove it: only a GenericJob has it; here the chief decides, or worker 0 where there is none",
    ),
    (
        "failureRules",
        "remove it: only a GenericJob has it; here the chief decides, or worker 0 where there is none",
    ),
    (
        "service",
        "remove it: only a GenericJob has it; here the tasks' addresses are made for them",
    ),
    ("elastic", "remove it: only other kinds of T9k's have it"),
    ("schedulingPolicy", "use `spec.scheduler.t9kScheduler`"),
];

const BORROWED_LIMITS: &[(&str, &str)] = &[
    (
        "cleanPodPolicy",
        "here it is called `cleanUpPolicy`: `None`, `Unfinished` or `All`",
    ),
    (
        "ttlSecondsAfterFinished",
        "remove it: this kind has none; delete the job by hand or by its owner",
    ),
    ("suspend", "use `spec.runMode.pause.enabled`"),
    ("schedulingPolicy", "use `spec.scheduler.t9kScheduler`"),
    ("managedBy", "remove it: this kind has no such field"),
];

/// What `spec` says.
pub(super) struct Body<'a> {
    pub spec: Spec<'a>,
    pub modes: Modes<'a>,
    pub scheduler: Option<Scheduler<'a>>,
}

/// Reads `spec`.
pub(super) fn read<'a>(mut fields: Fields<'a>, wishes: &Wishes<'a>) -> Option<Body<'a>> {
    let borrowed = refuse_borrowed(&mut fields, BORROWED);
    let place = if borrowed.contains(&"tfReplicaSpecs") {
        fields.get("replicaSpecs")
    } else {
        fields.require("replicaSpecs")
    };
    let run = run_policy(&mut fields, wishes);
    let run_mode = fields.map("runMode");
    let scheduler = Scheduler::read(&mut fields);
    let tensorboard = TensorBoard::read(&mut fields, wishes.tensorboard.as_ref());
    fields.finish();
    let roles = place.as_ref().map(replicas).unwrap_or_default();
    let types: Vec<RoleKind> = roles.replicas.iter().map(|replica| replica.kind).collect();
    let complete = roles.complete();
    let modes = modes::read(run_mode, &types, complete);
    Some(Body {
        spec: Spec {
            replicas: roles.replicas,
            complete,
            restart_path: "spec.replicaSpecs[*].restartPolicy",
            run,
            success: Success::Default,
            dynamic_workers: false,
            place: place?,
            spelt: lower,
            limit_path: Some("spec.runPolicy.backoffLimit"),
            success_path: PRIMARY,
            tensorboard,
        },
        modes,
        scheduler,
    })
}

/// Reports fields that other kinds have; which they were.
fn refuse_borrowed(fields: &mut Fields<'_>, table: &[(&'static str, &str)]) -> Vec<&'static str> {
    let mut found = Vec::new();
    for (name, instead) in table {
        if !fields.has(name) {
            continue;
        }
        found.push(*name);
        if let Some(field) = fields.get(*name) {
            let message = format!("a TensorFlowTrainingJob has no field `{name}`");
            let problem = field.key_problem(Code::UnknownField, message).found(name);
            field.tell(problem.hint(*instead));
        }
    }
    found
}

fn run_policy<'a>(spec: &mut Fields<'a>, wishes: &Wishes<'a>) -> RunPolicy<'a> {
    let mut out = RunPolicy::default();
    let mut fields = spec.map("runPolicy");
    if let Some(fields) = &mut fields {
        refuse_borrowed(fields, BORROWED_LIMITS);
        out.backoff_limit = fields.count("backoffLimit");
        let deadline = fields.get("activeDeadlineSeconds");
        out.deadline = deadline.as_ref().and_then(seconds);
        out.clean_at = fields.get(CLEAN_UP);
        // The guides write them with capitals, the old page of the API without.
        let clean = out.clean_at.as_ref();
        out.clean = clean.and_then(|field| field.choice_any_case(&CLEAN));
    }
    out.read_additions(fields.as_mut(), wishes);
    if let Some(fields) = fields {
        fields.finish();
    }
    out
}

/// The roles in the order of the list.
fn replicas<'a>(place: &Field<'a>) -> Roles<'a> {
    let mut roles = Roles::default();
    if let Some(problem) = by_role(place) {
        place.tell(problem);
        return roles;
    }
    let items = place.items();
    if items.is_empty() && place.node.as_list().is_some() {
        let message = "`replicaSpecs` is empty: the job has no tasks";
        let problem = place.problem(Code::MissingField, message);
        place.tell(problem.hint("add one with `type: worker`"));
    }
    for (position, item) in items.iter().enumerate() {
        let replica = replica(item, position);
        let kind = replica.as_ref().map(|replica| replica.kind);
        roles.take(item, kind.map(|kind| (kind, lower(kind))), replica);
    }
    roles
}

/// A map by role, as a TFJob has it: to put dashes before its keys would not do.
fn by_role(place: &Field<'_>) -> Option<Problem> {
    let first = place.node.as_map()?.entries().first()?;
    let mut types = TYPES.iter();
    let (role, _) = types.find(|(word, _)| word.eq_ignore_ascii_case(&first.key))?;
    let problem = place.problem(Code::WrongType, "expected a list, found a map");
    let hint = format!("begin each role with `- type: {role}` and so on, in place of its name");
    Some(problem.found("a map").allowed("a list").hint(hint))
}

fn replica<'a>(field: &Field<'a>, position: usize) -> Option<Replica<'a>> {
    if field.node.is_null() {
        let problem = field.problem(Code::MissingField, "this entry of `replicaSpecs` says nothing");
        field.tell(problem.hint("remove it, or give it `type` and `template`"));
        return None;
    }
    let mut fields = field.fields()?;
    let kind = fields.require("type").and_then(|word| word.choice(&TYPES));
    let from: Arc<str> = format!("spec.replicaSpecs[{position}].restartPolicy").into();
    // A role that cannot be told is read as a worker, for its problems.
    let replica = Replica::read(kind.unwrap_or(RoleKind::Worker), field, from, &mut fields);
    let restart = fields.get("restartPolicy");
    let restart = restart.map(|word| word.choice(&Restart::WORDS));
    fields.elsewhere("containers", "template.spec.containers");
    fields.elsewhere("spec", "template.spec");
    fields.finish();
    let mut replica = replica?;
    kind?;
    replica.restart = match restart {
        Some(None) => return None,
        Some(Some(said)) => said,
        None => Restart::Never,
    };
    check_template_policy(&replica);
    Some(replica)
}

/// Pods are made anew and never restarted in place, whatever the template says.
fn check_template_policy(replica: &Replica<'_>) {
    let Some((written, span)) = replica.template.restart_policy else {
        return;
    };
    if written == RestartPolicy::Never {
        return;
    }
    let message =
        "pods of a TensorFlowTrainingJob always get `Never`; the role's `restartPolicy` makes them anew";
    let problem = replica.policy_problem(span, message);
    let beside = replica.field.path.field("restartPolicy");
    let hint = format!("remove it here; what the role does after a failure is said by `{beside}`");
    replica.field.tell(problem.hint(hint));
}
