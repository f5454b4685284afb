//! The policies that `step` is made of, one a file, each with its table of cases.
//!
//! They share one [`Turn`]: what is known during a single call of `step`.

pub mod backoff;
pub mod bounds;
pub mod cleanup;
pub mod deadline;
pub mod elastic;
pub mod gang;
pub mod judge;
pub mod orders;
pub mod remember;
pub mod restart;
pub mod starts;
pub mod startup;
pub mod suspend;
#[cfg(test)]
pub mod testing;
pub mod ttl;
mod turn;
mod view;

pub(crate) use turn::Turn;
pub(crate) use view::View;
