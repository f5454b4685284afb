//! Our own program, started by ourselves: which part it then plays.
//!
//! Nothing may fork without `unsafe`, so every part of a run that is a process of its own is this program again, with a
//! hidden first argument. The command line asks here first, before it parses anything or starts a thread.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::inner::Entry;
use crate::outer::Supervisor;
use crate::{guard, probe, start};

/// The supervisor.
pub(crate) const SUPERVISE: &str = "__supervise";
/// The outer process of a run in the background.
pub const DETACHED: &str = "__detached";
/// Puts up walls to see whether it may.
pub(crate) const PROBE: &str = "__probe";
/// Moves in behind them to see whether it can.
pub(crate) const PROBE_INSIDE: &str = "__probe-inside";
/// Watches over a supervisor without walls.
pub(crate) const GUARD: &str = "__guard";
/// Becomes a task's program, where there are no walls.
pub(crate) const START: &str = "__start";

/// What a process that we started is to do.
#[derive(Debug)]
pub enum Stage {
    /// Supervise a run: the caller goes on with [`inner::prepare`](crate::inner::prepare).
    Supervise(Entry),
    /// Be the outer process of a run in the background: the caller goes on with [`outer::run`](crate::outer::run).
    Detached(Supervisor),
    /// It has been done; exit with this code.
    Over(u8),
}

/// Plays the part that the arguments (without the program's name) name; none if they are a user's.
#[must_use]
pub fn enter(arguments: &[OsString]) -> Option<Stage> {
    let (first, rest) = arguments.split_first()?;
    let done = |result: Result<(), u8>| Some(Stage::Over(result.err().unwrap_or(0)));
    match (first.to_str()?, rest) {
        (SUPERVISE, rest) => Entry::read(rest).map(Stage::Supervise),
        (DETACHED, rest) => Entry::read(rest).map(|entry| {
            Stage::Detached(Supervisor {
                run: entry.run,
                walls: entry.walls,
                arguments: entry.arguments,
            })
        }),
        (PROBE, [walls]) => done(probe::put_up(walls)),
        (PROBE_INSIDE, [walls]) => done(probe::move_in(walls)),
        (GUARD, [run]) => done(guard::stand(run).map_err(|_| 1)),
        (START, rest) => done(start::become_program(rest)),
        _ => None,
    }
}

/// Where the program that is running now is found, even if its file has been replaced.
pub(crate) fn ourselves() -> &'static Path {
    Path::new("/proc/self/exe")
}

/// An argument as text, if it is text.
pub(crate) fn text(argument: Option<&OsString>) -> Option<&str> {
    argument.map(OsString::as_os_str).and_then(OsStr::to_str)
}
