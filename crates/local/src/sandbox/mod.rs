//! What separates a run from the rest of the machine: namespaces, mounts, networks, ports.

pub mod bridge;
pub mod isolation;
pub mod mounts;
mod netlink;
pub mod ports;
pub mod probe;
