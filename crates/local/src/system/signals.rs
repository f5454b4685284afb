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
#[repr(i32)]
pub enum SignalKind {
    /// Ctrl-C.
    Interrupt = SIGINT,
    /// Asked to end.
    Terminate = SIGTERM,
    /// The terminal has gone.
    Hangup = SIGHUP,
    /// Ctrl-\.
    Quit = SIGQUIT,
    /// The terminal has another size.
    Resize = SIGWINCH,
    /// A child has ended.
    Child = SIGCHLD,
}

const ALL: [SignalKind; 6] = [
    SignalKind::Interrupt,
    SignalKind::Terminate,
    SignalKind::Hangup,
    SignalKind::Quit,
    SignalKind::Resize,
    SignalKind::Child,
];

impl SignalKind {
    /// The signal's number.
    #[must_use]
    pub fn number(self) -> i32 {
        self as i32
    }

    fn from_number(number: i32) -> Option<Self> {
        ALL.into_iter().find(|kind| kind.number() == number)
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
        let numbers = ALL.into_iter().map(SignalKind::number);
        let wanted = numbers.filter(|number| *number == SIGCHLD || ignored & (1 << (number - 1)) == 0);
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
        for notice in ALL {
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
