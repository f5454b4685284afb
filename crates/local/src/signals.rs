//! Signals as something to wait for, together with everything else.
//!
//! They are blocked, so that none of them ends us or is lost, and read from a descriptor. Both processes of a run do
//! it: the outer one passes them on, the inner one obeys them. A pid namespace's first process never sees a signal
//! that it does not block or handle. What we start gets an empty mask from the standard library.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

/// A signal that concerns a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Notice {
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

const ALL: [Notice; 6] = [
    Notice::Interrupt,
    Notice::Terminate,
    Notice::Hangup,
    Notice::Quit,
    Notice::Resize,
    Notice::Child,
];

impl Notice {
    /// The signal's number.
    #[must_use]
    pub fn number(self) -> i32 {
        self.signal() as i32
    }

    fn signal(self) -> Signal {
        match self {
            Self::Interrupt => Signal::SIGINT,
            Self::Terminate => Signal::SIGTERM,
            Self::Hangup => Signal::SIGHUP,
            Self::Quit => Signal::SIGQUIT,
            Self::Resize => Signal::SIGWINCH,
            Self::Child => Signal::SIGCHLD,
        }
    }

    fn from_number(number: u32) -> Option<Self> {
        ALL.into_iter()
            .find(|notice| u32::try_from(notice.number()) == Ok(number))
    }
}

/// Signals that are blocked for this thread and those it starts, and wait to be read.
#[derive(Clone, Debug)]
pub struct Signals(Arc<SignalFd>);

impl Signals {
    /// Blocks all of them; to be called before the first thread is started.
    pub fn block() -> io::Result<Self> {
        let mut watched = SigSet::empty();
        for notice in ALL {
            watched.add(notice.signal());
        }
        let mut blocked = watched;
        // A supervisor in the background of a terminal may still write to it.
        blocked.add(Signal::SIGTTOU);
        blocked.thread_block()?;
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        Ok(Self(Arc::new(SignalFd::with_flags(&watched, flags)?)))
    }

    /// The next signal, if one waits.
    pub fn next(&self) -> io::Result<Option<Notice>> {
        loop {
            match self.0.read_signal()? {
                None => return Ok(None),
                Some(signal) => {
                    if let Some(notice) = Notice::from_number(signal.ssi_signo) {
                        return Ok(Some(notice));
                    }
                }
            }
        }
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_reads_back_from_its_number() {
        for notice in ALL {
            assert_eq!(Notice::from_number(notice.number().unsigned_abs()), Some(notice));
        }
        assert_eq!(Notice::from_number(64), None);
    }
}
