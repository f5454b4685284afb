//! How jobs and pods are watched: kube's watcher over types of our own that keep next to nothing.

use std::borrow::Cow;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::NamespaceResourceScope;
use serde::{Deserialize, Deserializer};
use trainyard_manifest::names::{JOB_LABEL, KUBEFLOW_JOB_LABEL};
use trainyard_manifest::observe::PodSeen;

use crate::job::JobWire;

/// The label that every pod and Service of ours has; it is Kubeflow's, since its users' tools look for it.
pub const OURS: &str = "training.kubeflow.org/operator-name=tfjob-controller";

/// What kube's watcher wants to know of a type: which objects it is of, and where its metadata is.
macro_rules! resource {
    ($type:ty, $group:literal, $kind:literal, $plural:literal) => {
        impl Resource for $type {
            type DynamicType = ();
            type Scope = NamespaceResourceScope;

            fn kind((): &()) -> Cow<'_, str> {
                $kind.into()
            }

            fn group((): &()) -> Cow<'_, str> {
                $group.into()
            }

            fn version((): &()) -> Cow<'_, str> {
                "v1".into()
            }

            fn plural((): &()) -> Cow<'_, str> {
                $plural.into()
            }

            fn meta(&self) -> &ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut ObjectMeta {
                &mut self.metadata
            }
        }
    };
}

resource!(JobWire, "kubeflow.org", "TFJob", "tfjobs");
resource!(WatchedPod, "", "Pod", "pods");
resource!(WatchedService, "", "Service", "services");

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

/// A Service by which tasks find each other, as far as anybody here wants to know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceSeen {
    /// Its name.
    pub name: Arc<str>,
    /// Its namespace.
    pub namespace: Arc<str>,
    /// Which Service of that name.
    pub uid: Arc<str>,
    /// The name of the job it says it belongs to.
    pub job: Arc<str>,
    /// The UID of the job that owns it.
    pub owner: Option<Arc<str>>,
}

/// A Service on its way through kube's watcher.
#[derive(Clone, Debug)]
pub struct WatchedService {
    metadata: ObjectMeta,
    /// What is kept.
    pub seen: ServiceSeen,
}

#[derive(Deserialize)]
struct ServiceWire {
    metadata: ObjectMeta,
}

impl<'de> Deserialize<'de> for WatchedService {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let metadata = ServiceWire::deserialize(deserializer)?.metadata;
        let text = |text: Option<&String>| Arc::from(text.map_or("", String::as_str));
        let owners = metadata.owner_references.as_deref().unwrap_or_default();
        let owner = owners.iter().find(|owner| owner.controller == Some(true));
        let labels = metadata.labels.as_ref();
        let seen = ServiceSeen {
            name: text(metadata.name.as_ref()),
            namespace: text(metadata.namespace.as_ref()),
            uid: text(metadata.uid.as_ref()),
            job: text(
                labels.and_then(|labels| labels.get(JOB_LABEL).or_else(|| labels.get(KUBEFLOW_JOB_LABEL))),
            ),
            owner: owner.map(|owner| owner.uid.as_str().into()),
        };
        Ok(Self { metadata, seen })
    }
}
