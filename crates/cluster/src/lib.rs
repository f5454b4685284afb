//! What a Kubernetes cluster says: which nodes there are, and which of them take the pods of a manifest; and what is put
//! there by `trainyard install`.
//!
//! ```text
//! kubeconfig ─▶ access ─┬▶ nodes::list ─▶ ClusterNode ─┐
//! manifest ─▶ tolerations ─────────────────────────────┴─▶ ClusterNode::unfit
//!                       └▶ Session ─▶ rivals, then each object applied
//! ```
//!
//! Callers wait, and get plain data or a [`ClusterError`] in words: they need not know kube and its runtime. The operator,
//! which does, gets its [`client`] here, so that there is one way to a cluster.

mod access;
mod error;
mod node;
mod nodes;
mod rivals;
mod session;
mod tolerations;

pub use self::access::{Access, client};
pub use self::error::{ClusterError, told};
pub use self::node::{ClusterNode, Taint, Toleration, Unfit};
pub use self::nodes::{Question, list};
pub use self::rivals::{Newcomer, Rivals};
pub use self::session::{Outcome, Session, Trial, named};
pub use self::tolerations::tolerations;
