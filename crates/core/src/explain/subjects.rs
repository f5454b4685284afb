//! Who a sentence speaks of: tasks and roles by name or number.

use crate::job::{Job, Role, RoleKind};
use crate::rule::Who;

/// Words joined as a list: `a, b or c`.
pub fn join(words: &[String], last: &str) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [front @ .., end] => format!("{} {last} {end}", front.join(", ")),
    }
}

/// The first letter made large, to begin a sentence.
pub fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => String::new(),
    }
}

/// What one and several tasks of a role are called.
pub fn nouns(job: &Job, role: &Role) -> (String, String) {
    let alone = job.roles.iter().filter(|other| other.kind == role.kind).count() == 1;
    let known = match role.kind {
        RoleKind::Chief => Some(("chief", "chiefs")),
        RoleKind::Master => Some(("master", "masters")),
        RoleKind::Worker => Some(("worker", "workers")),
        RoleKind::Ps => Some(("PS", "PS tasks")),
        RoleKind::Evaluator => Some(("evaluator", "evaluators")),
        RoleKind::Other => None,
    };
    match known {
        Some((one, many)) if alone => (one.into(), many.into()),
        _ => (format!("`{}` task", role.name), format!("`{}` tasks", role.name)),
    }
}

/// `a worker`, `an evaluator`.
pub fn with_article(noun: &str) -> String {
    let vowel = noun
        .trim_start_matches('`')
        .starts_with(['a', 'e', 'i', 'o', 'u']);
    format!("{} {noun}", if vowel { "an" } else { "a" })
}

/// Roles that have tasks.
pub fn nonempty_roles(job: &Job) -> impl Iterator<Item = &Role> {
    job.roles.iter().filter(|role| role.replicas > 0)
}

/// The only role that has tasks, if it is only one.
pub fn only_role(job: &Job) -> Option<&Role> {
    let mut roles = nonempty_roles(job);
    roles.next().filter(|_| roles.next().is_none())
}

/// One of those tasks, whichever: `a task`, `a worker`, `chief-0`.
pub fn one_of(job: &Job, who: &Who) -> String {
    match (&who.role, who.index) {
        (Some(name), Some(index)) => format!("{name}-{index}"),
        (None, Some(index)) => format!("a task with number {index}"),
        (Some(name), None) => match job.role(name) {
            Some((_, role)) if role.replicas == 1 => format!("{name}-0"),
            Some((_, role)) => with_article(&nouns(job, role).0),
            None => format!("a `{name}` task"),
        },
        (None, None) => any_task(job),
    }
}

/// Any task of the job, by the best name there is for it.
pub fn any_task(job: &Job) -> String {
    match only_role(job) {
        Some(role) if role.replicas == 1 => format!("{}-0", role.name),
        Some(role) => with_article(&nouns(job, role).0),
        None => "a task".into(),
    }
}

/// All of those tasks, with a verb in the singular or plural: `chief-0 has`, `both workers have`, `every task has`.
pub fn all_of(job: &Job, who: &Who, one: &str, many: &str) -> String {
    match (&who.role, who.index) {
        (None, None) => match only_role(job) {
            Some(role) => all_of(job, &Who::role(&role.name), one, many),
            None => format!("every task {one}"),
        },
        (Some(name), None) => match job.role(name) {
            Some((_, role)) if role.replicas > 1 => {
                format!("{} {many}", all(role.replicas, &nouns(job, role).1))
            }
            _ => format!("{} {one}", one_of(job, who)),
        },
        _ => format!("{} {one}", one_of(job, who)),
    }
}

/// `both workers`, `all 4 workers`.
pub fn all(count: u32, many: &str) -> String {
    match count {
        2 => format!("both {many}"),
        _ => format!("all {count} {many}"),
    }
}

/// All tasks of the job, as a subject in the plural: `all 7 tasks`, `both workers`.
pub fn whole_job(job: &Job) -> String {
    let size = u32::try_from(job.size()).unwrap_or(u32::MAX);
    match only_role(job) {
        Some(role) => all(size, &nouns(job, role).1),
        None => all(size, "tasks"),
    }
}

/// What one and several of those tasks are called.
pub fn kind_of(job: &Job, who: &Who) -> (String, String) {
    let role = match &who.role {
        Some(name) => job.role(name).map(|(_, role)| role),
        None => only_role(job),
    };
    match role {
        Some(role) => nouns(job, role),
        None => ("task".into(), "tasks".into()),
    }
}

/// How many tasks are meant.
pub fn how_many(job: &Job, who: &Who) -> u64 {
    let meant = |role: &Role| match who.index {
        _ if who.role.as_ref().is_some_and(|name| *name != role.name) => 0,
        Some(index) => u64::from(index < role.replicas),
        None => u64::from(role.replicas),
    };
    job.roles.iter().map(meant).sum()
}
