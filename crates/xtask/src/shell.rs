//! Starts programs: the one place of this crate that does.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Where programs are started, and what they find in their environment.
#[derive(Clone, Debug)]
pub struct Shell {
    root: PathBuf,
    /// Variables and their values; none is a variable that is not passed on.
    environment: Vec<(OsString, Option<OsString>)>,
}

/// How a program ended, with what it said.
#[derive(Debug)]
pub struct Ended {
    /// Whether it exited with 0.
    pub success: bool,
    /// Standard output and standard error, in that order; empty where they were shown as they came.
    pub output: String,
}

impl Shell {
    /// A shell in `root` with the environment we were started with.
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

    /// The same shell in another folder.
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

    /// The same shell without a variable that we were started with.
    pub fn without(&self, name: impl AsRef<OsStr>) -> Self {
        self.set(name.as_ref(), None)
    }

    fn set(&self, name: &OsStr, value: Option<OsString>) -> Self {
        let mut more = self.clone();
        more.environment.push((name.to_owned(), value));
        more
    }

    /// Runs a program and lets it speak for itself.
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

    /// Runs a program and keeps what it says.
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

    /// Runs a program that says little and may hang (it waits for a network); ends it after `limit`.
    pub fn quiet_within(&self, limit: Duration, program: &str, arguments: &[&str]) -> Result<Ended, String> {
        let mut child = self
            .command(program.as_ref(), arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| not_started(program.as_ref(), &error))?;
        let started = Instant::now();
        loop {
            let looked = child
                .try_wait()
                .map_err(|error| not_started(program.as_ref(), &error))?;
            if let Some(status) = looked {
                return Ok(Ended {
                    success: status.success(),
                    output: String::new(),
                });
            }
            if started.elapsed() > limit {
                // It may have ended by itself in this very moment: then there is nothing to kill, which is as well.
                let _ = child.kill();
                let _ = child.wait();
                return Ok(Ended {
                    success: false,
                    output: format!("no answer within {} s\n", limit.as_secs()),
                });
            }
            std::thread::sleep(Duration::from_millis(50));
        }
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
