//! `trainyard run FILE`: a job as a real training on this machine.
//!
//! ```text
//! what was typed ─▶ manifest, overrides ─▶ prepare (Python, GPUs, volumes) ─▶ run directories ─▶ isolation ─▶ supervisor
//! ```
//!
//! This process has one thread. Where the isolation go up it becomes two: the outer one does nothing from then on but pass
//! signals on; the other one is the supervisor (`supervisor`).

mod begin;
mod detach;
mod input;
mod progress;
mod supervisor;

use std::path::Path;

use trainyard_local::pod::Refusal;
use trainyard_local::sandbox::isolation::Isolation;
use trainyard_local::sandbox::probe::{self, Network, probe_once};
use trainyard_local::supervisor::inner::{self, NewSupervisor};
use trainyard_local::supervisor::outer::{self, OuterError, Split, SupervisorEnd};
use trainyard_local::told;

use self::begin::Begun;
pub use self::detach::go_on;
use self::supervisor::Told;
use crate::args::Run;
use crate::commands::kept;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::{BAD, Printer, STRONG};
use crate::run::Glob;
use crate::run::View;
use crate::visible;

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
    let isolation_cache = kept::home()?.isolation_cache();
    let probed =
        probe_once(network, &isolation_cache).map_err(|error| Failure::usage(error.to_string(), None))?;
    if let Some(sentence) = probed.not_covered() {
        printer.say(&sentence)?;
    }
    // `--set` changes every job that was chosen, and `--job` looks for the name that it had before.
    let alone = typed.job.is_none() && input.reading.jobs().count() == 1;
    let begun = begin::begin(&input.source.text, ready, alone)?;
    if typed.detach {
        let handed = begun.handed(&input.source.text);
        let detached = detach::detach(
            begun,
            handed.as_ref(),
            probed.isolation,
            typed.view.output,
            printer,
        );
        return detached.inspect_err(|_| probe::forget(&isolation_cache));
    }
    let view = view(typed, color);
    printer.flush()?;
    attended(begun, probed.isolation, view, &isolation_cache)
}

/// Runs it in the foreground. Comes back in the supervisor, and in the outer process only if something went wrong: otherwise
/// there is nothing left to do there.
fn attended(begun: Begun, isolation: Isolation, view: View, isolation_cache: &Path) -> Result<Exit, Failure> {
    let pid = std::process::id();
    let unable = |error: OuterError| Failure::usage(told(&error), None);
    let ended = match outer::fork_supervisor(&begun.id(), isolation).map_err(unable) {
        Ok(Split::Supervisor(inside)) => {
            let told = Told {
                view: Some(view),
                pid,
                runs: begun.into_runs(),
            };
            return Ok(supervised(inside, told, || probe::forget(isolation_cache)));
        }
        Ok(Split::Outer(outside)) => outside.wait().map_err(unable).and_then(exit),
        Err(failure) => Err(failure),
    };
    match ended {
        Ok(exit) => exit.at_once(),
        Err(failure) => {
            // What was believed about this machine may be wrong by now.
            probe::forget(isolation_cache);
            Err(failure)
        }
    }
}

/// Everything that the supervisor does. `refused` is called where it cannot even move in.
fn supervised(inside: NewSupervisor, told: Told, refused: impl FnOnce()) -> Exit {
    let inner = match inner::prepare(inside) {
        Ok(inner) => inner,
        Err(error) => {
            refused();
            return crate::ended(Err(Failure::usage(trainyard_local::told(&error), None)));
        }
    };
    let exit_report = inner.exit_report();
    let exit = crate::ended(supervisor::run(inner, told));
    exit_report.say(exit.code());
    exit
}

/// The supervisor's exit code is ours.
fn exit(end: SupervisorEnd) -> Result<Exit, Failure> {
    match end {
        SupervisorEnd::Code(code) => Ok(Exit::Code(u8::try_from(code).unwrap_or(u8::MAX))),
        SupervisorEnd::Signal(signal) => Err(Failure::Killed { signal }),
    }
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
    // It may end with what an installer has said, in several lines.
    let message = visible::message(&format!("{path}: {}", visible::continued(message)));
    printer.show(&format!("{BAD}error{BAD:#}{STRONG}: {message}{STRONG:#}"))?;
    match hint {
        Some(hint) => printer.say(&format!("  {STRONG}hint{STRONG:#}: {hint}")),
        None => Ok(()),
    }
}
