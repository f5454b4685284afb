//! A job as it is to be written as objects: the neutral carrier that everything after the dialect uses (ADR 15).

use serde_json::{Map, Value};
use trainyard_core::{Addresses, JOB_LABEL, Job, Subject};
use trainyard_document::Node;

use super::{OUR_PREFIX, ReadJob};

/// Annotations of tools that would be wrong on another object.
const NOT_HANDED_ON: &[&str] = &["kubectl.kubernetes.io/last-applied-configuration"];

impl ReadJob {
    /// The job for objects, in another namespace or with other addresses where these are given.
    #[must_use]
    pub fn subject(&self, namespace: Option<&str>, addresses: Option<Addresses>) -> Subject {
        let mut job = self.job.clone();
        if let Some(namespace) = namespace {
            job.namespace = namespace.into();
        }
        if let Some(addresses) = addresses {
            job.addresses = addresses;
        }
        let (boards, mut objects): (Vec<Value>, Vec<Value>) = self
            .objects
            .iter()
            .cloned()
            .partition(|object| object["kind"] == "TensorBoard");
        for object in &mut objects {
            move_to(object, &job.namespace);
            mark(object, &job);
        }
        let mut annotations = own(self, "annotations");
        annotations.retain(|key, _| !key.starts_with(OUR_PREFIX) && !NOT_HANDED_ON.contains(&key.as_str()));
        Subject {
            conventions: &self.dialect.describe().conventions,
            labels: own(self, "labels"),
            annotations,
            objects,
            isolation: self.isolation.clone(),
            tensorboard: boards.into_iter().next(),
            legacy_labels: false,
            managed_by: self.managed_by.as_ref().map(ToString::to_string),
            generate_name: self.generate_name,
            own_namespace: self.own_namespace().map(str::to_owned),
            job,
        }
    }
}

/// The labels or annotations as they are written.
fn own(read: &ReadJob, field: &str) -> Map<String, Value> {
    let written = read.node.get("metadata").and_then(|metadata| metadata.get(field));
    match written.map(Node::to_json) {
        Some(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

/// Lets an object be found by the job's name.
fn mark(object: &mut Value, job: &Job) {
    let labels = &mut object["metadata"]["labels"];
    if labels.is_null() {
        *labels = Map::new().into();
    }
    labels[JOB_LABEL] = Value::from(&*job.name);
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
