//! A program of the cluster: started with a log of its own, waited for by its own thread.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::Sender;
use std::thread;

use trainyard_tools::Program;

use super::{Trouble, doing};

/// Why a cluster ends.
#[derive(Debug)]
pub enum Ending {
    /// A signal asked for it.
    Asked,
    /// The process that started the cluster is gone: the pipe from our standard error is closed.
    Alone,
    /// One of its programs ended, or could not be started.
    Broken(Trouble),
}

/// Starts the programs of a cluster.
#[derive(Clone, Debug)]
pub struct Starter {
    logs: PathBuf,
    ends: Sender<Ending>,
}

impl Starter {
    /// One whose programs write their logs there and whose ends are told there.
    pub fn new(logs: PathBuf, ends: Sender<Ending>) -> Self {
        Self { logs, ends }
    }

    /// Starts one of the programs that are built from Go modules.
    pub fn start(&self, program: Program, arguments: &[String]) -> Result<(), Trouble> {
        let path = trainyard_tools::find(program, &mut |_| {}).map_err(doing("start a cluster"))?;
        self.spawn(program.name(), &path, arguments)
    }

    /// Starts a program that runs as long as the cluster; its end is the cluster's.
    pub fn spawn(&self, name: &str, path: &Path, arguments: &[String]) -> Result<(), Trouble> {
        let log = self.logs.join(format!("{name}.log"));
        let file = File::create(&log).map_err(doing(format!("write {}", log.display())))?;
        let errors = file
            .try_clone()
            .map_err(doing(format!("write {}", log.display())))?;
        let mut command = Command::new(path);
        command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(file)
            .stderr(errors);
        // A child belongs to the thread that started it, so that thread stays.
        let (name, ends) = (name.to_owned(), self.ends.clone());
        let attend = move || {
            let ended = command.status();
            let how = ended.map_or_else(|error| error.to_string(), |status| status.to_string());
            let said = last_lines(&log);
            let trouble = Trouble(format!("{name} has ended ({how}):\n{said}"));
            // The receiver is gone when the cluster ends anyway.
            let _ = ends.send(Ending::Broken(trouble));
        };
        let thread = thread::Builder::new().name("program".into()).spawn(attend);
        thread.map(drop).map_err(doing("start a thread"))
    }
}

/// The last lines of a log, for the error message.
fn last_lines(log: &Path) -> String {
    let text = fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let text = text.unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}
