//! Jobs on a Kubernetes cluster: the world that `step` decides about when there is one.
//!
//! ```text
//! watches (jobs, pods, Services, groups) ─▶ Yard ─▶ look: Observed ─▶ step ─▶ Pass ─▶ carry out: status, then actions, then events
//!                                  ▲                                             │
//!                                  └───────────── what was written ◀─────────────┘
//! ```
//!
//! One loop owns everything that is known ([`yard`]); it decides ([`look`]) and hands each decision to a task of its own
//! that does nothing but talk to the API server ([`pass`]). What was written comes back as news before the same job is
//! looked at again, so a decision never stands on less than our own writes (W2), and one job has one pass at a time.
//!
//! * [`job`] is a `TFJob` as the API server shows it, and what it compiles to.
//! * [`form`] is how its tasks know each other, which stays as it began.
//! * [`gang_form`] is whether they are placed as a group, which does so too.
//! * [`guarded`] reads each object by itself, so that none keeps the others from being read.
//! * `watches` are the watches, and [`watched`] what is kept of what they show: of a pod hardly anything.
//! * [`api`] is every request we make, bounded in number and, where asked, in time ([`limit`]).
//!   What waits for its turn is dealt round robin by namespace ([`turns`], [`permits`]).
//! * [`lease`] says whether this operator is the one that acts.
//! * [`tell`] is what happened, for whoever prints or counts it; [`metrics`] counts, and [`endpoints`] answers.

pub mod api;
pub mod endpoints;
pub mod form;
pub mod gang_form;
pub mod guarded;
pub mod job;
mod job_wire;
mod lean;
pub mod lease;
pub mod limit;
pub mod look;
pub mod metrics;
pub mod operate;
pub mod pass;
pub mod permits;
pub mod run;
pub mod tell;
pub mod turns;
pub mod watched;
mod watches;
pub mod yard;

pub use self::endpoints::Endpoints;
pub use self::operate::{Options, operate};
pub use self::run::{CannotOperate, run};
