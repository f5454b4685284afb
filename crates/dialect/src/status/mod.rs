//! What a dialect's own users and tools want to see: pure functions from memory and observation to each dialect's
//! status.
//!
//! They stand after [`step`](trainyard_core::step) and decide nothing. Lists that are a history (conditions) need the
//! status written before, so each takes it.

mod time;
mod volcano;

pub use self::volcano::{Phase as VolcanoPhase, volcano_order, volcano_status};
