//! `trainyard check FILE…`: all problems of all files.

use std::collections::BTreeSet;
use std::sync::Arc;

use trainyard_dialect::{Item, Reading, placeholders, with_placeholders};
use trainyard_document::Source;
use trainyard_document::codes::Code;
use trainyard_document::problem::{Place, Problem};

use crate::args::{Check, Format};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::inputs;
use crate::locale;
use crate::printer::{BAD, CAREFUL, GOOD, Printer};
use crate::report::{CheckedFile, Summary, count, render, tally};

/// Checks every file, prints the problems and a summary.
pub fn run(typed: &Check, printer: &mut Printer) -> Result<Exit, Failure> {
    let inputs = inputs::expand(&typed.files);
    let columns = locale::columns();
    let checked = inputs::each(&inputs, |source| check(source, typed.output, columns));
    let errors = checked.iter().map(|file| file.errors).sum();
    let warnings = checked.iter().map(|file| file.warnings).sum();
    let jobs = checked.iter().map(|file| file.jobs).sum();
    let unreadable = checked.iter().any(|file| file.unreadable);
    let nothing = checked.iter().all(|file| file.empty);
    let files = checked.len();
    match typed.output {
        Format::Text => {
            for file in &checked {
                printer.page(&file.text)?;
            }
        }
        Format::Json => printer.json(&Summary {
            files: checked.into_iter().filter_map(|file| file.json).collect(),
            jobs,
            errors,
            warnings,
        })?,
    }
    printer.say(&summary(files, jobs, errors, warnings))?;
    if unreadable || nothing {
        return Ok(Exit::Unable);
    }
    Ok(Exit::no_if(errors > 0 || typed.deny_warnings && warnings > 0))
}

/// The result for one file, without its text and tree, so that a thousand files fit in memory.
struct Checked {
    text: String,
    json: Option<CheckedFile>,
    jobs: usize,
    errors: usize,
    warnings: usize,
    unreadable: bool,
    empty: bool,
}

fn check(source: Result<Source, Box<Problem>>, format: Format, columns: usize) -> Checked {
    let (name, text, mut reading) = match source {
        Ok(source) => {
            let mut reading = trainyard_dialect::read(&source);
            let unserved = trainyard_dialect::not_served(&source);
            let problems = reading.problems.into_iter().chain(unserved).collect();
            let unfilled = placeholders(&source);
            let documents: BTreeSet<usize> = unfilled.iter().map(|problem| problem.place.document).collect();
            reading.items.retain(|item| match item {
                Item::Job(job) => !documents.contains(&job.document),
                Item::Other(_) => true,
            });
            reading.problems = with_placeholders(problems, unfilled);
            (source.name, Some(source.text), reading)
        }
        Err(problem) => {
            let (name, items) = (problem.place.source.clone(), Vec::new());
            let problems = vec![*problem];
            (name, None, Reading { items, problems })
        }
    };
    let empty = text.is_some() && reading.items.is_empty() && reading.problems.is_empty();
    if empty {
        reading.problems.push(no_object(&name));
    }
    let problems = &reading.problems;
    let (errors, warnings) = tally(problems);
    let shown = |problem: &Problem| render(problem, text.as_deref(), columns) + "\n";
    Checked {
        text: match format {
            Format::Text => problems.iter().map(shown).collect(),
            Format::Json => String::new(),
        },
        json: (format == Format::Json).then(|| CheckedFile::new(&name, reading.jobs(), problems)),
        jobs: reading.jobs().count(),
        errors,
        warnings,
        unreadable: problems.iter().any(|problem| problem.code == Code::CannotRead),
        empty,
    }
}

/// A file without any object: a command whose output is checked through a pipe may have failed.
fn no_object(name: &Arc<str>) -> Problem {
    let place = Place {
        source: Arc::clone(name),
        document: 0,
        span: None,
        path: String::new(),
    };
    let problem = Problem::new(Code::NoJob, place, "no job found: there is no object in it");
    let piped = (&**name == "-").then(|| "did the command before the pipe fail?".to_owned());
    problem.maybe_hint(piped)
}

/// `3 files, 4 jobs: 2 errors, 1 warning`. Jobs with errors are not counted.
fn summary(files: usize, jobs: usize, errors: usize, warnings: usize) -> String {
    let what = if errors > 0 { "valid job" } else { "job" };
    let found = match (errors, warnings) {
        (0, 0) => format!("{GOOD}no problems{GOOD:#}"),
        (0, _) => format!("{CAREFUL}{}{CAREFUL:#}", count(warnings, "warning")),
        (_, 0) => format!("{BAD}{}{BAD:#}", count(errors, "error")),
        _ => format!(
            "{BAD}{}{BAD:#}, {CAREFUL}{}{CAREFUL:#}",
            count(errors, "error"),
            count(warnings, "warning")
        ),
    };
    format!("{}, {}: {found}", count(files, "file"), count(jobs, what))
}
