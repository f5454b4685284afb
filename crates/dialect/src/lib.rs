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
//! * [`names`] is what Kubernetes allows as a name.
//! * [`pod_template`] checks a pod template and takes out of it what the job model needs.
//! * [`read`](read::read) is the door: which dialect reads what; [`manifest`] is what comes out of it.
//! * `compile` has the blocks that each dialect's rules are made of.
//! * [`status`] goes the other way: what is remembered of a job becomes the status its dialect's users know.
//! * [`convert`] writes a job in another dialect and says what was lost; [`yaml`] writes any value.
//! * [`problem`] is what is wrong and where; [`codes`] is the table of everything that can be.

mod check;
pub mod codes;
mod compile;
pub mod convert;
pub mod document;
pub mod fields;
pub mod manifest;
pub mod names;
pub mod pod_template;
pub mod problem;
pub mod quantity;
pub mod read;
pub mod scalar;
pub mod status;
mod t9k;
mod tfjob;
mod volcano;
pub mod yaml;

pub use self::compile::asked_together;
pub use self::manifest::{Dialect, Item, OtherObject, ReadJob, Reading, TASK_INDEX_LABEL};
pub use self::read::read;
pub use self::tfjob::{MANAGERS, OURSELVES, may_have_task};
