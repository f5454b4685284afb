//! Files in memory: Secrets that tasks find at their mounts, for runs that leave nothing of their manifest on disk.
//!
//! The file system is mounted in the run's mount namespace, so it is gone with the run, however that ends. Where a machine
//! allows no mounts there is none: then the files are on disk, for the user alone, until their task has ended.

use std::fs;
use std::io;
use std::path::Path;

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use crate::sandbox::isolation::{Isolation, Namespace};
use crate::system::private;

/// Mounts a tmpfs there, if the run has a mount namespace; returns whether it did.
pub(crate) fn put(directory: &Path, isolation: Isolation) -> io::Result<bool> {
    if !isolation.has(Namespace::Mounts) {
        return Ok(false);
    }
    private::directory(directory)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", directory, "tmpfs", flags, c"mode=0700")?;
    Ok(true)
}

/// Takes it away. Nothing is lost if that fails: it goes with the run, and an empty directory is left.
pub(crate) fn remove(directory: &Path) {
    let _ = unmount(directory, UnmountFlags::DETACH);
    let _ = fs::remove_dir(directory);
}
