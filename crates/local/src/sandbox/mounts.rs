//! What a program finds at which path: a private mount namespace for a program with mounts.
//!
//! Called on the program's own thread, before it is spawned. First, in the namespace that all threads share, the mount
//! points are found or made (`tree`): once per run. Then the thread takes a mount namespace of its own,
//! and the binds that follow are seen by that thread and its program alone. The machine's files stay as they are.

mod points;
mod tree;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Component, Path, PathBuf};

use nix::sched::{CloneFlags, unshare};
use rustix::fs::{Mode, OFlags, StatVfsMountFlags, open, statvfs};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount_bind_recursive, mount_remount, unmount};
use rustix::process::{chroot, pivot_root};

use crate::process::launch::Mount;
use crate::sandbox::isolation::{Isolation, Namespace};

pub use tree::Tree;
use tree::{Place, TMPFS_FLAGS};

/// A mount that could not be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot mount `{}` at `{}`: {why}", mount.source.display(), mount.target.display())]
pub struct MountError {
    /// The mount that could not be made.
    pub mount: Mount,
    /// What could not be done, and what the system said.
    pub why: String,
}

impl MountError {
    fn new(mount: &Mount, why: String) -> Self {
        let mount = mount.clone();
        Self { mount, why }
    }
}

/// Why a mount cannot be made, with what the system said.
fn failed<E: Into<io::Error>>(step: &'static str) -> impl Fn(E) -> String {
    move |source| format!("{step} ({})", source.into())
}

/// Gives the calling thread these mounts, and a mount namespace of its own if there are any (making and unmaking one is
/// a good part of what it costs to start a small program); gives back those that could not be made.
pub(crate) fn enter(tree: &Tree, isolation: Isolation, mounts: &[Mount]) -> Vec<MountError> {
    if mounts.is_empty() {
        return Vec::new();
    }
    if !isolation.has(Namespace::Mounts) {
        return without_namespace(mounts);
    }
    let mut missing = Vec::new();
    let mut ready = Vec::new();
    for mount in in_order(mounts) {
        match find_place(tree, &mount, &ready) {
            Ok(place) => ready.push((mount, place)),
            Err(why) => missing.push(MountError::new(&mount, why)),
        }
    }
    let own_directories = tree.own_directories();
    if let Err(error) = unshare(CloneFlags::CLONE_NEWNS) {
        let why = failed("a mount namespace was refused")(error);
        missing.extend(ready.iter().map(|(mount, _)| MountError::new(mount, why.clone())));
        return missing;
    }
    missing.extend(bind_all(tree, ready, &own_directories));
    missing
}

/// Where there is no mount namespace, only what is there already can be had.
fn without_namespace(mounts: &[Mount]) -> Vec<MountError> {
    let same = |mount: &Mount| match (fs::canonicalize(&mount.source), fs::canonicalize(&mount.target)) {
        (Ok(source), Ok(target)) => source == target && !mount.read_only,
        _ => false,
    };
    let why = failed("this machine allows no mount namespaces")(Errno::PERM);
    let refused = mounts.iter().filter(|mount| !same(mount));
    refused.map(|mount| MountError::new(mount, why.clone())).collect()
}

/// Targets without `.` and `..`, outer ones first. Of several mounts at one target the last one counts.
fn in_order(mounts: &[Mount]) -> Vec<Mount> {
    let mut ordered: Vec<Mount> = mounts
        .iter()
        .map(|mount| Mount {
            target: plain(&mount.target),
            ..mount.clone()
        })
        .collect();
    ordered.sort_by_key(|mount| mount.target.components().count());
    let mut seen = BTreeSet::new();
    ordered.reverse();
    ordered.retain(|mount| seen.insert(mount.target.clone()));
    ordered.reverse();
    ordered
}

fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, part| {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
        plain
    })
}

/// Finds or makes the mount point, on this machine, in the tree, or in a directory mounted around it.
fn find_place(tree: &Tree, mount: &Mount, outer: &[(Mount, Place)]) -> Result<Place, String> {
    if !mount.target.is_absolute() || mount.target.parent().is_none() {
        let why = failed("the target is not an absolute path below `/`");
        return Err(why(io::ErrorKind::InvalidInput));
    }
    let source = fs::metadata(&mount.source).map_err(failed("the source is not there"))?;
    let around = outer
        .iter()
        .rev()
        .find_map(|(around, _)| Some((around, mount.target.strip_prefix(&around.target).ok()?)));
    match around {
        Some((around, rest)) => tree.make_in_source(&around.source.join(rest), source.is_dir()),
        None => tree.make(&mount.target, source.is_dir()),
    }
}

