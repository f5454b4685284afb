//! A real Kubernetes for tests: etcd, kube-apiserver and what else is asked for, started by the tests themselves.
//!
//! ```no_run
//! use trainyard_cluster_tests::{Crds, Node, bare, shared, with_node};
//!
//! // An API server that nobody but the test writes to: for what is rendered.
//! bare().install(Crds::JobSet);
//! let namespace = bare().namespace("rendered");
//! let text = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}";
//! let objects = namespace.apply_twice(text); // strict; fails if the second time writes anything
//! let said = namespace.apply("{apiVersion: v1, kind: ConfigMap, dta: {}}").bad(); // what kubectl says
//!
//! // A control plane whose scheduler and kubelet the test plays.
//! let player = shared().player();
//! player.node(&Node::ready("node-a").taint("spot", "yes", "NoSchedule"));
//! let namespace = shared().namespace("played");
//! player.bind(&namespace, "worker-0", "node-a");
//! player.run(&namespace, "worker-0");
//! player.exit(&namespace, "worker-0", 137);
//! let pod = shared().api().get(&namespace.pod("worker-0")).unwrap();
//! assert_eq!(pod["status"]["phase"], "Failed");
//!
//! // A cluster with a real node, where this machine can have one: pods run, TensorFlow trains in them.
//! if let Some(cluster) = with_node() {
//!     let namespace = cluster.namespace("real");
//!     namespace.apply(text).good();
//! }
//!
//! // Anything else that wants to speak to it.
//! let kubeconfig = shared().kubeconfig();
//! ```
//!
//! | | |
//! |---|---|
//! | [`bare`], [`shared`], [`with_node`] | the clusters that all tests of one binary share; the first test that asks starts it (four seconds, ten with a node) |
//! | [`Cluster::start`] | one of one's own, of any [`Parts`]; ends when it is dropped |
//! | [`Namespace`] | a test's own; kubectl in it, manifests applied in it |
//! | [`Api`] | JSON in and out, at any path; waits for what is to come |
//! | [`Account`] | a service account: a kubeconfig with its token, and what it has asked the API server for |
//! | [`Player`], [`Node`] | nodes and pods without a kubelet |
//! | [`faulty`] | a way to the API server that refuses, hangs up, cuts watches and kills the program that goes it |
//! | [`stage`] | every pod of a namespace played by itself, each its part, and everything that was seen of them written down |
//! | [`Crds`] | `JobSet`'s, Volcano's and Kubeflow's, from their Go modules, and our own |
//! | [`Operator`] | `trainyard operator` for one namespace, with the rights that `trainyard install` gives it |
//! | [`Client`] | Kubeflow's client for Python |
//! | [`server`] | how it is done: one process, behind walls of its own |
//!
//! Tests go into `tests/control_plane` or `tests/kubelet` as a module, so that they share a cluster. What a cluster is made of is
//! built from Go modules once (`tests/tools`); `KUBEBUILDER_ASSETS` is honoured. Without either, tests fail and say what
//! is missing.
#![expect(
    clippy::panic,
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    reason = "a test that cannot go on says why and stops; what it is made of does so for it"
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
mod namespace;
mod operator;
mod parts;
mod player;
pub mod server;

pub use account::{Account, Asked};
pub use api::{Api, Refused};
pub use client::Client;
pub use cluster::{Cluster, SERVE, bare, shared, with_mortal_node, with_node};
pub use crds::Crds;
pub use kubectl::{Applied, Kubectl, Said};
pub use namespace::Namespace;
pub use operator::Operator;
pub use parts::Parts;
pub use player::{Node, Player};
