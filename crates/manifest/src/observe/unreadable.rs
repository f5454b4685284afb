//! Pods that cannot be read, one by one.

use std::sync::Arc;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::wire::PodWire;
use super::{PodSeen, Waits};
use crate::bounded::Bounded;
use crate::kinds::{ALL, JobApi};

/// The reason that stands for a pod that cannot be read.
pub const UNREADABLE: &str = "UnreadablePod";
/// What is wrong with a pod is told in at most so many characters: the words may hold the pod's own.
const LONGEST: usize = 300;

impl PodSeen {
    /// What cannot be read of it; none where everything could.
    #[must_use]
    pub fn unreadable(&self) -> Option<&str> {
        match &self.waits {
            Some(Waits::Said { reason, message, .. }) if self.task.is_none() && **reason == *UNREADABLE => {
                Some(message)
            }
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for PodSeen {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Bounded::deserialize(deserializer)?.value;
        Ok(match PodWire::deserialize(&object) {
            Ok(wire) => wire.into(),
            Err(error) => unread(&object, &error.to_string()),
        })
    }
}

/// A pod that cannot be read, as far as it says which pod it is and whose.
fn unread(object: &Value, words: &str) -> PodSeen {
    let meta = &object["metadata"];
    let text = |field: &Value| Arc::from(field.as_str().unwrap_or_default());
    let labels = &meta["labels"];
    let mut job = ALL.iter().flat_map(|api| api.labels.job).map(|key| &labels[*key]);
    let mut owners = meta["ownerReferences"].as_array().into_iter().flatten();
    let owner = owners.find(|owner| owner["controller"] == true);
    PodSeen {
        name: text(&meta["name"]),
        namespace: text(&meta["namespace"]),
        uid: text(&meta["uid"]),
        version: text(&meta["resourceVersion"]),
        job: text(job.find(|job| job.is_string()).unwrap_or(&Value::Null)),
        owner: owner.and_then(|owner| owner["uid"].as_str()).map(Arc::from),
        owner_kind: owner
            .and_then(|owner| JobApi::find(owner["apiVersion"].as_str()?, owner["kind"].as_str()?)),
        task: None,
        priority: 0,
        waits: Some(Waits::Said {
            reason: UNREADABLE.into(),
            message: words.chars().take(LONGEST).collect::<String>().into(),
            container: None,
        }),
        containers: None,
        node: None,
        needs: None,
    }
}
