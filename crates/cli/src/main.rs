//! The program `trainyard`: parses the command line, runs a command, writes data and messages, and sets the exit code.
//!
//! All decisions are in the libraries; this crate reads files, prints, and exits.

mod args;
mod commands;
mod exit;
mod failure;
mod fingerprint;
mod inputs;
mod locale;
mod plan;
mod printer;
mod report;
mod run;
mod simulate;
mod svg;
mod table;
mod visible;
mod words;
mod wrap;

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use trainyard_local::supervisor::reexec::{self, Reexec};

use crate::args::{Arguments, Color, simpletfjob};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;
use clap::Parser as _;

fn main() -> ExitCode {
    let all: Vec<OsString> = env::args_os().collect();
    let (name, arguments) = match all.split_first() {
        Some((name, arguments)) => (name.as_os_str(), arguments),
        None => (OsStr::new(""), &[][..]),
    };
    if Path::new(name).file_name() == Some(OsStr::new("simpletfjob")) {
        return as_simpletfjob(arguments);
    }
    match reexec::enter(arguments) {
        None => typed(&all),
        Some(Reexec::Finished(code)) => code.into(),
        Some(Reexec::Background(told)) => {
            done(Printer::new(Color::Auto), |_| commands::run::in_background(&told))
        }
    }
}

/// Parses the command line and runs its command.
fn typed(all: &[OsString]) -> ExitCode {
    let arguments = match Arguments::try_parse_from(asking_for_help(all)) {
        Ok(arguments) => arguments,
        Err(error) => {
            return match words::answer(&error, all) {
                Some(failure) => done(Printer::new(Color::Auto), |_| Err(failure)),
                None => usage(&suggested(error, all)).into(),
            };
        }
    };
    let printer = Printer::new(arguments.color);
    done(printer, |printer| {
        match words::script_as_manifest(&arguments.command, all) {
            Some(failure) => Err(failure),
            None => commands::run(arguments, printer),
        }
    })
}

/// A link named `simpletfjob` to this program: it takes that program's arguments.
fn as_simpletfjob(words: &[OsString]) -> ExitCode {
    done(Printer::new(Color::Auto), |printer| {
        match simpletfjob::read(words)? {
            Some(typed) => commands::expand::run(&typed, printer),
            None => printer.data(simpletfjob::HELP).map(|()| Exit::Success),
        }
    })
}

/// Runs a command, reports its failure, and returns the exit code.
fn done(mut printer: Printer, work: impl FnOnce(&mut Printer) -> Result<Exit, Failure>) -> ExitCode {
    let ended = work(&mut printer).and_then(|exit| {
        printer.flush()?;
        Ok(exit)
    });
    let exit = match ended {
        Ok(exit) | Err(Failure::Reported(exit)) => exit,
        // The reader has seen enough: `trainyard check … | head`.
        Err(Failure::Reader) => Exit::Success,
        Err(Failure::Error { exit, message, help }) => {
            printer.failure(&message, help.as_deref());
            exit
        }
    };
    exit.into()
}

/// `trainyard help --help` is `trainyard help`: clap takes the flag for a command there.
fn asking_for_help(all: &[OsString]) -> &[OsString] {
    match all {
        [program @ .., flag]
            if program.len() == 2 && program[1] == "help" && (flag == "--help" || flag == "-h") =>
        {
            program
        }
        _ => all,
    }
}

/// Adds the nearest command if clap suggests none: it misses swapped letters. Of `run`, which takes a command after `--`, an
/// unknown flag is not meant for that command.
fn suggested(mut error: clap::Error, all: &[OsString]) -> clap::Error {
    use clap::error::{ContextKind, ContextValue, ErrorKind};
    if error.kind() == ErrorKind::UnknownArgument && all.get(1).is_some_and(|command| command == "run") {
        error.remove(ContextKind::Suggested);
    }
    if let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand)
        && error.get(ContextKind::SuggestedSubcommand).is_none()
        && let Some(meant) = Arguments::closest_command(typed)
    {
        let meant = ContextValue::Strings(vec![meant]);
        error.insert(ContextKind::SuggestedSubcommand, meant);
    }
    error
}

/// Prints what stopped the parser: help and version are successful output, the rest are usage errors.
fn usage(error: &clap::Error) -> Exit {
    let printed = error.print();
    match (error.use_stderr(), printed) {
        (false, Ok(())) => Exit::Success,
        (false, Err(cause)) if cause.kind() == std::io::ErrorKind::BrokenPipe => Exit::Success,
        _ => Exit::Unable,
    }
}
