//! The policies that `step` is made of, one per file, each with its table of cases.
//!
//! They share one [`StepContext`]: what is known during a single call of `step`.

pub mod backoff;
pub mod bounds;
pub mod cleanup;
mod context;
pub mod deadline;
pub mod failed_starts;
pub mod fixtures;
pub mod gates;
pub mod judge;
pub mod orders;
pub mod persist;
pub mod remember;
pub mod restart;
pub mod scaling;
pub mod startup;
pub mod suspend;
#[cfg(test)]
pub mod testing;
#[cfg(test)]
mod tests;
pub mod ttl;
mod view;

pub(crate) use context::StepContext;
pub(crate) use view::View;
