//! A real Kubernetes for tests: etcd, kube-apiserver and, on request, the other components, started by the tests themselves.
//!
//! ```no_run
//! use trainyard_cluster_tests::{Crds, Node, bare, shared, with_node};
//!
//! // An API server without controllers, so that only the test writes: for rendered manifests.
//! bare().install(Crds::JobSet);
//! let namespace = bare().namespace("rendered");
//! let text = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}";
//! let objects = namespace.apply_twice(text); // strict; fails if the second apply writes anything
//! let message = namespace.apply("{apiVersion: v1, kind: ConfigMap, dta: {}}").bad(); // kubectl's error message
//!
//! // A control plane; the test does the work of scheduler and kubelet.
//! let player = shared().player();
//! player.node(&Node::ready("node-a").taint("spot", "yes", "NoSchedule"));
//! let namespace = shared().namespace("played");
//! player.bind(&namespace, "worker-0", "node-a");
//! player.run(&namespace, "worker-0");
//! player.exit(&namespace, "worker-0", 137);
//! let pod = shared().api().get(&namespace.pod("worker-0")).unwrap();
//! assert_eq!(pod["status"]["phase"], "Failed");
//!
//! // A cluster with a real node (needs root): pods run, TensorFlow trains in them.
//! if let Some(cluster) = with_node() {
//!     let namespace = cluster.namespace("real");
//!     namespace.apply(text).good();
//! }
//!
//! // For any other client.
//! let kubeconfig = shared().kubeconfig();
//! ```
//!
//! | | |
//! |---|---|
//! | [`bare`], [`shared`], [`with_node`] | clusters shared by all tests of one binary; the first test that asks starts one (four seconds, ten with a node) |
//! | [`Cluster::start`] | a cluster for one test, of any [`Parts`]; ends when it is dropped |
//! | [`Namespace`] | one per test, with kubectl and `apply` in it |
//! | [`Api`] | requests in JSON, at any path, and waiting for a state |
//! | [`Account`] | a service account: a kubeconfig with its token, and the requests it made, from the audit log |
//! | [`Player`], [`Node`] | nodes and pods without a kubelet |
//! | [`faulty`] | a proxy to the API server that refuses, hangs up, cuts watches and kills its client |
//! | [`fake_kubelet`] | runs every pod of a namespace by a script and records every version of every object |
//! | [`Crds`] | CRDs of `JobSet`, Volcano and Kubeflow, from their Go modules, and our own |
//! | [`Operator`] | `trainyard operator` for one namespace, with the rights that `trainyard install` gives it |
//! | [`KubeBatch`] | kube-batch 0.5.0, for tests against peers |
//! | [`Kueue`] | Kueue's manager 0.19.2, likewise |
//! | [`last_release`] | the program of the last release, for tests of upgrades |
//! | [`Client`] | Kubeflow's client for Python |
//! | [`server`] | the process of a cluster, in its own namespaces |
//!
//! Tests are modules of `tests/control_plane` or `tests/kubelet`, so that they share a cluster; the operator's are in
//! `crates/operator/tests/end_to_end`. The programs are taken from `KUBEBUILDER_ASSETS` or built from Go modules once
//! (`tests/tools`). Without either, tests fail and say what is missing.
#![expect(
    clippy::panic,
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    reason = "helpers fail the test that calls them, with the reason"
)]

mod account;
mod api;
mod client;
mod cluster;
mod crds;
pub mod developers;
pub mod fake_kubelet;
pub mod faulty;
mod kubectl;
mod kueue;
mod namespace;
mod operator;
mod parts;
mod peer;
mod player;
pub mod server;

pub use account::{Account, Asked};
pub use api::{Api, Refused};
pub use client::Client;
pub use cluster::{Cluster, SERVE, bare, shared, with_mortal_node, with_node};
pub use crds::Crds;
pub use kubectl::{Applied, Kubectl, Said};
pub use kueue::Kueue;
pub use namespace::Namespace;
pub use operator::Operator;
pub use parts::Parts;
pub use peer::{KubeBatch, last_release};
pub use player::{Node, Player};
