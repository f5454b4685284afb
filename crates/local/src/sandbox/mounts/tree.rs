//! Mount points that this machine does not have.
//!
//! A mount needs something to be mounted on. What is missing under the user's own directories is made there, and
//! removed after the run (`points`) if it is still empty. Under `/`, `/etc` or `/usr/lib` nothing may be made: there, programs get
//! another root directory, a small file system of its own in which every entry of `/` is bound again, and in it, for
//! `/etc`, the same once more (a *mimic*). Root and mimics are made once per run, in the namespace that all threads of
//! the supervisor share, and only when the first mount needs them.
//!
//! An overlay would be cheaper than a mimic, but is refused to users where something is mounted below the directory,
//! as in every container.

use std::collections::BTreeSet;
use std::fs::{self, File, FileType};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use rustix::fs::{Access, Mode, OFlags, access, open};
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind_recursive, mount_change, unmount,
};
use rustix::process::getuid;

use super::failed;
use super::points::Points;
use crate::system::private;

/// How our own small file systems are mounted.
pub(super) const TMPFS_FLAGS: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV);

/// Where a mount point is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// On this machine.
    Here,
    /// In the tree only.
    Tree,
}

/// The root directory of programs whose mount points this machine does not have; one per run.
#[derive(Debug)]
pub struct Tree {
    root: PathBuf,
    own: Vec<PathBuf>,
    /// The same without symbolic links, resolved on first use: most runs have no mounts.
    real: OnceLock<Vec<PathBuf>>,
    state: Mutex<TreeState>,
}

#[derive(Debug, Default)]
struct TreeState {
    built: bool,
    /// Directories of this machine that are mimicked in the tree.
    mimics: BTreeSet<PathBuf>,
    /// What is mounted over on this machine.
    points: Points,
}

impl Tree {
    /// Nothing is made yet. `root` is where the run may have a directory for it; `own` are directories in which files
    /// belong to the user, whatever their permissions: the home, the working directory, that for temporary files.
    #[must_use]
    pub fn new(root: PathBuf, own: Vec<PathBuf>) -> Self {
        Self {
            root,
            own,
            real: OnceLock::new(),
            state: Mutex::default(),
        }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The directories whose own entries are the tree's, as programs see them.
    pub(super) fn own_directories(&self) -> Vec<PathBuf> {
        let mimics = self.state().mimics.clone();
        std::iter::once(PathBuf::from("/")).chain(mimics).collect()
    }

    /// Finds or makes the mount point for a target.
    pub(super) fn make(&self, target: &Path, directory: bool) -> Result<Place, String> {
        let mut state = self.state();
        let missing = state
            .points
            .take(target, directory, |nearest| self.is_users(nearest))?;
        let Some((nearest, rest)) = missing else {
            return Ok(Place::Here);
        };
        if !state.built {
            build(&self.root).map_err(failed("another root directory was refused"))?;
            state.built = true;
        }
        let within = inside(&self.root, &nearest);
        if nearest.parent().is_some() && !state.mimics.contains(&nearest) {
            mimic(&within).map_err(failed("its directory could not be imitated"))?;
            state.mimics.insert(nearest);
        }
        stub_path(&within, &rest, directory)
            .map(|()| Place::Tree)
            .map_err(failed("the mount point could not be made"))
    }

    /// Finds or makes a mount point inside the source of another mount.
    pub(super) fn make_in_source(&self, point: &Path, directory: bool) -> Result<Place, String> {
        let taken = self.state().points.take(point, directory, |_| true);
        taken.map(|_| Place::Here)
    }

    /// Removes the mount points that were made on this machine, if they are still empty and no other run uses them.
    pub fn remove_mount_points(&self) {
        self.state().points.remove();
    }

    fn is_users(&self, directory: &Path) -> bool {
        let real = self.real.get_or_init(|| {
            let known = self.own.iter().filter_map(|path| fs::canonicalize(path).ok());
            known.filter(|path| path.parent().is_some()).collect()
        });
        let own = real.iter().any(|own| directory.starts_with(own));
        own || (!getuid().is_root() && access(directory, Access::WRITE_OK).is_ok())
    }

    fn state(&self) -> MutexGuard<'_, TreeState> {
        // What is in it stays true if a thread panicked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        self.remove_mount_points();
    }
}

