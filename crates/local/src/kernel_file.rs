//! The files in which the kernel tells about itself.
//!
//! They have no length, so a reader that grows as it reads asks for them again and again; one that has room enough from
//! the start asks twice.

use std::fs::File;
use std::io::Read as _;

/// Hardly any of those that we read is longer.
const ROOM: usize = 4096;

/// The text of such a file; empty if there is none.
pub(crate) fn read(path: &str) -> String {
    let mut text = Vec::with_capacity(ROOM);
    let opened = File::open(path);
    match opened.and_then(|mut file| file.read_to_end(&mut text)) {
        Ok(_) => String::from_utf8_lossy(&text).into_owned(),
        Err(_) => String::new(),
    }
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
