//! Becoming two processes.
//!
//! The second one goes on where the first one is, with everything that was read and made so far: starting our own
//! program again would cost as much as starting a task. That is sound only in a process with one thread, so the kernel
//! is asked first whether it is one.

use std::io;

use fork::{Fork, fork};
use nix::sched::{CloneFlags, unshare};
use rustix::process::Pid;

/// Which of the two we are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Twin {
    /// The one that was there before; the other one is this child of it.
    First(Pid),
    /// The new one.
    Second,
}

/// Goes on as two processes. What is buffered must have been written before, or both write it.
pub(crate) fn split() -> io::Result<Twin> {
    // Leaving a group of threads that has no other one changes nothing, and is refused if there are others.
    unshare(CloneFlags::CLONE_THREAD)?;
    Ok(match fork()? {
        Fork::Child => Twin::Second,
        Fork::Parent(child) => {
            let child = Pid::from_raw(child);
            Twin::First(child.ok_or_else(|| io::Error::other("the new process has no number"))?)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_several_threads_is_not_split() {
        // Every test has a thread of its own.
        let refused = split().unwrap_err();
        assert_eq!(
            refused.raw_os_error(),
            Some(rustix::io::Errno::INVAL.raw_os_error())
        );
    }
}
