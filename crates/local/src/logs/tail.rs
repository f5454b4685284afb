//! The end of a log file.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

/// The last `most` bytes of a file, and whether there are more before them.
pub(crate) fn tail(path: &Path, most: usize) -> io::Result<(Vec<u8>, bool)> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let most = u64::try_from(most).unwrap_or(u64::MAX);
    let start = length.saturating_sub(most);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok((bytes, start > 0))
}
