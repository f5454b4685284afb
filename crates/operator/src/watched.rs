//! How jobs, pods, Services and groups are watched: kube's watcher over types of our own that keep next to nothing.

use std::borrow::Cow;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::Resource;
use kube::core::{ApiResource, DynamicObject, DynamicResourceScope, PartialObjectMeta};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use trainyard_core::Time;
use trainyard_manifest::gang::{self, GroupApi, GroupState, QueueApi};
use trainyard_manifest::kinds::{ALL, JobApi};
use trainyard_manifest::observe::{NodeSeen, PodSeen};

use crate::board::CONTENT;
use crate::job::{JobWire, version};
use crate::order::OrderApi;

/// So many characters of what a controller says are kept.
const LONGEST_TROUBLE: usize = 300;

/// Which objects are jobs of a kind.
#[must_use]
pub fn job_resource(api: &JobApi) -> ApiResource {
    ApiResource {
        group: api.group.into(),
        version: api.version.into(),
        api_version: api.api_version.into(),
        kind: api.kind.into(),
        plural: api.plural.into(),
    }
}

/// What kube's watcher wants to know of a type: where its metadata is, and which objects it is of, by the resource it is asked for.
macro_rules! resource {
    ($type:ty) => {
        impl Resource for $type {
            type DynamicType = ApiResource;
            type Scope = DynamicResourceScope;

            fn kind(of: &ApiResource) -> Cow<'_, str> {
                (&*of.kind).into()
            }

            fn group(of: &ApiResource) -> Cow<'_, str> {
                (&*of.group).into()
            }

            fn version(of: &ApiResource) -> Cow<'_, str> {
                (&*of.version).into()
            }

            fn plural(of: &ApiResource) -> Cow<'_, str> {
                (&*of.plural).into()
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

resource!(JobWire);
resource!(WatchedPod);
resource!(WatchedNode);

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

/// A node on its way through kube's watcher.
#[derive(Clone, Debug)]
pub struct WatchedNode {
    metadata: ObjectMeta,
    /// What is kept.
    pub seen: NodeSeen,
}

impl<'de> Deserialize<'de> for WatchedNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let seen = NodeSeen::deserialize(deserializer)?;
        let metadata = ObjectMeta {
            name: Some(seen.name.to_string()),
            uid: Some(seen.uid.to_string()),
            resource_version: Some(seen.version.to_string()),
            ..ObjectMeta::default()
        };
        Ok(Self { metadata, seen })
    }
}

/// A Service by which tasks find each other, as far as it is kept.
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
        let mut keys = ALL.iter().flat_map(|api| api.labels.job);
        Self {
            name: text(metadata.name.as_ref()),
            namespace: text(metadata.namespace.as_ref()),
            uid: text(metadata.uid.as_ref()),
            job: text(labels.and_then(|labels| keys.find_map(|key| labels.get(*key)))),
            owner: owner.map(|owner| owner.uid.as_str().into()),
        }
    }
}

/// A group object of a gang scheduler, as far as it is kept.
#[derive(Clone, Debug)]
pub struct GroupSeen {
    /// Its API.
    pub api: &'static GroupApi,
    /// Its name.
    pub name: Arc<str>,
    /// Its namespace.
    pub namespace: Arc<str>,
    /// Its UID.
    pub uid: Arc<str>,
    /// Its resource version.
    pub version: u64,
    /// When it was created.
    pub created: Time,
    /// It is being deleted.
    pub deleting: bool,
    /// Kind, name and UID of the job that controls it; none where a user or another controller made it.
    pub owner: Option<(&'static JobApi, Arc<str>, Arc<str>)>,
    /// It was created by this operator, if a job of ours owns it.
    pub is_ours: bool,
    /// Its spec.
    pub spec: Value,
    /// What its scheduler says.
    pub state: GroupState,
}

impl GroupSeen {
    /// What is kept of an object.
    #[must_use]
    pub fn of(api: &'static GroupApi, mut object: DynamicObject) -> Self {
        let metadata = &object.metadata;
        let text = |text: Option<&String>| Arc::<str>::from(text.map_or("", String::as_str));
        let owners = metadata.owner_references.as_deref().unwrap_or_default();
        let job = |owner: &OwnerReference| {
            let api =
                JobApi::find(&owner.api_version, &owner.kind).filter(|_| owner.controller == Some(true))?;
            Some((api, owner.name.as_str().into(), owner.uid.as_str().into()))
        };
        let owner: Option<(_, Arc<str>, _)> = owners.iter().find_map(job);
        let name = text(metadata.name.as_ref());
        let annotations = metadata.annotations.as_ref();
        let created = metadata.creation_timestamp.as_ref();
        Self {
            api,
            is_ours: owner
                .as_ref()
                .is_some_and(|(_, job, _)| gang::is_ours(annotations, &name, job)),
            name,
            namespace: text(metadata.namespace.as_ref()),
            uid: text(metadata.uid.as_ref()),
            version: version(metadata.resource_version.as_deref()),
            created: Time(created.map_or(0, |time| u64::try_from(time.0.as_second()).unwrap_or_default())),
            deleting: metadata.deletion_timestamp.is_some(),
            owner,
            state: (api.state)(&object.data["status"]),
            spec: object.data["spec"].take(),
        }
    }

