//! The process that the user started. It forks the supervisor and passes signals on to it.
//!
//! It has one thread: the kernel allows no other one to a process that has made a pid namespace for its children. What
//! it waits for are the supervisor's end and signals. If it is killed, the supervisor dies with it, by a rule of the
//! kernel, and with the supervisor everything that the run had started.
//!
//! A supervisor that has nothing left but itself says how the run ended ([`ExitReport`](crate::supervisor::inner::ExitReport)). That is the end: it
//! only exits from then on, and tearing its namespaces down would be a good part of a short run.

use std::io::{self, PipeReader, Read as _};
use std::os::unix::net::UnixStream;

use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use crate::sandbox::isolation::{Isolation, Namespace, unshare_before_fork};
use crate::sandbox::ports;
use crate::supervisor::inner::NewSupervisor;
use crate::supervisor::watchdog;
use crate::system::error::{SystemError, step};
use crate::system::fork::{Forked, fork};
use crate::system::poll::wait_for;
use crate::system::signals::{SignalKind, Signals, Wanted};

/// How the supervisor ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SupervisorEnd {
    /// It chose this exit code.
    Code(i32),
    /// This signal killed it, and with it the whole run.
    Signal(i32),
}

/// The process in which [`fork_supervisor`] returned.
#[derive(Debug)]
pub enum Split {
    /// The supervisor: it goes on with [`inner::prepare`](crate::supervisor::inner::prepare).
    Supervisor(NewSupervisor),
    /// What the user started: it goes on with [`OuterProcess::wait`].
    Outer(OuterProcess),
}

/// Forks the supervisor as the first process of these namespaces. Returns in both processes. `run` is
/// the mark of the run's processes.
///
/// The process must have one thread only, and nothing that it has buffered may be unwritten. If the outer one ends, the
/// supervisor does.
pub fn fork_supervisor(run: &str, isolation: Isolation) -> Result<Split, SystemError> {
    let wanted = Wanted::look();
    if !isolation.has(Namespace::Network) {
        // The supervisor remembers it. A network of its own has ports of its own.
        let _ = ports::allowed();
    }
    unshare_before_fork(isolation)
        .map_err(io::Error::other)
        .map_err(step("enter the run's namespaces"))?;
    let (ours, theirs) = UnixStream::pair().map_err(step("make a pair of sockets"))?;
    let (ready, unready) = io::pipe().map_err(step("make a pipe"))?;
    let process = match fork().map_err(step("start the supervisor"))? {
        Forked::Child => {
            drop((ours, ready));
            return Ok(Split::Supervisor(NewSupervisor {
                run: run.to_owned(),
                isolation,
                socket: theirs,
                wanted,
                unready,
            }));
        }
        Forked::Parent(process) => process,
    };
    drop((theirs, unready));
    Ok(Split::Outer(OuterProcess {
        run: run.to_owned(),
        isolation,
        process,
        socket: Some(ours),
        ready,
        signals: Signals::catch(&wanted).map_err(step("catch signals"))?,
    }))
}

/// What the outer process does while the supervisor works.
#[derive(Debug)]
pub struct OuterProcess {
    run: String,
    isolation: Isolation,
    process: Pid,
    /// The supervisor writes its exit code to it, if it can.
    socket: Option<UnixStream>,
    /// EOF means that the supervisor's signal handlers are installed.
    ready: PipeReader,
    signals: Signals,
}

impl OuterProcess {
    /// Passes signals on to the supervisor, and waits until it has ended.
    pub fn wait(mut self) -> Result<SupervisorEnd, SystemError> {
        let end = self.attend().map_err(step("wait for the supervisor"))?;
        if !self.isolation.has(Namespace::Processes) {
            // The watchdog does it, too, but may have been killed.
            watchdog::sweep(&self.run);
        }
        Ok(end)
    }

    /// Waits for the supervisor's end, or for its word that nothing is left but itself; passes signals on.
    fn attend(&mut self) -> io::Result<SupervisorEnd> {
        loop {
            // Before waiting: it may have ended before its end was caught.
            if let Some((_, status)) = waitpid(Some(self.process), WaitOptions::NOHANG)? {
                return Ok(match (status.exit_status(), status.terminating_signal()) {
                    (Some(code), _) => SupervisorEnd::Code(code),
                    (None, signal) => SupervisorEnd::Signal(signal.unwrap_or_default()),
                });
            }
            // Its end is a signal too.
            let mut descriptors = vec![PollFd::new(&self.signals, PollFlags::IN)];
            descriptors.extend(
                self.socket
                    .iter()
                    .map(|socket| PollFd::new(socket, PollFlags::IN)),
            );
            wait_for(&mut descriptors, None)?;
            let spoken = descriptors
                .get(1)
                .is_some_and(|socket| !socket.revents().is_empty());
            if let Some(code) = spoken.then(|| self.hear()).flatten() {
                return Ok(SupervisorEnd::Code(code.into()));
            }
            for signal in self.signals.pending().filter_map(passed_on) {
                // A signal would be lost before the handlers are installed. EOF comes when they are, or when it has died.
                let _ = self.ready.read(&mut [0]);
                let _ = kill_process(self.process, signal);
            }
        }
    }

    /// The supervisor's exit report: its exit code.
    fn hear(&mut self) -> Option<u8> {
        let mut code = [0];
        match self.socket.as_mut()?.read(&mut code) {
            Ok(1) => return Some(code[0]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // It ends without an exit report.
            _ => self.socket = None,
        }
        None
    }
}

fn passed_on(notice: SignalKind) -> Option<Signal> {
    match notice {
        SignalKind::Child => None,
        notice => Signal::from_named_raw(notice.number()),
    }
}