fn inside(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// A file system of our own at `root`, with every entry of `/` bound into it.
fn build(root: &Path) -> io::Result<()> {
    private::directory(root)?;
    mount("tmpfs", root, "tmpfs", TMPFS_FLAGS, c"mode=0755")?;
    // Else it would be bound into itself, with the directory that it lies in.
    mount_change(root, MountPropagationFlags::UNBINDABLE)?;
    let filled = entries(Path::new("/")).and_then(|entries| bind_entries(Path::new("/"), root, &entries));
    if filled.is_err() {
        let _ = unmount(root, UnmountFlags::DETACH);
    }
    filled
}

/// Replaces a directory of the tree by an equal one, in which entries can be made.
fn mimic(directory: &Path) -> io::Result<()> {
    let held = open(
        directory,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    let entries = entries(directory)?;
    let mode = fs::metadata(directory)?.permissions().mode() & 0o7777;
    mount("tmpfs", directory, "tmpfs", TMPFS_FLAGS, c"mode=0755")?;
    let covered = PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()));
    let filled = bind_entries(&covered, directory, &entries)
        .and_then(|()| fs::set_permissions(directory, fs::Permissions::from_mode(mode | 0o700)));
    if filled.is_err() {
        let _ = unmount(directory, UnmountFlags::DETACH);
    }
    filled
}

fn entries(directory: &Path) -> io::Result<Vec<(PathBuf, FileType)>> {
    fs::read_dir(directory)?
        .map(|entry| entry.and_then(|entry| Ok((entry.file_name().into(), entry.file_type()?))))
        .collect()
}

fn bind_entries(from: &Path, to: &Path, entries: &[(PathBuf, FileType)]) -> io::Result<()> {
    for (name, kind) in entries {
        match bind_entry(&from.join(name), &to.join(name), *kind) {
            // It was removed since we looked.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            result => result?,
        }
    }
    Ok(())
}

fn bind_entry(from: &Path, to: &Path, kind: FileType) -> io::Result<()> {
    if kind.is_symlink() {
        return std::os::unix::fs::symlink(fs::read_link(from)?, to);
    }
    stub(to, kind.is_dir())?;
    mount_bind_recursive(from, to).map_err(|error| {
        let _ = if kind.is_dir() {
            fs::remove_dir(to)
        } else {
            fs::remove_file(to)
        };
        error.into()
    })
}

fn stub(path: &Path, directory: bool) -> io::Result<()> {
    if directory {
        fs::create_dir(path)
    } else {
        File::create_new(path).map(drop)
    }
}

/// Makes what is missing of a path in a directory of the tree's own.
fn stub_path(directory: &Path, rest: &Path, is_directory: bool) -> io::Result<()> {
    let mut path = directory.to_owned();
    let mut parts = rest.components().peekable();
    while let Some(part) = parts.next() {
        path.push(part);
        match fs::symlink_metadata(&path) {
            // A link that leads nowhere: were it not so, it would have been found on this machine.
            Ok(found) if found.is_symlink() => fs::remove_file(&path)?,
            Ok(_) => continue,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        stub(&path, is_directory || parts.peek().is_some())?;
    }
    let made = fs::metadata(&path)?;
    if made.is_dir() == is_directory {
        Ok(())
    } else {
        Err(io::ErrorKind::AlreadyExists.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_made_here_are_removed_if_still_empty() {
        let directory = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(directory.path()).unwrap();
        let tree = Tree::new(base.join("root"), vec![base.clone()]);
        assert_eq!(tree.make(&base.join("a/b"), true).unwrap(), Place::Here);
        assert_eq!(tree.make(&base.join("a/file"), false).unwrap(), Place::Here);
        assert_eq!(tree.make(&base.join("kept"), true).unwrap(), Place::Here);
        assert_eq!(tree.make(&base.join("kept"), true).unwrap(), Place::Here);
        assert!(tree.make(&base.join("kept"), false).is_err());
        fs::write(base.join("kept/something"), "x").unwrap();
        tree.remove_mount_points();
        assert!(!base.join("a").exists());
        assert!(base.join("kept/something").exists());
    }
}
