//! `trainyard crd`: the CRDs of the kinds of jobs.

use trainyard_manifest::install::text;
use trainyard_manifest::kinds::Served;

use crate::args::Crd;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Prints them.
pub fn run(typed: &Crd, printer: &mut Printer) -> Result<Exit, Failure> {
    let definitions = typed.kinds.definitions(served(typed.newest_only));
    printer.data(&text(&definitions))?;
    Ok(Exit::Success)
}

/// The versions that the definitions serve.
pub fn served(newest_only: bool) -> Served {
    if newest_only { Served::Newest } else { Served::All }
}
