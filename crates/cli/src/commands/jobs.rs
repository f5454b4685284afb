//! The common steps of commands that work on the jobs of one file: read it, report its problems, choose jobs, write a picture.

use std::fs;
use std::path::Path;

use trainyard_dialect::{ReadJob, Reading, placeholders, with_placeholders};
use trainyard_document::Source;
use trainyard_document::problem::{Problem, shown};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::inputs;
use crate::printer::Printer;
use crate::report;

/// Reads a file and reports its problems; placeholders are only warned of. `invalid` is the exit code for a file that can be read but is
/// not text.
pub fn read(path: &Path, invalid: Exit, printer: &mut Printer) -> Result<(Source, Reading), Failure> {
    read_with(path, invalid, report::as_warnings, printer)
}

/// The same for output that is applied to a cluster: placeholders are errors.
pub fn read_filled_in(
    path: &Path,
    invalid: Exit,
    printer: &mut Printer,
) -> Result<(Source, Reading), Failure> {
    read_with(path, invalid, |unfilled| unfilled, printer)
}

fn read_with(
    path: &Path,
    invalid: Exit,
    severity: fn(Vec<Problem>) -> Vec<Problem>,
    printer: &mut Printer,
) -> Result<(Source, Reading), Failure> {
    let source = report::read(path, invalid, printer)?;
    let mut reading = trainyard_dialect::read(&source);
    reading.problems = with_placeholders(reading.problems, severity(placeholders(&source)));
    report::show(&reading.problems, Some(&source.text), printer)?;
    Ok((source, reading))
}

/// The jobs that were asked for.
pub fn chosen<'a>(name: Option<&str>, reading: &'a Reading) -> Result<Vec<&'a ReadJob>, Failure> {
    let all: Vec<&ReadJob> = reading.jobs().collect();
    if all.is_empty() && !reading.has_errors() {
        return Err(no_job(reading));
    }
    let Some(name) = name else { return Ok(all) };
    let mut named = all.clone();
    named.retain(|read| *read.job.name == *name);
    // A job with errors is not among those that were read; its problems have been told.
    if named.is_empty() && !reading.has_errors() {
        let names: Vec<&str> = all.iter().map(|read| &*read.job.name).collect();
        let message = format!("there is no job `{}` in this file", shown(name));
        return Err(Failure::usage(message, report::suggest("jobs", name, &names)));
    }
    Ok(named)
}

/// A file without a job: it is empty, or what it holds is run by others.
fn no_job(reading: &Reading) -> Failure {
    if reading.items.is_empty() {
        return Failure::usage(
            "there is no job in this file: it is empty",
            "if it comes from a pipe, did the command before the pipe fail?",
        );
    }
    Failure::usage(
        "there is no job in this file: no object is of a kind that Trainyard runs",
        "jobs are `TFJob` (kubeflow.org), `TensorFlowTrainingJob` (batch.tensorstack.dev) and `Job` (batch.volcano.sh)",
    )
}

/// Writes a picture, and says where; `-` is standard output.
pub fn write_picture(path: &Path, drawn: &str, printer: &mut Printer) -> Result<(), Failure> {
    if path.as_os_str() == "-" {
        return printer.data(drawn);
    }
    let name = inputs::shown_path(path);
    fs::write(path, drawn).map_err(|cause| Failure::file(&name, &cause))?;
    printer.say(&format!("wrote {name}"))
}
