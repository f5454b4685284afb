//! The program `trainyard`, built as `cargo run` would build it.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The root of the repository.
pub fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the repository is there")
}

/// Where the program is.
pub fn trainyard() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| trainyard_tools::trainyard().unwrap_or_else(|missing| panic!("{missing}")))
}
