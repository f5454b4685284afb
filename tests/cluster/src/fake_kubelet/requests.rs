//! The requests that drivers of pods make. A refusal because the pod is gone is no error: then its script is over.

use futures_util::Stream;
use http::{Method, Request};
use kube::Client;
use kube::core::WatchEvent;
use serde_json::{Value, json};

use crate::api::{Refused, refused, request};

/// A client.
#[derive(Clone)]
pub struct Requests {
    client: Client,
}

impl Requests {
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    /// What happens at that path from now on, beginning with everything that is there.
    pub async fn watch(
        &self,
        path: &str,
    ) -> Result<impl Stream<Item = Result<WatchEvent<Value>, kube::Error>> + use<>, Refused> {
        let watched = format!("{path}?watch=true&timeoutSeconds=1800");
        let request = request(Method::GET, &watched, "", Vec::new())?;
        self.client.request_events(request).await.map_err(refused)
    }

    /// Gives a pod a node.
    pub async fn bind(&self, path: &str, pod: &str, node: &str) -> Result<Value, Refused> {
        let binding = json!({
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        });
        self.json(Method::POST, &format!("{path}/binding"), &binding)
            .await
    }

    /// Asks for a pod to go, as a drain does.
    pub async fn evict(&self, path: &str, pod: &str) -> Result<Value, Refused> {
        let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}});
        self.json(Method::POST, &format!("{path}/eviction"), &eviction)
            .await
    }

    /// Deletes that pod and no other of its name; at once, or with its own grace.
    pub async fn delete(&self, path: &str, uid: &str, at_once: bool) -> Result<Value, Refused> {
        let mut options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}});
        if at_once {
            options["gracePeriodSeconds"] = 0.into();
        }
        self.json(Method::DELETE, path, &options).await
    }

    /// Changes a pod's status, of that pod and no other; again after a conflict with another writer.
    pub async fn change(
        &self,
        path: &str,
        known: &Value,
        change: impl Fn(&Value, &mut Value),
    ) -> Result<(), Refused> {
        let status_path = format!("{path}/status");
        let mut pod = known.clone();
        loop {
            let mut status = pod["status"].take();
            change(&pod, &mut status);
            pod["status"] = status;
            match self.json(Method::PUT, &status_path, &pod).await {
                Err(error) if error.code == 409 => {
                    pod = self.json(Method::GET, path, &Value::Null).await?;
                    if pod["metadata"]["uid"] != known["metadata"]["uid"] {
                        return Err(error);
                    }
                }
                written => return written.map(drop),
            }
        }
    }

    /// Creates an object.
    pub async fn create(&self, path: &str, object: &Value) -> Result<Value, Refused> {
        self.json(Method::POST, path, object).await
    }

    /// Changes an object by a merge patch.
    pub async fn patch(&self, path: &str, patch: &Value) -> Result<Value, Refused> {
        let bytes = patch.to_string().into_bytes();
        let request = request(Method::PATCH, path, "application/merge-patch+json", bytes)?;
        self.client.request(request).await.map_err(refused)
    }

    async fn json(&self, method: Method, path: &str, body: &Value) -> Result<Value, Refused> {
        let bytes = match body {
            Value::Null => Vec::new(),
            body => body.to_string().into_bytes(),
        };
        let request: Request<Vec<u8>> = request(method, path, "application/json", bytes)?;
        self.client.request(request).await.map_err(refused)
    }
}
