//! Nodes as objects: ready or not, tainted, closed.

use serde_json::{Map, Value, json};

/// A node that a test plays.
#[derive(Clone, Debug)]
pub struct Node {
    name: String,
    labels: Map<String, Value>,
    taints: Vec<Value>,
    closed: bool,
    ready: &'static str,
    capacity: Map<String, Value>,
}

impl Node {
    /// A node that is ready and takes pods: 8 CPUs, 32 GiB, 110 pods.
    #[must_use]
    pub fn ready(name: &str) -> Self {
        let capacity = [("cpu", "8"), ("memory", "32Gi"), ("pods", "110")];
        Self {
            name: name.to_owned(),
            labels: Map::from_iter([("kubernetes.io/hostname".to_owned(), name.into())]),
            taints: Vec::new(),
            closed: false,
            ready: "True",
            capacity: capacity
                .map(|(what, much)| (what.to_owned(), much.into()))
                .into_iter()
                .collect(),
        }
    }

    /// Its kubelet says that it is not ready.
    #[must_use]
    pub fn not_ready(mut self) -> Self {
        self.ready = "False";
        self
    }

    /// Closed to new pods: `kubectl cordon`.
    #[must_use]
    pub fn closed(mut self) -> Self {
        self.closed = true;
        self
    }

    /// With a taint.
    #[must_use]
    pub fn taint(mut self, key: &str, value: &str, effect: &str) -> Self {
        self.taints
            .push(json!({"key": key, "value": value, "effect": effect}));
        self
    }

    /// With a label.
    #[must_use]
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.labels.insert(key.to_owned(), value.into());
        self
    }

    /// With so much of a resource: `("nvidia.com/gpu", "4")`.
    #[must_use]
    pub fn capacity(mut self, resource: &str, amount: &str) -> Self {
        self.capacity.insert(resource.to_owned(), amount.into());
        self
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.ready == "True"
    }

    pub(crate) fn taints(&self) -> &[Value] {
        &self.taints
    }

    pub(crate) fn object(&self) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": self.name, "labels": self.labels},
            "spec": {"taints": self.taints, "unschedulable": self.closed},
        })
    }

    pub(crate) fn status(&self) -> Value {
        let reason = if self.is_ready() {
            "KubeletReady"
        } else {
            "KubeletNotReady"
        };
        json!({
            "capacity": self.capacity, "allocatable": self.capacity,
            "conditions": conditions(self.ready, reason),
        })
    }
}

/// A node's conditions: all there is to say is whether it is ready.
pub(crate) fn conditions(ready: &str, reason: &str) -> Value {
    json!([{"type": "Ready", "status": ready, "reason": reason}])
}
