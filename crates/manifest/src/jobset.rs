//! One `JobSet` (jobset.x-k8s.io/v1alpha2): a replicated Job a role, which succeed, fail and start again together.
//!
//! A JobSet makes its own Service and names its pods itself: `<job>-<role>-0-<index>.<job>`.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use trainyard_core::{AddressBook, Addresses, Ending, Job, Role, RoleName, Scope, TaskId, Then};

use crate::jobs::{indexed, insert_before_template, limits};
use crate::names::{of_job, of_pods};
use crate::pod::{Index, Pods, merged};
use crate::replies::{Replies, Reply, WITHOUT_LIMIT};
use crate::success::Success;
use crate::values::put;

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
    let address = |role: &Role, task: TaskId| {
        let host = format!("{}{}{suffix}:{}", host_prefix(job, role), task.index, role.port);
        (task, Arc::from(host))
    };
    let tasks = job
        .roles
        .iter()
        .flat_map(|role| role.tasks().map(move |task| (role, task)));
    AddressBook(tasks.map(|(role, task)| address(role, task)).collect())
}

/// The JobSet of a job.
#[must_use]
pub fn jobset(pods: &Pods<'_>) -> Value {
    let subject = pods.subject;
    let job = &subject.job;
    let success = Success::of(job);
    let roles = in_start_order(job);
    let replicated: Vec<Value> = roles
        .iter()
        .map(|role| replicated(pods, &success, role))
        .collect();
    let mut spec = Map::new();
    put(&mut spec, "suspend", job.suspend.then_some(true));
    put(&mut spec, "managedBy", subject.managed_by.clone());
    put(&mut spec, "ttlSecondsAfterFinished", job.limits.ttl);
    let network =
        json!({ "enableDNSHostnames": true, "publishNotReadyAddresses": true, "subdomain": *job.name });
    spec.insert("network".into(), network);
    spec.insert("successPolicy".into(), success_policy(&success));
    put(&mut spec, "failurePolicy", failure_policy(job));
    spec.insert("replicatedJobs".into(), replicated.into());
    let mut metadata = Map::new();
    metadata.insert("name".into(), Value::from(&*job.name));
    metadata.insert("namespace".into(), Value::from(&*job.namespace));
    metadata.insert("labels".into(), merged(&subject.labels, of_job(job)).into());
    if !subject.annotations.is_empty() {
        metadata.insert("annotations".into(), subject.annotations.clone().into());
    }
    json!({ "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": metadata, "spec": spec })
}

/// Whether a failure in this role starts more than the task again.
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

/// A JobSet wants those that others wait for before them.
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
    let prefix = host_prefix(job, role);
    let template = pods.template(role, Index::Completion { prefix: &prefix }, None);
    let mut replies = Replies::of(job, role);
    if restarts_together(job, role) {
        // Every failure fails the Job, so that the JobSet can answer it for all.
        replies.limit = 0;
        replies.per_index = false;
        if matches!(replies.disrupted, Reply::Free | Reply::Stays) {
            replies.disrupted = Reply::Ends;
        }
        // Without a limit for each index the API server refuses answers about one.
        for reply in replies.codes.iter_mut().filter(|reply| **reply == Reply::Stays) {
            *reply = Reply::Ends;
        }
    }
    let mut spec = indexed(role);
    spec.extend(limits(pods, &replies, template));
    // The JobSet goes as a whole.
    spec.shift_remove("ttlSecondsAfterFinished");
    if let Some(policy) = success.policy(role) {
        insert_before_template(&mut spec, "successPolicy", policy);
    }
    let labels = of_pods(pods.subject.dialect, job, role, None);
    let mut entry = Map::new();
    entry.insert("name".into(), role.name.as_str().into());
    entry.insert("replicas".into(), 1.into());
    let before = waits_for(job, role);
    put(
        &mut entry,
        "dependsOn",
        before.map(|name| json!([{ "name": name.as_str(), "status": "Ready" }])),
    );
    entry.insert(
        "template".into(),
        json!({ "metadata": { "labels": labels }, "spec": spec }),
    );
    entry.into()
}

fn success_policy(success: &Success<'_>) -> Value {
    let targets: Vec<&str> = success
        .deciders
        .iter()
        .map(|decider| decider.role().as_str())
        .collect();
    if targets.is_empty() {
        return json!({ "operator": "All" });
    }
    json!({ "operator": "All", "targetReplicatedJobs": targets })
}

/// Rules are tried in order; a failure that none names starts everything again, for one of the restarts. Without rules
/// a failure of one Job is the JobSet's.
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
