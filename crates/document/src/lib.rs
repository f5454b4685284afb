//! Bytes become documents, documents become typed fields and problems, and values become YAML again; pure.
//!
//! ```text
//! bytes ─▶ Source ─▶ Document (Node tree, kubectl's scalars, positions) ─▶ Fields ─▶ a reader's types
//!                        └──────────────────────────────────────────────────┴─▶ Problem (code, place, hint)
//! ```
//!
//! * [`parse`] turns a [`Source`] into [`Document`]s; [`scalar`] says what a plain scalar means.
//! * [`fields`] is how every reader asks for typed fields; [`quantity`] reads `1500m` and `16Gi`.
//! * [`names`] is what Kubernetes allows as a name.
//! * [`tfjob_api`] is what a reader and a definition of `TFJob` must agree on.
//! * [`problem`] is what is wrong and where; [`codes`] is the table of everything that can be.
//! * [`yaml`] writes any value.

pub mod codes;
mod document;
pub mod fields;
pub mod names;
pub mod problem;
pub mod quantity;
pub mod scalar;
pub mod tfjob_api;
pub mod yaml;

pub use self::document::{
    Document, Entry, Kind, MOST_ANCHORS, MOST_BYTES, MOST_DOCUMENTS, MOST_LEVELS, MOST_NODES, Map, Node,
    Source, parse,
};
