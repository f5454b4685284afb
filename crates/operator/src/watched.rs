//! How jobs and pods are watched: kube's watcher over types of our own that keep next to nothing.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::NamespaceResourceScope;
use serde::{Deserialize, Deserializer};
use trainyard_manifest::observe::PodSeen;

use crate::job::JobWire;

/// The label that every pod of ours has; it is Kubeflow's, since its users' tools look for it.
pub const OUR_PODS: &str = "training.kubeflow.org/operator-name=tfjob-controller";

impl Resource for JobWire {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        "TFJob".into()
    }

    fn group((): &()) -> Cow<'_, str> {
        "kubeflow.org".into()
    }

    fn version((): &()) -> Cow<'_, str> {
        "v1".into()
    }

    fn plural((): &()) -> Cow<'_, str> {
        "tfjobs".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// A pod on its way through kube's watcher, which wants to see its metadata.
#[derive(Clone, Debug)]
pub struct WatchedPod {
    metadata: ObjectMeta,
    /// What is kept.
    pub seen: PodSeen,
}

impl<'de> Deserialize<'de> for WatchedPod {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let seen = PodSeen::deserialize(deserializer)?;
        let metadata = ObjectMeta {
            name: Some(seen.name.to_string()),
            namespace: Some(seen.namespace.to_string()),
            uid: Some(seen.uid.to_string()),
            resource_version: Some(seen.version.to_string()),
            ..ObjectMeta::default()
        };
        Ok(Self { metadata, seen })
    }
}

impl Resource for WatchedPod {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        "Pod".into()
    }

    fn group((): &()) -> Cow<'_, str> {
        "".into()
    }

    fn version((): &()) -> Cow<'_, str> {
        "v1".into()
    }

    fn plural((): &()) -> Cow<'_, str> {
        "pods".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
