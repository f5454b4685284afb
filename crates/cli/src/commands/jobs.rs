//! The common steps of commands that work on the jobs of one file: read it, report its problems, choose jobs, write a picture.

use std::fs;
use std::path::Path;

use trainyard_dialect::{ReadJob, Reading};
use trainyard_document::Source;
use trainyard_document::problem::shown;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::inputs;
use crate::printer::Printer;
use crate::report;

/// Reads a file and reports its problems. `invalid` is the exit code for a file that can be read but is not text.
pub fn read(path: &Path, invalid: Exit, printer: &mut Printer) -> Result<(Source, Reading), Failure> {
    let source = report::read(path, invalid, printer)?;
    let reading = trainyard_dialect::read(&source);
    report::show(&reading.problems, Some(&source.text), printer)?;
    Ok((source, reading))
}

/// The jobs that were asked for.
pub fn chosen<'a>(name: Option<&str>, reading: &'a Reading) -> Result<Vec<&'a ReadJob>, Failure> {
    let all: Vec<&ReadJob> = reading.jobs().collect();
    if all.is_empty() && !reading.has_errors() {
        let kinds = "jobs are `TFJob` (kubeflow.org), `TensorFlowTrainingJob` (batch.tensorstack.dev) and `Job` \
                     (batch.volcano.sh)";
        return Err(Failure::usage("there is no job in this file", kinds));
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

/// Writes a picture, and says where; `-` is standard output.
pub fn write_picture(path: &Path, drawn: &str, printer: &mut Printer) -> Result<(), Failure> {
    if path.as_os_str() == "-" {
        return printer.data(drawn);
    }
    let name = inputs::shown_path(path);
    fs::write(path, drawn).map_err(|cause| Failure::file(&name, &cause))?;
    printer.say(&format!("wrote {name}"))
}
