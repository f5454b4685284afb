//! One job and what belongs to it, read again.

use trainyard_manifest::observe::PodSeen;
use trainyard_manifest::pod_group::Groups;

use super::{ApplyError, Writes, doing};
use crate::api::{Api, ApiError};
use crate::job::JobWire;
use crate::watched::{GroupSeen, ServiceSeen};

/// A job is to be read again.
#[derive(Debug)]
pub struct Again {
    /// Whose groups its tasks are placed as.
    pub groups: Option<Groups>,
}

/// What was read of a job: all of it is younger than the pass.
#[derive(Debug, Default)]
pub struct Reread {
    /// The job; none where it does not exist.
    pub job: Option<JobWire>,
    /// Pods that name it.
    pub pods: Vec<PodSeen>,
    /// Services that name it.
    pub services: Vec<ServiceSeen>,
    /// The group of its name.
    pub group: Option<GroupSeen>,
}

/// Lists them: the operator may list these objects, and needs no other right.
pub async fn read(api: &Api, writes: &Writes, again: &Again) -> Result<Reread, ApplyError> {
    read_all(api, writes, again).await.map_err(doing("read it again"))
}

async fn read_all(api: &Api, writes: &Writes, again: &Again) -> Result<Reread, ApiError> {
    let key = &writes.key;
    let mut read = Reread {
        job: api.job(key).await?,
        pods: api.pods(key).await?,
        services: api.services(key).await?,
        group: None,
    };
    read.pods.retain(|pod| pod.job == key.name);
    read.services.retain(|service| service.job == key.name);
    if let Some(groups) = &again.groups {
        read.group = api.group(groups, key).await?;
    }
    Ok(read)
}
