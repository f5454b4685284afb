//! A node, as far as gangs by scheduling gates need it: which pods it takes, and how many.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::needs::{Amounts, PodNeeds, amounts};
use crate::bounded::Bounded;
use crate::taints::{Taint, Toleration};

/// More labels or taints than these of one node are not read.
const MOST: usize = 256;

/// A node. Reading one never fails: what has a wrong type is not there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeSeen {
    /// Its name.
    pub name: Arc<str>,
    /// Its UID.
    pub uid: Arc<str>,
    /// Its resource version.
    pub version: Arc<str>,
    /// Its labels.
    pub labels: BTreeMap<Arc<str>, Arc<str>>,
    /// What keeps pods away from it; those alone that do more than to make them prefer other nodes.
    pub taints: Vec<Taint>,
    /// What it offers to pods.
    pub allocatable: Amounts,
    /// Its kubelet says that it is ready.
    pub ready: bool,
    /// It is cordoned.
    pub unschedulable: bool,
}

impl<'de> Deserialize<'de> for NodeSeen {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Bounded::deserialize(deserializer).map(|object| Self::of(&object.value))
    }
}

impl NodeSeen {
    /// What is kept of an object.
    #[must_use]
    pub fn of(object: &Value) -> Self {
        let (metadata, spec, status) = (&object["metadata"], &object["spec"], &object["status"]);
        let text = |value: &Value| Arc::<str>::from(value.as_str().unwrap_or_default());
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let labels = metadata["labels"].as_object().into_iter().flatten();
        let taints = spec["taints"].as_array().into_iter().flatten().take(MOST);
        let taints = taints.map(|taint| Taint {
            key: word(&taint["key"]),
            value: word(&taint["value"]),
            effect: word(&taint["effect"]),
        });
        let mut conditions = status["conditions"].as_array().into_iter().flatten();
        Self {
            name: text(&metadata["name"]),
            uid: text(&metadata["uid"]),
            version: text(&metadata["resourceVersion"]),
            labels: labels
                .take(MOST)
                .map(|(key, value)| (key.as_str().into(), text(value)))
                .collect(),
            taints: taints.filter(Taint::is_hard).collect(),
            allocatable: amounts(&status["allocatable"]),
            ready: conditions.any(|one| one["type"] == "Ready" && one["status"] == "True"),
            unschedulable: spec["unschedulable"] == true,
        }
    }

    /// Whether it has the labels that a pod's node selector names.
    #[must_use]
    pub fn has_labels(&self, needs: &PodNeeds) -> bool {
        let mut selector = needs.selector.iter();
        selector.all(|(key, value)| self.labels.get(key) == Some(value))
    }

    /// The first taint that a pod does not tolerate. Those that Kubernetes sets by itself pass, and do not count.
    #[must_use]
    pub fn repels(&self, needs: &PodNeeds) -> Option<&Taint> {
        let mut lasting = self.taints.iter().filter(|taint| !taint.passes());
        lasting.find(|taint| !tolerates(needs, taint))
    }

    /// Whether a pod may come to be placed on it: by its labels and the taints that last.
    #[must_use]
    pub fn may_take(&self, needs: &PodNeeds) -> bool {
        self.has_labels(needs) && self.repels(needs).is_none()
    }

    /// Whether a pod that it may take could be placed on it now.
    #[must_use]
    pub fn is_open(&self, needs: &PodNeeds) -> bool {
        let cordon = || Taint {
            key: "node.kubernetes.io/unschedulable".into(),
            value: String::new(),
            effect: "NoSchedule".into(),
        };
        self.ready
            && (!self.unschedulable || tolerates(needs, &cordon()))
            && self.taints.iter().all(|taint| tolerates(needs, taint))
    }

    /// Whether nothing differs that matters to gangs.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        let Self {
            name,
            uid,
            version: _,
            labels,
            taints,
            allocatable,
            ready,
            unschedulable,
        } = self;
        *name == other.name
            && *uid == other.uid
            && *labels == other.labels
            && *taints == other.taints
            && *allocatable == other.allocatable
            && (*ready, *unschedulable) == (other.ready, other.unschedulable)
    }
}

fn tolerates(needs: &PodNeeds, taint: &Taint) -> bool {
    let covers = |toleration: &Toleration| toleration.covers(taint);
    needs.tolerations.iter().any(covers)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(labels: &Value, spec: &Value, ready: &str) -> NodeSeen {
        NodeSeen::of(&json!({
            "metadata": { "name": "n", "labels": labels }, "spec": spec,
            "status": { "conditions": [{ "type": "Ready", "status": ready }], "allocatable": { "cpu": "8", "x/y": 2, "bad": [] } },
        }))
    }

    fn needs(key: &str, value: &str, tolerated: &[&str]) -> PodNeeds {
        let toleration = |key: &&str| Toleration {
            key: (*key).into(),
            operator: "Exists".into(),
            ..Toleration::default()
        };
        PodNeeds {
            selector: [(key.into(), value.into())].into_iter().collect(),
            tolerations: tolerated.iter().map(toleration).collect(),
            ..PodNeeds::default()
        }
    }

    #[test]
    fn a_node_takes_pods_by_its_labels_and_taints() {
        let gpu = json!({ "pool": "gpu" });
        let tainted = |key: &str, effect: &str| json!({ "taints": [{ "key": key, "effect": effect }] });
        let cordon = "node.kubernetes.io/unschedulable";
        // Labels, spec, ready; selector value, tolerations; may be placed there, and now.
        let rows = [
            (json!({}), "True", "gpu", &[][..], true, true),
            (json!({}), "False", "gpu", &[], true, false),
            (json!({}), "True", "cpu", &[], false, true),
            (tainted("a", "NoSchedule"), "True", "gpu", &[], false, false),
            (tainted("a", "NoExecute"), "True", "gpu", &["b"], false, false),
            (tainted("a", "NoSchedule"), "True", "gpu", &["a"], true, true),
            (tainted("a", "PreferNoSchedule"), "True", "gpu", &[], true, true),
            (
                tainted("node.kubernetes.io/disk-pressure", "NoSchedule"),
                "True",
                "gpu",
                &[],
                true,
                false,
            ),
            (json!({ "unschedulable": true }), "True", "gpu", &[], true, false),
            (
                json!({ "unschedulable": true }),
                "True",
                "gpu",
                &[cordon],
                true,
                true,
            ),
        ];
        for (spec, ready, value, tolerated, may, now) in rows {
            let node = node(&gpu, &spec, ready);
            let needs = needs("pool", value, tolerated);
            assert_eq!(
                (node.may_take(&needs), node.is_open(&needs)),
                (may, now),
                "{spec} {value} {ready}"
            );
        }
    }

    #[test]
    fn nonsense_is_read() {
        let read = node(
            &json!({ "a": 1 }),
            &json!({ "taints": [7, { "key": 7 }] }),
            "Unknown",
        );
        assert_eq!(
            read.allocatable,
            [("cpu".into(), 8000), ("x/y".into(), 2000)].into_iter().collect()
        );
        assert_eq!(NodeSeen::of(&Value::Null), NodeSeen::default());
        assert!(read.is_like(&NodeSeen {
            version: "9".into(),
            ..read.clone()
        }));
        assert!(!read.is_like(&NodeSeen {
            ready: true,
            ..read.clone()
        }));
    }
}
