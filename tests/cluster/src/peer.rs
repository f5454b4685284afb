//! The last release of our own operator, for tests of upgrades.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use trainyard_tools::{LAST_RELEASE, Missing, PEERS};

use crate::cluster::aloud;

/// The program of the last release, compiled if need be. None, with a line on standard error, unless `cargo xtask test
/// --peers` runs the test: the first time it takes minutes.
#[track_caller]
pub fn last_release() -> Option<&'static Path> {
    static BUILT: OnceLock<Result<PathBuf, Missing>> = OnceLock::new();
    if env::var_os(PEERS).is_none_or(|value| value.is_empty() || value == "0") {
        aloud("SKIPPED: tests beside the last release run with `cargo xtask test --peers`");
        return None;
    }
    match BUILT.get_or_init(|| LAST_RELEASE.program(&mut aloud)) {
        Ok(program) => Some(program),
        Err(missing) => panic!("{missing}"),
    }
}
