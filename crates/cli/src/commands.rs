//! One module per command. Each takes its arguments and returns the exit code.

mod check;
mod completions;
mod convert;
mod crd;
pub mod expand;
mod explain;
mod install;
mod jobs;
mod logs;
mod lookup;
mod operator;
mod orders;
mod plan;
mod ps;
mod render;
mod rm;
pub mod run;
mod simulate;
mod stop;

use crate::args::{Arguments, Command};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Runs the command.
pub fn run(arguments: Arguments, printer: &mut Printer) -> Result<Exit, Failure> {
    match arguments.command {
        Command::Run(typed) => run::run(&typed, arguments.color, printer),
        Command::Check(typed) => check::run(&typed, printer),
        Command::Plan(typed) => plan::run(&typed, printer),
        Command::Convert(typed) => convert::run(&typed, printer),
        Command::Render(typed) => render::run(&typed, printer),
        Command::Expand(typed) => expand::run(&typed, printer),
        Command::Operator(typed) => operator::run(typed),
        Command::Install(typed) => install::run(&typed, printer),
        Command::Uninstall(typed) => install::remove(&typed, printer),
        Command::Crd(typed) => crd::run(&typed, printer),
        Command::Simulate(typed) => simulate::run(&typed, printer),
        Command::Ps(typed) => ps::run(&typed, printer),
        Command::Logs(typed) => logs::run(&typed, arguments.color, printer),
        Command::Stop(typed) => stop::run(&typed, printer),
        Command::Rm(typed) => rm::run(&typed, printer),
        Command::Drain(typed) => orders::drain(&typed, printer),
        Command::Kill(typed) => orders::kill(&typed, printer),
        Command::Suspend(typed) => orders::suspend(&typed, printer),
        Command::Resume(typed) => orders::resume(&typed, printer),
        Command::Scale(typed) => orders::scale(&typed, printer),
        Command::Explain(typed) => explain::run(&typed, printer),
        Command::Completions(typed) => completions::run(&typed, printer),
    }
}
