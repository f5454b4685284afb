//! Starts programs; no other module of this crate does.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The directory and the environment in which programs are started.
#[derive(Clone, Debug)]
pub struct Shell {
    root: PathBuf,
    /// Variables to set, or to remove (`None`).
    environment: Vec<(OsString, Option<OsString>)>,
}

/// How a program ended, with its output.
#[derive(Debug)]
pub struct Ended {
    /// Whether it exited with 0.
    pub success: bool,
    /// Standard output, then standard error; empty if they were not captured.
    pub output: String,
}

impl Shell {
    /// A shell in `root` with the environment of this process.
    pub fn new(root: PathBuf) -> Self {
        Self {
            root,
            environment: Vec::new(),
        }
    }

    /// The workspace's root.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The same shell in another directory.
    pub fn in_folder(&self, root: &Path) -> Self {
        Self {
            root: root.to_path_buf(),
            ..self.clone()
        }
    }

    /// The same shell with one more variable.
    pub fn with(&self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.set(name.as_ref(), Some(value.as_ref().to_owned()))
    }

    /// The same shell without a variable of this process.
    pub fn without(&self, name: impl AsRef<OsStr>) -> Self {
        self.set(name.as_ref(), None)
    }

    fn set(&self, name: &OsStr, value: Option<OsString>) -> Self {
        let mut more = self.clone();
        more.environment.push((name.to_owned(), value));
        more
    }

    /// Runs a program that inherits standard output and standard error.
    pub fn show(&self, program: impl AsRef<OsStr>, arguments: &[&str]) -> Result<Ended, String> {
        let mut command = self.command(program.as_ref(), arguments);
        let status = command
            .status()
            .map_err(|error| not_started(program.as_ref(), &error))?;
        Ok(Ended {
            success: status.success(),
            output: String::new(),
        })
    }

    /// Runs a program and captures its output.
    pub fn quiet(&self, program: impl AsRef<OsStr>, arguments: &[&str]) -> Result<Ended, String> {
        let mut command = self.command(program.as_ref(), arguments);
        let ended = command
            .stdin(Stdio::null())
            .output()
            .map_err(|error| not_started(program.as_ref(), &error))?;
        let output = [ended.stdout, ended.stderr]
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .concat();
        Ok(Ended {
            success: ended.status.success(),
            output,
        })
    }

    fn command(&self, program: &OsStr, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.root);
        trainyard_tools::without_package(&mut command);
        for (name, value) in &self.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }
}

fn not_started(program: &OsStr, error: &std::io::Error) -> String {
    format!("cannot start `{}`: {error}", program.display())
}
