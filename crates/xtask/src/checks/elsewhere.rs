//! The fast tests once more, in an awkward place: a second clone whose path is long and has spaces and a letter
//! that is not ASCII, another home, another folder for temporary files, umask 077, `LANG=C` and no terminal.
//!
//! The clone is in the target directory, so that every tree has its own and `cargo clean` takes it away. It is kept, and only
//! files that have changed are copied: cargo compiles again what they concern. Its own target directory is a link to the
//! ordinary one: the paths that programs are started by are then long too, and nothing but our own crates is compiled twice.
//!
//! Cargo tells crates of two clones apart by their paths *inside* the workspace, which is not at all: one clone's would be taken
//! for the other's. So ours are compiled there with another setting that makes no difference ([`APART`]).

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use crate::report::Outcome;
use crate::shell::{Ended, Shell};

/// Tests that are not fast: these packages start a cluster, train with TensorFlow, or measure. All others are fast.
pub const SLOW: [&str; 3] = ["trainyard-bench", "trainyard-cluster-tests", "trainyard-training"];

/// Longer than a socket's name may be (108 bytes), whatever comes before it.
const PLACE: &str = "elsewhere/Übungen nicht löschen/a folder with a long name as people have them in shared homes and synchronised drives";

/// A setting of the clone's crates that only tells them from this tree's; the default is 256.
const APART: &str = "codegen-units=255";

/// Where everything is.
struct Place {
    clone: PathBuf,
    home: PathBuf,
    temporary: PathBuf,
    /// The ordinary target directory.
    target: PathBuf,
}

/// Copies the tree and runs its fast tests there.
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

/// The files of the tree as they are: what git tracks, changed or not, and what it would track if it were added.
fn files(shell: &Shell) -> Result<BTreeSet<PathBuf>, String> {
    let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    match shell.quiet("git", &list) {
        Ok(ended) if ended.success => Ok(ended
            .output
            .split('\0')
            .map(PathBuf::from)
            // One that was deleted and not yet committed is tracked all the same.
            .filter(|path| shell.root().join(path).is_file())
            .collect()),
        Ok(ended) => Err(format!("git cannot list the files: {}", ended.output.trim())),
        Err(problem) => Err(problem),
    }
}

/// The names of the tree's packages, by their manifests.
fn packages(root: &Path, files: &BTreeSet<PathBuf>) -> Result<Vec<String>, String> {
    let manifests = files.iter().filter(|file| file.ends_with("Cargo.toml"));
    let mut names = Vec::new();
    for manifest in manifests {
        let text = fs::read_to_string(root.join(manifest))
            .map_err(|error| format!("cannot read {}: {error}", manifest.display()))?;
        // The root's own manifest names none.
        let name = text.lines().find_map(|line| line.strip_prefix("name = "));
        names.extend(name.map(|name| name.trim_matches('"').to_owned()));
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

    /// Brings the clone up to date, and makes the other folders anew.
    fn prepare(&self, root: &Path, files: &BTreeSet<PathBuf>) -> io::Result<()> {
        for folder in [&self.home, &self.temporary] {
            if folder.exists() {
                fs::remove_dir_all(folder)?;
            }
            private(folder)?;
        }
        private(&self.clone)?;
        // As `/tmp` is: tests that root runs start programs as another user too.
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
        // Its output is kept, so that it is no terminal either.
        let ended = self.shell(shell, kubectl).quiet("setsid", &arguments);
        // Nothing of it is wanted again; the clone is.
        let _ = fs::remove_dir_all(&self.temporary);
        ended
    }

    /// The environment of another user, who has the same tools.
    fn shell(&self, shell: &Shell, kubectl: Option<&Path>) -> Shell {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let home = set("HOME").map(PathBuf::from).unwrap_or_default();
        let cache = set("XDG_CACHE_HOME").map_or_else(|| home.join(".cache"), PathBuf::from);
        let or = |name: &str, usual: PathBuf| (name.to_owned(), set(name).unwrap_or_else(|| usual.into()));
        let kept = [
            or("CARGO_HOME", home.join(".cargo")),
            or("RUSTUP_HOME", home.join(".rustup")),
            or("GOCACHE", cache.join("go-build")),
        ];
        let other = [
            ("CARGO_TARGET_DIR", self.clone.join("target").into_os_string()),
            ("HOME", self.home.clone().into_os_string()),
            ("TMPDIR", self.temporary.clone().into_os_string()),
            ("LANG", OsString::from("C")),
            ("LC_ALL", OsString::from("C")),
            ("INSTA_UPDATE", OsString::from("no")),
        ];
        let mut shell = shell.in_folder(&self.clone);
        for (name, value) in kept {
            shell = shell.with(name, value);
        }
        for (name, value) in other {
            shell = shell.with(name, value);
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
        match kubectl {
            Some(kubectl) => shell.with("KUBECTL", kubectl),
            None => shell,
        }
    }
}

/// A folder that is the user's alone, as under umask 077.
fn private(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Copies a file unless it is there already: a new time of change would make cargo compile it again.
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

/// Removes what is not of the tree any more, and folders that have become empty.
fn remove_others(clone: &Path, below: &Path, files: &BTreeSet<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(clone.join(below))? {
        let entry = entry?;
        let path = below.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            remove_others(clone, &path, files)?;
            // It refuses where something is left.
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

    /// A folder of a test's own, removed at its end.
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
        let root = crate::workspace::root().unwrap();
        for package in SLOW {
            let named = format!("name = \"{package}\"");
            let folders = ["bench", "tests/cluster", "tests/training"];
            let manifests =
                folders.map(|folder| fs::read_to_string(root.join(folder).join("Cargo.toml")).unwrap());
            assert!(manifests.iter().any(|text| text.contains(&named)), "{package}");
        }
    }
}
