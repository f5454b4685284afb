//! Thin layers over system calls: files, signals, polling, fork.

pub mod error;
pub(crate) mod fork;
pub(crate) mod poll;
pub mod private;
pub(crate) mod proc_file;
pub mod signals;
pub(crate) mod sockets;
pub mod watch;

use std::env;
use std::fs::{self, File, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// A directory of the user: the one that an environment variable names, else the one below the home directory. Only
/// absolute paths count, as the XDG specification asks.
pub(crate) fn user_directory(variable: &str, below_home: &str) -> Option<PathBuf> {
    let absolute = |name: &str| {
        env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    absolute(variable).or_else(|| Some(absolute("HOME")?.join(below_home)))
}

/// Whether the open file is still the one at that path.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    let number = |found: Metadata| (found.dev(), found.ino());
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(open), Ok(there)) => number(open) == number(there),
        _ => false,
    }
}
