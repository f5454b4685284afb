//! The last release of our own program, which tests of upgrades start beside the new one.
//!
//! It is compiled from a copy of that commit into a folder of the cache that is named after the commit. Source and target
//! directory are in that folder too and are removed at the end, so the work tree and the old program share nothing.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Missing;
use crate::cache::{Cache, run};
use crate::ours::{root, without_package};

/// The last release. This is the only place that names it: change it in the commit that follows a release.
pub const LAST_RELEASE: Release = Release {
    version: "0.1.0",
    commit: "e57fec5d7d9d8969d149b8dc0668dd9b6e2c9eda",
};

/// The environment variable that `cargo xtask test --peers` sets: programs may be built that take minutes and that only
/// comparisons with other programs need.
pub const PEERS: &str = "TRAINYARD_PEERS";

/// A release of this repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// Its version in `Cargo.toml`.
    pub version: &'static str,
    /// All forty digits.
    pub commit: &'static str,
}

impl Release {
    /// The program `trainyard` of this release; it is compiled if the cache does not have it, which takes about five
    /// minutes on two cores.
    pub fn program(self, tell: &mut dyn FnMut(&str)) -> Result<PathBuf, Missing> {
        self.program_in(&Cache::tools()?, root(), tell)
    }

    fn program_in(
        self,
        tools: &Path,
        repository: &Path,
        tell: &mut dyn FnMut(&str),
    ) -> Result<PathBuf, Missing> {
        let folder = tools.join(format!("trainyard-{}-{}", self.version, &self.commit[..12]));
        let program = folder.join("trainyard");
        if program.is_file() {
            return Ok(program);
        }
        self.check_history(repository)?;
        let missing = |why: String| Missing::new(self.name(), why);
        let refused = |error: std::io::Error| missing(format!("{}: {error}", folder.display()));
        fs::create_dir_all(&folder).map_err(refused)?;
        let lock = File::create(folder.join("lock")).map_err(refused)?;
        lock.lock().map_err(refused)?;
        if program.is_file() {
            return Ok(program);
        }
        tell(&format!(
            "building {} into {} (about five minutes, once)",
            self.name(),
            folder.display()
        ));
        let source = folder.join("source");
        fs::create_dir_all(&source).map_err(refused)?;
        self.unpack(repository, &source)?;
        let target = folder.join("target");
        run(build(&source, &target)).map_err(missing)?;
        // The name stands for a complete program, so it is given last.
        fs::rename(target.join("debug/trainyard"), &program).map_err(refused)?;
        for leftover in [source, target] {
            fs::remove_dir_all(leftover).map_err(refused)?;
        }
        Ok(program)
    }

    fn name(self) -> String {
        format!("trainyard {} ({})", self.version, &self.commit[..7])
    }

    /// The commit must be in this clone: a shallow clone, or an unpacked archive, does not have it.
    fn check_history(self, repository: &Path) -> Result<(), Missing> {
        let mut git = git(repository);
        git.args(["cat-file", "-e", &format!("{}^{{commit}}", self.commit)]);
        run(git).map(drop).map_err(|_| {
            Missing::new(
                self.name(),
                "its commit is not in this clone\nhelp: get the whole history with `git fetch --unshallow`",
            )
        })
    }

    /// `git archive | tar`: no second work tree that git would have to be told about.
    fn unpack(self, repository: &Path, into: &Path) -> Result<(), Missing> {
        let missing = |why: String| Missing::new(self.name(), why);
        let archive = into.with_extension("tar");
        let mut git = git(repository);
        git.args(["archive", "--format=tar", "--output"])
            .arg(&archive)
            .arg(self.commit);
        let mut tar = Command::new("tar");
        tar.arg("-xf").arg(&archive).arg("-C").arg(into);
        for step in [git, tar] {
            run(step).map_err(missing)?;
        }
        fs::remove_file(&archive).map_err(|error| missing(format!("{}: {error}", archive.display())))
    }
}

fn git(repository: &Path) -> Command {
    let mut git = Command::new("git");
    git.current_dir(repository).stdin(Stdio::null());
    git
}

fn build(source: &Path, target: &Path) -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    without_package(&mut cargo);
    // The flags of the tests around us (coverage, sanitizers) are not meant for it.
    for ours in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET"] {
        cargo.env_remove(ours);
    }
    cargo
        .args([
            "build",
            "--quiet",
            "--locked",
            "--workspace",
            "--all-features",
            "--bin",
            "trainyard",
        ])
        .env("CARGO_TARGET_DIR", target)
        .current_dir(source)
        .stdin(Stdio::null());
    cargo
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let folder = env::temp_dir().join(format!("trainyard-release-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_clone_without_the_commit_is_told_how_to_get_it() {
        let [tools, clone] = [scratch("no-history-tools"), scratch("no-history")];
        let mut init = git(&clone);
        init.args(["init", "--quiet"]);
        run(init).unwrap();
        let why = LAST_RELEASE.program_in(&tools, &clone, &mut |_| {}).unwrap_err();
        assert!(why.to_string().contains("git fetch --unshallow"), "{why}");
        for folder in [tools, clone] {
            fs::remove_dir_all(folder).unwrap();
        }
    }

    #[test]
    fn a_program_that_is_in_the_cache_needs_no_history() {
        let tools = scratch("cached");
        let folder = tools.join("trainyard-0.1.0-e57fec5d7d9d");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("trainyard"), "").unwrap();
        let found = LAST_RELEASE.program_in(&tools, &tools, &mut |_| {}).unwrap();
        assert_eq!(found, folder.join("trainyard"));
        fs::remove_dir_all(tools).unwrap();
    }
}
