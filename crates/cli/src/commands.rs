//! One module a command. Each takes what was typed, and says how it ended.

mod check;
mod completions;
mod convert;
mod explain;
mod jobs;
mod plan;
pub mod run;
mod simulate;

use crate::args::{Arguments, Command};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Does what was asked.
pub fn run(arguments: Arguments, printer: &mut Printer) -> Result<Exit, Failure> {
    match arguments.command {
        Command::Run(typed) => run::run(&typed, arguments.color, printer),
        Command::Check(typed) => check::run(&typed, printer),
        Command::Plan(typed) => plan::run(&typed, printer),
        Command::Convert(typed) => convert::run(&typed, printer),
        Command::Simulate(typed) => simulate::run(&typed, printer),
        Command::Explain(typed) => explain::run(&typed, printer),
        Command::Completions(typed) => completions::run(&typed, printer),
    }
}
