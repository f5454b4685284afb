//! `trainyard rm JOB…`: removes runs that have ended.

use crate::args::runs::Rm;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

pub fn run(_typed: &Rm, _printer: &mut Printer) -> Result<Exit, Failure> {
    Err(Failure::usage("not yet", None))
}
