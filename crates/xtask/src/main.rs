//! The developers' commands: `cargo xtask help` lists them.
//!
//! This crate only starts other programs (cargo, cargo-deny, go) and reports on them; it decides nothing about
//! training jobs. It uses no crate but `trainyard-tools`, which uses none, so that it builds in a moment and works while
//! the rest does not compile.
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
The developers' commands.

  cargo xtask test [--quick] [-v]          everything CI runs; --quick: format, clippy and tests only
  cargo xtask elsewhere                    one step of it: the fast tests from a second clone in an awkward place
  cargo xtask generate [--check]           write the generated files, or only say which are out of date
  cargo xtask sim --seeds N [--from S]     play N simulated runs, from seed S on (0 unless told)
  cargo xtask bench [ARGUMENT…]            run the benchmarks; arguments go to them
  cargo xtask bench local [--help]         `trainyard run` against a shell, cat and honcho: which bars hold
  cargo xtask bench operator [--help]      `trainyard operator` against Kubeflow's and a bare client: which bars hold
  cargo xtask fuzz [SECONDS]               fuzz each target for so long (60 unless told); needs the nightly toolchain
  cargo xtask cluster up [--kubelet]       a real Kubernetes on this machine, to play with; it says how
  cargo xtask cluster down                 end it and remove everything
  cargo xtask help                         this text

Tools that are missing are installed into $XDG_CACHE_HOME/trainyard/tools (or ~/.cache/trainyard/tools) and kept there.
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

/// Runs one command. `Ok(false)` means that a check failed and has been reported; `Err` that nothing could be checked.
fn run(typed: &[String]) -> Result<bool, String> {
    let typed: Vec<&str> = typed.iter().map(String::as_str).collect();
    let shell = Shell::new(workspace::root()?);
    match typed.as_slice() {
        ["test", flags @ ..] => checks::test(&shell, &checks::Flags::read(flags)?),
        ["elsewhere"] => checks::elsewhere(&shell),
        ["generate"] => checks::generate(&shell, checks::Generated::Write),
        ["generate", "--check"] => checks::generate(&shell, checks::Generated::Compare),
        ["sim", flags @ ..] => checks::simulate(&shell, &checks::Seeds::read(flags)?),
        ["bench", "local", arguments @ ..] => checks::bench_local(&shell, arguments),
        ["bench", "operator", arguments @ ..] => checks::bench_operator(&shell, arguments),
        ["bench", arguments @ ..] => checks::bench(&shell, arguments),
        ["cluster", arguments @ ..] => checks::cluster(&shell, arguments),
        ["fuzz"] => checks::fuzz(&shell, 60),
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

/// Reads a whole number given as an argument.
fn number(name: &str, text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| format!("{name} must be a whole number, found `{text}`"))
}
