//! `fork`, in a process with one thread.
//!
//! The child continues with everything that was read so far: starting this program again would cost as much as starting a
//! task. Forking is sound only in a process with one thread, so the kernel is asked first.

use std::io;

use fork::Fork;
use nix::sched::{CloneFlags, unshare};
use rustix::process::Pid;

/// The process in which [`fork`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forked {
    /// The calling process, with the pid of its new child.
    Parent(Pid),
    /// The new process.
    Child,
}

/// Forks. Buffered output must have been flushed, or both processes write it. Fails with `EINVAL` if there are other threads.
pub(crate) fn fork() -> io::Result<Forked> {
    // Leaving the thread group does nothing in a process with one thread, and is refused in any other.
    unshare(CloneFlags::CLONE_THREAD)?;
    Ok(match ::fork::fork()? {
        Fork::Child => Forked::Child,
        Fork::Parent(child) => {
            let child = Pid::from_raw(child);
            Forked::Parent(child.ok_or_else(|| io::Error::other("the new process has no pid"))?)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_several_threads_is_not_forked() {
        // Every test has a thread of its own.
        let refused = fork().unwrap_err();
        assert_eq!(
            refused.raw_os_error(),
            Some(rustix::io::Errno::INVAL.raw_os_error())
        );
    }
}
