//! Manifests in, jobs and problems out; no network, and no file but the ones a caller names.
//!
//! ```text
//! documents (trainyard-document) ─▶ a dialect's reader, through Fields and PodTemplate ─▶ core's Job
//!                                        └─▶ Problem (code, place, found, allowed, hint), all at once
//! ```
//!
//! * `dialect` describes each dialect as data and functions; one module each reads what it describes.
//! * [`read`](read::read) chooses the dialect that reads a document; [`manifest`] is what comes out of it.
//! * [`pod_template`] checks a pod template and takes out of it what the job model needs.
//! * `compile` has the blocks that each dialect's rules are made of.
//! * [`isolation`] is the annotation that keeps other pods from connecting to those of a job.
//! * [`order`] is the annotation that gives an order to a job, for the operator too.
//! * [`placeholders`] are what a tutorial left for its readers to fill in.
//! * [`convert`] writes a job in another dialect and says what was lost.

mod check;
mod compile;
pub mod convert;
mod dialect;
#[cfg(test)]
mod helps;
pub mod isolation;
pub mod manifest;
pub mod order;
mod placeholders;
pub mod pod_template;
pub mod read;
mod t9k;
pub mod tensorboard;
mod tfjob;
mod volcano;

pub use self::dialect::{Dialect, RoleList};
pub use self::manifest::{Item, OtherObject, ReadJob, Reading};
pub use self::placeholders::{placeholders, with_placeholders};
pub use self::read::{read, read_value};
pub use self::tfjob::{OURSELVES, not_served};
