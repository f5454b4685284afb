//! A blocking client for the API server: JSON, any path, any verb.

use std::fmt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use http::{Method, Request};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use crate::server::{Trouble, doing};

/// How long a test waits for what it expects, unless it says.
const PATIENCE: Duration = Duration::from_mins(1);

/// A client as the administrator.
pub struct Api {
    runtime: Runtime,
    client: Client,
}

/// The API server's refusal, or its silence (code 0).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The HTTP status.
    pub code: u16,
    /// One word: `NotFound`, `Invalid`.
    pub reason: String,
    /// A sentence.
    pub message: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}: {}", self.code, self.reason, self.message)
    }
}

impl std::error::Error for Refused {}

impl Api {
    /// A client for the cluster that the file names.
    pub fn of(kubeconfig: &Path) -> Result<Self, Trouble> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(doing("start a client"))?;
        let name = kubeconfig.display();
        let file = Kubeconfig::read_from(kubeconfig).map_err(doing(format!("read {name}")))?;
        let config = runtime.block_on(Config::from_custom_kubeconfig(
            file,
            &KubeConfigOptions::default(),
        ));
        let config = config.map_err(doing(format!("use {name}")))?;
        let client = {
            // It starts a task of its own, which needs to know where.
            let _here = runtime.enter();
            Client::try_from(config).map_err(doing(format!("use {name}")))?
        };
        Ok(Self { runtime, client })
    }

    /// A copy of kube's client, for what is tested with it. It must be used on this runtime: [`Api::block_on`].
    #[must_use]
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Runs a future on the client's runtime.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }

    /// What is at that path.
    pub fn get(&self, path: &str) -> Result<Value, Refused> {
        self.json(Method::GET, path, "", None)
    }

    /// What is at that path, as it comes.
    pub fn text(&self, path: &str) -> Result<String, Refused> {
        let request = request(Method::GET, path, "", Vec::new())?;
        self.block_on(self.client.request_text(request)).map_err(refused)
    }

    /// The objects of a list.
    pub fn list(&self, path: &str) -> Result<Vec<Value>, Refused> {
        let mut list = self.get(path)?;
        match list["items"].take() {
            Value::Array(items) => Ok(items),
            _ => Ok(Vec::new()),
        }
    }

    /// Makes an object, with unknown and doubled fields refused.
    pub fn create(&self, path: &str, object: &Value) -> Result<Value, Refused> {
        let strict = format!("{path}{}fieldValidation=Strict", separator(path));
        self.json(Method::POST, &strict, "application/json", Some(object))
    }

    /// Replaces an object.
    pub fn replace(&self, path: &str, object: &Value) -> Result<Value, Refused> {
        self.json(Method::PUT, path, "application/json", Some(object))
    }

    /// Changes an object by a merge patch.
    pub fn patch(&self, path: &str, change: &Value) -> Result<Value, Refused> {
        self.json(Method::PATCH, path, "application/merge-patch+json", Some(change))
    }

    /// Deletes an object with its own grace period.
    pub fn delete(&self, path: &str) -> Result<Value, Refused> {
        self.json(Method::DELETE, path, "", None)
    }

    /// Asks until `look` sees in the object what it looks for. A test that waits in vain says for what.
    #[track_caller]
    pub fn wait<T>(&self, path: &str, what: &str, look: impl Fn(&Value) -> Option<T>) -> T {
        self.wait_for(PATIENCE, path, what, look)
    }

    /// The same, for so long at most.
    #[track_caller]
    pub fn wait_for<T>(
        &self,
        limit: Duration,
        path: &str,
        what: &str,
        look: impl Fn(&Value) -> Option<T>,
    ) -> T {
        let deadline = Instant::now() + limit;
        loop {
            let seen = self.get(path);
            if let Some(found) = seen.as_ref().ok().and_then(&look) {
                return found;
            }
            if Instant::now() > deadline {
                let seen = seen.map_or_else(|error| error.to_string(), |object| format!("{object:#}"));
                panic!(
                    "waited {} s in vain for {what} at {path}; last seen: {seen}",
                    limit.as_secs()
                );
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Asks until there is nothing at that path.
    #[track_caller]
    pub fn wait_until_gone(&self, path: &str) {
        let deadline = Instant::now() + PATIENCE;
        while !self.get(path).is_err_and(|error| error.code == 404) {
            assert!(
                Instant::now() < deadline,
                "waited {} s in vain for the end of {path}",
                PATIENCE.as_secs()
            );
            thread::sleep(Duration::from_millis(50));
        }
    }

    fn json(&self, method: Method, path: &str, kind: &str, body: Option<&Value>) -> Result<Value, Refused> {
        let body = body
            .map(|object| object.to_string().into_bytes())
            .unwrap_or_default();
        let request = request(method, path, kind, body)?;
        self.block_on(self.client.request(request)).map_err(refused)
    }
}

fn separator(path: &str) -> char {
    if path.contains('?') { '&' } else { '?' }
}

pub(crate) fn request(
    method: Method,
    path: &str,
    kind: &str,
    body: Vec<u8>,
) -> Result<Request<Vec<u8>>, Refused> {
    let mut request = Request::builder().method(method).uri(path);
    if !kind.is_empty() {
        request = request.header(http::header::CONTENT_TYPE, kind);
    }
    request.body(body).map_err(|error| silent(&error))
}

pub(crate) fn refused(error: kube::Error) -> Refused {
    match error {
        kube::Error::Api(status) => Refused {
            code: status.code,
            reason: status.reason.clone(),
            message: status.message.clone(),
        },
        other => silent(&other),
    }
}

fn silent(error: &dyn std::error::Error) -> Refused {
    Refused {
        code: 0,
        reason: "NoAnswer".into(),
        message: trainyard_local::error_chain(error),
    }
}
