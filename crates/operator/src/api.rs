//! Every request that the operator makes, never more than so many at a time.
//!
//! Bodies are plain values and answers are cut down to what is needed: the server is asked for metadata alone.

mod lists;
mod workloads;

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::{Method, Request};
use kube::Client;
use kube::core::{DynamicObject, Status};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};
use tokio::time::timeout;
use trainyard_manifest::bounded::Bounded;
use trainyard_manifest::gang::{GATE, GroupApi};
use trainyard_manifest::observe::PodSeen;

use crate::guarded::Guarded;
use crate::job::{JobKey, version};
use crate::notice::{Notice, Observer};
use crate::other_manager::MANAGER;
use crate::permits::Permits;
use crate::rate_limit::RateLimit;
use crate::watched::GroupSeen;

/// Answers hold metadata alone.
const METADATA_ONLY: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/// A request that takes longer counts as failed, though the API server may have carried it out.
const PATIENCE: Duration = Duration::from_secs(30);

/// The way to the API server.
pub struct Api {
    client: Client,
    permits: Permits,
    limit: Option<RateLimit>,
    observer: Arc<dyn Observer>,
}

/// An object that has been written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// Its UID.
    pub uid: Arc<str>,
    /// Its version.
    pub version: u64,
}

impl Made {
    /// What the answer to a write says.
    fn of(object: &Value) -> Self {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str);
        Self {
            uid: text("/metadata/uid").unwrap_or_default().into(),
            version: version(text("/metadata/resourceVersion")),
        }
    }
}

/// An object that exists, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owned {
    /// Its UID.
    pub uid: Arc<str>,
    /// The UID of its controller.
    pub owner: Option<String>,
    /// Its annotations.
    pub annotations: Value,
}

/// A request that was refused, or that was not answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// The HTTP code; 0 where there was no answer.
    pub code: u16,
    /// The reason in one word, where there is one.
    pub reason: String,
    /// What the server said, or what happened to the request.
    pub message: String,
    /// A quota of the namespace is used up.
    pub is_quota: bool,
}

impl ApiError {
    /// An object of that name exists.
    #[must_use]
    pub fn exists(&self) -> bool {
        self.code == 409 && self.reason == "AlreadyExists"
    }

    /// The same of an object that has the name and is another's.
    #[must_use]
    pub fn in_the_way(mut self, kind: &str, namespace: &str, name: &str) -> Self {
        let help = format!(
            " and was not made for this job: `kubectl delete {kind} {name} -n {namespace}`, or give the job another name"
        );
        self.message.push_str(&help);
        self
    }

    /// A request that was not sent or not answered.
    #[must_use]
    pub const fn unsent(message: String) -> Self {
        Self {
            code: 0,
            reason: String::new(),
            message,
            is_quota: false,
        }
    }

    /// There is no such object.
    #[must_use]
    pub fn not_found(&self) -> bool {
        self.code == 404
    }
}

impl From<kube::Error> for ApiError {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self {
                code: status.code,
                reason: status.reason.clone(),
                message: status.message.clone(),
                is_quota: is_quota(&status),
            },
            other => Self::unsent(other.to_string()),
        }
    }
}

/// What is deleted, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// With its own grace.
    Gracefully,
    /// Without waiting for its node.
    AtOnce,
    /// With everything that it owns, in the background, and only in this version.
    WithDependents {
        /// Which one was decided about.
        version: u64,
    },
}

impl Api {
    /// At most `most` requests at a time, and as many a second as `limit` allows.
    #[must_use]
    pub fn new(client: Client, most: usize, limit: Option<RateLimit>, observer: Arc<dyn Observer>) -> Self {
        Self {
            client,
            permits: Permits::new(most),
            limit,
            observer,
        }
    }

    /// Creates an object.
    pub async fn create(&self, plural: &'static str, object: &Value) -> Result<Made, ApiError> {
        let path = path_of(plural, object);
        let made = self
            .send((Method::POST, plural), &path, object, METADATA_ONLY)
            .await?;
        Ok(Made::of(&made))
    }

    /// Tells an event.
    pub async fn event(&self, namespace: &str, event: &Value) -> Result<(), ApiError> {
        let path = format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events");
        self.send::<IgnoredAny>((Method::POST, "events"), &path, event, METADATA_ONLY)
            .await
            .map(drop)
    }

    /// One pod, as it is now.
    pub async fn pod(&self, namespace: &str, name: &str) -> Result<PodSeen, ApiError> {
        let path = core(namespace, "pods", Some(name));
        self.send((Method::GET, "pods"), &path, &Value::Null, "application/json")
            .await
    }

