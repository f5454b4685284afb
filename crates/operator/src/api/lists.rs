//! One job and what belongs to it, asked for by lists: the operator has no right to get a job by its name, and needs none.

use http::Method;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use trainyard_manifest::observe::PodSeen;

use super::{Api, ApiError, core, jobs_path};
use crate::guarded::Guarded;
use crate::job::{JobKey, JobWire};
use crate::watched::{ServiceSeen, WatchedService};

#[derive(Deserialize)]
struct Items<T> {
    items: Vec<T>,
}

impl Api {
    /// One job, as it is now; none where it does not exist.
    pub async fn job(&self, job: &JobKey) -> Result<Option<JobWire>, ApiError> {
        let path = format!("{}?fieldSelector=metadata.name%3D{}", jobs_path(job), job.name);
        self.list(job.kind.api.plural, &path)
            .await
            .map(|jobs| jobs.into_iter().next())
    }

    /// The pods that name a job.
    pub async fn pods(&self, job: &JobKey) -> Result<Vec<PodSeen>, ApiError> {
        let pods: Vec<PodSeen> = self.list("pods", &ours(job, "pods")).await?;
        let pods = pods.into_iter().map(|pod| pod.for_kind(job.kind.api));
        Ok(pods.collect())
    }

    /// The Services that name a job.
    pub async fn services(&self, job: &JobKey) -> Result<Vec<ServiceSeen>, ApiError> {
        let path = ours(job, "services");
        let all: Vec<Guarded<WatchedService>> = self.list("services", &path).await?;
        Ok(all
            .into_iter()
            .filter_map(|one| one.0.ok())
            .map(Into::into)
            .collect())
    }

    async fn list<T: DeserializeOwned>(&self, plural: &'static str, path: &str) -> Result<Vec<T>, ApiError> {
        let what = (Method::GET, plural);
        let list: Items<T> = self.send(what, path, &Value::Null, "application/json").await?;
        Ok(list.items)
    }
}

/// Where the objects are that name a job, by labels that those of other operators have too.
fn ours(job: &JobKey, plural: &str) -> String {
    let JobKey {
        kind,
        namespace,
        name,
    } = job;
    let labels = &kind.api.labels;
    let (key, value) = labels.selector;
    let selector = format!("{key}={value},{}={name}", labels.listed_by());
    let selector = selector
        .replace('/', "%2F")
        .replace('=', "%3D")
        .replace(',', "%2C");
    format!("{}?labelSelector={selector}", core(namespace, plural, None))
}
