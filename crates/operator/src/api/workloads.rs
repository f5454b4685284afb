//! Requests about Kueue's objects.

use http::Method;
use kube::core::DynamicObject;
use serde_json::{Value, json};
use trainyard_document::names::wrong_label;
use trainyard_manifest::bounded::Bounded;
use trainyard_manifest::kueue::{API_VERSION, KIND, STATUS, WORKLOADS};

use super::{Api, ApiError, object_path};
use crate::guarded::Guarded;
use crate::other_manager::MANAGER;
use crate::workload::WorkloadSeen;

/// The answer to a write, as far as it is kept.
type Written = Option<Box<WorkloadSeen>>;

impl Api {
    /// One Workload, as it is now.
    pub async fn workload(&self, namespace: &str, name: &str) -> Result<Value, ApiError> {
        let what = (Method::GET, WORKLOADS);
        let found: Bounded = self
            .send(what, &path(namespace, name), &Value::Null, "application/json")
            .await?;
        Ok(found.value)
    }

    /// Creates a Workload.
    pub async fn create_workload(&self, namespace: &str, object: &Value) -> Result<Written, ApiError> {
        let path = object_path(API_VERSION, namespace, WORKLOADS);
        let what = (Method::POST, WORKLOADS);
        written(self.send(what, &path, object, "application/json").await?)
    }

    /// Changes a Workload by a merge patch, which names its UID so that no other of that name is changed.
    pub async fn correct_workload(
        &self,
        namespace: &str,
        name: &str,
        change: &Value,
    ) -> Result<Written, ApiError> {
        let path = format!("{}?fieldManager={MANAGER}", path(namespace, name));
        let what = (Method::PATCH, WORKLOADS);
        written(self.send(what, &path, change, "application/json").await?)
    }

    /// Writes the status of a Workload over the one that was read.
    pub async fn write_workload_status(
        &self,
        namespace: &str,
        read: &Value,
        status: &Value,
    ) -> Result<Written, ApiError> {
        let metadata = &read["metadata"];
        let name = metadata["name"].as_str().unwrap_or_default();
        let body = json!({
            "apiVersion": API_VERSION, "kind": KIND,
            "metadata": {
                "name": name, "namespace": namespace, "uid": metadata["uid"],
                "resourceVersion": metadata["resourceVersion"],
            },
            "status": status,
        });
        let path = format!("{}/status?fieldManager={MANAGER}", path(namespace, name));
        written(
            self.send((Method::PUT, STATUS), &path, &body, "application/json")
                .await?,
        )
    }

    /// One object that is in no namespace.
    pub async fn cluster_object(
        &self,
        (api_version, plural): (&'static str, &'static str),
        name: &str,
    ) -> Result<Value, ApiError> {
        // Tenants write such names into labels, jobs and Workloads.
        if let Some(wrong) = name.split('.').find_map(wrong_label) {
            return Err(ApiError::unsent(format!(
                "`{name}` is no name of {plural}: {wrong}"
            )));
        }
        let path = format!("/apis/{api_version}/{plural}/{name}");
        let found: Bounded = self
            .send((Method::GET, plural), &path, &Value::Null, "application/json")
            .await?;
        Ok(found.value)
    }
}

fn path(namespace: &str, name: &str) -> String {
    format!("{}/{name}", object_path(API_VERSION, namespace, WORKLOADS))
}

/// One that cannot be read is shown by the watch, or it does not exist for us.
fn written(Guarded(written): Guarded<DynamicObject>) -> Result<Written, ApiError> {
    let object = written.map_err(|unread| ApiError::unsent(unread.why))?;
    Ok(WorkloadSeen::of(&object).map(Box::new))
}
