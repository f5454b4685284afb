//! What is the user's alone: directories that no other user may enter, files that no other user may read.
//!
//! Manifests, logs and volumes hold secrets, and a user who may write to a checkpoint decides what the next run computes.
//! Modes are given when something is made, so that they hold from its first moment on and under any umask. What an
//! older release left open is closed when it is next used; below a closed directory, nothing needs a mode of its own.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::process::geteuid;

/// What no user but the owner has on a private directory.
const OTHERS: u32 = 0o077;
const DIRECTORY: u32 = 0o700;
const FILE: u32 = 0o600;

/// A directory of another user.
#[derive(Debug, thiserror::Error)]
#[error("it belongs to another user (uid {0})")]
pub struct OfAnother(pub u32);

/// Makes a directory, with those above it that are missing, for its owner alone. One that is there stays as it is: it
/// may hold other things, and a caller that knows better closes it.
pub fn directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(DIRECTORY).create(path)
}

/// Takes what other users may do with a directory away from them, and says whether there is one. One that belongs to
/// another user is refused, and so is a link that another user has put in its place.
pub fn close(path: &Path) -> io::Result<bool> {
    let Some((directory, about)) = own(path)? else {
        return Ok(false);
    };
    let mode = about.mode();
    if mode & OTHERS == 0 {
        return Ok(true);
    }
    match directory.set_permissions(Permissions::from_mode(mode & 0o7777 & !OTHERS)) {
        // What can only be read is looked at as it is.
        Err(error) if error.kind() == io::ErrorKind::ReadOnlyFilesystem => Ok(true),
        closed => closed.map(|()| true),
    }
}

/// A directory of ours, held, so that it is the same one from here on; none if there is none.
pub(crate) fn own(path: &Path) -> io::Result<Option<(File, Metadata)>> {
    let us = geteuid().as_raw();
    let there = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        there => there?,
    };
    // A link is as good as its owner: the user may keep volumes on a larger disk, and root may move homes.
    let ours = there.uid() == us || (there.is_symlink() && there.uid() == 0);
    if !ours {
        // Before it is opened: another user's may be closed to us, and that it is another's is the better reason.
        return Err(io::Error::other(OfAnother(there.uid())));
    }
    let directory = OpenOptions::new()
        .read(true)
        .custom_flags(rustix::fs::OFlags::DIRECTORY.bits().cast_signed())
        .open(path)?;
    let about = directory.metadata()?;
    if about.uid() != us {
        return Err(io::Error::other(OfAnother(about.uid())));
    }
    Ok(Some((directory, about)))
}

/// Whether users other than the owner may enter, list or change it.
pub(crate) fn is_open(about: &Metadata) -> bool {
    about.mode() & OTHERS != 0
}

/// An empty file for its owner alone.
pub fn create(path: &Path) -> io::Result<File> {
    File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(FILE)
        .open(path)
}

/// A file for its owner alone that is written on at its end.
pub fn append(path: &Path) -> io::Result<File> {
    File::options().append(true).create(true).mode(FILE).open(path)
}

/// A file for its owner alone with that content.
pub fn write(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    create(path)?.write_all(content.as_ref())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{chown, symlink};

    use rustix::process::getuid;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    fn open_to_all(path: &Path) {
        fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
    }

    #[test]
    fn what_is_made_is_private_and_what_was_open_is_closed() {
        let scratch = tempfile::tempdir().unwrap();
        let deep = scratch.path().join("a/b");
        directory(&deep).unwrap();
        assert_eq!((mode(&scratch.path().join("a")), mode(&deep)), (0o700, 0o700));
        open_to_all(&deep);
        directory(&deep).unwrap();
        assert_eq!(mode(&deep), 0o777, "it was there");
        assert!(close(&deep).unwrap());
        assert_eq!(mode(&deep), 0o700);
        write(&deep.join("file"), "x").unwrap();
        append(&deep.join("log")).unwrap();
        assert_eq!(
            (mode(&deep.join("file")), mode(&deep.join("log"))),
            (0o600, 0o600)
        );
        assert!(!close(&scratch.path().join("none")).unwrap());
    }

    #[test]
    fn a_link_of_ours_is_followed_and_what_is_anothers_is_refused() {
        let scratch = tempfile::tempdir().unwrap();
        let (real, link) = (scratch.path().join("real"), scratch.path().join("link"));
        fs::create_dir(&real).unwrap();
        open_to_all(&real);
        symlink(&real, &link).unwrap();
        assert!(close(&link).unwrap());
        assert_eq!(mode(&real), 0o700);
        if !getuid().is_root() {
            return;
        }
        std::os::unix::fs::lchown(&link, Some(54_321), None).unwrap();
        let refused = close(&link).unwrap_err().to_string();
        assert_eq!(refused, "it belongs to another user (uid 54321)");
        open_to_all(&real);
        chown(&real, Some(54_321), None).unwrap();
        assert!(close(&real).is_err());
        assert_eq!(mode(&real), 0o777, "it is not ours to change");
    }
}
