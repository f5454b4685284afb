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
    let served = if typed.newest_only {
        Served::Newest
    } else {
        Served::All
    };
    printer.data(&yaml::write(&definition(served)))?;
    Ok(Exit::Success)
}
