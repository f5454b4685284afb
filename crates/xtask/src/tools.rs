//! Finds the programs the checks need, or installs them into a cache outside the tree.

use std::path::{Path, PathBuf};

use crate::shell::Shell;

/// The version of cargo-deny that `deny.toml` is written for.
const CARGO_DENY: &str = "0.20.2";
/// The version of cargo-fuzz that `fuzz/` is written for.
const CARGO_FUZZ: &str = "0.13.2";
/// The version of kubectl that `tests/tools/go.mod` builds; any recent one on the machine is as good.
const KUBECTL: &str = "1.37.1";

/// Where installed tools are kept.
fn cache() -> Result<PathBuf, String> {
    let set = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let base = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    let base = base.ok_or("neither XDG_CACHE_HOME nor HOME is set: no place to install tools")?;
    Ok(base.join("trainyard").join("tools"))
}

/// Whether a program can be started and says what we want to hear.
fn answers(shell: &Shell, program: &Path, arguments: &[&str], wanted: &str) -> bool {
    shell
        .quiet(program, arguments)
        .is_ok_and(|ended| ended.success && ended.output.contains(wanted))
}

/// rustfmt and clippy, which a minimal toolchain lacks.
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

/// cargo-deny: the one on PATH if it has our version, else our own.
pub fn cargo_deny(shell: &Shell) -> Result<PathBuf, String> {
    cargo_tool(shell, "cargo-deny", CARGO_DENY)
}

/// cargo-fuzz, likewise.
pub fn cargo_fuzz(shell: &Shell) -> Result<PathBuf, String> {
    cargo_tool(shell, "cargo-fuzz", CARGO_FUZZ)
}

fn cargo_tool(shell: &Shell, name: &str, version: &str) -> Result<PathBuf, String> {
    let on_path = PathBuf::from(name);
    if answers(shell, &on_path, &["--version"], version) {
        return Ok(on_path);
    }
    let folder = cache()?.join(format!("{name}-{version}"));
    let ours = folder.join("bin").join(name);
    if answers(shell, &ours, &["--version"], version) {
        return Ok(ours);
    }
    println!(
        "installing {name} {version} into {} (minutes, once)",
        folder.display()
    );
    let folder_text = folder.to_string_lossy();
    // It runs for a second: an unoptimised build is made in half the time and serves as well.
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

/// kubectl, which the tests of the YAML reader compare with: $KUBECTL, else on PATH, else built with Go.
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
    let ours = cache()?.join(format!("kubectl-{KUBECTL}"));
    if works(&ours) {
        return Ok(ours);
    }
    build_kubectl(shell, &ours)?;
    Ok(ours)
}

fn build_kubectl(shell: &Shell, to: &Path) -> Result<(), String> {
    if !answers(shell, Path::new("go"), &["version"], "go version") {
        return Err(
            "the tests compare our YAML reader with kubectl, and neither kubectl nor Go (to build it) is \
                    here: install one of them, or set KUBECTL to the program"
                .to_owned(),
        );
    }
    println!("building kubectl {KUBECTL} into {} (minutes, once)", to.display());
    let folder = shell.root().join("tests").join("tools");
    let to = to.to_string_lossy();
    let shell = shell
        .inside(&folder)
        .with("CGO_ENABLED", "0")
        .with("GOFLAGS", "-mod=readonly");
    let built = shell.show(
        "go",
        &["build", "-trimpath", "-o", &to, "k8s.io/kubernetes/cmd/kubectl"],
    )?;
    if built.success {
        Ok(())
    } else {
        Err("go could not build kubectl".to_owned())
    }
}
