//! Records which files `expand` has written. Its output is the same as simpletfjob's and has no mark, so the state
//! directory stores a fingerprint per path.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use trainyard_local::run::store::directory::Home;
use trainyard_local::system::private;

use crate::fingerprint::fingerprint;

/// What the record says about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// Written by `expand`, and unchanged.
    Ours,
    /// Written by `expand`, and changed since.
    Changed,
    /// Not written by `expand`.
    Foreign,
}

/// Compares a file with its record.
pub fn look(path: &Path, content: &[u8]) -> Known {
    match note(path).and_then(fs::read_to_string) {
        Err(_) => Known::Foreign,
        Ok(kept) if kept.trim_end() == fingerprint(content) => Known::Ours,
        Ok(_) => Known::Changed,
    }
}

/// Records a file.
pub fn remember(path: &Path, content: &[u8]) -> io::Result<()> {
    let note = note(path)?;
    if let Some(folder) = note.parent() {
        private::directory(folder)?;
    }
    let scratch = note.with_added_extension(format!("{}.new", std::process::id()));
    private::write(&scratch, fingerprint(content) + "\n")?;
    fs::rename(&scratch, &note)
}

fn note(path: &Path) -> io::Result<PathBuf> {
    let home = Home::of_user().ok_or_else(|| io::Error::other("neither TRAINYARD_STATE nor HOME is set"))?;
    let folder = home.closed().map_err(io::Error::other)?.expanded();
    Ok(folder.join(fingerprint(path.as_os_str().as_bytes())))
}
