//! Services: the names under which tasks find each other. They must exist before the first pod starts.

use serde_json::{Map, Value, json};
use trainyard_core::{Addresses, Job, Role, Subject, task_name};

use crate::names::{BATCH_JOB_NAME, COMPLETION_INDEX, JOB_LABEL, Labelled, of_job, role_job};

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
    let ports: Vec<Value> = ports
        .iter()
        .enumerate()
        .map(|(at, port)| named(at, *port))
        .collect();
    headless(job, &job.name, &json!({ JOB_LABEL: *job.name }), &ports)
}

fn per_replica(job: &Job) -> Vec<Value> {
    let one = |role: &Role, index: u32| {
        let owner = role_job(job, role);
        let selector = json!({ BATCH_JOB_NAME: owner, COMPLETION_INDEX: index.to_string() });
        headless(
            job,
            &format!("{owner}-{index}"),
            &selector,
            &[named(0, role.port)],
        )
    };
    job.roles
        .iter()
        .flat_map(|role| (0..role.replicas).map(move |index| one(role, index)))
        .collect()
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
    let one = |task: trainyard_core::TaskId, role: &Role| {
        let object = Labelled {
            subject,
            role: Some(role),
            index: Some(task.index),
            is_pod: false,
        };
        let selector = object.labels(subject.conventions.operated_labels).into();
        let mut service = headless(job, &task_name(job, &task), &selector, &[named(0, role.port)]);
        object.mark(&mut service["metadata"]);
        service
    };
    let tasks = job
        .roles
        .iter()
        .flat_map(|role| role.tasks().map(move |task| (task, role)));
    tasks.map(|(task, role)| one(task, role)).collect()
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
    let labels: Map<String, Value> = of_job(job);
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": { "name": name, "namespace": *job.namespace, "labels": labels },
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": true,
            "selector": selector,
            "ports": ports,
        },
    })
}
