//! Jobs on a Kubernetes cluster.
//!
//! ```text
//! watches (jobs, pods, Services, groups) ─▶ Store ─▶ reconcile: Observed ─▶ step ─▶ Writes ─▶ apply: status, actions, events
//!                                  ▲                                                   │
//!                                  └──────────────────── Report ◀──────────────────────┘
//! ```
//!
//! One loop ([`mod@operate`]) owns the [`store`]. It reconciles one job at a time ([`reconcile`], pure) and hands the resulting
//! [`Writes`](apply::Writes) to a tokio task that talks to the API server ([`apply`]). The task's report is merged into the store before the
//! same job is reconciled again, so a decision always includes our own writes (W2), and each job has at most one apply in flight.
//!
//! * [`job`]: a job as the API server shows it, and what it compiles to.
//! * [`kinds`]: what is different about jobs of one kind, one file per kind.
//! * [`board`]: the TensorBoard beside a job.
//! * [`workload`]: what stands for a job in a queue of Kueue's.
//! * [`order`]: orders to restart or stop a job.
//! * [`guarded`]: decodes every object separately, so that a malformed one affects no other.
//! * `watches`: the watches; [`watched`]: the few fields that are kept of each object.
//! * [`api`]: every request; concurrency ([`permits`]) and rate ([`rate_limit`]) are bounded and fair between namespaces ([`fair_queue`]).
//! * [`lease`]: leader election.
//! * [`notice`]: what happened, for logs and [`metrics`]; [`endpoints`]: health and metrics over HTTP.
//!
//! End-to-end tests on a real API server are in `crates/operator/tests/end_to_end`; how they are run is on the first lines of its `mod.rs`.

pub mod api;
pub mod apply;
pub mod board;
pub mod board_pod;
pub mod endpoints;
pub mod fair_queue;
pub mod guarded;
pub mod job;
mod job_wire;
pub mod kinds;
pub mod lease;
pub mod metrics;
pub mod notice;
pub mod operate;
pub mod order;
mod other_manager;
pub mod permits;
pub mod rate_limit;
pub mod reconcile;
pub mod run;
mod shrink;
pub mod store;
pub mod watched;
mod watches;
pub mod workload;

pub use self::endpoints::Endpoints;
pub use self::operate::{Options, operate};
pub use self::run::{CannotOperate, run};
