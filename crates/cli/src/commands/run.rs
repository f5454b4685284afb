//! `trainyard run FILE`: a job as a real training on this machine.
//!
//! ```text
//! what was typed ─▶ manifest, overrides ─▶ prepare (Python, GPUs, volumes) ─▶ run directories ─▶ walls ─▶ supervisor
//! ```
//!
//! This process is the outer one: it has one thread and, once the walls stand, does nothing but pass signals on. What
//! the supervisor does is in `supervisor`.

mod begin;
mod detach;
mod input;
mod progress;
pub mod supervisor;

use std::ffi::OsString;

use trainyard_local::outer::{self, Supervisor, SupervisorEnd};
use trainyard_local::probe::{self, Network, probe_once};
use trainyard_local::template::Refusal;
use trainyard_local::told;

use self::begin::Begun;
pub use self::detach::go_on;
use crate::args::Run;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::{BAD, Printer, STRONG};
use crate::run::{Glob, View};

/// Runs what was typed, to its end or, with `--detach`, until it has begun.
pub fn run(typed: &Run, color: crate::args::Color, printer: &mut Printer) -> Result<Exit, Failure> {
    let input = match input::read(typed, printer)? {
        Ok(input) => input,
        Err(exit) => return Ok(exit),
    };
    if typed.print {
        printer.data(&input.source.text)?;
        return Ok(Exit::Success);
    }
    let ready = match input::prepare(typed, &input, printer)? {
        Ok(ready) => ready,
        Err(refusals) => {
            refusals.iter().try_for_each(|refusal| say(refusal, printer))?;
            return Ok(Exit::Unable);
        }
    };
    let network = if typed.machine.isolate {
        Network::Isolated
    } else {
        Network::Shared
    };
    let walls_file = input::home()?.walls();
    let probed = probe_once(network, &walls_file).map_err(|error| Failure::usage(error.to_string(), None))?;
    if let Some(sentence) = probed.not_covered() {
        printer.say(&sentence)?;
    }
    let begun = begin::begin(&input.source.text, ready)?;
    if typed.detach {
        let detached = detach::detach(begun, probed.walls, printer);
        return detached.inspect_err(|_| probe::forget(&walls_file));
    }
    let view = view(typed, color);
    let supervisor = Supervisor {
        run: begun.id(),
        walls: probed.walls,
        arguments: arguments(Some(&view), &begun)?,
    };
    printer.flush()?;
    let ended = ended(&supervisor);
    if ended.is_err() {
        // What was believed about this machine may be wrong by now.
        probe::forget(&walls_file);
    }
    ended
}

/// Starts the supervisor and takes its exit code over.
fn ended(supervisor: &Supervisor) -> Result<Exit, Failure> {
    let end = outer::run(supervisor).map_err(|error| Failure::usage(told(&error), None))?;
    match end {
        SupervisorEnd::Code(code) => Ok(Exit::Code(u8::try_from(code).unwrap_or(u8::MAX))),
        SupervisorEnd::Signal(signal) => Err(Failure::Killed { signal }),
    }
}

/// What the supervisor is told: how to show things, our number, and the directories of its runs.
fn arguments(view: Option<&View>, begun: &Begun) -> Result<Vec<OsString>, Failure> {
    let view = serde_json::to_string(&view).map_err(std::io::Error::from)?;
    let mut arguments = vec![OsString::from(view), std::process::id().to_string().into()];
    arguments.extend(
        begun
            .directories()
            .map(|directory| directory.path.clone().into_os_string()),
    );
    Ok(arguments)
}

fn view(typed: &Run, color: crate::args::Color) -> View {
    let typed = &typed.view;
    View {
        timestamps: typed.timestamps,
        quiet: typed.quiet,
        tasks: typed.task.iter().map(|glob| Glob::new(glob)).collect(),
        footer: !typed.no_footer,
        ..View::typed(color, typed.output, typed.raw, typed.no_prefix)
    }
}

/// Says what is in the way of a run.
fn say(refusal: &Refusal, printer: &mut Printer) -> Result<(), Failure> {
    let Refusal { path, message, hint } = refusal;
    printer.say(&format!("{BAD}error{BAD:#}{STRONG}: {path}: {message}{STRONG:#}"))?;
    match hint {
        Some(hint) => printer.say(&format!("  {STRONG}hint{STRONG:#}: {hint}")),
        None => Ok(()),
    }
}
