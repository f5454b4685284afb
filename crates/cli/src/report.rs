//! Problems as people and programs read them.

mod json;
mod text;

use anstyle::Style;
use trainyard_document::problem::{Problem, Severity};

pub use self::json::{CheckedFile, JsonProblem, Summary};
pub use self::text::render;
use crate::printer::{BAD, CAREFUL};

/// How a severity is stressed.
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
pub fn count(number: usize, one: &str) -> String {
    if number == 1 {
        format!("1 {one}")
    } else {
        format!("{number} {one}s")
    }
}
