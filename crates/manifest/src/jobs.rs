//! Plain `batch/v1` Jobs: one Indexed Job per role; or one Job per task, where each task is given a node.

use serde_json::{Map, Value, json};
use trainyard_core::{Clean, Job, Role, Subject, TaskId};

use crate::names::{of_pods, role_job};
use crate::nodes::Seats;
use crate::pod::{Index, ParsedTemplate, Pods, main_container, spec_of};
use crate::replies::Replies;
use crate::success::Success;
use crate::values::present;

/// The Jobs, in the order of the roles.
#[must_use]
pub fn jobs(pods: &Pods<'_>, seats: Option<&Seats>) -> Vec<Value> {
    let job = &pods.subject.job;
    let success = Success::of(job);
    let peopled = job.roles.iter().filter(|role| role.replicas > 0);
    match seats {
        None => peopled.map(|role| of_role(pods, &success, role)).collect(),
        Some(seats) => peopled
            .flat_map(|role| {
                let template = ParsedTemplate::of(&role.template);
                let one = move |task| of_task(pods, seats, (role, &template), &task);
                role.tasks().map(one)
            })
            .collect(),
    }
}

/// One Indexed Job for all tasks of a role.
fn of_role(pods: &Pods<'_>, success: &Success<'_>, role: &Role) -> Value {
    let job = &pods.subject.job;
    let name = role_job(job, role);
    let template = pods.of_role(role, &format!("{name}-"));
    // A success policy stops the role's other tasks: not for jobs that leave everything running at their end.
    let policy = success.policy(role).filter(|_| job.clean != Clean::None);
    let replies = Replies::of(job, role);
    let spec = spec(job, Some(role.replicas), &replies, policy.as_ref(), template);
    object(pods, &name, role, None, &spec)
}

/// One Job for one task, on its node.
fn of_task(
    pods: &Pods<'_>,
    seats: &Seats,
    (role, template): (&Role, &ParsedTemplate),
    task: &TaskId,
) -> Value {
    let job = &pods.subject.job;
    let template = pods.template(template, role, Index::Fixed(task.index), seats.get(task));
    let replies = Replies::to(job, role, task.index, true);
    let spec = spec(job, None, &replies, None, template);
    let name = format!("{}-{}", role_job(job, role), task.index);
    object(pods, &name, role, Some(task.index), &spec)
}

/// The spec of a Job, with so many indexes if it has any. The template is long, so it comes last.
pub(crate) fn spec(
    job: &Job,
    indexes: Option<u32>,
    replies: &Replies,
    success: Option<&Value>,
    mut template: Value,
) -> Map<String, Value> {
    let main = spec_of(&mut template).and_then(|pod| {
        let main = main_container(pod)?;
        pod["containers"][main]["name"].as_str().map(str::to_owned)
    });
    present(json!({
        "completionMode": indexes.map(|_| "Indexed"),
        "completions": indexes,
        "parallelism": indexes,
        "suspend": job.suspend.then_some(true),
        (replies.limit_field()): replies.limit,
        "podFailurePolicy": replies.policy(main.as_deref().unwrap_or_default()),
        "activeDeadlineSeconds": job.limits.deadline,
        "ttlSecondsAfterFinished": job.limits.ttl,
        "successPolicy": success,
        "template": template,
    }))
}

fn object(pods: &Pods<'_>, name: &str, role: &Role, index: Option<u32>, spec: &Map<String, Value>) -> Value {
    let subject = pods.subject;
    let labels = of_pods(subject, role, index);
    json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": metadata(subject, name, labels), "spec": spec })
}

/// Metadata with the manifest's own labels and annotations; of labels ours win.
pub(crate) fn metadata(subject: &Subject, name: &str, labels: Map<String, Value>) -> Map<String, Value> {
    let mut all = subject.labels.clone();
    all.extend(labels);
    let annotations = &subject.annotations;
    present(json!({
        "name": name,
        "namespace": subject.job.namespace,
        "labels": all,
        "annotations": (!annotations.is_empty()).then_some(annotations),
    }))
}
