//! The only place that writes to the terminal. Standard output is data, standard error is talk.
//!
//! Text is made with styles and loses them here, unless a terminal wants them. A reader that has gone away, a full
//! disk and a closed pipe come back as errors and are handled once, in `main`; nobody is told about talk that nobody
//! can hear.

use std::io::{self, BufWriter, Write};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};

use crate::args::Color;
use crate::failure::Failure;
use crate::visible;

/// Errors, and what fails a job.
pub const BAD: Style = AnsiColor::BrightRed.on_default().bold();
/// Warnings and notes.
pub const CAREFUL: Style = AnsiColor::Yellow.on_default().bold();
/// Headings and names.
pub const STRONG: Style = Style::new().bold();
/// What is there to be looked up, not read.
pub const QUIET: Style = Style::new().dimmed();
/// What decides success.
pub const GOOD: Style = AnsiColor::Green.on_default().bold();

/// Says something in a line, where there is no printer.
pub fn tell(text: &str) {
    // There is no other way to tell that telling failed.
    let _ = writeln!(io::stderr(), "{}", visible::line(text));
}

/// Standard output and standard error.
pub struct Printer {
    out: BufWriter<AutoStream<io::Stdout>>,
    err: AutoStream<io::Stderr>,
}

impl Printer {
    /// A printer that colours as asked.
    pub fn new(color: Color) -> Self {
        let choice = |automatic: ColorChoice| match color {
            Color::Auto => automatic,
            Color::Always => ColorChoice::AlwaysAnsi,
            Color::Never => ColorChoice::Never,
        };
        let (out, err) = (io::stdout(), io::stderr());
        let (for_out, for_err) = (choice(AutoStream::choice(&out)), choice(AutoStream::choice(&err)));
        Self {
            out: BufWriter::with_capacity(1 << 16, AutoStream::new(out, for_out)),
            err: AutoStream::new(err, for_err),
        }
    }

    /// Writes data that programs read: exactly these bytes.
    pub fn data(&mut self, text: &str) -> Result<(), Failure> {
        Ok(self.out.write_all(text.as_bytes())?)
    }

    /// Writes lines that people read.
    pub fn page(&mut self, text: &str) -> Result<(), Failure> {
        self.data(&visible::page(text))
    }

    /// Writes a value as JSON and a line break.
    pub fn json(&mut self, value: &impl serde::Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(value).map_err(io::Error::from)?;
        self.data(&visible::json(text))?;
        self.data("\n")
    }

    /// Says something in a line. What has been written so far comes first, so that the two do not cross on a terminal.
    pub fn say(&mut self, text: &str) -> Result<(), Failure> {
        self.say_lines(&visible::line(text))
    }

    /// Says something that was laid out in several lines, such as a problem with its snippet.
    pub fn show(&mut self, text: &str) -> Result<(), Failure> {
        self.say_lines(&visible::page(text))
    }

    fn say_lines(&mut self, text: &str) -> Result<(), Failure> {
        self.flush()?;
        // There is no other way to tell that telling failed.
        let _ = writeln!(self.err, "{text}");
        Ok(())
    }

    /// Says why the program could not do what was asked.
    pub fn failure(&mut self, failure: &Failure) {
        self.complain(BAD, "error", &failure.to_string(), failure.hint());
    }

    /// Says what is in the way, and what to do about it.
    pub fn problem(
        &mut self,
        style: Style,
        word: &str,
        message: &str,
        hint: Option<&str>,
    ) -> Result<(), Failure> {
        self.flush()?;
        self.complain(style, word, message, hint);
        Ok(())
    }

    /// The same though standard output may be what is in the way.
    fn complain(&mut self, style: Style, word: &str, message: &str, hint: Option<&str>) {
        let message = visible::message(message);
        // There is no other way to tell that telling failed.
        let _ = writeln!(self.err, "{style}{word}{style:#}{STRONG}: {message}{STRONG:#}");
        if let Some(hint) = hint.map(visible::message) {
            let _ = writeln!(self.err, "\n{STRONG}hint{STRONG:#}: {hint}");
        }
    }

    /// Hands on everything written.
    pub fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.out.flush()?)
    }
}
