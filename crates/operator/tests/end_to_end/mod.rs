//! `trainyard operator` end to end: the shipped program on a real API server, with pods that the test runs.
//!
//! The test binary `control_plane` of `tests/cluster` compiles this module, so that all tests share one control plane:
//!
//! ```text
//! cargo test --package trainyard-cluster-tests --test control_plane operator::jobs
//! ```
//!
//! | tests | of |
//! |---|---|
//! | [`scenarios`], [`decisions`], [`volcano_decisions`], [`known_bugs`], [`t9k`] | tables of whole runs: what is decided, and when |
//! | [`jobs`], [`kinds`], [`chosen_kinds`], [`other_manager`], [`waits`], [`refused`], [`gang`], [`gang_queues`], [`kueue`], [`real_kueue`], [`gang_scenarios`], [`gates`], [`kube_batch`], [`volcano`], [`volcano_definition`], [`client`] | single behaviours, as a user meets them |
//! | [`faults`], [`volcano_faults`], [`leader`], [`upgrade`], [`panics`] | failing requests, two operators, two versions, panics |
//! | [`forged`], [`hostile`], [`unreadable_memory`], [`unreadable_objects`], [`fairness`] | tenants that write what no operator would |
//! | [`rights`], [`isolation`], [`pod_security`], [`canary`], [`definition`], [`endpoints`] | rights, secrets, the CRD, metrics and health |
//!
//! Tests of the operator on a node that really runs pods are in `tests/cluster/tests/kubelet`.

mod canary;
mod chosen_kinds;
mod client;
mod decisions;
mod definition;
mod endpoints;
mod fairness;
mod faults;
mod forged;
mod gang;
mod gang_queues;
mod gang_scenarios;
mod gates;
mod hostile;
mod isolation;
mod jobs;
mod kinds;
mod known_bugs;
mod kube_batch;
mod kueue;
mod leader;
mod other_manager;
mod panics;
mod played;
mod pod_security;
mod real_kueue;
mod refused;
mod rights;
mod scenarios;
mod t9k;
mod tensorboard;
mod unreadable_memory;
mod unreadable_objects;
mod upgrade;
mod volcano;
mod volcano_decisions;
mod volcano_definition;
mod volcano_faults;
mod waits;

use std::path::Path;
use std::sync::Once;

use serde_json::{Value, json};
use trainyard_cluster_tests::{Api, Crds, Namespace, Node, Operator, shared};
use trainyard_manifest::kinds::{JobApi, tfjob};

/// The node of all pods.
const NODE: &str = "node-a";

/// A namespace and an operator that watches only it.
struct Harness {
    operator: Operator,
    namespace: Namespace<'static>,
    /// The kind of its jobs.
    kind: &'static JobApi,
}

impl Harness {
    fn new(name: &str) -> Self {
        Self::with(name, &[])
    }

    /// With these options for the operator beside the usual.
    fn with(name: &str, more: &[&str]) -> Self {
        install();
        let namespace = shared().namespace(name);
        Self {
            operator: Operator::with(&namespace, more),
            namespace,
            kind: &tfjob::API,
        }
    }

    /// For jobs of this kind alone.
    fn of_kind(name: &str, kind: &'static JobApi) -> Self {
        let harness = Self::with(name, &["--kinds", kind.word]);
        Self { kind, ..harness }
    }

    /// With the operator of another version.
    fn of_program(name: &str, program: &Path, more: &[&str]) -> Self {
        install();
        let namespace = shared().namespace(name);
        Self {
            operator: Operator::of_program(&namespace, program, more),
            namespace,
            kind: &tfjob::API,
        }
    }

    /// Starts the operator, again if it was killed.
    fn start(&mut self) {
        self.operator.start();
    }

    /// Kills the operator with 9.
    fn kill(&mut self) {
        self.operator.kill();
    }

