//! Signals as something to wait for.
//!
//! Both processes of a run catch them: the outer one passes them on, the inner one obeys them. They are caught and not
//! blocked, since a program inherits what its parent blocks but not what it catches; and the first process of a pid
//! namespace gets no signal that it does not catch.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGWINCH};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;

use crate::system::proc_file;

/// A signal that concerns a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SignalKind {
    /// Ctrl-C.
    Interrupt,
    /// Asked to end.
    Terminate,
    /// The terminal has gone.
    Hangup,
    /// Ctrl-\.
    Quit,
    /// The terminal has another size.
    Resize,
    /// A child has ended.
    Child,
}

const ALL: [(SignalKind, i32); 6] = [
    (SignalKind::Interrupt, SIGINT),
    (SignalKind::Terminate, SIGTERM),
    (SignalKind::Hangup, SIGHUP),
    (SignalKind::Quit, SIGQUIT),
    (SignalKind::Resize, SIGWINCH),
    (SignalKind::Child, SIGCHLD),
];

impl SignalKind {
    /// The signal's number.
    #[must_use]
    pub fn number(self) -> i32 {
        ALL.into_iter()
            .find_map(|(notice, number)| (notice == self).then_some(number))
            .unwrap_or_default()
    }

    fn from_number(number: i32) -> Option<Self> {
        ALL.into_iter()
            .find_map(|(notice, known)| (known == number).then_some(notice))
    }
}

/// Which signals are to be caught.
#[derive(Clone, Debug)]
pub struct Wanted(Vec<i32>);

impl Wanted {
    /// All of them, except those that the parent process ignores: `nohup` means what it says.
    #[must_use]
    pub fn look() -> Self {
        let ignored = ignored(proc_file::own_status());
        let wanted = ALL
            .into_iter()
            .map(|(_, number)| number)
            .filter(|number| *number == SIGCHLD || ignored & (1 << (number - 1)) == 0);
        Self(wanted.collect())
    }
}

/// Signals that are caught and wait to be read.
#[derive(Debug)]
pub struct Signals(SignalDelivery<UnixStream, SignalOnly>);

impl Signals {
    /// Catches these from now on.
    pub fn catch(wanted: &Wanted) -> io::Result<Self> {
        let (read, write) = UnixStream::pair()?;
        Ok(Self(SignalDelivery::with_pipe(
            read, write, SignalOnly, &wanted.0,
        )?))
    }

    /// Those that have come; none if there are none.
    pub fn pending(&mut self) -> impl Iterator<Item = SignalKind> + use<> {
        self.0.pending().filter_map(SignalKind::from_number)
    }
}

/// Readable when signals have come.
impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.get_read().as_fd()
    }
}

/// The set of ignored signals, as `/proc/self/status` shows it.
fn ignored(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|set| u64::from_str_radix(set.trim(), 16).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_reads_back_from_its_number() {
        for (notice, _) in ALL {
            assert_eq!(SignalKind::from_number(notice.number()), Some(notice));
        }
        assert_eq!(SignalKind::from_number(64), None);
    }

    #[test]
    fn ignored_signals_are_read_from_the_status() {
        assert_eq!(ignored("Name:\tsh\nSigIgn:\t0000000000001001\n"), 0x1001);
        assert_eq!(ignored(""), 0);
    }
}