    /// Whether the job with that UID owns it.
    #[must_use]
    pub fn is_of(&self, job: &Arc<str>) -> bool {
        self.owner.as_ref().is_some_and(|(_, _, uid)| uid == job)
    }

    /// Whether this operator created it for the job with that UID, so that it may be changed and deleted.
    #[must_use]
    pub fn was_made_for(&self, job: &Arc<str>) -> bool {
        self.is_ours && self.is_of(job)
    }
}

/// The Deployment of a TensorBoard, as far as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoardSeen {
    /// Its name.
    pub name: Arc<str>,
    /// Its namespace.
    pub namespace: Arc<str>,
    /// Its UID.
    pub uid: Arc<str>,
    /// Its resource version.
    pub version: u64,
    /// The name of the job that it says it belongs to.
    pub job: Arc<str>,
    /// The UID of the job that owns it.
    pub owner: Option<Arc<str>>,
    /// What it was created from, by its annotation.
    pub content: Option<Arc<str>>,
    /// It is being deleted.
    pub deleting: bool,
    /// Its pod is ready.
    pub is_ready: bool,
    /// Why its pod is not ready, where its controller says so.
    pub trouble: Option<Arc<str>>,
}

impl BoardSeen {
    /// What is kept of an object.
    #[must_use]
    pub fn of(api: &JobApi, object: &DynamicObject) -> Self {
        let metadata = &object.metadata;
        let text = |text: Option<&String>| Arc::<str>::from(text.map_or("", String::as_str));
        let owners = metadata.owner_references.as_deref().unwrap_or_default();
        let owner = owners.iter().find(|owner| owner.controller == Some(true));
        let labels = metadata.labels.as_ref();
        let mut keys = api.labels.job.iter();
        let annotations = metadata.annotations.as_ref();
        let content = annotations.and_then(|annotations| annotations.get(CONTENT));
        let status = &object.data["status"];
        Self {
            name: text(metadata.name.as_ref()),
            namespace: text(metadata.namespace.as_ref()),
            uid: text(metadata.uid.as_ref()),
            version: version(metadata.resource_version.as_deref()),
            job: text(labels.and_then(|labels| keys.find_map(|key| labels.get(*key)))),
            owner: owner.map(|owner| owner.uid.as_str().into()),
            content: content.map(|content| content.as_str().into()),
            deleting: metadata.deletion_timestamp.is_some(),
            is_ready: status["readyReplicas"].as_u64().is_some_and(|ready| ready > 0),
            trouble: trouble(status),
        }
    }
}

/// Why the pod of a Deployment is not ready: it cannot be created, or it does not become ready.
fn trouble(status: &Value) -> Option<Arc<str>> {
    let conditions = || status["conditions"].as_array().into_iter().flatten();
    let says = |kind: &str, value: &str| {
        conditions().find(|condition| condition["type"] == kind && condition["status"] == value)
    };
    let condition = says("ReplicaFailure", "True").or_else(|| says("Progressing", "False"))?;
    let words: String = condition["message"]
        .as_str()?
        .chars()
        .take(LONGEST_TROUBLE)
        .collect();
    Some(words.into())
}

/// How kube's client finds objects that give orders.
#[must_use]
pub fn order_resource(api: &OrderApi) -> ApiResource {
    ApiResource {
        group: api.group.into(),
        version: api.version.into(),
        api_version: api.api_version.into(),
        kind: api.kind.into(),
        plural: api.plural.into(),
    }
}

/// How kube's client finds the objects of an API.
#[must_use]
pub fn group_resource(api: &GroupApi) -> ApiResource {
    ApiResource {
        group: api.group.into(),
        version: api.version.into(),
        api_version: api.api_version(),
        kind: api.kind.into(),
        plural: api.plural.into(),
    }
}

/// How kube's client finds the queues of an API.
#[must_use]
pub fn queue_resource(api: &QueueApi) -> ApiResource {
    ApiResource {
        group: api.group.into(),
        version: api.version.into(),
        api_version: format!("{}/{}", api.group, api.version),
        kind: api.kind.into(),
        plural: api.plural.into(),
    }
}
