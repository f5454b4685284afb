//! Everything that was seen of a namespace: each object with each of its versions, in order.

use std::collections::BTreeMap;
use std::time::Instant;

use serde_json::Value;

/// Every version of every object that the watches have shown.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// By kind (`pods`) and UID.
    sights: BTreeMap<(&'static str, String), ObjectHistory>,
    /// Keys in the order of their first sight.
    order: Vec<(&'static str, String)>,
}

/// The versions of one object.
#[derive(Clone, Debug)]
pub struct ObjectHistory {
    /// Its name.
    pub name: String,
    /// In order, each `resourceVersion` once.
    pub versions: Vec<Value>,
    /// When it was first seen.
    pub came: Instant,
    /// When it was deleted.
    pub gone: Option<Instant>,
}

impl ObjectHistory {
    /// As it was last seen.
    #[must_use]
    pub fn last(&self) -> &Value {
        self.versions.last().unwrap_or(&Value::Null)
    }
}

impl History {
    pub(super) fn note(&mut self, kind: &'static str, object: &Value, gone: bool, now: Instant) {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
        let key = (kind, text("uid"));
        if !self.sights.contains_key(&key) {
            self.order.push(key.clone());
        }
        let sight = self.sights.entry(key).or_insert_with(|| ObjectHistory {
            name: text("name"),
            versions: Vec::new(),
            came: now,
            gone: None,
        });
        // A watch that begins again shows everything again.
        if sight.last()["metadata"]["resourceVersion"] != object["metadata"]["resourceVersion"] {
            sight.versions.push(object.clone());
        }
        if gone {
            sight.gone = Some(now);
        }
    }

    /// All objects of a kind (`pods`, `services`, `tfjobs`, `events`), in the order in which they came.
    pub fn all(&self, kind: &'static str) -> impl Iterator<Item = &ObjectHistory> {
        self.order
            .iter()
            .filter(move |key| key.0 == kind)
            .filter_map(|key| self.sights.get(key))
    }

    /// The pods that were made for a job, those that are gone too.
    pub fn pods_of(&self, job: &str) -> impl Iterator<Item = &ObjectHistory> {
        const LABELS: [&str; 2] = ["training.kubeflow.org/job-name", "trainyard.dev/job-name"];
        let named = move |pod: &&ObjectHistory| {
            let labels = &pod.last()["metadata"]["labels"];
            LABELS.iter().any(|label| labels[label] == job)
        };
        self.all("pods").filter(named)
    }

    /// The newest job of that name.
    #[must_use]
    pub fn job(&self, name: &str) -> Option<&ObjectHistory> {
        let others = ["pods", "services", "events"];
        let jobs = self.order.iter().filter(|key| !others.contains(&key.0));
        let mut jobs = jobs.rev().filter_map(|key| self.sights.get(key));
        jobs.find(|job| job.name == name)
    }

    /// The events about a job: reason and message.
    #[must_use]
    pub fn events_of(&self, job: &str) -> Vec<(String, String)> {
        // Its Service has the same name.
        let about = |event: &&ObjectHistory| {
            let object = &event.last()["involvedObject"];
            object["kind"] != "Service" && object["name"] == job
        };
        let text =
            |event: &ObjectHistory, field: &str| event.last()[field].as_str().unwrap_or_default().to_owned();
        self.all("events")
            .filter(about)
            .map(|event| (text(event, "reason"), text(event, "message")))
            .collect()
    }
}
