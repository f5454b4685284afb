//! What is shown while Python environments are made: minutes the first time, nothing after that.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Instant;

use trainyard_document::problem::is_hidden;
use trainyard_local::python::Progress as Step;

use crate::printer::tell;

/// Shows the steps on standard error: a line each, and on a terminal the installer's newest line below them.
pub struct Progress {
    terminal: bool,
    columns: usize,
    pending: bool,
    shown: Option<Instant>,
}

impl Progress {
    pub fn new() -> Self {
        Self {
            terminal: io::stderr().is_terminal(),
            columns: crate::locale::columns(),
            pending: false,
            shown: None,
        }
    }

    pub fn show(&mut self, step: Step) {
        match step {
            Step::Waiting => self.line("waiting for another run that makes the same Python environment"),
            Step::Choosing(what) => self.line(&format!("looking for {what}")),
            Step::Making { packages, python } => self.line(&format!(
                "making a Python {python} environment with {}: this takes some minutes, once",
                packages.join(", ")
            )),
            Step::Line(text) => self.passing(&text),
            Step::Made { name, took } => self.line(&format!("made {name} in {:.0} s", took.as_secs_f64())),
        }
    }

    fn line(&mut self, text: &str) {
        self.erase();
        tell(&format!("trainyard: {text}"));
    }

    /// The installer's line, over the one before; at most ten per second.
    fn passing(&mut self, text: &str) {
        let often = self.shown.is_some_and(|shown| shown.elapsed().as_millis() < 100);
        if !self.terminal || often {
            return;
        }
        self.shown = Some(Instant::now());
        self.erase();
        let plain: String = text.chars().filter(|character| !is_hidden(*character)).collect();
        let short: String = plain.chars().take(self.columns.saturating_sub(4)).collect();
        let _ = write!(io::stderr(), "  {short}");
        let _ = io::stderr().flush();
        self.pending = true;
    }

    fn erase(&mut self) {
        if std::mem::take(&mut self.pending) {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.erase();
    }
}
