//! One job and what belongs to it, read again.

use trainyard_manifest::observe::PodSeen;

use super::{ApplyError, Writes, doing};
use crate::api::{Api, ApiError};
use crate::job::JobWire;
use crate::watched::ServiceSeen;

/// What was read of a job: all of it is younger than the apply.
#[derive(Debug, Default)]
pub struct Reread {
    /// The job; none where it does not exist.
    pub job: Option<JobWire>,
    /// Pods that name it.
    pub pods: Vec<PodSeen>,
    /// Services that name it.
    pub services: Vec<ServiceSeen>,
}

/// Lists them: the operator may list these objects, and needs no other right. Groups stay as the watches have shown them.
pub async fn read(api: &Api, writes: &Writes) -> Result<Reread, ApplyError> {
    read_all(api, writes).await.map_err(doing("read it again"))
}

async fn read_all(api: &Api, writes: &Writes) -> Result<Reread, ApiError> {
    let key = &writes.key;
    let mut read = Reread {
        job: api.job(key).await?,
        pods: api.pods(key).await?,
        services: api.services(key).await?,
    };
    read.pods.retain(|pod| pod.job == key.name);
    read.services.retain(|service| service.job == key.name);
    Ok(read)
}
