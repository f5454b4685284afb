//! What every command does that looks at the jobs of one file: read it, tell its problems, choose, write a picture.

use std::fs;
use std::path::Path;

use trainyard_dialect::{ReadJob, Reading};
use trainyard_document::Source;
use trainyard_document::codes::Code;
use trainyard_document::problem::{closest, shown};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::inputs::{self, Input};
use crate::locale;
use crate::printer::Printer;
use crate::report::render;

/// Reads a file and says what is wrong with it; how to exit where it cannot be read at all.
pub fn read(path: &Path, printer: &mut Printer) -> Result<Result<Reading, Exit>, Failure> {
    Ok(read_source(path, printer)?.map(|(_, reading)| reading))
}

/// The same, with the text.
pub fn read_source(path: &Path, printer: &mut Printer) -> Result<Result<(Source, Reading), Exit>, Failure> {
    let source = match inputs::read(&Input::Path(path.to_owned())) {
        Ok(source) => source,
        Err(problem) => {
            printer.show(&render(&problem, None, locale::columns()))?;
            let unable = problem.code == Code::CannotRead;
            return Ok(Err(if unable { Exit::Unable } else { Exit::No }));
        }
    };
    let reading = trainyard_dialect::read(&source);
    for problem in &reading.problems {
        printer.show(&render(problem, Some(&source.text), locale::columns()))?;
    }
    Ok(Ok((source, reading)))
}

/// The jobs that were asked for.
pub fn chosen<'a>(name: Option<&str>, reading: &'a Reading) -> Result<Vec<&'a ReadJob>, Failure> {
    let all: Vec<&ReadJob> = reading.jobs().collect();
    if all.is_empty() && !reading.has_errors() {
        let kinds = "jobs are `TFJob` (kubeflow.org), `TensorFlowTrainingJob` (batch.tensorstack.dev) and `Job` \
                     (batch.volcano.sh)";
        return Err(Failure::usage("there is no job in this file", Some(kinds.into())));
    }
    let Some(name) = name else { return Ok(all) };
    let named: Vec<&ReadJob> = all
        .iter()
        .copied()
        .filter(|read| *read.job.name == *name)
        .collect();
    // A job with errors is not among those that were read; its problems have been told.
    if named.is_empty() && !reading.has_errors() {
        let names: Vec<&str> = all.iter().map(|read| &*read.job.name).collect();
        let message = format!("there is no job `{}` in this file", shown(name));
        return Err(Failure::usage(message, or_list("jobs", name, &names)));
    }
    Ok(named)
}

/// Writes a picture, and says where; `-` is standard output.
pub fn write_picture(path: &Path, drawn: &str, printer: &mut Printer) -> Result<(), Failure> {
    if path.as_os_str() == "-" {
        return printer.data(drawn);
    }
    let name = inputs::shown_path(path);
    fs::write(path, drawn).map_err(|cause| Failure::File {
        path: name.clone(),
        cause,
    })?;
    printer.say(&format!("wrote {name}"))
}

fn or_list(what: &str, typed: &str, names: &[&str]) -> Option<String> {
    if names.is_empty() {
        return None;
    }
    Some(match closest(typed, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the {what} are {}", names.join(", ")),
    })
}
