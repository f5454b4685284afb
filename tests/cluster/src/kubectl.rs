//! kubectl, as users use it.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// kubectl for one cluster.
#[derive(Clone, Debug)]
pub struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
}

/// What kubectl said. Whether that was right is for [`Said::good`] or [`Said::bad`] to say.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Whether it exited with 0.
    pub success: bool,
    /// Standard output.
    pub output: String,
    /// Standard error.
    pub errors: String,
}

impl Said {
    /// Standard output, or the end of the test.
    #[track_caller]
    pub fn good(self) -> String {
        assert!(self.success, "kubectl failed: {}{}", self.output, self.errors);
        self.output
    }

    /// Standard error of a command that must have failed.
    #[track_caller]
    pub fn bad(self) -> String {
        assert!(!self.success, "kubectl should have failed: {}", self.output);
        self.errors
    }
}

/// An object as the API server answered: what tells whether it has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// `Job/train-worker`.
    pub name: String,
    /// Changes with every write.
    pub resource_version: String,
    /// The object.
    pub object: Value,
}

impl Kubectl {
    /// That program, for the cluster of that file.
    #[must_use]
    pub fn new(program: PathBuf, kubeconfig: PathBuf) -> Self {
        Self { program, kubeconfig }
    }

    /// Where the program is.
    #[must_use]
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// A command of it, for a test to start by itself.
    #[must_use]
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        // What it knows of one cluster must not be believed of the next one at the same port.
        command
            .env("KUBECONFIG", &self.kubeconfig)
            .env("KUBECACHEDIR", self.kubeconfig.with_file_name("cache"));
        command
    }

    /// Runs it.
    #[track_caller]
    pub fn run(&self, arguments: &[impl AsRef<OsStr>]) -> Said {
        self.run_with(arguments, "")
    }

    /// Runs it with that text on standard input.
    #[track_caller]
    pub fn run_with(&self, arguments: &[impl AsRef<OsStr>], input: &str) -> Said {
        let mut command = self.command();
        let spawned = command
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child =
            spawned.unwrap_or_else(|error| panic!("cannot start {}: {error}", self.program.display()));
        if let Some(mut stdin) = child.stdin.take() {
            // It may have ended without reading; then what it says matters.
            let _ = stdin.write_all(input.as_bytes());
        }
        let ended = child.wait_with_output();
        let ended = ended.unwrap_or_else(|error| panic!("cannot wait for kubectl: {error}"));
        Said {
            success: ended.status.success(),
            output: String::from_utf8_lossy(&ended.stdout).into_owned(),
            errors: String::from_utf8_lossy(&ended.stderr).into_owned(),
        }
    }
}
