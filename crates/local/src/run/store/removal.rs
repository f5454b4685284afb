//! Removing what runs have left: everything below one directory, and nothing beyond it.
//!
//! Links are removed, never followed. Tasks may leave directories that even their owner cannot look into; those are
//! opened first.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// What the owner of a directory needs to empty it.
const OPEN: u32 = 0o700;

/// Removes a directory with everything in it, and says how many bytes its files had.
pub fn remove(directory: &Path) -> io::Result<u64> {
    if !fs::symlink_metadata(directory)?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    let bytes = open_all(directory)?;
    fs::remove_dir_all(directory)?;
    Ok(bytes)
}

/// Opens every directory to its owner, and counts the bytes of all files.
fn open_all(directory: &Path) -> io::Result<u64> {
    let mode = fs::symlink_metadata(directory)?.permissions().mode();
    if mode & OPEN != OPEN {
        fs::set_permissions(directory, Permissions::from_mode(mode | OPEN))?;
    }
    let mut bytes = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        // This is about the entry itself, not about what a link leads to.
        let about = entry.metadata()?;
        bytes += if about.is_dir() {
            open_all(&entry.path())?
        } else {
            about.len()
        };
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn everything_below_goes_and_nothing_beyond() {
        let scratch = tempfile::tempdir().unwrap();
        let (run, outside) = (scratch.path().join("run"), scratch.path().join("outside"));
        fs::create_dir_all(run.join("lives/shut/deep")).unwrap();
        fs::create_dir_all(&outside).unwrap();
        fs::write(outside.join("data"), "precious").unwrap();
        fs::write(run.join("lives/shut/deep/a"), "12345").unwrap();
        fs::write(run.join("b"), "123").unwrap();
        symlink(&outside, run.join("lives/link")).unwrap();
        let link = fs::symlink_metadata(run.join("lives/link")).unwrap().len();
        fs::set_permissions(run.join("lives/shut"), Permissions::from_mode(0o000)).unwrap();
        assert_eq!(remove(&run).unwrap(), 8 + link);
        assert!(!run.exists());
        assert_eq!(fs::read_to_string(outside.join("data")).unwrap(), "precious");
        symlink(&outside, &run).unwrap();
        assert!(remove(&run).is_err(), "a link is no run");
        assert!(outside.join("data").exists());
    }
}
