//! `trainyard convert FILE --to DIALECT`: the same job for another system.

use clap::ValueEnum;
use trainyard_dialect::convert::{convert, without_empty_times};
use trainyard_dialect::{Dialect, Item, Reading};
use trainyard_document::Source;
use trainyard_document::problem::has_errors;
use trainyard_document::yaml;

use super::jobs;
use crate::args::Convert;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::locale;
use crate::printer::Printer;
use crate::report::render;

/// Writes every object of the file, jobs in the other dialect, and reports what is lost.
pub fn run(typed: &Convert, printer: &mut Printer) -> Result<Exit, Failure> {
    let (source, reading) = match jobs::read_source(&typed.file, printer)? {
        Ok(read) => read,
        Err(exit) => return Ok(exit),
    };
    jobs::chosen(typed.job.as_deref(), &reading)?;
    let (documents, losses) = documents(typed, &source, &reading, printer)?;
    printer.data(&documents.join("---\n"))?;
    let lost = losses.unusable || typed.strict && losses.count > 0;
    let none = reading.jobs().next().is_none();
    Ok(Exit::no_if(reading.has_errors() || lost || none))
}

/// The dialect of a value of `--to`; `None` for other forms.
pub(super) fn dialect(form: &impl ValueEnum) -> Option<Dialect> {
    Dialect::named(form.to_possible_value()?.get_name())
}

/// What was reported as lost.
struct Losses {
    count: usize,
    /// A job cannot be expressed in the other dialect.
    unusable: bool,
}

/// The documents to write; reports losses.
fn documents(
    typed: &Convert,
    source: &Source,
    reading: &Reading,
    printer: &mut Printer,
) -> Result<(Vec<String>, Losses), Failure> {
    let Some(to) = dialect(&typed.to) else {
        return Err(Failure::usage("this form is no dialect", None));
    };
    let mut documents = Vec::new();
    let mut losses = Losses {
        count: 0,
        unusable: false,
    };
    for item in &reading.items {
        match item {
            Item::Job(read) if typed.job.as_ref().is_none_or(|name| **name == *read.job.name) => {
                let converted = convert(source, read, to);
                for loss in &converted.losses {
                    printer.show(&render(loss, Some(&source.text), locale::columns()))?;
                }
                losses.count += converted.losses.len();
                losses.unusable |= has_errors(&converted.losses);
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
