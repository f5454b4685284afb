//! Which functions a short run executes, in the order in which it first does: the linker then lays them side by side.
//!
//! `cargo xtask order` builds the release and starts this. The program is executed step by step, with everything that it splits
//! off; every instruction is looked up in the linker's map. It takes some minutes.
//!
//! ```text
//! trace (addresses, as they are first executed) ─▶ map (functions) ─▶ crates/cli/run.order
//! ```
#![expect(
    clippy::print_stdout,
    reason = "a program for developers; printing is what it does"
)]

mod map;
mod trace;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use map::Map;

/// What stands before the names. The linker skips such lines.
const ABOUT: &str = "\
# The functions of a short run, in the order of their first use (ADR 9). Made by `cargo xtask order`; a name that
# does not exist any more means nothing to the linker.
";

/// What is run: a task that says nothing and ends, and tasks that find each other and speak.
const MANIFESTS: [&str; 2] = [
    "apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: order}
spec:
  tfReplicaSpecs:
    Worker:
      template: {spec: {containers: [{name: tensorflow, image: none, command: [/bin/true]}]}}
",
    "apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: order}
spec:
  tfReplicaSpecs:
    Chief:
      template: {spec: {containers: [{name: tensorflow, image: none, command: [/bin/echo, $(TF_CONFIG)]}]}}
    PS:
      template: {spec: {containers: [{name: tensorflow, image: none, command: [/bin/sleep, '60']}]}}
",
];

fn main() -> ExitCode {
    let typed: Vec<String> = std::env::args().skip(1).collect();
    let typed: Vec<&str> = typed.iter().map(String::as_str).collect();
    let result = match typed[..] {
        [trace::STAGE, program, ref arguments @ ..] => Err(trace::become_traced(program, arguments)),
        [program, map, order] => write(Path::new(program), Path::new(map), Path::new(order)),
        _ => {
            println!("cargo xtask order");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("cannot find the order: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs every manifest, and writes what was found.
fn write(program: &Path, map: &Path, order: &Path) -> io::Result<()> {
    let map = Map::read(&fs::read_to_string(map)?);
    let scratch = std::env::temp_dir().join(format!("trainyard-order-{}", std::process::id()));
    fs::create_dir_all(&scratch)?;
    let found = MANIFESTS
        .iter()
        .map(|manifest| functions(program, &map, &scratch, manifest));
    let found = found.collect::<io::Result<Vec<_>>>();
    let _ = fs::remove_dir_all(&scratch);
    let mut known = BTreeSet::new();
    let mut text = ABOUT.to_owned();
    for name in found?.into_iter().flatten().filter(|name| known.insert(*name)) {
        text.push_str(name);
        text.push('\n');
    }
    fs::write(order, text)?;
    println!("{} functions: {}", known.len(), order.display());
    Ok(())
}

/// The functions that a run of this manifest executes.
fn functions<'a>(program: &Path, map: &'a Map, scratch: &Path, manifest: &str) -> io::Result<Vec<&'a str>> {
    let file = scratch.join("job.yaml");
    fs::write(&file, manifest)?;
    let prepare = |command: &mut Command| {
        command
            .args(["run".as_ref(), file.as_os_str()])
            .env("TRAINYARD_STATE", scratch.join("state"))
            .env("XDG_CONFIG_HOME", scratch)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
    };
    // Once at full speed: what a machine allows is found out by the first run and kept for the others.
    let mut once = Command::new(program);
    prepare(&mut once);
    if !once.status()?.success() {
        return Err(io::Error::other("the run failed"));
    }
    let addresses = trace::addresses(program, map.range(), prepare)?;
    println!("{} instructions", addresses.len());
    let mut names = Vec::new();
    let mut known = BTreeSet::new();
    for name in addresses.into_iter().filter_map(|address| map.function(address)) {
        if known.insert(name) {
            names.push(name);
        }
    }
    Ok(names)
}
