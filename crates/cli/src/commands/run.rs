//! `trainyard run FILE`: a job as a real training on this machine.
//!
//! This module reads what was typed and shows what happens; `trainyard_local::run::execute` does everything in between.

mod console;
mod input;
mod progress;

use trainyard_local::pod::Refusal;
use trainyard_local::run::background;
use trainyard_local::run::execute::{Outcome, RunError, execute};
use trainyard_local::run::store::directory::{Home, RunDirectory};
use trainyard_local::supervisor::reexec::Background;

use self::console::Console;
use crate::args::{Color, Format, Run};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::run::{Glob, View};
use crate::visible;

/// Runs what was typed, to its end or, with `--detach`, until it has begun.
pub fn run(typed: &Run, color: Color, printer: &mut Printer) -> Result<Exit, Failure> {
    let input = input::read(typed, printer)?;
    if typed.print {
        printer.data(&input.source.text)?;
        return Ok(Exit::Success);
    }
    let request = input::request(typed, &input, printer)?;
    printer.flush()?;
    let outcome = execute(&request, &mut Console::new(printer, Some(view(typed, color))));
    match outcome {
        Ok(Outcome::Exit(code)) => Ok(Exit::Code(code)),
        Ok(Outcome::Background(runs)) => announce(&runs, typed.view.output, printer),
        Err(RunError::Refused(refusals)) => Err(refused(&refusals, printer)),
        Err(error) => Err(error.into()),
    }
}

/// The process in the background. Its standard error is the run's `supervisor.log`.
pub fn in_background(told: &Background) -> Result<Exit, Failure> {
    let mut printer = Printer::new(Color::Auto);
    match background::resume(told, &mut Console::new(&mut printer, None))? {
        Outcome::Exit(code) => Ok(Exit::Code(code)),
        Outcome::Background(_) => Ok(Exit::Success),
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            // 128 plus the signal, as in a shell.
            RunError::Killed { signal } => Self::new(
                Exit::Code(u8::try_from(128 + signal).unwrap_or(u8::MAX)),
                format!("the run's supervisor was killed by signal {signal}, and every task with it"),
                "`trainyard ps` shows the run as interrupted; its logs are kept",
            ),
            RunError::NotStarted(log) => Self::usage(
                format!("the run did not begin: {}", visible::continued(&log)),
                None,
            ),
            error => Self::usage(error.to_string(), error.help()),
        }
    }
}

/// Says how to look at runs in the background; prints to programs the first event of each, which says where it is.
fn announce(runs: &[RunDirectory], output: Format, printer: &mut Printer) -> Result<Exit, Failure> {
    for run in runs {
        if output == Format::Json {
            // On a full disk there may be none.
            let events = std::fs::read_to_string(run.events()).unwrap_or_default();
            let first = events.split_inclusive('\n').next().unwrap_or_default();
            printer.data(&visible::json(first.to_owned()))?;
        } else {
            let name = Home::runs_of(run).name;
            printer.say(&format!(
                "{name} runs in the background: `trainyard logs -f {name}` shows it, `trainyard stop {name}` ends it"
            ))?;
        }
    }
    Ok(Exit::Success)
}

fn view(typed: &Run, color: Color) -> View {
    let typed = &typed.view;
    let usual = View::typed(color, typed.output, typed.raw, typed.no_prefix);
    View {
        timestamps: typed.timestamps,
        quiet: typed.quiet,
        tasks: typed.task.iter().map(|glob| Glob::new(glob)).collect(),
        footer: usual.footer && !typed.no_footer,
        ..usual
    }
}

/// Reports why a run is refused, and ends the command.
fn refused(refusals: &[Refusal], printer: &mut Printer) -> Failure {
    let reported = refusals.iter().try_for_each(|refusal| {
        // The message may end with several lines of an installer.
        let message = format!("{}: {}", refusal.path, visible::continued(&refusal.message));
        printer.error(&message, refusal.hint.as_deref())
    });
    reported.err().unwrap_or(Failure::Reported(Exit::Unable))
}
