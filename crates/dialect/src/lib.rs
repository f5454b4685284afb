//! Manifests in, jobs and problems out; no network, and no file but the ones a caller names.
//!
//! ```text
//! bytes ─▶ Source ─▶ Document (Node tree, kubectl's scalars, positions)
//!                        │
//!                        ▼
//!            a dialect's reader, through Fields and PodTemplate ─▶ core's Job
//!                        │
//!                        └─▶ Problem (code, place, found, allowed, hint), all at once
//! ```
//!
//! * [`document`] turns bytes into [`document::Document`]s; [`scalar`] says what a plain scalar means.
//! * [`fields`] is how every dialect asks for typed fields; [`quantity`] reads `1500m` and `16Gi`.
//! * [`pod_template`] checks a pod template and takes out of it what the job model needs.
//! * [`problem`] is what is wrong and where; [`codes`] is the table of everything that can be.

pub mod codes;
pub mod document;
pub mod fields;
pub mod pod_template;
pub mod problem;
pub mod quantity;
pub mod scalar;
