//! What is no rule: budgets and times, clean-up, start order, the gang.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::subjects::{join, kind_of, nonempty_roles, whole_job};
use super::units::{ask, duration};
use crate::job::{Clean, Gang, GangScheduler, InPlace, Job, Role, RoleName};
use crate::rule::{Then, When, Who};

/// Budgets and time limits, one sentence each.
#[must_use]
pub fn limits(job: &Job) -> Vec<String> {
    let limits = &job.limits;
    let mut words = Vec::new();
    words.extend(budget(job));
    if creates_again(job) {
        let wait = limits.wait;
        words.push(format!(
            "A task is created again at once the first time, then after {}, twice as long each time, at most {}; after a life of \
             {} at once again.",
            duration(wait.first.min(wait.most)),
            duration(wait.most),
            duration(wait.healthy),
        ));
    }
    words.extend(limits.deadline.map(|seconds| {
        format!(
            "The job fails {} after its start; whatever runs is stopped.",
            duration(seconds)
        )
    }));
    words.extend(limits.ttl.map(|seconds| match seconds {
        0 => "The job is deleted as soon as it has ended.".to_owned(),
        _ => format!("The job is deleted {} after its end.", duration(seconds)),
    }));
    words.extend(limits.lost_node.map(|seconds| {
        format!(
            "A task that is still there {} after it should have stopped is deleted by force and started again; a silent node \
             may still run it, and then it runs twice.",
            duration(seconds)
        )
    }));
    words
}

fn budget(job: &Job) -> Option<String> {
    let whose = if job.size() > 1 {
        format!(", shared by {}", whole_job(job))
    } else {
        String::new()
    };
    let in_place = job.roles.iter().any(|role| role.in_place != InPlace::Never);
    let counted = match (in_place, job.limits.count_in_place) {
        (false, _) => "",
        (true, true) => "; restarts in place count",
        (true, false) => "; restarts in place do not count",
    };
    match job.limits.restarts? {
        0 => Some("No restart is allowed.".into()),
        1 => Some(format!("1 restart{whose}{counted}.")),
        restarts => Some(format!("{restarts} restarts{whose}{counted}.")),
    }
}

fn creates_again(job: &Job) -> bool {
    job.rules
        .iter()
        .any(|rule| matches!(rule.then, Then::Restart { .. }))
}

/// What happens to the tasks when the job has ended.
#[must_use]
pub fn clean(job: &Job) -> String {
    let early = job.limits.deadline.is_some()
        || job.limits.restarts.is_some() && job.rules.iter().any(|rule| rule.then.is_paid());
    match job.clean {
        Clean::None if early => {
            "Everything is left as it is; a deadline or the last restart used up stops what still runs."
                .into()
        }
        Clean::None => "Everything is left as it is.".into(),
        Clean::Unfinished => {
            "What still runs is stopped; what has ended stays, so its logs can be read.".into()
        }
        Clean::All => "Every task is removed, and its logs with it.".into(),
    }
}

/// The tasks that a role's tasks wait for before they are created; none where they do not wait.
#[must_use]
pub fn start_order(job: &Job, role: &Role) -> Option<String> {
    let after = role.after.as_ref().filter(|after| !after.roles.is_empty())?;
    let words: Vec<String> = after
        .roles
        .iter()
        .map(|(name, least)| {
            let replicas = job.role(name).map_or(0, |(_, role)| role.replicas);
            match (*least, replicas) {
                (1, 1) => format!("{name}-0"),
                (least, replicas) if least == replicas => super::subjects::all(least, &noun(job, name)),
                (least, replicas) => format!("{least} of {replicas} {}", noun(job, name)),
            }
        })
        .collect();
    let several = after.roles.len() > 1 || after.roles.iter().any(|(_, least)| *least > 1);
    let verb = match (after.any, several) {
        (false, true) => "are",
        _ => "is",
    };
    Some(format!(
        "once {} {verb} ready or done",
        join(&words, if after.any { "or" } else { "and" })
    ))
}

fn noun(job: &Job, name: &RoleName) -> String {
    kind_of(job, &Who::role(name)).1
}

/// The gang, one sentence each; empty where tasks are placed one by one.
#[must_use]
pub fn gang(job: &Job) -> Vec<String> {
    let Some(gang) = &job.gang else { return Vec::new() };
    let mut words = vec![placed(job, gang)];
    words.extend(least_of_each(job, gang));
    let asked: BTreeMap<Arc<str>, i64> = gang
        .resources
        .iter()
        .filter(|(name, _)| !is_quota(name))
        .map(|(name, milli)| (name.clone(), *milli))
        .collect();
    if !asked.is_empty() {
        words.push(format!("Together they ask for {}.", ask(&asked)));
    }
    let queue = gang.queue.as_ref().map(|queue| format!("queue `{queue}`"));
    let priority = gang
        .priority
        .as_ref()
        .map(|priority| format!("priority `{priority}`"));
    let both: Vec<String> = queue.into_iter().chain(priority).collect();
    if !both.is_empty() {
        words.push(format!("{}.", super::subjects::sentence(&both.join(", "))));
    }
    words.extend(gang.timeout.map(|seconds| {
        format!(
            "Some are held at most {} while the others wait for room.",
            duration(seconds)
        )
    }));
    if gang.hold {
        words.push("No task is created before the group has been let in.".into());
    }
    if job.rules.iter().any(|rule| rule.when == When::GangBroken) {
        words.push("A rule answers when the scheduler loses part of it.".into());
    }
    words
}

/// So many of each role, where that says more than how many there must be in all.
fn least_of_each(job: &Job, gang: &Gang) -> Option<String> {
    let whole =
        |(name, least): (&RoleName, &u32)| job.role(name).is_some_and(|(_, role)| role.replicas == *least);
    let says_nothing = gang.per_role.iter().all(whole) && u64::from(gang.members) == job.size();
    if says_nothing || gang.per_role.len() == 1 && gang.per_role.values().eq([&gang.members]) {
        return None;
    }
    let parts: Vec<String> = gang
        .per_role
        .iter()
        .map(|(name, least)| format!("{least} of {name}"))
        .collect();
    (!parts.is_empty()).then(|| format!("At least {}.", join(&parts, "and")))
}

/// Names by which quotas count the same thing once more.
fn is_quota(resource: &str) -> bool {
    resource == "pods"
        || ["requests.", "limits.", "count/"]
            .iter()
            .any(|prefix| resource.starts_with(prefix))
}

fn placed(job: &Job, gang: &Gang) -> String {
    let by = match &gang.scheduler {
        GangScheduler::Default => "the cluster's gang scheduler".to_owned(),
        GangScheduler::Volcano => "Volcano".into(),
        GangScheduler::KubeBatch => "kube-batch".into(),
        GangScheduler::SchedulerPlugins => "the coscheduling plugin".into(),
        GangScheduler::T9k => "T9k's scheduler".into(),
        GangScheduler::Native => "the cluster's scheduler".into(),
        GangScheduler::Gates => "the cluster's scheduler, when it is their turn".into(),
        GangScheduler::Named(name) => format!("the scheduler `{name}`"),
    };
    let all: u64 = nonempty_roles(job).map(|role| u64::from(role.replicas)).sum();
    let who = match u64::from(gang.members) {
        members if members == all && all > 1 => whole_job(job),
        members => format!("at least {members} of {all} tasks"),
    };
    let group = match &gang.existing {
        Some(name) => format!(", in the group `{name}` that is already there"),
        None => String::new(),
    };
    let sentence = format!("{who} are placed together by {by}{group}.");
    super::subjects::sentence(&sentence)
}
