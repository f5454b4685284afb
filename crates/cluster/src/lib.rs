//! What a Kubernetes cluster says: which nodes there are, and which of them take the pods of a manifest.
//!
//! ```text
//! kubeconfig ─▶ access ─▶ nodes::list ─▶ ClusterNode ─┐
//! manifest ─▶ tolerations ────────────────────────────┴─▶ ClusterNode::unfit
//! ```
//!
//! Nobody but this crate knows kube and its runtime: callers wait, and get plain data or a [`ClusterError`] in words.

mod access;
mod error;
mod node;
mod nodes;
mod tolerations;

pub use self::error::ClusterError;
pub use self::node::{ClusterNode, Taint, Toleration, Unfit};
pub use self::nodes::{Question, list};
pub use self::tolerations::tolerations;
