//! The only module that writes to the terminal. Standard output is for data, standard error for messages.
//!
//! Text is composed with styles, which are removed here unless the output is a terminal that supports them. Errors of
//! standard output (closed pipe, full disk) are returned and handled once, in `main`; errors of standard error are ignored.

use std::io::{self, BufWriter, Write};

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};

use crate::args::Color;
use crate::failure::Failure;
use crate::visible;

/// Errors and failures.
pub const BAD: Style = AnsiColor::BrightRed.on_default().bold();
/// Warnings and notes.
pub const CAREFUL: Style = AnsiColor::Yellow.on_default().bold();
/// Headings and names.
pub const STRONG: Style = Style::new().bold();
/// Secondary text.
pub const QUIET: Style = Style::new().dimmed();
/// Success.
pub const GOOD: Style = AnsiColor::Green.on_default().bold();

/// Writes one line to standard error, where there is no printer.
pub fn tell(text: &str) {
    // An error of standard error cannot be reported.
    let _ = writeln!(io::stderr(), "{}", visible::line(text));
}

/// Standard output and standard error.
pub struct Printer {
    out: BufWriter<AutoStream<io::Stdout>>,
    err: AutoStream<io::Stderr>,
}

impl Printer {
    /// A printer that uses colour as `--color` says.
    pub fn new(color: Color) -> Self {
        let (out, err) = (io::stdout(), io::stderr());
        let (for_out, for_err) = (color.choice(&out), color.choice(&err));
        Self {
            out: BufWriter::with_capacity(1 << 16, AutoStream::new(out, for_out)),
            err: AutoStream::new(err, for_err),
        }
    }

    /// Writes data for programs: exactly these bytes.
    pub fn data(&mut self, text: &str) -> Result<(), Failure> {
        Ok(self.out.write_all(text.as_bytes())?)
    }

    /// Writes text for people.
    pub fn page(&mut self, text: &str) -> Result<(), Failure> {
        self.data(&visible::page(text))
    }

    /// Writes a value as JSON and a line break.
    pub fn json(&mut self, value: &impl serde::Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(value).map_err(io::Error::from)?;
        self.data(&visible::json(text))?;
        self.data("\n")
    }

    /// Writes one line to standard error, after flushing standard output, so that they appear in order on a terminal.
    pub fn say(&mut self, text: &str) -> Result<(), Failure> {
        self.say_lines(&visible::line(text))
    }

    /// Writes several lines to standard error, such as a problem with its snippet.
    pub fn show(&mut self, text: &str) -> Result<(), Failure> {
        self.say_lines(&visible::page(text))
    }

    fn say_lines(&mut self, text: &str) -> Result<(), Failure> {
        self.flush()?;
        // An error of standard error cannot be reported.
        let _ = writeln!(self.err, "{text}");
        Ok(())
    }

    /// Prints a note of one line.
    pub fn note(&mut self, text: &str) -> Result<(), Failure> {
        self.say(&format!("{CAREFUL}note{CAREFUL:#}: {text}"))
    }

    /// Prints a warning, and a `help:` line if there is help.
    pub fn warning(&mut self, message: &str, help: Option<&str>) -> Result<(), Failure> {
        self.flush()?;
        self.complain(CAREFUL, "warning", message, help);
        Ok(())
    }

    /// Prints an error that does not stop the command.
    pub fn error(&mut self, message: &str, help: Option<&str>) -> Result<(), Failure> {
        self.flush()?;
        self.failure(message, help);
        Ok(())
    }

    /// Prints why the command failed, without flushing standard output, which may be what failed.
    pub fn failure(&mut self, message: &str, help: Option<&str>) {
        self.complain(BAD, "error", message, help);
    }

    fn complain(&mut self, style: Style, word: &str, message: &str, help: Option<&str>) {
        let message = visible::message(message);
        // An error of standard error cannot be reported.
        let _ = writeln!(self.err, "{style}{word}{style:#}{STRONG}: {message}{STRONG:#}");
        if let Some(help) = help.map(visible::message) {
            let _ = writeln!(self.err, "\n{STRONG}help{STRONG:#}: {help}");
        }
    }

    /// Flushes standard output.
    pub fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.out.flush()?)
    }
}
