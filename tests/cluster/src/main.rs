//! The program of a test cluster: `cargo xtask cluster` and the tests start it.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for developers"
)]

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use trainyard_cluster_tests::developers;
use trainyard_cluster_tests::server::{self, DETACHED, Life, Place, Trouble};
use trainyard_cluster_tests::{Parts, SERVE};
use trainyard_local::supervisor::reexec::{self, Reexec};

const HELP: &str = "\
A real Kubernetes on this machine, for experiments.

  cargo xtask cluster up             a control plane without nodes
  cargo xtask cluster up --kubelet   with a real node that runs pods (needs root)
  cargo xtask cluster down           ends it and removes everything
";

fn main() -> ExitCode {
    // Parts of this program that it starts itself; they must come before anything that makes a thread.
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let done = match reexec::enter(&arguments) {
        Some(Reexec::Finished(code)) => return ExitCode::from(code),
        Some(Reexec::Background(_)) => return ExitCode::from(2),
        None => command(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(trouble) => {
            eprintln!("failed: {trouble}");
            ExitCode::FAILURE
        }
    }
}

fn command(arguments: &[OsString]) -> Result<(), Trouble> {
    let words: Vec<&str> = arguments.iter().filter_map(|word| word.to_str()).collect();
    match words[..] {
        [SERVE, DETACHED, place, ..] => server::serve(
            Place::at(place.into())?,
            Parts::read(&arguments[3..])?,
            Life::Detached,
        ),
        [SERVE, ..] => server::serve(Place::fresh()?, Parts::read(&arguments[1..])?, Life::Bound),
        ["up"] => developers::up(Parts::CONTROL_PLANE),
        ["up", "--kubelet"] => developers::up(Parts::NODE),
        ["down"] => developers::down(),
        _ => {
            println!("{HELP}");
            Ok(())
        }
    }
}
