//! Our own program, for tests of other packages than its own: cargo tells those nothing about it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::Missing;
use crate::cache::run;

/// Builds `trainyard` as the whole check builds it, once a process; where it is.
///
/// That is a matter of a moment where it has been built already; `TRAINYARD_PROGRAM` names another to test.
pub fn trainyard() -> Result<&'static Path, &'static Missing> {
    static BUILT: OnceLock<Result<PathBuf, Missing>> = OnceLock::new();
    BUILT.get_or_init(build).as_deref()
}

fn build() -> Result<PathBuf, Missing> {
    if let Some(named) = env::var_os("TRAINYARD_PROGRAM") {
        return Ok(named.into());
    }
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    without_package(&mut cargo);
    // All packages and features: otherwise their dependencies are compiled once more.
    cargo
        .args(["build", "--quiet", "--workspace", "--all-features"])
        .args(["--bin", "trainyard", "--message-format", "json"])
        .current_dir(root());
    let told = run(cargo).map_err(|why| Missing::new("trainyard", why))?;
    let built = told.lines().filter_map(executable).next_back();
    built.ok_or_else(|| Missing::new("trainyard", "cargo does not say where it is"))
}

/// Takes from a program's environment what cargo tells about the package that is running, if cargo has started us. Build scripts
/// that ask to be run again when these change (ring's) would be run each time another package starts cargo, and half of all
/// dependencies compiled after them.
pub fn without_package(command: &mut Command) {
    let told = env::vars_os().map(|(name, _)| name);
    let about = |name: &std::ffi::OsString| {
        let name = name.to_string_lossy();
        name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
    };
    for name in told.filter(about) {
        command.env_remove(name);
    }
}

/// The root of the repository.
#[must_use]
pub fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here)
}

/// The program that a line of cargo's messages tells of.
fn executable(message: &str) -> Option<PathBuf> {
    let (_, path) = message.split_once("\"executable\":\"")?;
    path.split_once('"').map(|(path, _)| PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_is_not_told_which_package_asks() {
        // Cargo tells tests of what package they are.
        assert!(env::var_os("CARGO_MANIFEST_DIR").is_some());
        let mut command = Command::new("cargo");
        without_package(&mut command);
        let removed: Vec<_> = command.get_envs().collect();
        for name in ["CARGO_MANIFEST_DIR", "CARGO_PKG_NAME"] {
            assert!(removed.contains(&(name.as_ref(), None)), "{name}: {removed:?}");
        }
    }

    #[test]
    fn the_program_is_read_from_what_cargo_says() {
        let cases = [
            (
                r#"{"reason":"compiler-artifact","executable":"/a/b","fresh":true}"#,
                Some("/a/b"),
            ),
            (
                r#"{"reason":"compiler-artifact","executable":null,"fresh":true}"#,
                None,
            ),
            (r#"{"reason":"build-finished","success":true}"#, None),
        ];
        for (line, expected) in cases {
            assert_eq!(executable(line), expected.map(PathBuf::from), "{line}");
        }
    }
}
