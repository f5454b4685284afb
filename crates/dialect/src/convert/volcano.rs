//! The job as Volcano's `Job`.

use serde_json::{Value, json};
use trainyard_core::{ClusterForm, Ending, InPlace, Job, Outcome, Role, RoleKind, Scope, Then};

use super::outline::{Outline, RoleOutline, Success};
use super::present;
use crate::dialect::Dialect;
use crate::volcano::UNLIMITED;
use crate::volcano::plugins::NO_TASK;

/// Exit codes worth a policy of their own, where too many are answered otherwise; Volcano takes one code per policy.
const CODES: [i32; 8] = [42, 130, 134, 135, 137, 138, 139, 143];
/// More policies than this cannot be read with understanding.
const MOST_POLICIES: usize = 32;

/// The manifest; what Volcano cannot say is left out.
pub(crate) fn write(outline: &Outline<'_>) -> Value {
    let job = outline.job;
    let gang = job.gang.as_ref();
    // The n-th request ends the job there, so n - 1 restarts are allowed. Left out it would mean 3.
    let restarts = job.limits.restarts;
    let requests = restarts.map_or(UNLIMITED, |limit| limit.saturating_add(1));
    let least = match outline.success {
        Success::AtLeast(least) => Some(least),
        _ => None,
    };
    let plugins = || json!({ "tensorflow": arguments(job), "svc": [] });
    let tasks: Vec<Value> = outline.roles.iter().map(|role| task(outline, role)).collect();
    let spec = present(json!({
        "minAvailable": gang.map_or_else(|| job.size(), |gang| u64::from(gang.members)),
        "schedulerName": "volcano",
        "queue": gang.and_then(|gang| gang.queue.as_ref()),
        "priorityClassName": gang.and_then(|gang| gang.priority.as_ref()),
        "maxRetry": requests.min(UNLIMITED),
        "ttlSecondsAfterFinished": job.limits.ttl,
        "minSuccess": least,
        "plugins": (job.cluster != ClusterForm::None).then(plugins),
        "tasks": tasks,
    }));
    json!({
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": outline.metadata(Dialect::Volcano),
        "spec": spec,
    })
}

/// What the tensorflow plugin is told. It knows tasks by their names, and no master: a task that it does not know is left
/// out of `cluster`, so it must be told that the master is what it calls the chief. An evaluator that it does know is put
/// into `cluster`, where TensorFlow waits for it, so it must be told that there is none.
fn arguments(job: &Job) -> Vec<String> {
    let port = job.roles.first().map_or(2222, |role| role.port);
    let of_kind = |kind| job.roles.iter().find(|role| role.kind == kind);
    let master = of_kind(RoleKind::Master).map(|role| format!("--chief={}", role.name));
    let inside =
        |role: &&Role| matches!(&job.cluster, ClusterForm::Full { roles, .. } if roles.contains(&role.name));
    let evaluator = of_kind(RoleKind::Evaluator).filter(|role| !inside(role));
    let evaluator = evaluator.map(|_| format!("--evaluator={NO_TASK}"));
    let told = [Some(format!("--port={port}")), master, evaluator];
    told.into_iter().flatten().collect()
}

fn task(outline: &Outline<'_>, role: &RoleOutline<'_>) -> Value {
    let mut template = role.template.clone();
    if !template["spec"].is_object() {
        template["spec"] = json!({});
    }
    let in_place = match role.role.in_place {
        InPlace::Always => "Always",
        InPlace::OnFailure => "OnFailure",
        InPlace::Never => "Never",
    };
    template["spec"]["restartPolicy"] = in_place.into();
    let mut task =
        json!({ "name": role.role.name.as_str(), "replicas": role.role.replicas, "template": template });
    let policies = policies(outline, role);
    if !policies.is_empty() {
        task["policies"] = policies.into();
    }
    if let Some(after) = &role.role.after {
        let names: Vec<&str> = after.roles.iter().map(|(name, _)| name.as_str()).collect();
        task["dependsOn"] = json!({ "name": names, "iteration": if after.any { "any" } else { "all" } });
    }
    task
}

/// What happens to ends of this role's tasks, and to the job when they have all succeeded.
fn policies(outline: &Outline<'_>, role: &RoleOutline<'_>) -> Vec<Value> {
    let mut policies = Vec::new();
    if decides(outline, role) {
        policies.push(json!({ "event": "TaskCompleted", "action": "CompleteJob" }));
    }
    let last = role.role.replicas.saturating_sub(1);
    let action = |ending| {
        let rule = outline.job.answer(&role.role.name, last, ending, true);
        rule.and_then(|rule| action_for(&rule.then))
    };
    let usual = action(Ending::Failed(None));
    let mut special: Vec<(i32, &str)> = (1..=255)
        .filter_map(|code| Some((code, action(Ending::Failed(Some(code)))?)))
        .filter(|(_, action)| usual != Some(*action))
        .collect();
    if special.len() > MOST_POLICIES {
        special.retain(|(code, _)| CODES.contains(code));
    }
    let special = special.into_iter();
    policies.extend(special.map(|(code, action)| json!({ "exitCode": code, "action": action })));
    // One event for both would be shorter, but a disruption and a failure are answered differently elsewhere.
    let disrupted = action(Ending::Disrupted);
    policies.extend(disrupted.map(|action| json!({ "event": "PodEvicted", "action": action })));
    policies.extend(usual.map(|action| json!({ "event": "PodFailed", "action": action })));
    policies
}

fn action_for(then: &Then) -> Option<&'static str> {
    match then {
        Then::Keep => None,
        Then::Restart { scope, .. } => Some(match scope {
            Scope::Task => "RestartPod",
            Scope::Roles(_) => "RestartTask",
            Scope::Job => "RestartJob",
        }),
        Then::Abort => Some("AbortJob"),
        Then::Finish(Outcome::Succeeded) => Some("CompleteJob"),
        Then::Finish(Outcome::Failed | Outcome::Terminated) => Some("TerminateJob"),
    }
}

/// Whether the success of all tasks of the role is the job's. Volcano has no word for worker 0 alone.
fn decides(outline: &Outline<'_>, role: &RoleOutline<'_>) -> bool {
    match outline.success {
        Success::Primary => match outline.coordinator() {
            Some(coordinator) => coordinator.role.name == role.role.name,
            None => role.role.kind == RoleKind::Worker,
        },
        Success::AllWorkers => role.role.kind == RoleKind::Worker,
        Success::AtLeast(_) | Success::Other => false,
    }
}
