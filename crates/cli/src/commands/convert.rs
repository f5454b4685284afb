//! `trainyard convert FILE --to DIALECT`: the same job for another system.

use clap::ValueEnum;
use trainyard_dialect::convert::{convert, without_empty_times};
use trainyard_dialect::{Dialect, Item, Reading};
use trainyard_document::Source;
use trainyard_document::problem::{Problem, Severity};
use trainyard_document::yaml;

use super::jobs;
use crate::args::Convert;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::report::{self, Losses};

/// Writes every object of the file, jobs in the other dialect, and reports what is lost.
pub fn run(typed: &Convert, printer: &mut Printer) -> Result<Exit, Failure> {
    let (source, reading) = jobs::read(&typed.file, Exit::No, printer)?;
    jobs::chosen(typed.job.as_deref(), &reading)?;
    let (documents, lost) = documents(typed, &source, &reading)?;
    for lost in &lost {
        report::show_losses(lost, printer)?;
    }
    let losses: Vec<&Problem> = lost.iter().flat_map(|lost| &lost.all).collect();
    printer.data(&documents.join("---\n"))?;
    // An error among the losses: a job cannot be expressed in the other dialect.
    let error = losses.iter().any(|loss| loss.severity == Severity::Error);
    let lost = error || typed.strict && !losses.is_empty();
    let none = reading.jobs().next().is_none();
    Ok(Exit::no_if(reading.has_errors() || lost || none))
}

/// The dialect of a value of `--to`; `None` for other forms.
pub(super) fn dialect(form: &impl ValueEnum) -> Option<Dialect> {
    Dialect::named(form.to_possible_value()?.get_name())
}

/// The documents to write, and what is lost.
fn documents(
    typed: &Convert,
    source: &Source,
    reading: &Reading,
) -> Result<(Vec<String>, Vec<Losses>), Failure> {
    let Some(to) = dialect(&typed.to) else {
        return Err(Failure::usage("this form is no dialect", None));
    };
    let (mut documents, mut losses) = (Vec::new(), Vec::new());
    for item in &reading.items {
        match item {
            Item::Job(read) if typed.job.as_ref().is_none_or(|name| **name == *read.job.name) => {
                let converted = convert(source, read, to);
                losses.push(Losses::of(read, converted.losses));
                documents.push(converted.text);
            }
            Item::Other(other) if typed.job.is_none() => {
                documents.push(yaml::write(&without_empty_times(other.node.to_json())));
            }
            Item::Job(_) | Item::Other(_) => {}
        }
    }
    Ok((documents, losses))
}
