//! Whether two manifests mean the same: every difference is a loss, told with the field it came from.

mod answers;
mod limits;
mod success;

use std::collections::BTreeMap;

use trainyard_core::{ClusterForm, Job, Outcome, Role, RoleKind, Rule, Then, When};
use trainyard_document::codes::Code;
use trainyard_document::problem::Problems;

use self::answers::answers;
use self::limits::{gang, limits};
use self::success::success;
use super::outline::Outline;
use crate::dialect::{Dialect, RoleList};
use crate::manifest::ReadJob;
use crate::tfjob::roles::lower;

/// The new manifest could not be read: the writer made something its own dialect refuses.
pub(super) fn unreadable(outline: &Outline<'_>, to: Dialect, problems: &Problems) {
    let kind = to.kind();
    let message = format!("this job has no form as a {kind}: written as one it would need mending by hand");
    outline.report(problems, Code::LostJob, "", message);
}

/// Tells every difference in meaning.
pub(super) fn tell(outline: &Outline<'_>, converted: &ReadJob, problems: &Problems) {
    let to = &converted.job;
    let pairs = roles(outline, to, problems);
    success(outline, to, problems);
    answers(outline, &pairs, to, problems);
    for (ours, theirs) in pairs {
        of_role(outline, ours, theirs, problems);
    }
    levels(outline, to, problems);
    limits(outline, to, problems);
    gang(outline, to, problems);
}

/// Roles by what they are for; a master may have become a chief.
fn key(role: &Role) -> (RoleKind, String) {
    match role.kind {
        RoleKind::Chief | RoleKind::Master => (RoleKind::Chief, String::new()),
        RoleKind::Other => (RoleKind::Other, role.name.to_string()),
        kind => (kind, String::new()),
    }
}

fn roles<'a>(outline: &Outline<'a>, to: &'a Job, problems: &Problems) -> Vec<(&'a Role, &'a Role)> {
    let mut theirs: BTreeMap<_, &Role> = to.roles.iter().map(|role| (key(role), role)).collect();
    let mut pairs = Vec::new();
    for ours in &outline.job.roles {
        match theirs.remove(&key(ours)) {
            Some(role) => {
                let Role { name, tf_type, .. } = role;
                let message = if *name != ours.name {
                    Some(format!("the tasks of `{}` are called `{name}` there", ours.name))
                } else if *tf_type != ours.tf_type && to.cluster != ClusterForm::None {
                    Some(format!(
                        "`TF_CONFIG` calls the tasks of `{}` `{tf_type}` there",
                        ours.name
                    ))
                } else {
                    None
                };
                if let Some(message) = message {
                    outline.report(problems, Code::LostName, &role_path(outline, ours), message);
                }
                pairs.push((ours, role));
            }
            None if ours.replicas == 0 => {}
            None => {
                let message = format!("the role `{}` has no place there and is left out", ours.name);
                outline.report(problems, Code::LostRole, &role_path(outline, ours), message);
            }
        }
    }
    pairs
}

/// Where a role is written, as far as a reader needs it.
fn role_path(outline: &Outline<'_>, role: &Role) -> String {
    let list = RoleList::of_job(outline.read);
    match list.name {
        Some(_) => format!("spec.{}[{}]", list.field, outline.entry(role)),
        None => format!("spec.{}.{}", list.field, role.kind.tfjob_name()),
    }
}

fn of_role(outline: &Outline<'_>, ours: &Role, theirs: &Role, problems: &Problems) {
    let Role { name, port, .. } = ours;
    if *port != theirs.port {
        let message = format!("{name} listens on port {port} here and {} there", theirs.port);
        outline.report(problems, Code::LostPort, "", message);
    }
    if ours.after.is_some() != theirs.after.is_some() {
        let message = format!("{name} waits for others before it starts, here or there but not in both");
        outline.report(problems, Code::LostStartOrder, "", message);
    }
    if ours.resume_template != theirs.resume_template {
        let path = "spec.runMode.pause.resumeSpecs";
        let message = format!("what {name} runs after a pause is not carried over");
        outline.report(problems, Code::LostField, path, message);
    }
}

/// Rules about more than one end: time-outs, restarts in place, a broken gang, restarts by counts.
fn levels(outline: &Outline<'_>, to: &Job, problems: &Problems) {
    let from = outline.job;
    let is_level = |rule: &&Rule| match &rule.when {
        When::Ended { .. } => false,
        When::Count(_) => matches!(
            rule.then,
            Then::Restart { .. } | Then::Abort | Then::Finish(Outcome::Terminated)
        ),
        When::Down { .. } | When::InPlace { .. } | When::GangBroken => true,
    };
    let same =
        |one: &Rule, other: &Rule| (&one.when, one.held, &one.then) == (&other.when, other.held, &other.then);
    for rule in from.rules.iter().filter(is_level) {
        if !to.rules.iter().any(|other| same(rule, other)) && &*rule.from != crate::compile::BUILT_IN {
            let message = "this rule cannot be said there and is left out".to_owned();
            outline.report(problems, Code::LostRule, &rule.from, message);
        }
    }
}

fn kind_name(role: &Role) -> String {
    match key(role) {
        (RoleKind::Other, name) => name,
        (kind, _) => lower(kind).into(),
    }
}
