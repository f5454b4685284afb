//! Turns a job into Kubernetes objects, and pods into what `step` observes. Pure: no I/O, and the same job gives the same bytes.
//!
//! ```text
//!            Subject ─▶ addresses, ClusterMap ─▶ Pods ─┬▶ plain Jobs, one per role      (jobs)
//!                                                      ├▶ one JobSet                    (jobset)
//!                                                      └▶ one pod per task, operated    (task_pod)
//!               ├▶ objects that its kind brings ─────────▶ claims, maps, a TensorBoard  (tensorboard)
//!               └▶ what the objects cannot express ──────▶ notes
//! ```
//!
//! * [`Subject`](trainyard_core::Subject): a job with its namespace, addresses, labels and extra objects. A dialect makes it; nothing
//!   here knows the dialects.
//! * [`names`]: every name and label. [`service`], [`cluster_map`], [`pod`]: what every form needs: Services, the map of addresses,
//!   pods from templates with `TF_CONFIG`.
//! * [`render`](render::render): all objects of a job without an operator; [`replies`] and [`success`] turn its rules into policies of
//!   Jobs, and [`notes`] says what is missing.
//! * [`gang`]: one module per gang scheduler. [`kueue`]: what stands for a job in a queue of Kueue's. [`kinds`]: names, labels, definition and rights of each kind of job. [`install`]: what an
//!   operator needs on a cluster.
//! * [`observe`]: pods as `step` observes them. [`bounded`]: JSON of any depth.
//!
//! Pod templates stay the user's own values, so fields that are newer than this program pass through unchanged.

pub mod bounded;
pub mod cluster_map;
pub mod gang;
pub mod install;
pub mod isolation;
pub mod jobs;
pub mod jobset;
pub mod kinds;
pub mod kueue;
pub mod names;
pub mod nodes;
pub mod notes;
pub mod observe;
pub mod pod;
pub mod render;
pub mod replies;
pub mod service;
pub mod success;
pub mod taints;
pub mod task_pod;
pub mod tensorboard;
mod values;

pub use self::render::{Form, Rendered, Wishes, render};
pub use self::values::fingerprint;
