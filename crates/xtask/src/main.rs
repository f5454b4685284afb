//! Commands for developers: `cargo xtask help` lists them.
//!
//! This crate only starts other programs (cargo, cargo-deny, go) and reports on them; it decides nothing about training
//! jobs. Its only dependency is `trainyard-tools`, which has none, so that it builds in a moment and works while the rest
//! does not compile.
#![expect(
    clippy::print_stdout,
    reason = "a program for developers; printing is what it does"
)]

mod checks;
mod report;
mod shell;
mod tools;
mod workspace;

use std::process::ExitCode;

use shell::Shell;

const HELP: &str = "\
Commands for developers.

  cargo xtask test [--quick] [--peers] [-v]  everything CI runs; --quick: only format, clippy and tests;
                                             --peers: also tests against peers that take long to build
  cargo xtask elsewhere                    one step of it: the fast tests in a second clone with an unusual path
  cargo xtask generate [--check]           write the generated files, or only report which are out of date
  cargo xtask sim --seeds N [--from S]     simulate N runs, starting with seed S [default: 0]
  cargo xtask failures [--all]             run the failures of tests/failures; --all: also those that need TensorFlow
  cargo xtask bench [ARGUMENT…]            run the benchmarks with these arguments
  cargo xtask bench local [--help]         compare `trainyard run` with a shell, cat and honcho, and check the bars
  cargo xtask bench operator [--help]      compare `trainyard operator` with Kubeflow's and a bare client
  cargo xtask fuzz [SECONDS | --long]      fuzz each target for SECONDS [default: 60], or an hour; needs nightly Rust
  cargo xtask cluster up [--kubelet]       start a real Kubernetes on this machine for interactive use
  cargo xtask cluster down                 stop it and remove everything
  cargo xtask help                         print this text

Missing tools are installed into $XDG_CACHE_HOME/trainyard/tools (or ~/.cache/trainyard/tools).
";

fn main() -> ExitCode {
    let typed: Vec<String> = std::env::args().skip(1).collect();
    match run(&typed) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            println!("xtask: {problem}");
            ExitCode::from(2)
        }
    }
}

/// Runs one command. `Ok(false)`: a check failed and has been reported. `Err`: nothing could be checked.
fn run(typed: &[String]) -> Result<bool, String> {
    let typed: Vec<&str> = typed.iter().map(String::as_str).collect();
    let shell = Shell::new(workspace::root()?);
    match typed.as_slice() {
        ["test", flags @ ..] => checks::test(&shell, &checks::Flags::read(flags)?),
        ["elsewhere"] => checks::elsewhere(&shell),
        ["generate"] => checks::generate(&shell, true),
        ["generate", "--check"] => checks::generate(&shell, false),
        ["sim", flags @ ..] => checks::simulate(&shell, &checks::Seeds::read(flags)?),
        ["failures"] => checks::failures(&shell, false),
        ["failures", "--all"] => checks::failures(&shell, true),
        ["bench", "local", arguments @ ..] => checks::bench_local(&shell, arguments),
        ["bench", "operator", arguments @ ..] => checks::bench_operator(&shell, arguments),
        ["bench", arguments @ ..] => checks::bench(&shell, arguments),
        ["cluster", arguments @ ..] => checks::cluster(&shell, arguments),
        ["fuzz"] => checks::fuzz(&shell, 60),
        ["fuzz", "--long"] => checks::fuzz(&shell, 3600),
        ["fuzz", seconds] => checks::fuzz(&shell, number("SECONDS", seconds)?),
        ["help" | "--help" | "-h"] | [] => {
            println!("{HELP}");
            Ok(true)
        }
        _ => Err(format!(
            "no such command: `{}`; try `cargo xtask help`",
            typed.join(" ")
        )),
    }
}

/// Reads a whole number from an argument.
fn number(name: &str, text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| format!("{name} must be a whole number, found `{text}`"))
}
