//! The names before lines: aligned, in a colour that a task keeps.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anstyle::{AnsiColor, Color, Style};
use trainyard_core::TaskId;
use trainyard_local::logs::pump::LogBlock;

use super::terminal;
use super::view::{Lines, View};
use crate::printer::QUIET;

/// Colours that differ on light and on dark backgrounds. Red is reserved for errors.
const PALETTE: [AnsiColor; 10] = [
    AnsiColor::Cyan,
    AnsiColor::Yellow,
    AnsiColor::Green,
    AnsiColor::Magenta,
    AnsiColor::Blue,
    AnsiColor::BrightCyan,
    AnsiColor::BrightYellow,
    AnsiColor::BrightGreen,
    AnsiColor::BrightMagenta,
    AnsiColor::BrightBlue,
];

/// Longer names do not widen the column: they exceed it.
const WIDEST: usize = 40;

/// How wide the column of names is: as wide as the longest name seen so far.
#[derive(Debug, Default)]
pub struct Column(AtomicUsize);

impl Column {
    /// The column has room for this name from now on.
    pub fn admit(&self, label: &str) {
        let width = label.chars().count();
        if width <= WIDEST {
            self.0.fetch_max(width, Ordering::Relaxed);
        }
    }

    /// Its width.
    pub fn width(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// The name of a program before its lines.
pub fn label(job: Option<&str>, task: &TaskId, container: Option<&Arc<str>>) -> String {
    let job = job.map(|job| format!("{job}/")).unwrap_or_default();
    let container = container.map(|name| format!(":{name}")).unwrap_or_default();
    format!("{job}{task}{container}")
}

/// The colour of a task: by its role's place among the roles, and its number.
pub fn style(tasks: &[TaskId], first: usize, task: &TaskId) -> Style {
    let role = tasks.iter().position(|other| other.role == task.role);
    let number = usize::try_from(task.index).unwrap_or(0);
    let place = first + role.unwrap_or(tasks.len()) + number;
    Style::new().fg_color(Some(Color::Ansi(PALETTE[place % PALETTE.len()])))
}

/// What is written before each line of one program.
#[derive(Debug)]
pub struct LinePrefix {
    /// Whether its lines are shown at all.
    pub shown: bool,
    /// Before a line.
    pub first: Vec<u8>,
    /// Before a continuation of a long line.
    pub continuation: Vec<u8>,
    /// The width of the column that it was made for.
    pub width: usize,
}

impl LinePrefix {
    /// Appends a block of lines as the view shows them, each after `time`.
    pub fn write(&self, out: &mut Vec<u8>, view: &View, time: &str, block: LogBlock<'_>) {
        let (first, continuation): (&[u8], &[u8]) = match view.lines {
            Lines::Prefixed => (&self.first, &self.continuation),
            Lines::Plain | Lines::Raw => (b"", b""),
        };
        let care = view.care();
        if time.is_empty() {
            return terminal::write(out, block, first, continuation, care);
        }
        let after_time = |rest: &[u8]| [time.as_bytes(), rest].concat();
        terminal::write(out, block, &after_time(first), &after_time(continuation), care);
    }

    /// The prefix for this name, in a column of this width.
    pub fn new(view: &View, shown: bool, label: &str, style: Style, width: usize) -> Self {
        let before = |sign: char| {
            let text = format!("{style}{label:<width$}{style:#} {QUIET}{sign}{QUIET:#} ");
            view.dress(&text, view.out).into_bytes()
        };
        Self {
            shown,
            first: before('│'),
            continuation: before('┄'),
            width,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::view::Stream;

    #[test]
    fn names_are_aligned_and_say_which_job_and_container() {
        let task = TaskId::new("ps", 0);
        let column = Column::default();
        column.admit("worker-10");
        column.admit(&"x".repeat(WIDEST + 1));
        assert_eq!(column.width(), 9);
        for (job, container, expected) in [
            (None, None, "ps-0      │ "),
            (Some("a"), None, "a/ps-0    │ "),
            (None, Some("setup".into()), "ps-0:setup │ "),
        ] {
            let label = label(job, &task, container.as_ref());
            let prefix = LinePrefix::new(&View::default(), true, &label, Style::new(), column.width());
            assert_eq!(String::from_utf8(prefix.first).unwrap(), expected);
        }
    }

    #[test]
    fn a_colour_follows_from_role_and_number_alone() {
        let tasks: Vec<TaskId> = ["chief-0", "worker-0", "worker-1", "ps-0"]
            .iter()
            .map(|name| name.parse().unwrap())
            .collect();
        let colors: Vec<Style> = tasks.iter().map(|task| style(&tasks, 0, task)).collect();
        for (position, color) in colors.iter().enumerate() {
            assert!(!colors[..position].contains(color), "{colors:?}");
        }
        let later = TaskId::new("worker", 2);
        assert_eq!(style(&tasks, 0, &later), style(&tasks[..3], 0, &later));
    }

    #[test]
    fn colour_and_signs_are_left_out_where_they_cannot_be_shown() {
        let style = AnsiColor::Cyan.on_default();
        let mut view = View {
            out: Stream {
                terminal: true,
                color: true,
                ..Stream::default()
            },
            ..View::default()
        };
        let prefix = |view: &View| {
            let prefix = LinePrefix::new(view, true, "ps-0", style, 4);
            (
                String::from_utf8(prefix.first).unwrap(),
                String::from_utf8(prefix.continuation).unwrap(),
            )
        };
        assert_eq!(prefix(&view).0, "\x1b[36mps-0\x1b[0m \x1b[2m│\x1b[0m ");
        view.out.color = false;
        view.ascii = true;
        assert_eq!(prefix(&view), ("ps-0 | ".into(), "ps-0 - ".into()));
    }
}
