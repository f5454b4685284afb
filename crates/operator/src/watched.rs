//! How jobs, pods, Services and groups are watched: kube's watcher over types of our own that keep next to nothing.

use std::borrow::Cow;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::{ApiResource, DynamicObject, NamespaceResourceScope, PartialObjectMeta};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use trainyard_core::Time;
use trainyard_manifest::names::{JOB_LABEL, KUBEFLOW_JOB_LABEL};
use trainyard_manifest::observe::PodSeen;
use trainyard_manifest::pod_group::{Groups, KIND, PLURAL};

use crate::job::{JobWire, version};

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

/// A Service on its way through kube's watcher: nothing is asked of it but its metadata.
pub type WatchedService = PartialObjectMeta<Service>;

impl From<WatchedService> for ServiceSeen {
    fn from(service: WatchedService) -> Self {
        let metadata = &service.metadata;
        let text = |text: Option<&String>| Arc::from(text.map_or("", String::as_str));
        let owners = metadata.owner_references.as_deref().unwrap_or_default();
        let owner = owners.iter().find(|owner| owner.controller == Some(true));
        let labels = metadata.labels.as_ref();
        Self {
            name: text(metadata.name.as_ref()),
            namespace: text(metadata.namespace.as_ref()),
            uid: text(metadata.uid.as_ref()),
            job: text(
                labels.and_then(|labels| labels.get(JOB_LABEL).or_else(|| labels.get(KUBEFLOW_JOB_LABEL))),
            ),
            owner: owner.map(|owner| owner.uid.as_str().into()),
        }
    }
}

/// A group that is placed together, as far as anybody here wants to know it.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupSeen {
    /// Its name.
    pub name: Arc<str>,
    /// Its namespace.
    pub namespace: Arc<str>,
    /// Which group of that name.
    pub uid: Arc<str>,
    /// Its version.
    pub version: u64,
    /// When it was made.
    pub created: Time,
    /// It is being deleted.
    pub deleting: bool,
    /// The kind and the UID of the controller that owns it.
    pub owner: Option<(Arc<str>, Arc<str>)>,
    /// What is asked for it.
    pub spec: Value,
    /// How far it has come; empty where the scheduler has not looked at it.
    pub phase: Arc<str>,
    /// What its scheduler says.
    pub message: Option<Arc<str>>,
}

/// Which objects the groups are.
#[must_use]
pub fn group_resource(groups: &Groups) -> ApiResource {
    let (group, version) = (groups.api_group(), groups.api_version());
    ApiResource {
        group: group.into(),
        version: version.into(),
        api_version: format!("{group}/{version}"),
        kind: KIND.into(),
        plural: PLURAL.into(),
    }
}

impl From<DynamicObject> for GroupSeen {
    fn from(mut object: DynamicObject) -> Self {
        let metadata = &object.metadata;
        let text = |text: Option<&String>| Arc::<str>::from(text.map_or("", String::as_str));
        let owners = metadata.owner_references.as_deref().unwrap_or_default();
        let owner = owners.iter().find(|owner| owner.controller == Some(true));
        let status = &object.data["status"];
        // Schedulers keep one condition a type: the others tell of what was.
        let mut conditions = status["conditions"].as_array().into_iter().flatten();
        let words = conditions
            .find(|condition| condition["type"] == "Unschedulable" && condition["status"] == "True");
        let words = words.and_then(|condition| condition["message"].as_str());
        let created = metadata.creation_timestamp.as_ref();
        Self {
            name: text(metadata.name.as_ref()),
            namespace: text(metadata.namespace.as_ref()),
            uid: text(metadata.uid.as_ref()),
            version: version(metadata.resource_version.as_deref()),
            created: Time(created.map_or(0, |time| u64::try_from(time.0.as_second()).unwrap_or_default())),
            deleting: metadata.deletion_timestamp.is_some(),
            owner: owner.map(|owner| (owner.kind.as_str().into(), owner.uid.as_str().into())),
            phase: status["phase"].as_str().unwrap_or_default().into(),
            message: words.filter(|words| !words.is_empty()).map(Arc::from),
            spec: object.data["spec"].take(),
        }
    }
}
