//! What is tested on a real API server. All tests of this binary share one control plane; each has a namespace.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on must say so"
)]

mod expand;
mod install;
mod life;
mod manifests;
mod pods;
mod rendered;
mod rendered_jobs;

// The operator's end-to-end tests are kept with the operator. They are compiled into this binary because each test binary
// starts a control plane of its own.
#[path = "../../../../crates/operator/tests/end_to_end/mod.rs"]
mod operator;