/// Binds in the thread's own namespace. The sources are opened first: a mount may cover the next one's source.
fn bind_all(tree: &Tree, ready: Vec<(Mount, Place)>, own_directories: &[PathBuf]) -> Vec<MountError> {
    let mut missing = Vec::new();
    let mut sources = Vec::new();
    let in_tree = ready.iter().any(|(_, place)| *place == Place::Tree);
    for (mount, _) in ready {
        match open(&mount.source, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
            Ok(source) => sources.push((mount, source)),
            Err(error) => {
                let why = failed("the source cannot be opened")(error);
                missing.push(MountError::new(&mount, why));
            }
        }
    }
    let root = if in_tree {
        match move_root(tree.root()) {
            Ok(root) => root,
            Err(error) => {
                let why = failed("the new root directory was refused")(error);
                missing.extend(
                    sources
                        .iter()
                        .map(|(mount, _)| MountError::new(mount, why.clone())),
                );
                return missing;
            }
        }
    } else {
        Root::Unmoved
    };
    missing.extend(bind_opened(sources));
    if in_tree {
        protect(own_directories);
        root.settle();
    }
    missing
}

fn bind_opened(sources: Vec<(Mount, OwnedFd)>) -> Vec<MountError> {
    let mut missing = Vec::new();
    let mut bound = Vec::new();
    for (mount, source) in sources {
        let path = format!("/proc/self/fd/{}", source.as_raw_fd());
        // Not without what is mounted below it: the kernel refuses that to users other than root.
        match mount_bind_recursive(path.as_str(), &mount.target) {
            Ok(()) => bound.push(mount),
            Err(error) => missing.push(MountError::new(&mount, failed("the bind was refused")(error))),
        }
    }
    for mount in bound.iter().filter(|mount| mount.read_only) {
        if let Err(error) = make_read_only(&mount.target) {
            // Better no mount than one that can be written.
            let _ = unmount(&mount.target, UnmountFlags::DETACH);
            missing.push(MountError::new(
                mount,
                failed("it could not be made read-only")(error),
            ));
        }
    }
    missing
}

/// The mount keeps its other flags: only root may remove them.
fn make_read_only(target: &Path) -> rustix::io::Result<()> {
    let present = statvfs(target)?.f_flag;
    let kept = [
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ];
    let flags = kept
        .into_iter()
        .filter(|(flag, _)| present.contains(*flag))
        .fold(MountFlags::BIND | MountFlags::RDONLY, |flags, (_, flag)| {
            flags | flag
        });
    mount_remount(target, flags, "")
}

/// What would be written into the tree's own directories is lost with the run, so it is refused.
fn protect(own_directories: &[PathBuf]) {
    let flags = MountFlags::BIND | MountFlags::RDONLY | TMPFS_FLAGS;
    for directory in own_directories {
        let _ = mount_remount(directory, flags, "");
    }
}

/// How the thread came to its root directory.
enum Root {
    Unmoved,
    /// The old root still hangs over the new one, as the working directory.
    Pivoted,
    Changed,
}

/// Makes the tree the thread's root. Afterwards paths mean what they will mean to the program.
fn move_root(root: &Path) -> rustix::io::Result<Root> {
    rustix::process::chdir(root)?;
    match pivot_root(".", ".") {
        Ok(()) => Ok(Root::Pivoted),
        // The machine's root is its first file system, which cannot be moved.
        Err(Errno::INVAL) => chroot(".").map(|()| Root::Changed),
        Err(error) => Err(error),
    }
}

impl Root {
    fn settle(self) {
        if let Self::Pivoted = self {
            let _ = unmount(".", UnmountFlags::DETACH);
        }
        let _ = rustix::process::chdir("/");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(source: &str, target: &str) -> Mount {
        Mount {
            source: source.into(),
            target: target.into(),
            read_only: false,
        }
    }

    #[test]
    fn outer_targets_come_first_and_the_last_of_equals_counts() {
        let ordered = in_order(&[
            mount("/a", "/data/deep/er"),
            mount("/b", "/data"),
            mount("/c", "/etc/../data/./deep"),
            mount("/d", "/data"),
        ]);
        let pairs: Vec<_> = ordered
            .iter()
            .map(|mount| (mount.source.to_str().unwrap(), mount.target.to_str().unwrap()))
            .collect();
        assert_eq!(
            pairs,
            [("/d", "/data"), ("/c", "/data/deep"), ("/a", "/data/deep/er")]
        );
    }

    #[test]
    fn without_namespaces_only_what_is_there_already_is_not_missing() {
        let read_only = Mount {
            read_only: true,
            ..mount("/tmp", "/tmp")
        };
        let missing = without_namespace(&[mount("/tmp", "/tmp/."), mount("/tmp", "/data"), read_only]);
        let missing: Vec<_> = missing.iter().map(ToString::to_string).collect();
        assert_eq!(missing.len(), 2, "{missing:?}");
        assert!(missing[0].contains("`/tmp` at `/data`"), "{missing:?}");
    }
}
