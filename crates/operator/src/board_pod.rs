//! The pod of a TensorBoard, as far as it is kept: why it is not ready. Its Deployment does not say.
//!
//! Pods may be watched anyway, so this takes no right of its own. What only events tell stays unknown: which pod on another node holds a
//! claim.

use std::sync::Arc;

use kube::core::DynamicObject;
use serde_json::{Value, json};
use trainyard_manifest::observe::{PodSeen, Waits};
use trainyard_manifest::tensorboard::BOARD_LABEL;

use crate::board::BoardObjects;
use crate::job::version;

/// So many characters of what the scheduler and the kubelet say are told.
const LONGEST_WORDS: usize = 300;
/// The condition that is true once volumes are mounted and the network is there.
const MOUNTED: &str = "PodReadyToStartContainers";

/// A pod of a TensorBoard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoardPodSeen {
    /// Its name.
    pub name: Arc<str>,
    /// Its namespace.
    pub namespace: Arc<str>,
    /// Its UID.
    pub uid: Arc<str>,
    /// Its resource version.
    pub version: u64,
    /// The name of the job, by its label.
    pub job: Arc<str>,
    /// It is being deleted.
    pub deleting: bool,
    /// Where the scheduler has placed it.
    node: Option<Arc<str>>,
    /// What it waits for.
    waits: Option<Waits>,
    /// The kubelet has mounted its volumes: what it waits for is its image.
    is_mounted: bool,
}

impl BoardPodSeen {
    /// What is kept of a pod; none if no Deployment made it.
    #[must_use]
    pub fn of(object: &DynamicObject) -> Option<Self> {
        let metadata = &object.metadata;
        let owners = metadata.owner_references.as_deref().unwrap_or_default();
        let mut owners = owners.iter().filter(|owner| owner.controller == Some(true));
        owners.find(|owner| owner.kind == "ReplicaSet")?;
        let text = |text: Option<&String>| Arc::<str>::from(text.map_or("", String::as_str));
        let labels = metadata.labels.as_ref();
        let (spec, status) = (&object.data["spec"], &object.data["status"]);
        let whole = json!({ "metadata": metadata, "spec": spec, "status": status });
        let seen: PodSeen = serde_json::from_value(whole).ok()?;
        let mut conditions = status["conditions"].as_array().into_iter().flatten();
        Some(Self {
            name: text(metadata.name.as_ref()),
            namespace: text(metadata.namespace.as_ref()),
            uid: text(metadata.uid.as_ref()),
            version: version(metadata.resource_version.as_deref()),
            job: labels?.get(BOARD_LABEL)?.as_str().into(),
            deleting: metadata.deletion_timestamp.is_some(),
            node: spec["nodeName"].as_str().map(Arc::from),
            waits: seen.waits,
            is_mounted: conditions.any(|one| one["type"] == MOUNTED && one["status"] == "True"),
        })
    }

    /// Why it is not ready, with what helps. `late` if it has had its time.
    #[must_use]
    pub fn trouble(&self, objects: &BoardObjects, late: bool) -> Option<String> {
        let cut = |words: &str| -> String { words.chars().take(LONGEST_WORDS).collect() };
        match self.waits.as_ref()? {
            Waits::Said {
                message,
                container: None,
                ..
            } => Some(match missing_claim(message) {
                Some(claim) => format!(
                    "the claim `{}` does not exist in namespace `{}`: create it, or correct the address of the logs.",
                    cut(claim),
                    self.namespace
                ),
                None => format!(
                    "its pod cannot be placed: {}.",
                    cut(message.trim_end_matches('.'))
                ),
            }),
            Waits::Said { reason, message, .. } => Some(format!(
                "its container does not start: {}: {}.",
                cut(reason),
                cut(message.trim_end_matches('.'))
            )),
            Waits::Preparing { .. } if late && !self.is_mounted => self.unmounted(objects),
            Waits::Preparing { .. }
            | Waits::Recovering { .. }
            | Waits::Unplaced { .. }
            | Waits::Silent { .. } => None,
        }
    }

    /// Its node does not come to mount the claims.
    fn unmounted(&self, objects: &BoardObjects) -> Option<String> {
        let node = self.node.as_ref()?;
        let volumes = objects.deployment.pointer("/spec/template/spec/volumes");
        let volumes = volumes.and_then(Value::as_array).into_iter().flatten();
        let claims = volumes.filter_map(|volume| volume["persistentVolumeClaim"]["claimName"].as_str());
        let claims: Vec<String> = claims.map(|claim| format!("`{claim}`")).collect();
        (!claims.is_empty()).then(|| {
            format!(
                "node `{node}` has not mounted {}: a claim of ReadWriteOnce can be mounted on one node at a time, and pods on another node may \
                 use it. Keep the logs in a claim of ReadWriteMany, or wait until those pods have ended.",
                claims.join(", ")
            )
        })
    }
}

/// The claim that the scheduler does not find: `persistentvolumeclaim "logs" not found`.
fn missing_claim(words: &str) -> Option<&str> {
    let (_, rest) = words.split_once("persistentvolumeclaim \"")?;
    let (claim, rest) = rest.split_once('"')?;
    rest.starts_with(" not found").then_some(claim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_claim_that_is_missing_is_read_from_the_schedulers_words() {
        let rows = [
            (
                "0/3 nodes are available: persistentvolumeclaim \"logs\" not found. preemption: 0/3 nodes are available",
                Some("logs"),
            ),
            ("persistentvolumeclaim \"logs\" not found", Some("logs")),
            ("persistentvolumeclaim \"logs\" is being deleted", None),
            ("persistentvolumeclaim \"", None),
            ("0/3 nodes are available: 3 Insufficient cpu", None),
        ];
        for (words, claim) in rows {
            assert_eq!(missing_claim(words), claim, "{words}");
        }
    }
}
