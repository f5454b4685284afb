//! The kernel's table of TCP sockets, in the network of the calling thread, and which process holds one.

use std::collections::BTreeSet;
use std::fs;
use std::iter;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::{Mode, OFlags, open};

use super::proc_file;

/// State of a socket that accepts connections, as the table writes it.
const LISTEN: &str = "0A";

/// Processes that are looked at for the holder of a socket.
const MOST_PROCESSES: usize = 20_000;

/// More than this between a process and the supervisor is a table that changes while it is read.
const MOST_ANCESTORS: usize = 1000;

/// One line of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Socket {
    pub local: u16,
    /// 0 if it is not connected.
    pub remote: u16,
    pub listens: bool,
    inode: u64,
}

impl Socket {
    fn of(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_ascii_whitespace().take(10).collect();
        let port = |word: &str| u16::from_str_radix(word.rsplit_once(':')?.1, 16).ok();
        Some(Self {
            local: port(words.get(1)?)?,
            remote: port(words.get(2)?)?,
            listens: *words.get(3)? == LISTEN,
            // A socket that waits for its time to be over has none.
            inode: words.get(9).and_then(|word| word.parse().ok()).unwrap_or(0),
        })
    }
}

/// Every TCP socket.
pub(crate) fn sockets() -> Vec<Socket> {
    let tables = ["/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6"];
    let texts = tables.map(proc_file::read);
    texts
        .iter()
        .flat_map(|text| text.lines().filter_map(Socket::of))
        .collect()
}

/// The ports on which a program listens.
pub(crate) fn listening() -> BTreeSet<u16> {
    let listen = sockets().into_iter().filter(|socket| socket.listens);
    listen.map(|socket| socket.local).collect()
}

/// A process, as people look for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub pid: u32,
    /// Its command without arguments, of at most 15 bytes, as the program chose it.
    pub name: String,
    /// It is not one of the run: this process did not start it, directly or indirectly. Its pid is then the machine's.
    pub outside: bool,
}

/// The machine's `/proc`, opened before the run's own is mounted over it; none if that is not so, or if it would show nothing.
static OUTSIDE: OnceLock<OwnedFd> = OnceLock::new();

/// Keeps the machine's `/proc` in view. To be called before another is mounted there.
pub(crate) fn keep_outside_in_view() {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    if let Ok(directory) = open("/proc", flags, Mode::empty()) {
        // A second call keeps the first.
        let _ = OUTSIDE.set(directory);
    }
}

/// Which process listens on the port; none if no process does, or if it may not be looked at: another user's, and for users other than
/// root all that are outside of the run's namespaces.
pub(crate) fn listener(port: u16) -> Option<Process> {
    let inodes: BTreeSet<u64> = sockets()
        .into_iter()
        .filter(|socket| socket.listens && socket.local == port)
        .map(|socket| socket.inode)
        .collect();
    if inodes.is_empty() {
        return None;
    }
    let outside = || {
        let path = PathBuf::from(format!("/proc/self/fd/{}", OUTSIDE.get()?.as_raw_fd()));
        let (pid, name) = holder(&path, &inodes)?;
        Some((pid, name, true))
    };
    let (pid, name, outside) = match holder(Path::new("/proc"), &inodes) {
        // Without a pid namespace the machine's processes are seen here too.
        Some((pid, name)) => (pid, name, !descends(pid, std::process::id(), parent)),
        None => outside()?,
    };
    Some(Process { pid, name, outside })
}

/// Whether the process is `ancestor`, or was started by it or by one that was. A run's orphans are given to the supervisor, so they stay
/// its descendants.
fn descends(pid: u32, ancestor: u32, parent: impl Fn(u32) -> Option<u32>) -> bool {
    let line = iter::successors(Some(pid), |pid| parent(*pid));
    line.take(MOST_ANCESTORS).any(|pid| pid == ancestor)
}

fn parent(pid: u32) -> Option<u32> {
    let stat = proc_file::read(&format!("/proc/{pid}/stat"));
    // The name, in brackets, may hold anything; behind it come the state and the parent.
    let mut words = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    words.nth(1)?.parse().ok()
}

/// The first process that has one of the sockets open, and its name.
fn holder(proc: &Path, inodes: &BTreeSet<u64>) -> Option<(u32, String)> {
    let wanted: BTreeSet<String> = inodes.iter().map(|inode| format!("socket:[{inode}]")).collect();
    let entries = fs::read_dir(proc).ok()?.flatten();
    let processes =
        entries.filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())));
    for (pid, path) in processes.take(MOST_PROCESSES) {
        let descriptors = fs::read_dir(path.join("fd")).into_iter().flatten().flatten();
        let mut links = descriptors.filter_map(|descriptor| fs::read_link(descriptor.path()).ok());
        if links.any(|link| link.to_str().is_some_and(|link| wanted.contains(link))) {
            let name = fs::read_to_string(path.join("comm")).unwrap_or_default();
            return Some((pid, name.trim_end().to_owned()));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_table_is_a_socket() {
        let socket = |local, remote, listens, inode| {
            Some(Socket {
                local,
                remote,
                listens,
                inode,
            })
        };
        let table = [
            (
                "   0: 0100007F:4E20 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1",
                socket(20_000, 0, true, 4711),
            ),
            (
                "   1: 0100007F:4E20 0100007F:1234 06 00000000:00000000 00:00000000",
                socket(20_000, 0x1234, false, 0),
            ),
            ("  sl  local_address rem_address   st tx_queue rx_queue", None),
            ("", None),
        ];
        for (line, expected) in table {
            assert_eq!(Socket::of(line), expected, "{line}");
        }
    }

    #[test]
    fn the_process_that_listens_is_found() {
        let held = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = held.local_addr().unwrap().port();
        assert!(listening().contains(&port));
        let found = listener(port).unwrap();
        assert_eq!((found.pid, found.outside), (std::process::id(), false));
        drop(held);
        assert_eq!(listener(port), None);
    }

    #[test]
    fn a_process_is_of_this_run_only_if_the_supervisor_started_it_or_one_that_did() {
        // The supervisor is 10; 11 and 12 descend from it, 20 does not, 30 is gone, and 40 and 41 were read while they changed.
        let parents = [
            (1, 0),
            (5, 1),
            (10, 5),
            (11, 10),
            (12, 11),
            (20, 5),
            (40, 41),
            (41, 40),
        ];
        let parent_of = |pid: u32| parents.iter().find(|(child, _)| *child == pid).map(|(_, of)| *of);
        let table = [
            (10, true),
            (11, true),
            (12, true),
            (5, false),
            (1, false),
            (20, false),
            (30, false),
            (40, false),
        ];
        for (pid, expected) in table {
            assert_eq!(descends(pid, 10, parent_of), expected, "{pid}");
        }
    }

    #[test]
    fn what_this_process_starts_descends_from_it_and_its_parent_does_not() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let own = std::process::id();
        assert_eq!(parent(child.id()), Some(own));
        assert!(descends(child.id(), own, parent));
        let above = parent(own).unwrap();
        assert!(!descends(above, own, parent));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
