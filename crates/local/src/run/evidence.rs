//! What can be seen of a task's program from outside, for those who show a run: whether it is Python, which ports are open.

use std::collections::BTreeSet;
use std::fs;

use crate::system::sockets::listening;

/// The TCP ports on which any program listens, in the network of the calling thread.
#[must_use]
pub fn open_ports() -> BTreeSet<u16> {
    listening()
}

/// Whether a process is a Python interpreter by its name. A wrapper becomes one when it starts it in its place.
#[must_use]
pub fn is_python(pid: u32) -> bool {
    let name = fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
    names_python(&name)
}

/// Whether a program of this name is Python.
fn names_python(name: &[u8]) -> bool {
    name.starts_with(b"python") || name.starts_with(b"pypy")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_python_by_its_name() {
        for (name, expected) in [
            ("python", true),
            ("python3.11\n", true),
            ("pypy3\n", true),
            ("bash\n", false),
            ("ipython\n", false),
            ("", false),
        ] {
            assert_eq!(names_python(name.as_bytes()), expected, "{name}");
        }
        // A process that is gone has no name.
        assert!(!is_python(u32::MAX));
    }
}
