//! How a run is shown: what was typed and what the terminal can do, as the supervisor is told it.

use std::fs::{File, Metadata};
use std::io::{self, IsTerminal as _};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};

use anstream::{AutoStream, ColorChoice};
use serde::{Deserialize, Serialize};
use trainyard_core::TaskId;

use super::glob::Glob;
use crate::args::{Color, Format};
use crate::locale;
use crate::visible;

/// What is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Output {
    /// Lines for people.
    #[default]
    Text,
    /// An event a line, for programs.
    Json,
}

/// How a task's lines are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Lines {
    /// With the task's name before each.
    #[default]
    Prefixed,
    /// As whole lines, without it.
    Plain,
    /// Every byte as it came.
    Raw,
}

/// Where text goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stream {
    /// To a terminal.
    pub terminal: bool,
    /// To another program, which may write to the terminal whenever it likes.
    pub pipe: bool,
    /// With colours.
    pub color: bool,
}

impl Stream {
    /// Standard output or standard error, and whether colour is wanted there.
    fn of(stream: &(impl anstream::stream::RawStream + AsFd), color: Color) -> Self {
        let color = match color {
            Color::Auto => AutoStream::choice(stream) != ColorChoice::Never,
            Color::Always => true,
            Color::Never => false,
        };
        Self {
            terminal: anstream::stream::IsTerminal::is_terminal(stream),
            pipe: metadata(stream).is_some_and(|metadata| {
                let kind = metadata.file_type();
                kind.is_fifo() || kind.is_socket()
            }),
            color,
        }
    }
}

/// How a run is shown.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line, and any may go with any"
)]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// What is printed.
    pub output: Output,
    /// How lines are shown.
    pub lines: Lines,
    /// With the time before each line.
    pub timestamps: bool,
    /// No output of tasks, and only that talk which matters.
    pub quiet: bool,
    /// Only the output of these tasks; of all if empty.
    pub tasks: Vec<Glob>,
    /// Standard output.
    pub out: Stream,
    /// Standard error.
    pub err: Stream,
    /// Standard output and standard error are one terminal.
    pub one_terminal: bool,
    /// A footer with every task's state, where there is a terminal.
    pub footer: bool,
    /// Signs beyond ASCII may not be used.
    pub ascii: bool,
}

impl View {
    /// The usual view on this process's standard output and standard error.
    pub fn here(color: Color) -> Self {
        let (out, err) = (io::stdout(), io::stderr());
        Self {
            out: Stream::of(&out, color),
            err: Stream::of(&err, color),
            one_terminal: out.is_terminal() && err.is_terminal() && same_device(),
            footer: true,
            ascii: !locale::is_utf8(),
            ..Self::default()
        }
    }

    /// The same, with what was typed about its form: `-o`, `--raw`, `--no-prefix`.
    pub fn typed(color: Color, format: Format, raw: bool, no_prefix: bool) -> Self {
        Self {
            output: match format {
                Format::Text => Output::Text,
                Format::Json => Output::Json,
            },
            lines: match (raw, no_prefix) {
                (true, _) => Lines::Raw,
                (false, true) => Lines::Plain,
                (false, false) => Lines::Prefixed,
            },
            ..Self::here(color)
        }
    }

    /// Whether the output of this task is to be shown.
    pub fn shows(&self, job: &str, task: &TaskId) -> bool {
        self.tasks.is_empty() || self.tasks.iter().any(|glob| glob.means(job, task))
    }

    /// Whether there is a footer. It needs to know where the cursor is: raw output may move it, and so may a program
    /// that reads ours, as in `trainyard run … | tee log`.
    pub fn has_footer(&self) -> bool {
        let text = self.output == Output::Text && self.lines != Lines::Raw;
        self.footer && self.err.terminal && text && !self.out.pipe && !self.quiet
    }

    /// Our own text as this stream can show it, whatever text from elsewhere is in it.
    pub fn dress(&self, text: &str, stream: Stream) -> String {
        let text = visible::colored_page(text);
        let text = if stream.color {
            text.into_owned()
        } else {
            anstream::adapter::strip_str(&text).to_string()
        };
        if self.ascii { locale::to_ascii(&text) } else { text }
    }
}

/// Whether both streams are one terminal: then what is written to both may be written at once.
fn same_device() -> bool {
    let device = |stream: &dyn AsFd| metadata(&stream).map(|metadata| metadata.rdev());
    let out = device(&io::stdout());
    out.is_some() && out == device(&io::stderr())
}

/// What a stream is.
fn metadata(stream: &impl AsFd) -> Option<Metadata> {
    let descriptor = stream.as_fd().try_clone_to_owned().ok()?;
    File::from(descriptor).metadata().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_goes_to_the_supervisor_and_comes_out_the_same() {
        let view = View {
            output: Output::Json,
            lines: Lines::Plain,
            tasks: vec![Glob::new("worker-*")],
            one_terminal: true,
            ..View::default()
        };
        let text = serde_json::to_string(&view).unwrap();
        assert_eq!(serde_json::from_str::<View>(&text).unwrap(), view);
    }

    #[test]
    fn a_footer_needs_a_terminal_and_text_whose_end_is_known() {
        let shown = View {
            footer: true,
            err: Stream {
                terminal: true,
                ..Stream::default()
            },
            ..View::default()
        };
        assert!(shown.has_footer());
        let pipe = Stream {
            pipe: true,
            ..Stream::default()
        };
        for hidden in [
            View {
                footer: false,
                ..shown.clone()
            },
            View {
                quiet: true,
                ..shown.clone()
            },
            View {
                out: pipe,
                ..shown.clone()
            },
            View {
                err: Stream::default(),
                ..shown.clone()
            },
            View {
                lines: Lines::Raw,
                ..shown.clone()
            },
            View {
                output: Output::Json,
                ..shown.clone()
            },
        ] {
            assert!(!hidden.has_footer(), "{hidden:?}");
        }
    }

    #[test]
    fn our_text_loses_what_a_stream_cannot_show() {
        let plain = View::default();
        let color = Stream {
            terminal: true,
            color: true,
            ..Stream::default()
        };
        assert_eq!(plain.dress("\x1b[1ma\x1b[0m │ b", color), "\x1b[1ma\x1b[0m │ b");
        assert_eq!(plain.dress("\x1b[1ma\x1b[0m │ b", Stream::default()), "a │ b");
        let ascii = View { ascii: true, ..plain };
        assert_eq!(ascii.dress("a │ b…", color), "a | b...");
    }
}
