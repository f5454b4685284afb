//! Where the pods of an admitted job may run. It is looked up once per admission and kept in an annotation of the Workload, so that every pod
//! of one epoch, also one that is created by the next operator, goes to the same kind of nodes, whatever becomes of the flavors.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use trainyard_core::Role;

use super::state::condition;
use super::{POD_SET_LABEL, QUEUE_LABEL, WORKLOAD_ANNOTATION, pod_set};
use crate::fingerprint;
use crate::values::object;

/// The annotation of a Workload with the placement of its pods.
pub const PLACEMENT: &str = "trainyard.dev/placement";
/// A longer one cannot be an annotation.
const LONGEST: usize = 128 * 1024;

/// Where the pods of each pod set may run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Placement {
    /// Which admission it follows from.
    admission: String,
    /// By name.
    pod_sets: BTreeMap<String, PodSetPlacement>,
}

/// What Kueue adds to the pods of one pod set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct PodSetPlacement {
    /// The labels that a node must have.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,
    /// Taints that do not matter.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<Value>,
    /// Labels that an admission check asks for.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations that it asks for.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// Which admission a status tells of.
pub(super) fn key(status: &Value) -> String {
    let since = condition(status, "QuotaReserved").map(|reserved| &reserved["lastTransitionTime"]);
    let since = since.and_then(Value::as_str).unwrap_or_default();
    format!(
        "{:016x}",
        fingerprint(&format!("{since} {}", status["admission"]))
    )
}

fn assignments(workload: &Value) -> impl Iterator<Item = &Value> {
    let list = workload.pointer("/status/admission/podSetAssignments");
    list.and_then(Value::as_array).into_iter().flatten()
}

/// The names of the flavors of one pod set.
fn flavors_of(assignment: &Value) -> impl Iterator<Item = &str> {
    let flavors = assignment["flavors"].as_object().into_iter().flatten();
    flavors.filter_map(|(_, flavor)| flavor.as_str())
}

fn texts(value: &Value) -> impl Iterator<Item = (String, String)> {
    let pairs = value.as_object().into_iter().flatten();
    pairs.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
}

impl Placement {
    /// The names of the flavors that an admitted Workload is to use.
    #[must_use]
    pub fn flavors(workload: &Value) -> BTreeSet<String> {
        assignments(workload)
            .flat_map(flavors_of)
            .map(str::to_owned)
            .collect()
    }

    /// What an admitted Workload says of its pods, with the flavors that it names; or why no node can be right.
    pub fn of(workload: &Value, flavors: &BTreeMap<String, Value>) -> Result<Self, String> {
        let mut placement = Self {
            admission: key(&workload["status"]),
            ..Self::default()
        };
        for assignment in assignments(workload) {
            let Some(name) = assignment["name"].as_str() else {
                continue;
            };
            let set = PodSetPlacement::of(workload, name, assignment, flavors)?;
            placement.pod_sets.insert(name.to_owned(), set);
        }
        if placement.text().len() > LONGEST {
            return Err(
                "what the flavors and admission checks say of its pods takes more than 128 KiB".into(),
            );
        }
        Ok(placement)
    }

    /// Reads the annotation; none if it is not of this admission.
    pub(super) fn read(text: &str, admission: &str) -> Option<Self> {
        let placement: Self = serde_json::from_str(text).ok()?;
        (placement.admission == admission).then_some(placement)
    }

