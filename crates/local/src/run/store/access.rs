//! The state directory, closed to every other user before anything in it is used.
//!
//! Older releases left it open. The directory itself is closed where it holds nothing but what is kept here: a user may
//! have named one that holds other things too (`TRAINYARD_STATE=/tmp`), and its mode is not ours to change. What is kept
//! in it is closed in any case.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::directory::Home;
use crate::system::private::{self, OfAnother};

/// What is kept in a state directory; the rest of the name of a file that is being written follows it. Older releases called
/// `isolation` `walls`.
const KEPT: [&str; 5] = ["expanded", "isolation", "runs", "volumes", "walls"];

/// Others may write to it, and the sticky bit is not set.
const WRITABLE: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// A state directory that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum NotOurs {
    /// It is another user's.
    #[error("the state directory `{}` belongs to another user (uid {owner})", path.display())]
    Owned {
        /// Its absolute path.
        path: PathBuf,
        /// The owner's user id.
        owner: u32,
    },
    /// It holds other things too, and every user may replace what is in it.
    #[error("every user of this machine may replace what is in the state directory `{}`", path.display())]
    Open {
        /// Its absolute path.
        path: PathBuf,
    },
    /// It cannot be closed.
    #[error("the state directory `{}` cannot be closed to other users: {source}", path.display())]
    Unclosed {
        /// Its absolute path.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl NotOurs {
    fn of(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        let another = source.get_ref().and_then(|error| error.downcast_ref());
        match another {
            Some(OfAnother(owner)) => Self::Owned { path, owner: *owner },
            None => Self::Unclosed { path, source },
        }
    }
}

impl Home {
    /// The same, once no other user can reach what is kept in it. One that is not there yet is made when it is needed.
    pub fn closed(self) -> Result<Self, NotOurs> {
        let root = self.path();
        let Some((_, about)) = private::own(root).map_err(|error| NotOurs::of(root, error))? else {
            return Ok(self);
        };
        if private::is_open(&about) {
            close_root(root, &about)?;
        }
        for directory in [self.runs(), self.volumes(), self.expanded()] {
            private::close(&directory).map_err(|error| NotOurs::of(&directory, error))?;
        }
        Ok(self)
    }
}

fn close_root(root: &Path, about: &Metadata) -> Result<(), NotOurs> {
    if holds_nothing_else(root).map_err(|error| NotOurs::of(root, error))? {
        private::close(root).map_err(|error| NotOurs::of(root, error))?;
    } else if about.mode() & (WRITABLE | STICKY) == WRITABLE {
        return Err(NotOurs::Open {
            path: root.to_owned(),
        });
    }
    Ok(())
}

fn holds_nothing_else(root: &Path) -> io::Result<bool> {
    for entry in root.read_dir()? {
        let name = entry?.file_name();
        let name = name.to_string_lossy();
        let first = name.split_once('.').map_or(&*name, |(first, _)| first);
        if !KEPT.contains(&first) {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, chown};

    use rustix::process::getuid;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    /// A state directory of an older release, in which everything has that mode.
    fn open(mode: u32) -> (tempfile::TempDir, Home) {
        let scratch = tempfile::tempdir().unwrap();
        let home = Home::at(scratch.path().join("state"));
        for directory in [home.runs(), home.volumes(), home.expanded()] {
            fs::create_dir_all(&directory).unwrap();
            fs::set_permissions(&directory, Permissions::from_mode(mode)).unwrap();
        }
        fs::write(home.isolation_cache(), "").unwrap();
        fs::write(home.path().join("walls.123"), "").unwrap();
        fs::set_permissions(home.path(), Permissions::from_mode(mode)).unwrap();
        (scratch, home)
    }

    #[test]
    fn what_an_older_release_left_open_is_closed() {
        for left in [0o755, 0o775, 0o777, 0o700] {
            let (_scratch, home) = open(left);
            let home = home.closed().unwrap();
            for directory in [home.path(), &home.runs(), &home.volumes(), &home.expanded()] {
                assert_eq!(mode(directory), 0o700, "{left:o}: {}", directory.display());
            }
        }
        let nothing = Home::at("/nowhere/at/all".into());
        assert_eq!(nothing.clone().closed().unwrap(), nothing);
    }

    #[test]
    fn a_directory_that_holds_other_things_keeps_its_mode() {
        for (left, usable) in [(0o755, true), (0o1777, true), (0o777, false)] {
            let (_scratch, home) = open(left);
            fs::write(home.path().join("thesis.tex"), "").unwrap();
            let closed = home.clone().closed();
            assert_eq!(closed.is_ok(), usable, "{left:o}: {closed:?}");
            assert_eq!(mode(home.path()), left);
            if usable {
                assert_eq!(mode(&home.volumes()) & 0o777, 0o700);
            }
        }
    }

    #[test]
    fn another_users_directory_is_refused_and_left_alone() {
        if !getuid().is_root() {
            return;
        }
        for part in ["", "volumes"] {
            let (_scratch, home) = open(0o755);
            chown(home.path().join(part), Some(54_321), None).unwrap();
            let refused = home.clone().closed().unwrap_err();
            assert!(
                matches!(refused, NotOurs::Owned { owner: 54_321, .. }),
                "{refused}"
            );
            assert_eq!(mode(&home.path().join(part)), 0o755);
        }
    }
}
