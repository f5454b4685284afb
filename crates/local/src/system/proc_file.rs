//! The files in which the kernel tells about itself.
//!
//! They have no length, so a reader that asks for it, or that grows as it reads, asks again and again; one that has room
//! enough from the start asks twice. A short run reads half a dozen of them.

use std::fs::File;
use std::io::{self, Read as _};
use std::sync::OnceLock;

/// Hardly any of those that we read is longer.
const ROOM: usize = 4096;

/// The text of such a file; empty if there is none.
pub(crate) fn read(path: &str) -> String {
    try_read(path).unwrap_or_default()
}

/// The text of such a file.
pub(crate) fn try_read(path: &str) -> io::Result<String> {
    let mut text = Vec::with_capacity(ROOM);
    // Without a limit, the file would be asked for its length.
    File::open(path)?.take(u64::MAX).read_to_end(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// What the kernel said about this process when it was first asked. Those who ask want to know what we were started
/// with.
pub(crate) fn own_status() -> &'static str {
    static STATUS: OnceLock<String> = OnceLock::new();
    STATUS.get_or_init(|| read("/proc/self/status"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_the_kernel_is_read_whole_and_a_missing_one_is_empty() {
        assert!(read("/proc/self/status").contains("voluntary_ctxt_switches"));
        assert_eq!(read("/proc/self/no-such-file"), "");
    }
}
