//! Kueue's Workloads, as far as they are kept.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::core::{ApiResource, DynamicObject};
use trainyard_core::Time;
use trainyard_manifest::kinds::JobApi;
use trainyard_manifest::kueue::{self, WorkloadState};

use crate::job::version;

/// A Workload that a job of ours controls.
#[derive(Clone, Debug)]
pub struct WorkloadSeen {
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
    /// Kind, name and UID of the job that controls it.
    pub owner: (&'static JobApi, Arc<str>, Arc<str>),
    /// It was created by this operator, and may be changed and deleted.
    pub is_ours: bool,
    /// What it says.
    pub state: WorkloadState,
}

impl WorkloadSeen {
    /// What is kept of an object; none where no job of a kind that we know controls it.
    #[must_use]
    pub fn of(object: &DynamicObject) -> Option<Self> {
        let metadata = &object.metadata;
        let text = |text: Option<&String>| Arc::<str>::from(text.map_or("", String::as_str));
        let owners = metadata.owner_references.as_deref().unwrap_or_default();
        let job = |owner: &OwnerReference| {
            let api = JobApi::find(&owner.api_version, &owner.kind)?;
            let is_it = owner.controller == Some(true);
            is_it.then(|| (api, owner.name.as_str().into(), owner.uid.as_str().into()))
        };
        let annotations = metadata.annotations.as_ref();
        let name = text(metadata.name.as_ref());
        let created = metadata.creation_timestamp.as_ref();
        Some(Self {
            owner: owners.iter().find_map(job)?,
            is_ours: kueue::is_ours(annotations, &name),
            name,
            namespace: text(metadata.namespace.as_ref()),
            uid: text(metadata.uid.as_ref()),
            version: version(metadata.resource_version.as_deref()),
            created: Time(created.map_or(0, |time| u64::try_from(time.0.as_second()).unwrap_or_default())),
            deleting: metadata.deletion_timestamp.is_some(),
            state: WorkloadState::of(annotations, &object.data),
        })
    }
}

/// How kube's client finds Workloads.
#[must_use]
pub fn workload_resource() -> ApiResource {
    ApiResource {
        group: kueue::GROUP.into(),
        version: kueue::VERSION.into(),
        api_version: kueue::API_VERSION.into(),
        kind: kueue::KIND.into(),
        plural: kueue::WORKLOADS.into(),
    }
}
