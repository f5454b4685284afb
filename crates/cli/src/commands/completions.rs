//! `trainyard completions SHELL`.

use clap::CommandFactory;

use crate::args::{Arguments, Completions};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Prints the script.
pub fn run(typed: &Completions, printer: &mut Printer) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    let mut command = Arguments::command();
    clap_complete::generate(typed.shell, &mut command, "trainyard", &mut script);
    printer.data(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Success)
}
