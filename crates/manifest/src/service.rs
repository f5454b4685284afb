//! Services: the names under which tasks find each other. They must exist before the first pod starts.

use serde_json::{Value, json};
use trainyard_core::{Addresses, Job, Role, Subject, TaskId, task_name};

use crate::names::{BATCH_JOB_NAME, COMPLETION_INDEX, JOB_LABEL, Labelled, of_job, role_job, tasks};

/// The name of TensorFlow's port, as in Kubeflow's Services.
pub const PORT_NAME: &str = "tfjob-port";

/// The names of the Services that [`services_of_tasks`] makes.
#[must_use]
pub fn service_names(job: &Job) -> Vec<String> {
    match job.addresses {
        Addresses::PerJob | Addresses::PerJobShort => vec![job.name.to_string()],
        Addresses::PerReplica => job.tasks().map(|task| task_name(job, &task)).collect(),
        Addresses::Given => Vec::new(),
    }
}

/// The Services of a job: one for all tasks, or one per task; none where the addresses are given otherwise.
#[must_use]
pub fn services(job: &Job) -> Vec<Value> {
    match job.addresses {
        Addresses::PerJob | Addresses::PerJobShort => vec![per_job(job)],
        Addresses::PerReplica => per_replica(job),
        Addresses::Given => Vec::new(),
    }
}

fn per_job(job: &Job) -> Value {
    let mut ports: Vec<u16> = Vec::new();
    for role in job.roles.iter().filter(|role| role.replicas > 0) {
        if !ports.contains(&role.port) {
            ports.push(role.port);
        }
    }
    let ports = ports.into_iter().enumerate();
    let ports: Vec<Value> = ports.map(|(at, port)| named(at, port)).collect();
    headless(job, &job.name, &json!({ JOB_LABEL: *job.name }), &ports)
}

fn per_replica(job: &Job) -> Vec<Value> {
    let one = |(role, task): (&Role, TaskId)| {
        let (owner, index) = (role_job(job, role), task.index);
        let selector = json!({ BATCH_JOB_NAME: owner, COMPLETION_INDEX: index.to_string() });
        let name = format!("{owner}-{index}");
        headless(job, &name, &selector, &[named(0, role.port)])
    };
    tasks(job).map(one).collect()
}

/// The Services of a job whose pods are made one by one, each with the labels of its task.
///
/// One Service per task has the labels and the selector that the kind's own operator gives it, so that this operator can take the
/// job back: it recognises the Services, and they select the pods that it creates.
#[must_use]
pub fn services_of_tasks(subject: &Subject) -> Vec<Value> {
    let job = &subject.job;
    if job.addresses != Addresses::PerReplica {
        return services(job);
    }
    let one = |(role, task): (&Role, TaskId)| {
        let object = Labelled {
            is_pod: false,
            ..Labelled::pod(subject, role, Some(task.index))
        };
        let selector = object.labels(subject.conventions.operated_labels).into();
        let mut service = headless(job, &task_name(job, &task), &selector, &[named(0, role.port)]);
        object.mark(&mut service["metadata"]);
        service
    };
    tasks(job).map(one).collect()
}

fn named(position: usize, port: u16) -> Value {
    let name = match position {
        0 => PORT_NAME.to_owned(),
        _ => format!("{PORT_NAME}-{port}"),
    };
    json!({ "name": name, "port": port })
}

/// A headless Service. Addresses are published before pods are ready: a task is ready once it has found the others.
fn headless(job: &Job, name: &str, selector: &Value, ports: &[Value]) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": { "name": name, "namespace": *job.namespace, "labels": of_job(job) },
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": true,
            "selector": selector,
            "ports": ports,
        },
    })
}
