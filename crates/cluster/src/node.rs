//! A node as far as we ask about it, and whether it takes certain pods.

use std::fmt;

use k8s_openapi::api::core::v1::Node;
pub use trainyard_manifest::taints::{Taint, Toleration};

/// A node of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterNode {
    /// Its name.
    pub name: String,
    /// Whether its kubelet says that it is ready.
    pub ready: bool,
    /// Whether a user has cordoned it: `kubectl cordon`.
    pub cordoned: bool,
    /// What keeps pods away from it.
    pub taints: Vec<Taint>,
}

/// Why a node does not take pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// Its kubelet is not ready, or has never reported.
    NotReady,
    /// It is cordoned.
    Cordoned,
    /// It has a taint that some pod does not tolerate.
    Tainted(Taint),
}

impl fmt::Display for Unfit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotReady => out.write_str("not ready"),
            Self::Cordoned => out.write_str("cordoned"),
            Self::Tainted(taint) => write!(out, "tainted {taint}"),
        }
    }
}

impl ClusterNode {
    /// Why this node takes some of the pods not, each given by what it tolerates; none if it takes them all.
    #[must_use]
    pub fn unfit(&self, pods: &[Vec<Toleration>]) -> Option<Unfit> {
        if !self.ready {
            return Some(Unfit::NotReady);
        }
        if self.cordoned {
            return Some(Unfit::Cordoned);
        }
        let tolerated = |taint: &Taint| {
            let by = |pod: &Vec<Toleration>| pod.iter().any(|toleration| toleration.covers(taint));
            !pods.is_empty() && pods.iter().all(by)
        };
        let mut hard = self
            .taints
            .iter()
            .filter(|taint| taint.effect != "PreferNoSchedule");
        hard.find(|taint| !tolerated(taint)).cloned().map(Unfit::Tainted)
    }
}

impl From<Node> for ClusterNode {
    fn from(node: Node) -> Self {
        let spec = node.spec.unwrap_or_default();
        let conditions = node
            .status
            .and_then(|status| status.conditions)
            .unwrap_or_default();
        let taints = spec.taints.unwrap_or_default().into_iter().map(|taint| Taint {
            key: taint.key,
            value: taint.value.unwrap_or_default(),
            effect: taint.effect,
        });
        Self {
            name: node.metadata.name.unwrap_or_default(),
            ready: conditions
                .iter()
                .any(|condition| condition.type_ == "Ready" && condition.status == "True"),
            cordoned: spec.unschedulable == Some(true),
            taints: taints.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn node(changes: &Value) -> ClusterNode {
        let ready =
            json!([{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": "True"}]);
        let mut node = json!({"metadata": {"name": "h10"}, "spec": {}, "status": {"conditions": ready}});
        for (key, value) in changes.as_object().unwrap() {
            node[key] = value.clone();
        }
        serde_json::from_value::<Node>(node).unwrap().into()
    }

    fn tainted(key: &str, value: &str, effect: &str) -> ClusterNode {
        node(&json!({"spec": {"taints": [{"key": key, "value": value, "effect": effect}]}}))
    }

    fn toleration(text: &str) -> Toleration {
        let [key, operator, value, effect] = text.split(' ').collect::<Vec<_>>().try_into().unwrap();
        let word = |word: &str| word.replace('-', "");
        Toleration {
            key: word(key),
            operator: word(operator),
            value: word(value),
            effect: word(effect),
        }
    }

    #[test]
    fn a_node_takes_pods_if_it_is_ready_schedulable_and_untainted() {
        let ready = |status: &str| json!({"status": {"conditions": [{"type": "Ready", "status": status}]}});
        let table = [
            (node(&json!({})), None),
            (node(&ready("False")), Some("not ready")),
            (node(&ready("Unknown")), Some("not ready")),
            (node(&json!({"status": {}})), Some("not ready")),
            (node(&json!({"spec": {"unschedulable": true}})), Some("cordoned")),
            (node(&json!({"spec": {"unschedulable": false}})), None),
            (
                tainted("gpu", "yes", "NoSchedule"),
                Some("tainted gpu=yes:NoSchedule"),
            ),
            (tainted("gpu", "", "NoExecute"), Some("tainted gpu:NoExecute")),
            (tainted("gpu", "", "PreferNoSchedule"), None),
        ];
        for (node, expected) in table {
            let unfit = node.unfit(&[]).map(|unfit| unfit.to_string());
            assert_eq!(unfit.as_deref(), expected, "{node:?}");
        }
    }

    #[test]
    fn tolerations_cover_taints_as_the_scheduler_says() {
        let node = tainted("gpu", "yes", "NoSchedule");
        let table = [
            ("gpu Equal yes NoSchedule", true),
            ("gpu - yes NoSchedule", true),
            ("gpu Equal yes -", true),
            ("gpu Exists - -", true),
            ("- Exists - -", true),
            ("- Exists - NoSchedule", true),
            ("gpu Equal no NoSchedule", false),
            ("gpu Equal - NoSchedule", false),
            ("gpu Exists - NoExecute", false),
            ("cpu Exists - -", false),
            ("- Equal yes -", false),
            ("gpu Near yes -", false),
        ];
        for (text, expected) in table {
            let fits = node.unfit(&[vec![toleration(text)]]).is_none();
            assert_eq!(fits, expected, "{text}");
        }
    }

    #[test]
    fn every_pod_must_tolerate_every_taint() {
        let both = node(&json!({"spec": {"taints": [
            {"key": "a", "effect": "NoSchedule"}, {"key": "b", "effect": "NoExecute"}
        ]}}));
        let (a, b) = (toleration("a Exists - -"), toleration("b Exists - -"));
        assert_eq!(both.unfit(&[vec![a.clone(), b.clone()]]), None);
        let unfit = both.unfit(&[vec![a.clone()]]).unwrap().to_string();
        assert_eq!(unfit, "tainted b:NoExecute");
        assert!(both.unfit(&[vec![a.clone(), b.clone()], vec![b]]).is_some());
        assert!(both.unfit(&[vec![a], vec![]]).is_some());
    }
}