    #[expect(clippy::unused_self, reason = "all harnesses share one API server")]
    fn api(&self) -> &'static Api {
        shared().api()
    }

    /// Waits until the operator has reconciled a job for the first time.
    #[track_caller]
    fn seen(&self, job: &str) {
        self.api().wait(&self.path(job), "its first status", |object| {
            object["status"]["trainyard"].is_object().then_some(())
        });
    }

    /// Where its jobs are.
    fn jobs(&self) -> String {
        let JobApi {
            api_version, plural, ..
        } = self.kind;
        self.namespace.path(&format!("apis/{api_version}"), plural)
    }

    fn path(&self, job: &str) -> String {
        format!("{}/{job}", self.jobs())
    }

    fn create(&self, job: &Value) {
        shared().api().create(&self.jobs(), job).unwrap();
    }

    fn patch(&self, job: &str, change: &Value) {
        shared().api().patch(&self.path(job), change).unwrap();
    }

    /// Waits until the conditions of a job, in order, are these: `Running`, or `!Running` where it is false.
    #[track_caller]
    fn conditions(&self, job: &str, wanted: &[&str]) -> Value {
        shared()
            .api()
            .wait(&self.path(job), &format!("conditions {wanted:?}"), |object| {
                let conditions = object["status"]["conditions"].as_array()?;
                let shown: Vec<String> = conditions.iter().map(shown).collect();
                (shown == wanted).then(|| object["status"].clone())
            })
    }

    /// Waits until there is such a pod with that stamp.
    #[track_caller]
    fn pod(&self, name: &str, stamp: &str) -> Value {
        shared()
            .api()
            .wait(&self.namespace.pod(name), &format!("life {stamp}"), |pod| {
                (pod["metadata"]["annotations"]["trainyard.dev/stamp"] == stamp).then(|| pod.clone())
            })
    }

    /// Runs pods, as a kubelet does.
    #[track_caller]
    fn run(&self, pods: &[&str]) {
        for name in pods {
            self.pod(name, "0.0");
            self.run_on_a_node(name);
        }
    }

    /// A pod without a node is gone as soon as it is deleted; one with a node is asked to end.
    #[track_caller]
    fn run_on_a_node(&self, pod: &str) {
        shared().player().bind(&self.namespace, pod, NODE);
        shared().player().run(&self.namespace, pod);
    }

    /// Ends a pod that is being deleted.
    #[track_caller]
    fn vanish(&self, pod: &str, code: i32) {
        shared()
            .api()
            .wait(&self.namespace.pod(pod), "being deleted", |pod| {
                pod["metadata"]["deletionTimestamp"].is_string().then_some(())
            });
        shared().player().vanish(&self.namespace, pod, code);
    }

    #[track_caller]
    fn exit(&self, pod: &str, code: i32) {
        shared().player().exit(&self.namespace, pod, code);
    }

    /// The names of the pods that are there.
    fn names(&self) -> Vec<String> {
        let pods = self.namespace.pods();
        pods.iter()
            .map(|pod| pod["metadata"]["name"].as_str().unwrap().to_owned())
            .collect()
    }
}

fn shown(condition: &Value) -> String {
    let kind = condition["type"].as_str().unwrap_or_default();
    let no = if condition["status"] == "True" { "" } else { "!" };
    format!("{no}{kind}")
}

/// Our definition of `TFJob`, as users install it, and a node.
fn install() {
    static ONCE: Once = Once::new();
    shared().install(Crds::TfJob);
    ONCE.call_once(|| shared().player().node(&Node::ready(NODE)));
}

/// A job with these roles: `("Worker", 2, "ExitCode")`.
fn job(name: &str, policy: &Value, roles: &[(&str, u32, &str)]) -> Value {
    let template = json!({ "spec": { "containers": [{ "name": "tensorflow", "image": "trainer" }] } });
    let roles: serde_json::Map<String, Value> = roles
        .iter()
        .map(|(role, replicas, restart)| {
            let spec = json!({ "replicas": replicas, "restartPolicy": restart, "template": template });
            ((*role).to_owned(), spec)
        })
        .collect();
    json!({
        "apiVersion": "kubeflow.org/v1", "kind": "TFJob", "metadata": { "name": name },
        "spec": { "runPolicy": policy, "tfReplicaSpecs": roles },
    })
}
