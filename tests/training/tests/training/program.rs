//! The program `trainyard`, built as `cargo run` would build it.

use std::path::Path;

pub use trainyard_tools::root;

/// Where the program is.
pub fn trainyard() -> &'static Path {
    trainyard_tools::trainyard().unwrap_or_else(|missing| panic!("{missing}"))
}
