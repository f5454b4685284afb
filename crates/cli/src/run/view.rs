//! How a run is shown: what was typed, and what the terminal can do.

use std::io::{self, IsTerminal as _};
use std::os::fd::AsFd;

use anstream::ColorChoice;
use rustix::fs::{FileType, fstat};
use trainyard_core::TaskId;

use super::glob::Glob;
use super::terminal::Care;
use crate::args::{Color, Format};
use crate::locale;
use crate::visible;

/// How a task's lines are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
        Self {
            terminal: anstream::stream::IsTerminal::is_terminal(stream),
            pipe: fstat(stream).is_ok_and(|stat| {
                let kind = FileType::from_raw_mode(stat.st_mode);
                kind.is_fifo() || kind.is_socket()
            }),
            color: color.choice(stream) != ColorChoice::Never,
        }
    }
}

/// How a run is shown.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line, and any may go with any"
)]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// What is printed.
    pub output: Format,
    /// How lines are shown.
    pub lines: Lines,
    /// With the time before each line.
    pub timestamps: bool,
    /// No output of tasks, and only the important messages.
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
    /// Only ASCII may be used.
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
            footer: locale::moves_cursor(),
            ascii: !locale::is_utf8(),
            ..Self::default()
        }
    }

    /// The same, with what was typed about its form: `-o`, `--raw`, `--no-prefix`.
    pub fn typed(color: Color, format: Format, raw: bool, no_prefix: bool) -> Self {
        Self {
            output: format,
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
        let text = self.output == Format::Text && self.lines != Lines::Raw;
        self.footer && self.err.terminal && text && !self.out.pipe && !self.quiet
    }

    /// How to treat the output of tasks: bytes for a file are unchanged where nothing stands before them, and a terminal gets no
    /// control sequences but colours.
    pub fn care(&self) -> Care {
        match (self.out.terminal, self.lines, self.out.color) {
            (true, _, _) => Care::Terminal,
            (false, Lines::Prefixed, true) => Care::PrefixedInColor,
            (false, Lines::Prefixed, false) => Care::Prefixed,
            (false, _, _) => Care::None,
        }
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

/// Whether both streams are the same terminal: then one write can serve both.
fn same_device() -> bool {
    match (fstat(io::stdout()), fstat(io::stderr())) {
        (Ok(out), Ok(err)) => out.st_rdev == err.st_rdev,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
                output: Format::Json,
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
