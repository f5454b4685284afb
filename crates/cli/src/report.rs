//! Problems as people and programs read them.

mod json;
mod losses;
mod text;

use std::fmt::Display;
use std::path::Path;

use anstyle::Style;
use trainyard_document::Source;
use trainyard_document::codes::Code;
use trainyard_document::problem::{Problem, Severity, closest, shown};

pub use self::json::{CheckedFile, JsonProblem, Summary};
pub use self::losses::{Losses, show_losses};
pub use self::text::render;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::inputs;
use crate::locale;
use crate::printer::{BAD, CAREFUL, Printer};

/// Prints problems with the lines of `text` that they are about.
pub fn show<'a>(
    problems: impl IntoIterator<Item = &'a Problem>,
    text: Option<&str>,
    printer: &mut Printer,
) -> Result<(), Failure> {
    for problem in problems {
        printer.show(&render(problem, text, locale::columns()))?;
    }
    Ok(())
}

/// Errors as warnings, for commands that can go on.
pub fn as_warnings(mut problems: Vec<Problem>) -> Vec<Problem> {
    for problem in &mut problems {
        problem.severity = Severity::Warning;
    }
    problems
}

/// Reads a file, or reports why it cannot be used. `invalid` is the exit code for a file that can be read but is not text.
pub fn read(path: &Path, invalid: Exit, printer: &mut Printer) -> Result<Source, Failure> {
    inputs::read(path).or_else(|problem| {
        show([&*problem], None, printer)?;
        let unreadable = problem.code == Code::CannotRead;
        Err(Failure::Reported(if unreadable { Exit::Unable } else { invalid }))
    })
}

/// Help for a name that does not exist: the most similar one, or else all of them.
pub fn suggest(what: &str, typed: &str, names: &[&str]) -> String {
    match closest(typed, names.iter().copied()) {
        Some(near) => format!("did you mean `{}`?", shown(near)),
        None => list(what, names),
    }
}

/// `the jobs are mnist, cifar`.
pub fn list(what: &str, names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| shown(name)).collect();
    format!("the {what} are {}", names.join(", "))
}

/// `` `a`, `b` ``.
pub fn quoted(names: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let names = names
        .into_iter()
        .map(|name| format!("`{}`", shown(name.as_ref())));
    names.collect::<Vec<_>>().join(", ")
}

/// The style of a severity.
pub fn severity_style(severity: Severity) -> Style {
    match severity {
        Severity::Error => BAD,
        Severity::Warning => CAREFUL,
    }
}

/// How many errors and warnings there are.
pub fn tally<'a>(problems: impl IntoIterator<Item = &'a Problem>) -> (usize, usize) {
    let mut counts = (0, 0);
    for problem in problems {
        match problem.severity {
            Severity::Error => counts.0 += 1,
            Severity::Warning => counts.1 += 1,
        }
    }
    counts
}

/// `1 error`, `2 errors`.
pub fn count<N: Copy + Display + From<u8> + PartialEq>(number: N, one: &str) -> String {
    let plural = if number == N::from(1) { "" } else { "s" };
    format!("{number} {one}{plural}")
}
