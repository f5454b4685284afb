//! Kubeflow's client for Python, which our operator must please: installed from `PyPI` once, into a cache outside the tree.
//!
//! The environment's name is made from what is in it. It is complete when its marker is there, which is written last; one
//! without is made again.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cache::{Cache, Name, run};
use crate::{Missing, folder, read};

/// What is installed: all versions are said.
const REQUIREMENTS: &str = "python/kubeflow-training.txt";
/// Written last.
const MARKER: &str = "complete";
const WHAT: &str = "kubeflow-training, Kubeflow's client for Python";

/// The interpreter that can import `kubeflow.training`. Makes its environment if it is not there, which takes a few seconds
/// and a network.
pub fn kubeflow_client(tell: &mut dyn FnMut(&str)) -> Result<PathBuf, Missing> {
    in_folder(&Cache::tools()?, tell)
}

fn in_folder(tools: &Path, tell: &mut dyn FnMut(&str)) -> Result<PathBuf, Missing> {
    let mut name = Name::new();
    name.add(&read(REQUIREMENTS)?);
    let environment = tools.join(format!("kubeflow-training-{:016x}", name.0));
    let python = environment.join("bin/python");
    let is_complete = || environment.join(MARKER).is_file();
    if is_complete() {
        return Ok(python);
    }
    let refused = |error: std::io::Error| Missing::new(WHAT, format!("{}: {error}", environment.display()));
    fs::create_dir_all(tools).map_err(refused)?;
    let lock = File::create(environment.with_extension("lock")).map_err(refused)?;
    lock.lock().map_err(refused)?;
    if is_complete() {
        return Ok(python);
    }
    tell(&format!("installing {WHAT}, into {}", environment.display()));
    let mut venv = command(Path::new("python3"));
    venv.args(["-m", "venv", "--clear"]).arg(&environment);
    let mut install = command(&python);
    install
        .args(["-m", "pip", "install", "--quiet", "--no-deps", "--requirement"])
        .arg(folder().join(REQUIREMENTS));
    for step in [venv, install] {
        run(step).map_err(|why| Missing::new(WHAT, why))?;
    }
    fs::write(environment.join(MARKER), "").map_err(refused)?;
    Ok(python)
}

/// Python with its own packages only.
fn command(python: &Path) -> Command {
    let mut command = Command::new(python);
    for misleading in [
        "PYTHONHOME",
        "PYTHONPATH",
        "PIP_USER",
        "PIP_TARGET",
        "PIP_PREFIX",
        "VIRTUAL_ENV",
    ] {
        command.env_remove(misleading);
    }
    command
        .env("PIP_DISABLE_PIP_VERSION_CHECK", "1")
        .stdin(Stdio::null());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_is_said() {
        let text = String::from_utf8(read(REQUIREMENTS).unwrap()).unwrap();
        let packages: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(!packages.is_empty());
        for package in packages {
            assert!(package.contains("=="), "{package}");
        }
    }
}
