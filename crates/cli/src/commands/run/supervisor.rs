//! The supervisor, behind the isolation. It is the one that prints while a run goes on.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use trainyard_core::Outcome;
use trainyard_local::run::event::{Reporter, RunEnd};
use trainyard_local::run::supervise::{Given, Unwatched, supervise};
use trainyard_local::supervisor::inner::Inner;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::run::Display;
use crate::run::View;

/// How long the last words of a run that somebody ended may take.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// A run that reached its deadline ends as `timeout` does.
const DEADLINE: u8 = 124;

/// What it was told.
pub struct Told {
    /// How things are shown; none if nobody watches.
    pub view: Option<View>,
    /// The number of the outer process.
    pub pid: u32,
    /// The runs.
    pub runs: Vec<Given>,
}

/// Runs the jobs to their ends.
pub fn run(inner: Inner, told: Told) -> Result<Exit, Failure> {
    let Told { view, pid, runs } = told;
    let several = runs.len() > 1;
    let display = view.map(|view| Arc::new(Display::new(view)));
    let watch =
        |file: &trainyard_local::run::store::run_file::RunFile, job: &trainyard_core::Job| match &display {
            Some(display) => {
                let tasks: Vec<_> = job.tasks().collect();
                display.reporter(&file.job, several, &tasks)
            }
            None => Arc::new(Unwatched) as Arc<dyn Reporter>,
        };
    let ends = supervise(inner, pid, runs, &watch).map_err(|error| Failure::usage(error.to_string(), None));
    let signalled = ends
        .as_ref()
        .is_ok_and(|ends| ends.iter().any(|end| end.signal.is_some()));
    if let Some(display) = display {
        finish(display, signalled);
    }
    Ok(exit(&ends?))
}

/// Shows everything that is still to be shown. A run that somebody ended does not wait for a reader who does not read.
fn finish(display: Arc<Display>, signalled: bool) {
    if !signalled {
        return display.finish();
    }
    let (done, finished) = channel();
    thread::spawn(move || {
        display.finish();
        let _ = done.send(());
    });
    let _ = finished.recv_timeout(LAST_WORDS);
}

/// The first end that is not a success decides.
fn exit(ends: &[RunEnd]) -> Exit {
    let code = |end: &RunEnd| match (end.outcome, end.signal) {
        (Some(Outcome::Succeeded), _) => 0,
        (Some(_), _) if end.deadline => DEADLINE,
        (None, Some(signal)) => u8::try_from(128 + signal).unwrap_or(u8::MAX),
        (Some(_), _) | (None, None) => 1,
    };
    let first = ends.iter().map(code).find(|code| *code != 0);
    Exit::Code(first.unwrap_or(0))
}
