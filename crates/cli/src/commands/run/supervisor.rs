//! The supervisor: our own program again, behind the walls. It is the one that prints while a run goes on.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use trainyard_core::Outcome;
use trainyard_local::inner::{self, Entry};
use trainyard_local::run::directory::RunDirectory;
use trainyard_local::run::event::{Reporter, RunEnd};
use trainyard_local::run::supervise::{Unwatched, supervise};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::run::{Screen, View};

/// How long the last words of a run that somebody ended may take.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// A run that reached its deadline ends as `timeout` does.
const DEADLINE: u8 = 124;

/// Runs the jobs of the directories it was told.
pub fn run(entry: &Entry) -> Result<Exit, Failure> {
    let inner = inner::prepare(entry).map_err(|error| Failure::usage(trainyard_local::told(&error), None))?;
    let (view, pid, directories) = told(&entry.arguments)
        .ok_or_else(|| Failure::usage("this is started by `trainyard run` only", None))?;
    let several = directories.len() > 1;
    let screen = view.map(|view| Arc::new(Screen::new(view)));
    let watch = |file: &trainyard_local::run::file::RunFile, job: &trainyard_core::Job| match &screen {
        Some(screen) => {
            let tasks: Vec<_> = job.tasks().collect();
            screen.reporter(&file.job, several, &tasks)
        }
        None => Arc::new(Unwatched) as Arc<dyn Reporter>,
    };
    let ends =
        supervise(inner, pid, directories, &watch).map_err(|error| Failure::usage(error.to_string(), None));
    let signalled = ends
        .as_ref()
        .is_ok_and(|ends| ends.iter().any(|end| end.signal.is_some()));
    if let Some(screen) = screen {
        finish(screen, signalled);
    }
    Ok(exit(&ends?))
}

/// Shows everything that is still to be shown. A run that somebody ended does not wait for a reader who does not read.
fn finish(screen: Arc<Screen>, signalled: bool) {
    if !signalled {
        return screen.finish();
    }
    let (done, finished) = channel();
    thread::spawn(move || {
        screen.finish();
        let _ = done.send(());
    });
    let _ = finished.recv_timeout(LAST_WORDS);
}

/// View, number of the outer process, and directories.
fn told(arguments: &[OsString]) -> Option<(Option<View>, u32, Vec<RunDirectory>)> {
    let [view, pid, directories @ ..] = arguments else {
        return None;
    };
    let view = serde_json::from_str(view.to_str()?).ok()?;
    let pid = pid.to_str()?.parse().ok()?;
    let directories = directories.iter().map(|path| RunDirectory {
        path: PathBuf::from(path),
    });
    Some((view, pid, directories.collect()))
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
