//! Runs the fast tests again in an unusual environment: a second clone whose path is long and contains spaces and a
//! non-ASCII letter, another `HOME` and `TMPDIR`, umask 077, `LANG=C` and no terminal.
//!
//! The clone is in the target directory, so that every working tree has its own and `cargo clean` removes it. It is kept
//! between runs, and only changed files are copied, so that cargo recompiles little. Its target directory is a link to
//! the ordinary one: paths of programs are then long too, and dependencies are not compiled twice.
//!
//! Cargo identifies a crate by its path *inside* the workspace, so it would take the crates of one clone for those of the
//! other. Ours are therefore compiled there with another setting that has no other effect ([`APART`]).

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use crate::report::Outcome;
use crate::shell::{Ended, Shell};
use crate::workspace;

/// Packages whose tests are not fast: they start a cluster, train with TensorFlow, or measure.
pub const SLOW: [&str; 4] = [
    "trainyard-bench",
    "trainyard-cluster-tests",
    "trainyard-failures",
    "trainyard-training",
];

/// Alone longer than the path of a socket may be (108 bytes).
const PLACE: &str = "elsewhere/Übungen nicht löschen/a folder with a long name as people have them in shared homes and synchronised drives";

/// Distinguishes the clone's crates from those of this working tree; the default is 256.
const APART: &str = "codegen-units=255";

/// The directories of the second clone.
struct Place {
    clone: PathBuf,
    home: PathBuf,
    temporary: PathBuf,
    /// The target directory of this working tree.
    target: PathBuf,
}

/// Copies the working tree and runs its fast tests there.
pub fn check(shell: &Shell, target: &Path, kubectl: Option<&Path>) -> (Outcome, String) {
    let files = match files(shell) {
        Ok(files) => files,
        Err(why) => return (Outcome::Skipped(why), String::new()),
    };
    let place = Place::inside(target);
    let ran = place
        .prepare(shell.root(), &files)
        .map_err(|error| format!("cannot make a second clone in {}: {error}", place.clone.display()))
        .and_then(|()| packages(shell.root(), &files))
        .and_then(|packages| place.test(shell, &packages, kubectl));
    match ran {
        Ok(ended) if ended.success => (Outcome::Passed, ended.output),
        Ok(ended) => {
            let here = format!("in {}:\n", place.clone.display());
            (Outcome::Failed, here + &ended.output)
        }
        Err(problem) => (Outcome::Failed, problem + "\n"),
    }
}

/// The files of the working tree: tracked by git, or neither tracked nor ignored.
fn files(shell: &Shell) -> Result<BTreeSet<PathBuf>, String> {
    let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    match shell.quiet("git", &list) {
        Ok(ended) if ended.success => Ok(ended
            .output
            .split('\0')
            .map(PathBuf::from)
            // A deleted file is tracked until the deletion is committed.
            .filter(|path| shell.root().join(path).is_file())
            .collect()),
        Ok(ended) => Err(format!("git cannot list the files: {}", ended.output.trim())),
        Err(problem) => Err(problem),
    }
}

/// The names of the packages.
fn packages(root: &Path, files: &BTreeSet<PathBuf>) -> Result<Vec<String>, String> {
    let manifests = files.iter().filter(|file| file.ends_with("Cargo.toml"));
    let mut names = Vec::new();
    for manifest in manifests {
        let text = fs::read_to_string(root.join(manifest))
            .map_err(|error| format!("cannot read {}: {error}", manifest.display()))?;
        // The root's manifest has none.
        names.extend(workspace::package_name(&text));
    }
    Ok(names)
}

impl Place {
    fn inside(target: &Path) -> Self {
        let folder = target.join(PLACE);
        Self {
            clone: folder.join("trainyard"),
            home: folder.join("another home"),
            temporary: folder.join("temporary files"),
            target: target.to_path_buf(),
        }
    }

    /// Updates the clone, and creates the other directories afresh.
    fn prepare(&self, root: &Path, files: &BTreeSet<PathBuf>) -> io::Result<()> {
        for folder in [&self.home, &self.temporary] {
            if folder.exists() {
                fs::remove_dir_all(folder)?;
            }
            private(folder)?;
        }
        private(&self.clone)?;
        // Like `/tmp`: as root, tests also start programs as another user.
        fs::set_permissions(&self.temporary, fs::Permissions::from_mode(0o1777))?;
        let above = self.temporary.ancestors().skip(1);
        for folder in above.take_while(|folder| *folder != self.target) {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
        }
        let link = self.clone.join("target");
        if fs::read_link(&link).ok().as_deref() != Some(&self.target) {
            let _ = fs::remove_file(&link);
            symlink(&self.target, &link)?;
        }
        for file in files {
            copy(&root.join(file), &self.clone.join(file))?;
        }
        remove_others(&self.clone, Path::new(""), files)
    }

