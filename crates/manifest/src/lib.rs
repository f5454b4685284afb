//! A job becomes Kubernetes objects. Pure: no cluster is asked, and the same job gives the same bytes.
//!
//! ```text
//!            Subject ─▶ addresses, ClusterMap ─▶ Pods ─┬▶ plain Jobs, one a role  (jobs)
//!                                                      └▶ one JobSet              (jobset)
//!               └▶ what its kind brings beside it ─────▶ claims, maps, a TensorBoard (tensorboard)
//!               └▶ what the target cannot say ─────────▶ notes
//! ```
//!
//! * [`Subject`](trainyard_core::Subject) is a job as it is to be written: namespace, addresses, labels, what comes beside
//!   it. A dialect makes it; nothing here knows the dialects.
//! * [`names`] is every name and label; [`service`], [`cluster_map`] and [`pod`] make what any world on a cluster
//!   needs: Services, the map of addresses, pods from templates with `TF_CONFIG`.
//! * [`bounded`] reads what others have written, however deep it is nested; [`observe`] reads pods from that.
//! * [`kinds`] is what the API server knows of each kind of job: names, labels, definition, rights.
//! * [`gang`] is what a gang scheduler is told of a job.
//! * [`replies`] turns rules into what a Job can answer to an end; [`success`] into what completes it.
//! * [`render`](render::render) puts it together and [`notes`] says what is missing.
//!
//! Pod templates stay the user's own values, so fields that are newer than this program pass through unchanged.

pub mod bounded;
pub mod cluster_map;
pub mod gang;
pub mod install;
pub mod jobs;
pub mod jobset;
pub mod kinds;
pub mod names;
pub mod nodes;
pub mod notes;
pub mod observe;
pub mod pod;
pub mod render;
pub mod replies;
pub mod service;
pub mod success;
pub mod task_pod;
pub mod tensorboard;
mod values;

pub use self::render::{Form, Rendered, Wishes, render};
