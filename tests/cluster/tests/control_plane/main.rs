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
mod operator;
mod pods;
mod rendered;
mod rendered_jobs;
