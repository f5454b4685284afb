//! Trainings under `trainyard operator`: jobs as users write them, real pods, real TensorFlow.

mod client;
mod exercise;
mod failures;
mod never_ran;
mod other_kinds;
mod tensorboard;
mod trainings;

use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use trainyard_cluster_tests::{Namespace, Operator, with_node};
use trainyard_manifest::kinds::{JobApi, tfjob};

use crate::PATIENCE;

/// A namespace with an operator of its own, on a cluster that runs pods.
struct Yard {
    /// The kind of its jobs.
    kind: &'static JobApi,
    _operator: Operator,
    namespace: Namespace<'static>,
}

impl Yard {
    /// One for TFJobs; none where this machine cannot have a node.
    fn new(name: &str) -> Option<Self> {
        Self::of(name, &tfjob::API)
    }

    fn of(name: &str, kind: &'static JobApi) -> Option<Self> {
        Self::with(name, kind, &[])
    }

    /// With these options for the operator beside the usual.
    fn with(name: &str, kind: &'static JobApi, more: &[&str]) -> Option<Self> {
        let namespace = with_node()?.namespace(name);
        let options = [&["--kinds", kind.word], more].concat();
        Some(Self {
            kind,
            _operator: Operator::with(&namespace, &options),
            namespace,
        })
    }

    /// Creates what a text says, as users do.
    #[track_caller]
    fn create(&self, text: &str) {
        self.namespace
            .kubectl_with(&["create", "--filename", "-"], text)
            .good();
    }

    /// Waits until a job has succeeded; its status. If it fails instead, its pods say why.
    #[track_caller]
    fn succeeds(&self, job: &str) -> Value {
        let status = self.wait(job, "its end", |status| {
            (is(status, "Succeeded") || is(status, "Failed")).then(|| status.clone())
        });
        let succeeded = is(&status, "Succeeded");
        assert!(succeeded, "{job} has failed: {status:#}\n{}", self.all_logs());
        status
    }

    /// Waits for something in the status of a job.
    #[track_caller]
    fn wait<T>(&self, job: &str, what: &str, look: impl Fn(&Value) -> Option<T>) -> T {
        let api = self.namespace.cluster().api();
        api.wait_for(PATIENCE, &self.path(job), what, |object| look(&object["status"]))
    }

    fn path(&self, job: &str) -> String {
        let group = format!("apis/{}", self.kind.api_version);
        self.namespace
            .path(&group, &format!("{}/{job}", self.kind.plural))
    }

    /// Waits until the pods that are there are these.
    #[track_caller]
    fn pods_are(&self, wanted: &[&str]) {
        let api = self.namespace.cluster().api();
        api.wait(&self.namespace.path("api/v1", "pods"), "the right pods", |list| {
            let names = list["items"]
                .as_array()?
                .iter()
                .map(|pod| &pod["metadata"]["name"]);
            let mut names: Vec<&str> = names.filter_map(Value::as_str).collect();
            names.sort_unstable();
            (names == wanted).then_some(())
        });
    }

    /// Waits until the whole job has been started again so many times.
    #[track_caller]
    fn restarted(&self, job: &str, times: u64) {
        self.wait(job, "a restart of the job", |status| {
            (status["trainyard"]["epoch"].as_u64()? >= times).then_some(())
        });
    }

    /// Waits until a pod has printed a line that begins so.
    #[track_caller]
    fn until_logged(&self, pod: &str, beginning: &str) {
        let deadline = Instant::now() + PATIENCE;
        // It may not be there yet, or not again.
        while !self
            .namespace
            .kubectl(&["logs", pod])
            .output
            .lines()
            .any(|line| line.starts_with(beginning))
        {
            assert!(Instant::now() < deadline, "no `{beginning}`: {}", self.all_logs());
            thread::sleep(Duration::from_millis(100));
        }
    }

    #[track_caller]
    fn log(&self, pod: &str) -> String {
        self.namespace.kubectl(&["logs", pod]).good()
    }

    /// The last lines of every pod.
    fn all_logs(&self) -> String {
        let pods = self.namespace.pods();
        let names = pods.iter().filter_map(|pod| pod["metadata"]["name"].as_str());
        let logs = names.map(|name| {
            let said = self.namespace.kubectl(&["logs", name, "--tail", "20"]);
            format!("---- {name}\n{}{}", said.output, said.errors)
        });
        logs.collect()
    }
}

/// Whether a status has that condition, and it holds.
fn is(status: &Value, condition: &str) -> bool {
    let conditions = status["conditions"].as_array();
    conditions.is_some_and(|all| {
        all.iter()
            .any(|one| one["type"] == condition && one["status"] == "True")
    })
}
