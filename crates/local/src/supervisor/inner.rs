//! The supervisor: its first steps, before it starts a task.
//!
//! It is the first process in the run's namespaces. From here on the runner decides what happens; what is left of this module is
//! the signal listener, which also reaps adopted processes.

use std::io::{self, PipeWriter, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions, getrlimit, set_child_subreaper,
    set_parent_process_death_signal, setpgid, setrlimit, waitid,
};

use crate::process::orphans;
use crate::sandbox::isolation::{Isolation, Namespace, unshare_in_supervisor};
use crate::supervisor::watchdog::Watchdog;
use crate::system::error::{SystemError, step};
use crate::system::poll::wait_for;
use crate::system::signals::{SignalKind, Signals, Wanted};

/// With fewer descriptors than this a run of a few hundred tasks would fail.
const DESCRIPTORS: u64 = 16_384;

/// The supervisor after the fork: what [`outer::fork_supervisor`](crate::supervisor::outer::fork_supervisor) returns in it.
#[derive(Debug)]
pub struct NewSupervisor {
    pub(crate) run: String,
    pub(crate) isolation: Isolation,
    /// Connected to the outer process.
    pub(crate) socket: UnixStream,
    /// The signals to catch.
    pub(crate) wanted: Wanted,
    /// Closed when they are caught: the outer process may pass them on then.
    pub(crate) unready: PipeWriter,
}

/// The supervisor's report of its exit code.
#[derive(Debug)]
pub struct ExitReport {
    isolation: Isolation,
    socket: Arc<UnixStream>,
}

impl ExitReport {
    /// Reports the exit code: the outer process ends with it at once. To be called when everything has
    /// been written; the caller only exits afterwards. If a process is left that this one has
    /// started, or if there is no pid namespace, nothing is sent: then the outer process waits until this one
    /// has ended.
    pub fn send(self, code: u8) {
        if self.isolation.has(Namespace::Processes) && is_alone() {
            // An outer process that has gone does not wait.
            let _ = (&*self.socket).write_all(&[code]);
        }
    }
}

/// Whether this process has no child, alive or unreaped: every other process of the pid namespace descends from it.
fn is_alone() -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    waitid(WaitId::All, options).is_err_and(|error| error == Errno::CHILD)
}

/// Why the supervisor could not be prepared.
#[derive(Debug, thiserror::Error)]
pub enum InnerError {
    /// The outer process has died.
    #[error("the process that was started has gone")]
    Alone,
    /// A namespace could not be made.
    #[error("cannot prepare the supervisor")]
    Isolation(#[from] SystemError),
}

/// A supervisor that is ready to start tasks. The run is guarded as long as this lives, and then as long as its [`SignalListener`] does.
#[derive(Debug)]
pub struct Inner {
    /// Its namespaces.
    pub isolation: Isolation,
    /// The run's id.
    pub run: String,
    socket: Arc<UnixStream>,
    signals: Signals,
    watchdog: Option<Watchdog>,
}

/// Makes this process a supervisor. It must have one thread only.
///
/// The calling thread must not start programs by itself, now or later: its children are taken for orphans.
pub fn prepare(inside: NewSupervisor) -> Result<Inner, InnerError> {
    let NewSupervisor {
        run,
        isolation,
        socket,
        wanted,
        unready,
    } = inside;
    let signals = Signals::catch(&wanted).map_err(step("catch signals"))?;
    drop(unready);
    // In a group of our own: Ctrl-C reaches us once, through the outer process.
    setpgid(None, None).map_err(step("leave the group of the outer process"))?;
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(step("bind our life to the outer process"))?;
    if !outer_lives(&socket) {
        return Err(InnerError::Alone);
    }
    unshare_in_supervisor(isolation)?;
    let watchdog = if isolation.has(Namespace::Processes) {
        None
    } else {
        // Any number but 0 means yes.
        set_child_subreaper(Some(Pid::INIT)).map_err(step("adopt what tasks leave behind"))?;
        Some(Watchdog::start(&run).map_err(step("start the watchdog"))?)
    };
    make_room();
    Ok(Inner {
        isolation,
        run,
        socket: Arc::new(socket),
        signals,
        watchdog,
    })
}

impl Inner {
    /// To be sent at the end.
    #[must_use]
    pub fn exit_report(&self) -> ExitReport {
        ExitReport {
            isolation: self.isolation,
            socket: Arc::clone(&self.socket),
        }
    }

    /// The signal listener: `tell` is called for every signal but SIGCHLD.
    #[must_use]
    pub fn signal_listener(self, tell: impl Fn(SignalKind) + Send + 'static) -> SignalListener {
        SignalListener {
            signals: self.signals,
            tell: Box::new(tell),
            _guard: self.watchdog,
        }
    }
}

/// Handles signals, and reaps adopted processes.
pub struct SignalListener {
    signals: Signals,
    tell: Box<dyn Fn(SignalKind) + Send>,
    /// It acts when this is dropped.
    _guard: Option<Watchdog>,
}

impl SignalListener {
    /// Handles the signals that are pending, if any.
    pub(crate) fn handle_pending(&mut self) {
        for notice in self.signals.pending() {
            match notice {
                SignalKind::Child => orphans::reap(),
                notice => (self.tell)(notice),
            }
        }
    }

    /// Handles signals on a thread of its own.
    pub fn spawn(mut self) -> io::Result<()> {
        let hear = move || {
            loop {
                // That waiting failed is no reason to miss what has come.
                let _ = wait_for(&mut [PollFd::new(&self, PollFlags::IN)], None);
                self.handle_pending();
            }
        };
        let builder = thread::Builder::new().name("signals".into());
        builder.stack_size(256 * 1024).spawn(hear).map(drop)
    }
}

/// Readable when a signal is pending.
impl AsFd for SignalListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.signals.as_fd()
    }
}

/// The parent-death signal comes only if the parent dies after it was requested; the socket shows a death before that.
fn outer_lives(socket: &UnixStream) -> bool {
    let readable = wait_for(&mut [PollFd::new(socket, PollFlags::IN)], Some(Instant::now()));
    readable.is_ok_and(|readable| !readable)
}

/// A task costs half a dozen descriptors, and the usual limit is 1,024. What we start has the raised limit as well,
/// as programs in containers do.
fn make_room() {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(DESCRIPTORS, |most| most.min(DESCRIPTORS));
    if limit.current.is_some_and(|current| current < wanted) {
        let raised = Rlimit {
            current: Some(wanted),
            ..limit
        };
        let _ = setrlimit(Resource::Nofile, raised);
    }
}
