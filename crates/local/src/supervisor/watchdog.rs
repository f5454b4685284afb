//! Where namespaces are forbidden: a process that ends what a killed run has left behind.
//!
//! It holds the other end of a pipe that the supervisor keeps open. When the supervisor is gone, however it went, the
//! watchdog kills every process that carries the run's mark. It is in a session of its own, so that neither the terminal
//! nor a killed process group reaches it. Not covered: watchdog and supervisor killed at the same moment, and a process
//! that has wiped its environment.

use std::ffi::OsString;
use std::io::{self, PipeWriter, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use rustix::process::setsid;

use crate::process::orphans::{self, Among, Mark};
use crate::supervisor::reexec::{GUARD, ourselves};
use crate::system::signals::{Signals, Wanted};

/// The variable that every process of a run carries.
pub const RUN_MARK: &str = "TRAINYARD_RUN";

/// How many searches in a row must find nothing: a process may fork during one.
const CLEAN_ROUNDS: usize = 2;

/// The watchdog of this process.
#[derive(Debug)]
pub(crate) struct Watchdog {
    /// The watchdog acts when this is closed.
    _lifeline: PipeWriter,
}

impl Watchdog {
    /// Starts a watchdog for this process and waits until it is ready.
    pub(crate) fn start(run: &str) -> io::Result<Self> {
        let (watched, lifeline) = io::pipe()?;
        let (mut standing, tell) = io::pipe()?;
        Command::new(ourselves())
            .arg0("trainyard")
            .arg(GUARD)
            .arg(run)
            .stdin(watched)
            .stdout(tell)
            .stderr(Stdio::null())
            .spawn()?;
        let mut byte = [0];
        standing.read_exact(&mut byte)?;
        Ok(Self { _lifeline: lifeline })
    }
}

/// The watchdog process.
pub(crate) fn stand(run: &OsString) -> io::Result<()> {
    // Without a session of its own it still works, unless the terminal signals it.
    let _ = setsid();
    let _caught = Signals::catch(&Wanted::look())?;
    io::stdout().write_all(b"r")?;
    io::stdout().flush()?;
    let mut byte = [0];
    while io::stdin().read(&mut byte)? > 0 {}
    sweep(&run.to_string_lossy());
    Ok(())
}

/// Kills every process that carries the run's mark; tells how many.
pub(crate) fn sweep(run: &str) -> usize {
    let mark = Mark::new(RUN_MARK, run);
    let (mut ended, mut clean) = (0, 0);
    while clean < CLEAN_ROUNDS {
        let found = orphans::end(&mark, Among::All);
        ended += found;
        clean = if found == 0 { clean + 1 } else { 0 };
    }
    ended
}
