//! `trainyard crd`: the CRD of `TFJob`.

use trainyard_document::yaml;
use trainyard_manifest::kinds::Served;
use trainyard_manifest::kinds::tfjob::definition;

use crate::args::Crd;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Prints it.
pub fn run(typed: &Crd, printer: &mut Printer) -> Result<Exit, Failure> {
    printer.data(&yaml::write(&definition(served(typed.newest_only))))?;
    Ok(Exit::Success)
}

/// The versions that the definition serves.
pub fn served(newest_only: bool) -> Served {
    if newest_only { Served::Newest } else { Served::All }
}
