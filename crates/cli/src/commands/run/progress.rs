//! What is shown while Python environments are made: minutes the first time, nothing after that.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use trainyard_document::problem::is_hidden;
use trainyard_local::python::Progress as Step;

use crate::locale;
use crate::printer::tell;
use crate::simulate::text;

/// The live line of a terminal is drawn at most this often.
const BETWEEN_FRAMES: Duration = Duration::from_millis(100);

/// Where there is no terminal, a line says this often what is being done.
const BETWEEN_LINES: Duration = Duration::from_secs(5);

/// Shows the steps on standard error: a line each, and below them, on a terminal, a clock with what the installer does.
/// Elsewhere the same is a line every few seconds.
pub struct Progress {
    live: bool,
    columns: usize,
    begun: Instant,
    doing: String,
    /// When the clock was last shown.
    shown: Instant,
    pending: bool,
}

impl Progress {
    pub fn new() -> Self {
        Self {
            live: io::stderr().is_terminal() && locale::moves_cursor(),
            columns: locale::columns(),
            begun: Instant::now(),
            doing: String::new(),
            shown: Instant::now(),
            pending: false,
        }
    }

    pub fn show(&mut self, step: Step) {
        match step {
            // The console shows it as a note.
            Step::Because(_) => {}
            Step::Waiting => {
                "waiting for the other run".clone_into(&mut self.doing);
                self.line("another run makes the same Python environment");
            }
            Step::Choosing(what) => {
                "asking the package index".clone_into(&mut self.doing);
                self.line(&format!("looking for {what}"));
            }
            Step::Making { packages, python } => self.line(&format!(
                "making a Python {python} environment with {}: this takes some minutes, once",
                packages.join(", ")
            )),
            Step::Doing(text) => {
                self.doing = text;
                self.clock();
            }
            Step::Tick => self.clock(),
            Step::Made { name, took } => self.line(&format!("made {name} in {:.0} s", took.as_secs_f64())),
        }
    }

    fn line(&mut self, text: &str) {
        self.erase();
        tell(&format!("trainyard: {text}"));
    }

    /// How long it has taken, and what is being done.
    fn clock(&mut self) {
        let between = if self.live { BETWEEN_FRAMES } else { BETWEEN_LINES };
        if self.doing.is_empty() || self.shown.elapsed() < between {
            return;
        }
        self.shown = Instant::now();
        let age = text::seconds(self.begun.elapsed().as_secs());
        if !self.live {
            return tell(&format!("trainyard: {age}: {}", self.doing));
        }
        self.erase();
        let plain: String = self
            .doing
            .chars()
            .filter(|character| !is_hidden(*character))
            .collect();
        let line = format!("  {age:>6}  {plain}");
        let short: String = line.chars().take(self.columns.saturating_sub(1)).collect();
        let _ = write!(io::stderr(), "{short}");
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
