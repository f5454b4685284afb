//! `cargo xtask cluster up|down`: the same cluster for developers.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use trainyard_tools::{Cache, Program};

use crate::cluster::{PROGRAM, SERVE, aloud, ours, prepare, program, spawn, until_ready};
use crate::parts::Parts;
use crate::server::{DETACHED, Place, Trouble, doing};

/// How long a cluster may take to end.
const PATIENCE: Duration = Duration::from_mins(1);

/// Where the developer's cluster is: one for each user.
fn place() -> Result<PathBuf, Trouble> {
    let tools = Cache::tools().map_err(doing("find the cache"))?;
    Ok(tools.with_file_name("cluster"))
}

/// Starts a cluster that stays, and says how to use it.
pub fn up(parts: Parts) -> Result<(), Trouble> {
    let place = place()?;
    if Place::is_used(&place) {
        let kubeconfig = place.join("kubeconfig");
        return Err(Trouble::new(format!(
            "it is up already: export KUBECONFIG={} (`cargo xtask cluster down` ends it)",
            kubeconfig.display()
        )));
    }
    prepare(parts)?;
    aloud("starting the cluster");
    let mut command = Command::new(program()?);
    command.args([SERVE, DETACHED]).arg(&place).args(parts.words());
    if parts.node {
        command.env(PROGRAM, ours()?);
    }
    let (process, mut said) = spawn(&mut command)?;
    until_ready(&mut said)?;
    let noted = fs::write(place.join("process"), process.id().to_string());
    noted.map_err(doing("note which process it is"))?;
    let kubectl = trainyard_tools::find(Program::Kubectl, &mut aloud).map_err(doing("find kubectl"))?;
    aloud(&format!(
        "the cluster is up; its logs are in {}\n\n  export KUBECONFIG={}\n  alias kubectl={}\n\n`cargo xtask cluster \
         down` ends it",
        place.join("logs").display(),
        place.join("kubeconfig").display(),
        kubectl.display()
    ));
    Ok(())
}

/// Ends it.
pub fn down() -> Result<(), Trouble> {
    let place = place()?;
    if !Place::is_used(&place) {
        aloud("there is no cluster to end");
        return Ok(());
    }
    let noted = fs::read_to_string(place.join("process")).map_err(doing("find out which process it is"))?;
    let process = noted.trim().parse().ok().and_then(Pid::from_raw);
    let process = process.ok_or_else(|| Trouble::new(format!("`{noted}` is no process")))?;
    kill_process(process, Signal::TERM).map_err(doing("ask the cluster to end"))?;
    let deadline = Instant::now() + PATIENCE;
    while Place::is_used(&place) {
        if Instant::now() > deadline {
            return Err(Trouble::new("the cluster does not end"));
        }
        thread::sleep(Duration::from_millis(50));
    }
    aloud("the cluster is gone");
    Ok(())
}