    /// The annotation.
    #[must_use]
    pub fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Makes a pod one of its pod set. What the pod says itself stands: no label or annotation of ours is replaced.
    pub fn mark(&self, pod: &mut Value, role: &Role, workload: &str) {
        let name = pod_set(role);
        let Some(pod) = pod.as_object_mut() else { return };
        let nothing = PodSetPlacement::default();
        let set = self.pod_sets.get(&name).unwrap_or(&nothing);
        if let Some(metadata) = object(pod, "metadata") {
            let own = [(POD_SET_LABEL.to_owned(), name.clone())];
            let labels = set.labels.iter().filter(|(key, _)| *key != QUEUE_LABEL);
            add(metadata, "labels", own.into_iter().chain(owned(labels)));
            let own = [(WORKLOAD_ANNOTATION.to_owned(), workload.to_owned())];
            let annotations = own.into_iter().chain(owned(set.annotations.iter()));
            add(metadata, "annotations", annotations);
        }
        let Some(spec) = object(pod, "spec") else { return };
        add(spec, "nodeSelector", owned(set.node_selector.iter()));
        if !set.tolerations.is_empty()
            && let Some(tolerations) = crate::values::list(spec, "tolerations")
        {
            let new = set.tolerations.iter().filter(|one| !tolerations.contains(one));
            let new: Vec<Value> = new.cloned().collect();
            tolerations.extend(new);
        }
    }
}

fn owned<'a>(
    pairs: impl Iterator<Item = (&'a String, &'a String)>,
) -> impl Iterator<Item = (String, String)> {
    pairs.map(|(key, value)| (key.clone(), value.clone()))
}

/// Adds what is not there.
fn add(to: &mut Map<String, Value>, field: &str, pairs: impl Iterator<Item = (String, String)>) {
    let mut pairs = pairs.peekable();
    if pairs.peek().is_some()
        && let Some(to) = object(to, field)
    {
        for (key, value) in pairs {
            to.entry(key).or_insert_with(|| value.into());
        }
    }
}

impl PodSetPlacement {
    fn of(
        workload: &Value,
        name: &str,
        assignment: &Value,
        flavors: &BTreeMap<String, Value>,
    ) -> Result<Self, String> {
        let mut set = Self::default();
        let mut selector = Selector::of_template(workload, name);
        // Several resources may have one flavor.
        let named: BTreeSet<&str> = flavors_of(assignment).collect();
        for flavor in named {
            let Some(object) = flavors.get(flavor) else {
                continue;
            };
            selector.add(name, &object["spec"]["nodeLabels"])?;
            set.tolerate(&object["spec"]["tolerations"]);
        }
        let checks = workload.pointer("/status/admissionChecks");
        let checks = checks.and_then(Value::as_array).into_iter().flatten();
        let updates = checks.flat_map(|check| check["podSetUpdates"].as_array().into_iter().flatten());
        for update in updates.filter(|update| update["name"] == name) {
            selector.add(name, &update["nodeSelector"])?;
            set.tolerate(&update["tolerations"]);
            set.labels.extend(texts(&update["labels"]));
            set.annotations.extend(texts(&update["annotations"]));
        }
        set.node_selector = selector.asked;
        Ok(set)
    }

    fn tolerate(&mut self, list: &Value) {
        let list = list.as_array().into_iter().flatten();
        for toleration in list.filter(|one| one.is_object()) {
            if !self.tolerations.contains(toleration) {
                self.tolerations.push(toleration.clone());
            }
        }
    }
}

/// Labels of nodes that the template, flavors and checks ask for.
struct Selector {
    /// By the template.
    own: BTreeMap<String, String>,
    /// By all others.
    asked: BTreeMap<String, String>,
}

impl Selector {
    fn of_template(workload: &Value, name: &str) -> Self {
        let sets = workload.pointer("/spec/podSets").and_then(Value::as_array);
        let mut sets = sets.into_iter().flatten();
        let set = sets.find(|set| set["name"] == name);
        let own = set.and_then(|set| set.pointer("/template/spec/nodeSelector"));
        Self {
            own: own.map(|own| texts(own).collect()).unwrap_or_default(),
            asked: BTreeMap::new(),
        }
    }

    /// No node has two values of one label: a job whose pods ask for both can never run.
    fn add(&mut self, set: &str, labels: &Value) -> Result<(), String> {
        for (key, value) in texts(labels) {
            let known = self.own.get(&key).or_else(|| self.asked.get(&key));
            if let Some(other) = known.filter(|known| **known != value) {
                return Err(format!(
                    "pod set {set} may run on nodes with `{key}={value}` only, and asks for `{key}={other}`"
                ));
            }
            self.asked.insert(key, value);
        }
        Ok(())
    }
}