    fn test(&self, shell: &Shell, packages: &[String], kubectl: Option<&Path>) -> Result<Ended, String> {
        let mut arguments = vec!["--wait", "sh", "-c", "umask 077 && exec \"$@\"", "sh"];
        arguments.extend(["cargo", "test", "--quiet", "--no-fail-fast", "--tests"]);
        arguments.extend(["--workspace", "--all-features"]);
        arguments.extend(SLOW.iter().flat_map(|package| ["--exclude", package]));
        let apart = packages
            .iter()
            .map(|package| format!("profile.dev.package.{package}.{APART}"));
        let apart: Vec<String> = apart.collect();
        arguments.extend(apart.iter().flat_map(|setting| ["--config", setting]));
        // `quiet` captures the output, so that it is not a terminal either.
        let ended = self.shell(shell, kubectl).quiet("setsid", &arguments);
        let _ = fs::remove_dir_all(&self.temporary);
        ended
    }

    /// The environment of another user with the same tools.
    fn shell(&self, shell: &Shell, kubectl: Option<&Path>) -> Shell {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let home = set("HOME").map(PathBuf::from).unwrap_or_default();
        let cache = set("XDG_CACHE_HOME").map_or_else(|| home.join(".cache"), PathBuf::from);
        let kept = [
            ("CARGO_HOME", home.join(".cargo")),
            ("RUSTUP_HOME", home.join(".rustup")),
            ("GOCACHE", cache.join("go-build")),
        ];
        let mut shell = shell
            .in_folder(&self.clone)
            .with("CARGO_TARGET_DIR", self.clone.join("target"))
            .with("HOME", &self.home)
            .with("TMPDIR", &self.temporary)
            .with("LANG", "C")
            .with("LC_ALL", "C")
            .with("INSTA_UPDATE", "no");
        for (name, usual) in kept {
            shell = shell.with(name, set(name).unwrap_or_else(|| usual.into()));
        }
        for name in [
            "CACHE_HOME",
            "CONFIG_HOME",
            "DATA_HOME",
            "RUNTIME_DIR",
            "STATE_HOME",
        ] {
            shell = shell.without(format!("XDG_{name}"));
        }
        if let Some(kubectl) = kubectl {
            shell = shell.with("KUBECTL", kubectl);
        }
        shell
    }
}

/// Creates a directory as under umask 077.
fn private(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Copies a file if its content differs: a new modification time would make cargo compile it again.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mode = fs::metadata(from)?.permissions().mode() & 0o700;
    let content = fs::read(from)?;
    let same = fs::read(to).is_ok_and(|there| there == content);
    if !same {
        if let Some(folder) = to.parent() {
            private(folder)?;
        }
        fs::write(to, content)?;
    }
    fs::set_permissions(to, fs::Permissions::from_mode(mode))
}

/// Removes files that are no longer in the working tree, and directories that have become empty.
fn remove_others(clone: &Path, below: &Path, files: &BTreeSet<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(clone.join(below))? {
        let entry = entry?;
        let path = below.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            remove_others(clone, &path, files)?;
            // It fails if the directory is not empty.
            let _ = fs::remove_dir(entry.path());
        } else if path != Path::new("target") && !files.contains(&path) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory per test, removed at its end.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("xtask-{}-{name}", std::process::id()));
            fs::create_dir_all(path.join("tree/src")).unwrap();
            Self(path)
        }

        fn write(&self, file: &str, text: &str) {
            fs::write(self.0.join("tree").join(file), text).unwrap();
        }

        fn prepare(&self, files: &[&str]) -> Place {
            let place = Place::inside(&self.0.join("target"));
            let files = files.iter().map(PathBuf::from).collect();
            place.prepare(&self.0.join("tree"), &files).unwrap();
            place
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_clone_is_the_tree_as_it_is_and_what_has_not_changed_is_not_written_again() {
        let scratch = Scratch::new("clone");
        scratch.write("src/a.rs", "a");
        scratch.write("src/b.rs", "b");
        scratch.write("c", "c");
        let place = scratch.prepare(&["c", "src/a.rs", "src/b.rs"]);
        let changed = |name: &str| fs::metadata(place.clone.join(name)).unwrap().modified().unwrap();
        let before = changed("src/a.rs");
        scratch.write("c", "changed");
        scratch.prepare(&["c", "src/a.rs"]);
        assert_eq!(changed("src/a.rs"), before);
        assert_eq!(fs::read_to_string(place.clone.join("c")).unwrap(), "changed");
        assert!(
            !place.clone.join("src/b.rs").exists(),
            "it is not in the tree any more"
        );
        assert_eq!(fs::read_link(place.clone.join("target")).unwrap(), place.target);
        scratch.prepare(&["c"]);
        assert!(!place.clone.join("src").exists(), "an empty folder");
    }

    #[test]
    fn the_place_is_longer_than_a_sockets_name_has_a_space_and_more_than_ascii() {
        assert!(PLACE.len() > 108 && PLACE.contains(' ') && !PLACE.is_ascii());
    }

    #[test]
    fn packages_that_are_not_fast_exist() {
        let root = workspace::root().unwrap();
        for package in SLOW {
            let named = format!("name = \"{package}\"");
            let folders = ["bench", "tests/cluster", "tests/failures", "tests/training"];
            let manifests =
                folders.map(|folder| fs::read_to_string(root.join(folder).join("Cargo.toml")).unwrap());
            assert!(manifests.iter().any(|text| text.contains(&named)), "{package}");
        }
    }
}
