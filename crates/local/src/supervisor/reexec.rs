//! This program, started by itself with a hidden first argument.
//!
//! A process with several threads cannot be forked (see [`outer`](crate::supervisor::outer)), and a helper process should share
//! nothing with this one. The command line calls [`enter`]
//! first, before it parses anything or starts a thread.

use std::ffi::OsString;
use std::path::Path;

use crate::process::exec;
use crate::sandbox::isolation::Isolation;
use crate::sandbox::probe;
use crate::supervisor::watchdog;

/// The outer process of a run in the background.
pub const BACKGROUND: &str = "__detached";
/// Makes namespaces to see whether it may.
pub(crate) const PROBE: &str = "__probe";
/// Watches over a supervisor without namespaces.
pub(crate) const GUARD: &str = "__guard";
/// Becomes a task's program, where there are no namespaces.
pub(crate) const START: &str = "__start";

/// What this process was started for.
#[derive(Debug)]
pub enum Reexec {
    /// Be the outer process of a run in the background: the caller goes on with [`outer::fork_supervisor`](crate::supervisor::outer::fork_supervisor).
    Background(Background),
    /// It has been done; exit with this code.
    Finished(u8),
}

/// What a run in the background is told by the process that starts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Background {
    /// The run's id.
    pub run: String,
    /// Its namespaces.
    pub isolation: Isolation,
    /// The arguments meant for the supervisor.
    pub arguments: Vec<OsString>,
}

impl Background {
    fn read(arguments: &[OsString]) -> Option<Self> {
        Some(Self {
            isolation: Isolation::parse(arguments.first()?.to_str()?)?,
            run: arguments.get(1)?.to_str()?.to_owned(),
            arguments: arguments.get(2..)?.to_vec(),
        })
    }
}

/// Does what the arguments (without the program's name) ask for; none if they are a user's.
#[must_use]
pub fn enter(arguments: &[OsString]) -> Option<Reexec> {
    let (first, rest) = arguments.split_first()?;
    let done = |result: Result<(), u8>| Some(Reexec::Finished(result.err().unwrap_or(0)));
    match (first.to_str()?, rest) {
        (BACKGROUND, rest) => Background::read(rest).map(Reexec::Background),
        (PROBE, [isolation]) => done(probe::put_up(isolation)),
        (GUARD, [run]) => done(watchdog::stand(run).map_err(|_| 1)),
        (START, rest) => done(exec::become_program(rest)),
        _ => None,
    }
}

/// Where the program that is running now is found, even if its file has been replaced.
pub(crate) fn ourselves() -> &'static Path {
    Path::new("/proc/self/exe")
}
