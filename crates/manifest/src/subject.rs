//! A job as it is to be written: where it lives, how its tasks are found, and what comes with it.

use serde_json::{Map, Value};
use trainyard_core::{Addresses, Job};
use trainyard_dialect::{Dialect, ReadJob};

use crate::names::of_job;
use crate::values;

/// Annotations that mean something to whoever wrote them there and would be wrong on another object.
const NOT_HANDED_ON: &[&str] = &["kubectl.kubernetes.io/last-applied-configuration"];
const OUR_PREFIX: &str = "trainyard.dev/";

/// A job, and everything about it that ends up in objects.
#[derive(Clone, Debug)]
pub struct Subject {
    /// What it means.
    pub job: Job,
    /// The dialect it was written in: its labels are kept.
    pub dialect: Dialect,
    /// The manifest's own labels.
    pub labels: Map<String, Value>,
    /// The manifest's own annotations.
    pub annotations: Map<String, Value>,
    /// Objects that its tasks refer to: claims, maps of hosts, a network policy.
    pub objects: Vec<Value>,
    /// T9k's `TensorBoard`, if the manifest asks for one.
    pub tensorboard: Option<Value>,
    /// Its pods and Services also get the labels of Kubeflow's first operators.
    pub legacy_labels: bool,
    /// Somebody else is to run it.
    pub managed_by: Option<String>,
}

impl Subject {
    /// The job of a manifest, in another namespace or with other addresses where these are given.
    #[must_use]
    pub fn of(read: &ReadJob, namespace: Option<&str>, addresses: Option<Addresses>) -> Self {
        let mut job = read.job.clone();
        if let Some(namespace) = namespace {
            job.namespace = namespace.into();
        }
        if let Some(addresses) = addresses {
            job.addresses = addresses;
        }
        let (boards, mut objects): (Vec<Value>, Vec<Value>) = read
            .objects
            .iter()
            .cloned()
            .partition(|object| object["kind"] == "TensorBoard");
        for object in &mut objects {
            move_to(object, &job.namespace);
            mark(object, &job);
        }
        let mut annotations = own(read, "annotations");
        annotations.retain(|key, _| !key.starts_with(OUR_PREFIX) && !NOT_HANDED_ON.contains(&key.as_str()));
        Self {
            dialect: read.dialect,
            labels: own(read, "labels"),
            annotations,
            objects,
            tensorboard: boards.into_iter().next(),
            legacy_labels: false,
            managed_by: read.managed_by.as_ref().map(ToString::to_string),
            job,
        }
    }
}

/// The labels or annotations as they are written.
fn own(read: &ReadJob, field: &str) -> Map<String, Value> {
    let written = read.node.get("metadata").and_then(|metadata| metadata.get(field));
    match written.map(trainyard_document::Node::to_json) {
        Some(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

/// Lets an object be found by the job's name.
fn mark(object: &mut Value, job: &Job) {
    let metadata = object
        .as_object_mut()
        .and_then(|object| values::object(object, "metadata"));
    if let Some(labels) = metadata.and_then(|metadata| values::object(metadata, "labels")) {
        labels.extend(of_job(job));
    }
}

/// Gives an object of the job another namespace: its own, and the one its selectors name.
fn move_to(value: &mut Value, namespace: &str) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map.iter_mut() {
                if key == "volcano.sh/job-namespace" {
                    *inner = namespace.into();
                } else if let (true, Value::Object(metadata)) = (key == "metadata", &mut *inner) {
                    if metadata.contains_key("namespace") {
                        metadata.insert("namespace".into(), namespace.into());
                    }
                } else {
                    move_to(inner, namespace);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| move_to(item, namespace)),
        _ => {}
    }
}
