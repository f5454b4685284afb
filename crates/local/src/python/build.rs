//! Making a Python environment: by uv where there is one, else by `venv` and pip.

use std::path::Path;

use super::choice::Chosen;
use super::tools::{Tools, run};
use super::{Progress, PythonError, Tell};

/// Makes an environment at `root` and imports the module that must work in it.
pub(super) fn build(
    root: &Path,
    chosen: &Chosen,
    tools: &Tools,
    tell: &mut Tell<'_>,
) -> Result<(), PythonError> {
    tell(Progress::Doing("creating the environment".to_owned()));
    let uv = tools.uv.as_ref();
    let by_uv = uv.is_some_and(|uv| with_uv(uv, root, chosen, tools, tell).is_ok());
    // uv does not read pip's configuration: where only that knows the way to an index, pip gets there.
    if !by_uv {
        with_pip(root, chosen, tools, tell)?;
    }
    let Some(module) = chosen.proof else { return Ok(()) };
    tell(Progress::Doing(format!(
        "importing {module} once, to see that it works"
    )));
    let mut command = tools.command(&root.join("bin/python"));
    command.args(["-c", &format!("import {module}")]);
    run(command, tell)
}

fn with_uv(
    uv: &Path,
    root: &Path,
    chosen: &Chosen,
    tools: &Tools,
    tell: &mut Tell<'_>,
) -> Result<(), PythonError> {
    let mut venv = tools.command(uv);
    venv.args(["venv", "--quiet", "--seed", "--python"])
        .arg(&chosen.interpreter.path)
        .arg(root);
    run(venv, tell)?;
    let mut install = tools.command(uv);
    install
        .args(["pip", "install", "--compile-bytecode", "--python"])
        .arg(root.join("bin/python"));
    if chosen.early {
        install.args(["--prerelease", "allow"]);
    }
    install.args(&chosen.requirements);
    run(install, tell)
}

fn with_pip(root: &Path, chosen: &Chosen, tools: &Tools, tell: &mut Tell<'_>) -> Result<(), PythonError> {
    let mut venv = tools.command(&chosen.interpreter.path);
    venv.args(["-m", "venv", "--clear"]).arg(root);
    run(venv, tell)?;
    let python = root.join("bin/python");
    let pip = |arguments: &[&str]| {
        let mut command = tools.command(&python);
        command.args(["-m", "pip", "install", "--no-input", "--progress-bar", "off"]);
        command.arg("--disable-pip-version-check").args(arguments);
        command
    };
    // The pip that came with them knows nothing of today's wheels.
    if chosen.interpreter.version.minor() < (3, 8) {
        run(pip(&["--upgrade", "pip"]), tell)?;
    }
    let mut install = pip(&[]);
    if chosen.early {
        install.arg("--pre");
    }
    install.args(&chosen.requirements);
    run(install, tell)
}
