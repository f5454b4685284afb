//! A namespace of a test's own, and manifests applied in it.

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

use crate::api::Api;
use crate::cluster::Cluster;
use crate::kubectl::{Applied, Said};

/// A namespace, deleted when this is dropped.
pub struct Namespace<'a> {
    cluster: &'a Cluster,
    name: String,
}

impl<'a> Namespace<'a> {
    #[track_caller]
    pub(crate) fn create(cluster: &'a Cluster, beginning: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("{beginning}-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        if let Err(error) = cluster.api().create("/api/v1/namespaces", &object) {
            panic!("cannot make the namespace {name}: {error}");
        }
        let namespace = Self { cluster, name };
        if cluster.parts().controllers {
            // Until it is there, every pod is refused.
            let account = namespace.path("api/v1", "serviceaccounts/default");
            cluster
                .api()
                .wait(&account, "the service account of pods", |_| Some(()));
        }
        namespace
    }

    /// What it is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The cluster it is in.
    #[must_use]
    pub fn cluster(&self) -> &'a Cluster {
        self.cluster
    }

    fn api(&self) -> &Api {
        self.cluster.api()
    }

    /// The path of something in it: `path("apis/batch/v1", "jobs/train")`.
    #[must_use]
    pub fn path(&self, version: &str, rest: &str) -> String {
        format!("/{version}/namespaces/{}/{rest}", self.name)
    }

    /// The path of a pod.
    #[must_use]
    pub fn pod(&self, name: &str) -> String {
        self.path("api/v1", &format!("pods/{name}"))
    }

    /// The pods in it, by name.
    #[track_caller]
    #[must_use]
    pub fn pods(&self) -> Vec<Value> {
        let pods = self.api().list(&self.path("api/v1", "pods"));
        let mut pods = pods.unwrap_or_else(|error| panic!("cannot list pods: {error}"));
        pods.sort_by_key(|pod| pod["metadata"]["name"].as_str().map(str::to_owned));
        pods
    }

    /// Runs kubectl in it.
    #[track_caller]
    pub fn kubectl(&self, arguments: &[&str]) -> Said {
        self.kubectl_with(arguments, "")
    }

    /// The same, with a text on standard input.
    #[track_caller]
    pub fn kubectl_with(&self, arguments: &[&str], input: &str) -> Said {
        let here = ["--namespace", &self.name];
        self.cluster
            .kubectl()
            .run_with(&[&here, arguments].concat(), input)
    }

    /// `kubectl apply` of a manifest's text; unknown and doubled fields are refused.
    #[track_caller]
    pub fn apply(&self, text: &str) -> Said {
        self.kubectl_with(&["apply", "--validate=strict", "--filename", "-"], text)
    }

    /// Applies a text twice and takes care that the second time changes nothing; the objects.
    ///
    /// Where controllers run they write too: use [`bare`](crate::bare) for this.
    #[track_caller]
    pub fn apply_twice(&self, text: &str) -> Vec<Applied> {
        self.apply(text).good();
        let first = self.objects(text);
        // kubectl says "configured" whenever it sent something; whether that changed anything, the server knows.
        self.apply(text).good();
        let second = self.objects(text);
        for (before, after) in first.iter().zip(&second) {
            assert_eq!(
                before.resource_version, after.resource_version,
                "{} is written again the second time: {:#}",
                after.name, after.object
            );
        }
        second
    }

    /// The objects that a text names, as they are on the server.
    #[track_caller]
    #[must_use]
    pub fn objects(&self, text: &str) -> Vec<Applied> {
        let output = self
            .kubectl_with(&["get", "--output", "json", "--filename", "-"], text)
            .good();
        let answer: Value = serde_json::from_str(&output).unwrap_or_else(|error| panic!("{error}: {output}"));
        let objects = match answer["items"].as_array() {
            Some(items) => items.clone(),
            None => vec![answer],
        };
        objects.into_iter().map(applied).collect()
    }
}

fn applied(object: Value) -> Applied {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Applied {
        name: format!("{}/{}", text(&object["kind"]), text(&object["metadata"]["name"])),
        resource_version: text(&object["metadata"]["resourceVersion"]),
        object,
    }
}

impl Drop for Namespace<'_> {
    fn drop(&mut self) {
        // The cluster may be gone already, and goes anyway.
        let _ = self.api().delete(&format!("/api/v1/namespaces/{}", self.name));
    }
}
