//! Finds the programs that the checks need, or installs them into a cache outside the repository.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use trainyard_tools::{CONTROL_PLANE, Cache, GANG, NODE, Program, packages, python};

use crate::shell::Shell;

/// cargo-deny, in the version that `deny.toml` is written for.
pub const CARGO_DENY: (&str, &str) = ("cargo-deny", "0.20.2");
/// cargo-fuzz, in the version that `fuzz/` is written for.
pub const CARGO_FUZZ: (&str, &str) = ("cargo-fuzz", "0.13.2");

/// The directory of installed tools.
fn installed() -> Result<PathBuf, String> {
    Cache::tools().map_err(|missing| missing.to_string())
}

/// Whether a program runs and its output contains `wanted`.
fn answers(shell: &Shell, program: &Path, arguments: &[&str], wanted: &str) -> bool {
    shell
        .quiet(program, arguments)
        .is_ok_and(|ended| ended.success && ended.output.contains(wanted))
}

/// Installs rustfmt and clippy, which a minimal toolchain lacks.
pub fn components(shell: &Shell) -> Result<(), String> {
    for (program, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        if answers(shell, Path::new("cargo"), &[program, "--version"], "") {
            continue;
        }
        println!("installing {component} with rustup");
        let added = shell.show("rustup", &["component", "add", component])?;
        if !added.success {
            return Err(format!("rustup could not add {component}"));
        }
    }
    Ok(())
}

/// A program of a crate: from PATH if it has the right version, else installed into the cache.
pub fn cargo_tool(shell: &Shell, (name, version): (&str, &str)) -> Result<PathBuf, String> {
    let on_path = PathBuf::from(name);
    if answers(shell, &on_path, &["--version"], version) {
        return Ok(on_path);
    }
    let folder = installed()?.join(format!("{name}-{version}"));
    let ours = folder.join("bin").join(name);
    if answers(shell, &ours, &["--version"], version) {
        return Ok(ours);
    }
    println!(
        "installing {name} {version} into {} (minutes, once)",
        folder.display()
    );
    let folder_text = folder.to_string_lossy();
    // It runs for a second, and an unoptimised build takes half the time.
    let arguments = [
        "install",
        "--quiet",
        "--locked",
        "--debug",
        "--version",
        version,
        "--root",
        &folder_text,
        name,
    ];
    let installed = shell.show("cargo", &arguments)?;
    if installed.success {
        Ok(ours)
    } else {
        Err(format!("cargo could not install {name} {version}"))
    }
}

/// kubectl, with which tests compare the YAML reader: $KUBECTL, else from PATH, else built with Go.
pub fn kubectl(shell: &Shell) -> Result<PathBuf, String> {
    let works = |program: &Path| answers(shell, program, &["version", "--client"], "Client Version");
    if let Some(named) = std::env::var_os("KUBECTL") {
        let named = PathBuf::from(named);
        return if works(&named) {
            Ok(named)
        } else {
            Err(format!("KUBECTL names `{}`, which does not run", named.display()))
        };
    }
    let on_path = PathBuf::from("kubectl");
    if works(&on_path) {
        return Ok(on_path);
    }
    trainyard_tools::find(Program::Kubectl, &mut |line| println!("{line}"))
        .map_err(|missing| missing.to_string())
}

/// The programs of a test cluster and its clients; takes minutes if they have to be built.
pub fn cluster() -> Result<(), String> {
    let wanted = [&CONTROL_PLANE[..], &NODE[..], &GANG[..]].concat();
    let tell = &mut |line: &str| println!("{line}");
    let built = trainyard_tools::programs(&wanted, tell);
    built.map_err(|missing| missing.to_string())?;
    python::kubeflow_client(tell).map_err(|missing| missing.to_string())?;
    if may_install() {
        packages::install(tell).map_err(|missing| missing.to_string())?;
    }
    Ok(())
}

/// Whether this process is root, which the tests with a real node need too.
fn may_install() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|ourselves| ourselves.uid() == 0)
}
