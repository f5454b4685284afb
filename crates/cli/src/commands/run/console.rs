//! Shows a run: notes before it starts, then a display with a reporter per job, then the exit code.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use trainyard_core::{Job, Outcome};
use trainyard_local::python::Progress as Step;
use trainyard_local::run::event::{Reporter, RunEnd};
use trainyard_local::run::execute::Frontend;
use trainyard_local::run::supervise::{CannotRun, Unwatched};

use super::progress::Progress;
use crate::exit::Exit;
use crate::printer::{CAREFUL, Printer};
use crate::run::{Display, View};

/// How long a run that was ended by a signal waits for a terminal that takes no output.
const FINISH_TIMEOUT: Duration = Duration::from_secs(2);

/// A run that reached its deadline ends as `timeout` does.
const DEADLINE: u8 = 124;

/// What shows a run on this process' standard output and standard error.
pub struct Console<'a> {
    printer: &'a mut Printer,
    /// None in the background.
    view: Option<View>,
    progress: Option<Progress>,
    display: Option<Arc<Display>>,
}

impl<'a> Console<'a> {
    pub fn new(printer: &'a mut Printer, view: Option<View>) -> Self {
        Self {
            printer,
            view,
            progress: None,
            display: None,
        }
    }

    fn say(&mut self, word: &str, text: &str) {
        self.progress = None;
        // Standard output is flushed first; that it cannot be written is found when something is written to it.
        let _ = self.printer.say(&format!("{CAREFUL}{word}{CAREFUL:#}: {text}"));
    }

    /// Shows everything that is queued. A run that was ended by a signal does not wait for a reader that does not read.
    fn finish(&mut self, signalled: bool) {
        let Some(display) = self.display.take() else {
            return;
        };
        if !signalled {
            return display.finish();
        }
        let (done, finished) = channel();
        thread::spawn(move || {
            display.finish();
            let _ = done.send(());
        });
        let _ = finished.recv_timeout(FINISH_TIMEOUT);
    }
}

impl Frontend for Console<'_> {
    fn preparing(&mut self, step: Step) {
        match step {
            Step::Because(why) => self.note(&why),
            step => self.progress.get_or_insert_with(Progress::new).show(step),
        }
    }

    fn note(&mut self, text: &str) {
        if self.view.as_ref().is_some_and(|view| !view.quiet) {
            self.say("note", text);
        }
    }

    fn warning(&mut self, text: &str) {
        self.say("warning", text);
    }

    fn reporter(&mut self, job: &Job, several: bool) -> Arc<dyn Reporter> {
        let Some(view) = &self.view else {
            return Arc::new(Unwatched);
        };
        let display = self
            .display
            .get_or_insert_with(|| Arc::new(Display::new(view.clone())));
        display.reporter(&job.name, several, &job.tasks().collect::<Vec<_>>())
    }

    fn ended(&mut self, ends: Result<Vec<RunEnd>, CannotRun>) -> u8 {
        let signalled = |ends: &Vec<RunEnd>| ends.iter().any(|end| end.signal.is_some());
        self.finish(ends.as_ref().is_ok_and(signalled));
        match ends {
            Ok(ends) => ends.iter().map(code).find(|code| *code != 0).unwrap_or(0),
            Err(error) => {
                self.printer.failure(&error.to_string(), None);
                Exit::Unable.code()
            }
        }
    }
}

/// The exit code of one job; of several, the first that is not 0 counts.
fn code(end: &RunEnd) -> u8 {
    match (end.outcome, end.signal) {
        (Some(Outcome::Succeeded), _) => 0,
        (Some(_), _) if end.deadline => DEADLINE,
        (None, Some(signal)) => u8::try_from(128 + signal).unwrap_or(u8::MAX),
        (Some(_), _) | (None, None) => Exit::No.code(),
    }
}
