//! `trainyard operator`, the program as it is shipped, beside a cluster.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, Command};

use crate::crds::Crds;
use crate::namespace::Namespace;

/// An operator of one namespace's own; ends when this is dropped. If a test fails, what it said is shown.
pub struct Operator {
    program: PathBuf,
    kubeconfig: PathBuf,
    namespace: String,
    log: PathBuf,
    process: Option<Child>,
}

impl Operator {
    /// Starts one, and installs our definition of `TFJob` first.
    #[track_caller]
    #[must_use]
    pub fn of(namespace: &Namespace<'_>) -> Self {
        let cluster = namespace.cluster();
        cluster.install(Crds::TfJob);
        let program = trainyard_tools::trainyard().unwrap_or_else(|missing| panic!("{missing}"));
        let mut operator = Self {
            program: program.to_path_buf(),
            kubeconfig: cluster.kubeconfig(),
            namespace: namespace.name().to_owned(),
            log: cluster
                .place()
                .join("logs")
                .join(format!("operator-{}.log", namespace.name())),
            process: None,
        };
        operator.start();
        operator
    }

    /// Starts it, again if it was killed.
    #[track_caller]
    pub fn start(&mut self) {
        let log = File::options().create(true).append(true).open(&self.log);
        let log = log.unwrap_or_else(|error| panic!("cannot write {}: {error}", self.log.display()));
        let started = Command::new(&self.program)
            .args(["operator", "--log-format", "json", "--namespace", &self.namespace])
            .env("KUBECONFIG", &self.kubeconfig)
            .env("NO_PROXY", "*")
            .stderr(log)
            .spawn();
        self.process = Some(started.unwrap_or_else(|error| panic!("cannot start the operator: {error}")));
    }

    /// Kills it with 9.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            // It may have ended by itself, and has no more to say then.
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// What it has said so far, one JSON object a line.
    #[must_use]
    pub fn said(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            let _ = writeln!(std::io::stderr(), "the operator said:\n{}", self.said());
        }
    }
}