    /// Which object has that name, and whose it is.
    pub async fn owned(
        &self,
        (api_version, plural): (&str, &'static str),
        namespace: &str,
        name: &str,
    ) -> Result<Owned, ApiError> {
        let path = format!("{}/{name}", object_path(api_version, namespace, plural));
        let what = (Method::GET, plural);
        let mut object: Value = self.send(what, &path, &Value::Null, METADATA_ONLY).await?;
        let metadata = &mut object["metadata"];
        let mut owners = metadata["ownerReferences"].as_array().into_iter().flatten();
        let owner = owners.find(|owner| owner["controller"] == true);
        Ok(Owned {
            uid: metadata["uid"].as_str().unwrap_or_default().into(),
            owner: owner.and_then(|owner| owner["uid"].as_str()).map(str::to_owned),
            annotations: metadata["annotations"].take(),
        })
    }

    /// Changes one object by a merge patch, which names its UID so that no other of that name is changed.
    pub async fn correct(
        &self,
        (api_version, plural): (&str, &'static str),
        namespace: &str,
        name: &str,
        change: &Value,
    ) -> Result<(), ApiError> {
        let path = format!("{}/{name}", object_path(api_version, namespace, plural));
        self.send::<IgnoredAny>((Method::PATCH, plural), &path, change, METADATA_ONLY)
            .await
            .map(drop)
    }

    /// Writes one object anew, with everything that it is to say. It names its UID, so that no other of that name is written.
    pub async fn replace(&self, plural: &'static str, object: &Value) -> Result<Made, ApiError> {
        let name = object.pointer("/metadata/name").and_then(Value::as_str);
        let path = format!("{}/{}", path_of(plural, object), name.unwrap_or_default());
        let what = (Method::PUT, plural);
        let made = self.send(what, &path, object, METADATA_ONLY).await?;
        Ok(Made::of(&made))
    }

    /// Deletes one object of that API version, and no other of that name.
    pub async fn delete_object(
        &self,
        (api_version, plural): (&str, &'static str),
        namespace: &str,
        name: &str,
        uid: &str,
    ) -> Result<(), ApiError> {
        let path = format!("{}/{name}", object_path(api_version, namespace, plural));
        self.delete(plural, &path, uid, How::Gracefully).await
    }

    /// Deletes one pod, and no other of that name.
    pub async fn delete_pod(&self, namespace: &str, name: &str, uid: &str, how: How) -> Result<(), ApiError> {
        self.delete("pods", &core(namespace, "pods", Some(name)), uid, how)
            .await
    }

    /// Takes our gate from one pod, and from no other of that name; gives the pod as it is then. It must be the first of its gates.
    pub async fn ungate_pod(&self, namespace: &str, name: &str, uid: &str) -> Result<PodSeen, ApiError> {
        let gate = "/spec/schedulingGates/0";
        let change = json!([
            { "op": "test", "path": "/metadata/uid", "value": uid },
            { "op": "test", "path": format!("{gate}/name"), "value": GATE },
            { "op": "remove", "path": gate },
        ]);
        let path = core(namespace, "pods", Some(name));
        self.send((Method::PATCH, "pods"), &path, &change, "application/json")
            .await
    }

    /// Deletes one job, and no other of that name, as it was when that was decided: a user may have given it more time.
    pub async fn delete_job(&self, job: &JobKey, uid: &str, version: u64) -> Result<(), ApiError> {
        let how = How::WithDependents { version };
        self.delete(job.kind.api.plural, &job_path(job), uid, how).await
    }

    async fn delete(&self, plural: &'static str, path: &str, uid: &str, how: How) -> Result<(), ApiError> {
        let mut options = json!({
            "apiVersion": "v1", "kind": "DeleteOptions",
            "preconditions": { "uid": uid }, "propagationPolicy": "Background",
        });
        match how {
            How::Gracefully => {}
            How::AtOnce => options["gracePeriodSeconds"] = 0.into(),
            How::WithDependents { version } => {
                options["preconditions"]["resourceVersion"] = version.to_string().into();
            }
        }
        self.send::<IgnoredAny>((Method::DELETE, plural), path, &options, "application/json")
            .await
            .map(drop)
    }

    /// Creates a group.
    pub async fn create_group(
        &self,
        api: &'static GroupApi,
        namespace: &str,
        object: &Value,
    ) -> Result<GroupSeen, ApiError> {
        let path = object_path(&api.api_version(), namespace, api.plural);
        let what = (Method::POST, api.plural);
        let made = self.send(what, &path, object, "application/json").await?;
        group(api, made)
    }

    /// Changes the spec of one group, and of no other of that name.
    pub async fn correct_group(
        &self,
        api: &'static GroupApi,
        namespace: &str,
        name: &str,
        uid: &str,
        spec: &Value,
    ) -> Result<GroupSeen, ApiError> {
        let body = json!({ "metadata": { "uid": uid }, "spec": spec });
        let all = object_path(&api.api_version(), namespace, api.plural);
        let path = format!("{all}/{name}");
        let what = (Method::PATCH, api.plural);
        let made = self.send(what, &path, &body, "application/json").await?;
        group(api, made)
    }

    /// Writes a job's status over the version that it was decided from; gives the status as it was stored.
    pub async fn write_status(
        &self,
        job: &JobKey,
        uid: &str,
        over: u64,
        status: &Value,
    ) -> Result<(Made, Option<Value>), ApiError> {
        let body = json!({
            "apiVersion": job.kind.api.api_version, "kind": job.kind.api.kind,
            "metadata": {
                "name": job.name, "namespace": job.namespace, "uid": uid, "resourceVersion": over.to_string(),
            },
            "status": status,
        });
        let path = format!("{}/status?fieldManager={MANAGER}", job_path(job));
        let what = (Method::PUT, job.kind.api.status);
        let stored: Bounded = self.send(what, &path, &body, "application/json").await?;
        let mut stored = stored.value;
        Ok((Made::of(&stored), stored.get_mut("status").map(Value::take)))
    }

    async fn send<T: DeserializeOwned>(
        &self,
        (method, resource): (Method, &'static str),
        path: &str,
        body: &Value,
        accept: &str,
    ) -> Result<T, ApiError> {
        let verb = verb(&method, path);
        let bytes = if body.is_null() {
            Vec::new()
        } else {
            body.to_string().into_bytes()
        };
        let kind = match method {
            // A JSON patch is a list of operations.
            Method::PATCH if body.is_array() => "application/json-patch+json",
            Method::PATCH => "application/merge-patch+json",
            _ => "application/json",
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(http::header::ACCEPT, accept)
            .header(http::header::CONTENT_TYPE, kind)
            .body(bytes)
            .map_err(|error| ApiError::unsent(error.to_string()))?;
        let namespace = namespace_of(path);
        let _permit = self.permits.acquire(&namespace).await;
        if let Some(limit) = &self.limit {
            limit.turn(&namespace).await;
        }
        let begun = Instant::now();
        let answer = match timeout(PATIENCE, self.client.request(request)).await {
            Ok(answer) => answer.map_err(ApiError::from),
            Err(_) => Err(ApiError::unsent(format!("no answer in {} s", PATIENCE.as_secs()))),
        };
        let code = match &answer {
            Ok(_) if verb == "create" => 201,
            Ok(_) => 200,
            Err(refused) => refused.code,
        };
        self.observer.notice(&Notice::Request {
            verb,
            resource,
            code,
            took: begun.elapsed(),
        });
        answer
    }
}

/// Whether the quota admission plugin refused a request. Its answer has the reason of every refusal by admission, and no details, so
/// its text is all there is to tell.
fn is_quota(status: &Status) -> bool {
    status.code == 403 && status.message.contains("exceeded quota")
}

/// A group that was written.
fn group(api: &'static GroupApi, Guarded(made): Guarded<DynamicObject>) -> Result<GroupSeen, ApiError> {
    let read = made.map(|object| GroupSeen::of(api, object));
    read.map_err(|unread| ApiError::unsent(unread.why))
}

/// The namespace that a request is about, by which it has its turn.
fn namespace_of(path: &str) -> Arc<str> {
    let (_, rest) = path.split_once("/namespaces/").unwrap_or_default();
    rest.split('/').next().unwrap_or_default().into()
}

fn verb(method: &Method, path: &str) -> &'static str {
    match *method {
        Method::GET if path.contains('?') => "list",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        _ => "get",
    }
}

fn core(namespace: &str, plural: &str, name: Option<&str>) -> String {
    let name = name.map(|name| format!("/{name}")).unwrap_or_default();
    format!("{}{name}", object_path("v1", namespace, plural))
}

/// Where objects like this one are.
fn path_of(plural: &str, object: &Value) -> String {
    let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str);
    let version = object["apiVersion"].as_str().unwrap_or("v1");
    object_path(version, namespace.unwrap_or_default(), plural)
}

fn object_path(api_version: &str, namespace: &str, plural: &str) -> String {
    let root = if api_version.contains('/') { "apis" } else { "api" };
    format!("/{root}/{api_version}/namespaces/{namespace}/{plural}")
}

fn job_path(job: &JobKey) -> String {
    format!("{}/{}", jobs_path(job), job.name)
}

/// Where jobs of its kind and namespace are.
fn jobs_path(job: &JobKey) -> String {
    let api = job.kind.api;
    object_path(api.api_version, &job.namespace, api.plural)
}
