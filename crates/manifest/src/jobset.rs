//! One `JobSet` (jobset.x-k8s.io/v1alpha2): one replicated Job per role, which succeed, fail and restart together.
//!
//! A JobSet makes its own Service and names its pods itself: `<job>-<role>-0-<index>.<job>`.

use std::sync::Arc;

use serde_json::{Value, json};
use trainyard_core::{AddressBook, Addresses, Ending, Job, Role, RoleName, Scope, TaskId, Then};

use crate::jobs::{metadata, spec};
use crate::names::{of_job, of_pods, tasks};
use crate::pod::Pods;
use crate::replies::{Replies, Reply, WITHOUT_LIMIT};
use crate::success::Success;
use crate::values::present;

/// What stands before the index in the host name of a role's pods.
#[must_use]
pub fn host_prefix(job: &Job, role: &Role) -> String {
    format!("{}-{}-0-", job.name, role.name)
}

/// The addresses of a job's tasks in a JobSet.
#[must_use]
pub fn addresses(job: &Job) -> AddressBook {
    let suffix = match job.addresses {
        Addresses::PerJobShort => format!(".{}", job.name),
        _ => format!(".{}.{}.svc", job.name, job.namespace),
    };
    let address = |(role, task): (&Role, TaskId)| {
        let host = format!("{}{}{suffix}:{}", host_prefix(job, role), task.index, role.port);
        (task, Arc::from(host))
    };
    AddressBook(tasks(job).map(address).collect())
}

/// The JobSet of a job.
#[must_use]
pub fn jobset(pods: &Pods<'_>) -> Value {
    let subject = pods.subject;
    let job = &subject.job;
    let success = Success::of(job);
    let roles = in_start_order(job).into_iter();
    let replicated: Vec<Value> = roles.map(|role| replicated(pods, &success, role)).collect();
    let spec = present(json!({
        "suspend": job.suspend.then_some(true),
        "managedBy": subject.managed_by,
        "ttlSecondsAfterFinished": job.limits.ttl,
        "network": { "enableDNSHostnames": true, "publishNotReadyAddresses": true, "subdomain": job.name },
        "successPolicy": success_policy(&success),
        "failurePolicy": failure_policy(job),
        "replicatedJobs": replicated,
    }));
    let metadata = metadata(subject, &job.name, of_job(job));
    json!({ "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": metadata, "spec": spec })
}

/// Whether a failure in this role restarts more than the task.
#[must_use]
pub fn restarts_together(job: &Job, role: &Role) -> bool {
    let index = role.replicas.saturating_sub(1);
    let codes = (1..=255).map(|code| Ending::Failed(Some(code)));
    codes.chain([Ending::Disrupted]).any(|ending| {
        let rule = job.answer(&role.name, index, ending, true);
        let scope = rule.and_then(|rule| match &rule.then {
            Then::Restart { scope, .. } => Some(scope),
            _ => None,
        });
        scope.is_some_and(|scope| *scope != Scope::Task)
    })
}

/// The role that this one waits for, where a JobSet can say so: one role, all of its tasks.
#[must_use]
pub fn waits_for<'a>(job: &Job, role: &'a Role) -> Option<&'a RoleName> {
    let after = role.after.as_ref()?;
    let [(name, least)] = after.roles.as_slice() else {
        return None;
    };
    let (_, other) = job.role(name)?;
    (other.replicas > 0 && other.replicas == *least).then_some(name)
}

/// A JobSet lists a role before those that wait for it.
fn in_start_order(job: &Job) -> Vec<&Role> {
    let mut left: Vec<&Role> = job.roles.iter().filter(|role| role.replicas > 0).collect();
    let mut ordered: Vec<&Role> = Vec::new();
    while !left.is_empty() {
        let is_free = |role: &&Role| {
            waits_for(job, role).is_none_or(|name| ordered.iter().any(|earlier| earlier.name == *name))
        };
        // Roles that wait for each other are refused when the manifest is read.
        let next = left.iter().position(is_free).unwrap_or(0);
        ordered.push(left.remove(next));
    }
    ordered
}

fn replicated(pods: &Pods<'_>, success: &Success<'_>, role: &Role) -> Value {
    let job = &pods.subject.job;
    let template = pods.of_role(role, &host_prefix(job, role));
    let mut replies = Replies::of(job, role);
    if restarts_together(job, role) {
        // Every failure fails the Job, so that the JobSet restarts all of them.
        replies.limit = 0;
        replies.per_index = false;
        if matches!(replies.disrupted, Reply::Free | Reply::Stays) {
            replies.disrupted = Reply::Ends;
        }
        // Without `backoffLimitPerIndex` the API server refuses `FailIndex`.
        for reply in replies.codes.iter_mut().filter(|reply| **reply == Reply::Stays) {
            *reply = Reply::Ends;
        }
    }
    let policy = success.policy(role);
    let mut spec = spec(job, Some(role.replicas), &replies, policy.as_ref(), template);
    // These are the JobSet's.
    spec.shift_remove("suspend");
    spec.shift_remove("ttlSecondsAfterFinished");
    let labels = of_pods(pods.subject, role, None);
    let before = waits_for(job, role);
    present(json!({
        "name": role.name.as_str(),
        "replicas": 1,
        "dependsOn": before.map(|name| json!([{ "name": name.as_str(), "status": "Ready" }])),
        "template": { "metadata": { "labels": labels }, "spec": spec },
    }))
    .into()
}

fn success_policy(success: &Success<'_>) -> Value {
    let deciders = success.deciders.iter();
    let targets: Vec<&str> = deciders.map(|decider| decider.role().as_str()).collect();
    let targets = Some(targets).filter(|targets| !targets.is_empty());
    present(json!({ "operator": "All", "targetReplicatedJobs": targets })).into()
}

/// The first rule that matches is taken; a failure that none matches restarts everything, and costs one restart. Without a policy a
/// failure of one Job fails the JobSet.
fn failure_policy(job: &Job) -> Option<Value> {
    let peopled = job.roles.iter().filter(|role| role.replicas > 0);
    let (together, alone): (Vec<&Role>, Vec<&Role>) = peopled.partition(|role| restarts_together(job, role));
    if together.is_empty() {
        return None;
    }
    let names = |roles: &[&Role]| -> Vec<String> { roles.iter().map(|role| role.name.to_string()).collect() };
    let mut rules = Vec::new();
    if !alone.is_empty() {
        rules.push(json!({
            "name": "failsAlone",
            "action": "FailJobSet",
            "targetReplicatedJobs": names(&alone),
        }));
    }
    if together
        .iter()
        .any(|role| Replies::of(job, role).disrupted == Reply::Free)
    {
        rules.push(json!({
            "name": "disrupted",
            "action": "RestartJobSetAndIgnoreMaxRestarts",
            "onJobFailureReasons": ["PodFailurePolicy"],
            // The message says which condition or which exit code it was.
            "onJobFailureMessagePatterns": ["has condition DisruptionTarget"],
        }));
    }
    rules.push(json!({
        "name": "forGood",
        "action": "FailJobSet",
        "onJobFailureReasons": ["PodFailurePolicy", "DeadlineExceeded"],
    }));
    Some(json!({
        "maxRestarts": job.limits.restarts.unwrap_or(WITHOUT_LIMIT),
        // No task of the new round may meet one of the old.
        "restartStrategy": "BlockingRecreate",
        "rules": rules,
    }))
}
