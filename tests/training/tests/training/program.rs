//! The program `trainyard`, built as `cargo run` would build it.
//!
//! Cargo tells a test where the programs of its own package are; `trainyard` is another package's. So it is built here,
//! which is a matter of a moment where it has been built already; `TRAINYARD_PROGRAM` names another to test.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

/// The root of the repository.
pub fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the repository is there")
}

/// Where the program is.
pub fn trainyard() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(build)
}

fn build() -> PathBuf {
    if let Some(named) = env::var_os("TRAINYARD_PROGRAM") {
        return named.into();
    }
    // All packages and features, as the whole check has them: otherwise their dependencies are compiled once more.
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["build", "--quiet", "--workspace", "--all-features"])
        .args(["--bin", "trainyard", "--message-format", "json"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    let told = String::from_utf8_lossy(&output.stdout);
    let mut programs = told.lines().filter_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        Some(PathBuf::from(message["executable"].as_str()?))
    });
    programs.next_back().unwrap_or_else(|| {
        let errors = String::from_utf8_lossy(&output.stderr);
        panic!("trainyard is not built: {errors}")
    })
}
