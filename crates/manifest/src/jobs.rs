//! Plain `batch/v1` Jobs: one Indexed Job a role, however many tasks it has; or one Job a task, where each task sits
//! on a node of its own.

use serde_json::{Map, Value, json};
use trainyard_core::{Clean, Role, TaskId};

use crate::names::{of_pods, role_job};
use crate::nodes::Seats;
use crate::pod::{Index, Pods, main_container, merged, spec_of};
use crate::replies::Replies;
use crate::success::Success;
use crate::values::put;

/// The Jobs of a job, in the order of its roles.
#[must_use]
pub fn jobs(pods: &Pods<'_>, seats: Option<&Seats>) -> Vec<Value> {
    let job = &pods.subject.job;
    let success = Success::of(job);
    let peopled = job.roles.iter().filter(|role| role.replicas > 0);
    match seats {
        None => peopled.map(|role| of_role(pods, &success, role)).collect(),
        Some(seats) => peopled
            .flat_map(|role| role.tasks().map(move |task| of_task(pods, seats, role, &task)))
            .collect(),
    }
}

/// All tasks of a role.
fn of_role(pods: &Pods<'_>, success: &Success<'_>, role: &Role) -> Value {
    let job = &pods.subject.job;
    let name = role_job(job, role);
    let prefix = format!("{name}-");
    let template = pods.template(role, Index::Completion { prefix: &prefix }, None);
    let mut spec = indexed(role);
    put(&mut spec, "suspend", job.suspend.then_some(true));
    spec.extend(limits(pods, &Replies::of(job, role), template));
    // It stops the role's other tasks: not for jobs that leave everything as it is.
    let policy = success.policy(role).filter(|_| job.clean != Clean::None);
    if let Some(policy) = policy {
        insert_before_template(&mut spec, "successPolicy", policy);
    }
    object(pods, &name, role, None, &spec)
}

/// One task, on its node.
fn of_task(pods: &Pods<'_>, seats: &Seats, role: &Role, task: &TaskId) -> Value {
    let job = &pods.subject.job;
    let template = pods.template(role, Index::Fixed(task.index), seats.get(task));
    let replies = Replies::to(job, role, task.index, true);
    let mut spec = Map::new();
    put(&mut spec, "suspend", job.suspend.then_some(true));
    spec.extend(limits(pods, &replies, template));
    let name = format!("{}-{}", role_job(job, role), task.index);
    object(pods, &name, role, Some(task.index), &spec)
}

/// So many pods, each with its index, all at once.
pub(crate) fn indexed(role: &Role) -> Map<String, Value> {
    let mut spec = Map::new();
    spec.insert("completionMode".into(), "Indexed".into());
    spec.insert("completions".into(), role.replicas.into());
    spec.insert("parallelism".into(), role.replicas.into());
    spec
}

/// What ends a Job and what becomes of it, and the template.
pub(crate) fn limits(pods: &Pods<'_>, replies: &Replies, mut template: Value) -> Map<String, Value> {
    let limits = &pods.subject.job.limits;
    let main = spec_of(&mut template).and_then(|pod| {
        let main = main_container(pod)?;
        pod["containers"][main]["name"].as_str().map(str::to_owned)
    });
    let mut spec = Map::new();
    replies.write(&mut spec, main.as_deref().unwrap_or_default());
    put(&mut spec, "activeDeadlineSeconds", limits.deadline);
    put(&mut spec, "ttlSecondsAfterFinished", limits.ttl);
    spec.insert("template".into(), template);
    spec
}

/// Long things last: a reader wants to see the policy before the template.
pub(crate) fn insert_before_template(spec: &mut Map<String, Value>, key: &str, value: Value) {
    let template = spec.shift_remove("template");
    spec.insert(key.into(), value);
    put(spec, "template", template);
}

fn object(pods: &Pods<'_>, name: &str, role: &Role, index: Option<u32>, spec: &Map<String, Value>) -> Value {
    let subject = pods.subject;
    let labels = merged(
        &subject.labels,
        of_pods(subject.dialect, &subject.job, role, index),
    );
    let mut metadata = Map::new();
    metadata.insert("name".into(), name.into());
    metadata.insert("namespace".into(), Value::from(&*subject.job.namespace));
    metadata.insert("labels".into(), labels.into());
    if !subject.annotations.is_empty() {
        metadata.insert("annotations".into(), subject.annotations.clone().into());
    }
    json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec })
}
