//! What the user started: it enters the namespaces, starts the supervisor and passes signals on.
//!
//! It has one thread: the kernel allows no other one to a process that has made a pid namespace for its children. What
//! it waits for are the supervisor's end and signals. If it is killed, the supervisor dies with it, by a rule of the
//! kernel, and with the supervisor everything that the run had started.

use std::ffi::OsString;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus};

use rustix::process::{Pid, Signal, kill_process};

use crate::guard;
use crate::namespace::{Wall, WallError, Walls, put_up};
use crate::signals::{Notice, Signals};
use crate::stage::{SUPERVISE, ourselves};

/// The supervisor that is to be started.
#[derive(Clone, Debug)]
pub struct Supervisor {
    /// The run's id: the mark of its processes.
    pub run: String,
    /// The walls around it, as [`probe`](crate::probe::probe) chose them.
    pub walls: Walls,
    /// What it is told: handed on as [`Entry::arguments`](crate::inner::Entry).
    pub arguments: Vec<OsString>,
}

/// How the supervisor ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SupervisorEnd {
    /// It chose this exit code.
    Code(i32),
    /// This signal killed it, and with it the whole run.
    Signal(i32),
}

/// The supervisor could not be started or waited for.
#[derive(Debug, thiserror::Error)]
pub enum OuterError {
    /// A wall could not be put up.
    #[error("cannot enter the run's namespaces")]
    Walls(#[from] WallError),
    /// Something about signals or processes was refused.
    #[error("cannot {step}")]
    System {
        /// What was being done.
        step: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

fn system<E: Into<io::Error>>(step: &'static str) -> impl FnOnce(E) -> OuterError {
    move |source| OuterError::System {
        step,
        source: source.into(),
    }
}

/// Starts the supervisor behind its walls, passes signals on to it, and waits until it has ended.
///
/// The process must have one thread only, and is behind the walls itself afterwards.
pub fn run(supervisor: &Supervisor) -> Result<SupervisorEnd, OuterError> {
    let mut signals = Signals::catch().map_err(system("catch signals"))?;
    put_up(supervisor.walls)?;
    let (ours, theirs) = UnixStream::pair().map_err(system("make a pair of sockets"))?;
    let mut child = start(supervisor, theirs).map_err(system("start the supervisor"))?;
    let status = attend(&mut child, ours, &mut signals).map_err(system("wait for the supervisor"))?;
    if !supervisor.walls.has(Wall::Processes) {
        // The guard does it too; but it may have been killed.
        guard::sweep(&supervisor.run);
    }
    Ok(match (status.code(), status.signal()) {
        (Some(code), _) => SupervisorEnd::Code(code),
        (None, signal) => SupervisorEnd::Signal(signal.unwrap_or_default()),
    })
}

/// The supervisor is in a process group of its own: Ctrl-C reaches it once, through us.
fn start(supervisor: &Supervisor, socket: UnixStream) -> io::Result<Child> {
    Command::new(ourselves())
        .arg0("trainyard")
        .arg(SUPERVISE)
        .arg(supervisor.walls.to_string())
        .arg(&supervisor.run)
        .args(&supervisor.arguments)
        .stdin(OwnedFd::from(socket))
        .process_group(0)
        .spawn()
}

/// Waits for the supervisor's end; passes signals on as soon as it can take them.
fn attend(child: &mut Child, mut socket: UnixStream, signals: &mut Signals) -> io::Result<ExitStatus> {
    let number = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let process = number.ok_or_else(|| io::Error::other("the supervisor has no process number"))?;
    let mut ready = false;
    loop {
        // Its end is a signal too.
        for signal in signals.wait().filter_map(passed_on) {
            if !ready {
                // Until it says that it is ready, a signal would be lost on it. If it dies before, the socket tells that
                // as well.
                let _ = socket.read(&mut [0]);
                ready = true;
            }
            let _ = kill_process(process, signal);
        }
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
    }
}

fn passed_on(notice: Notice) -> Option<Signal> {
    match notice {
        Notice::Interrupt => Some(Signal::INT),
        Notice::Terminate => Some(Signal::TERM),
        Notice::Hangup => Some(Signal::HUP),
        Notice::Quit => Some(Signal::QUIT),
        Notice::Resize => Some(Signal::WINCH),
        Notice::Child => None,
    }
}
