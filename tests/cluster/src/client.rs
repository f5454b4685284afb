//! Kubeflow's client for Python, by scripts in `tests/client` that use it as its users do.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use crate::cluster::aloud;
use crate::namespace::Namespace;

/// Runs scripts that use the client.
pub struct Client;

impl Client {
    /// Runs a script for a namespace. Each line that it prints is handed to `answer`; then it goes on. If it ends with an
    /// exception, so does the test.
    #[track_caller]
    pub fn run(namespace: &Namespace<'_>, script: &str, mut answer: impl FnMut(&str)) {
        let python = trainyard_tools::python::kubeflow_client(&mut aloud);
        let python = python.unwrap_or_else(|missing| panic!("{missing}"));
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/client");
        let started = Command::new(python)
            .arg(scripts.join(script))
            .arg(namespace.name())
            .env("KUBECONFIG", namespace.cluster().kubeconfig())
            .env("NO_PROXY", "*")
            .env("PYTHONDONTWRITEBYTECODE", "1")
            // The cluster's certificate is its own.
            .env("PYTHONWARNINGS", "ignore")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut process = started.unwrap_or_else(|error| panic!("cannot start Python: {error}"));
        let (Some(mut input), Some(output), Some(mut errors)) =
            (process.stdin.take(), process.stdout.take(), process.stderr.take())
        else {
            panic!("{script} has no pipes");
        };
        let errors = thread::spawn(move || {
            let mut said = String::new();
            // Whatever could be read of it.
            let _ = errors.read_to_string(&mut said);
            said
        });
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            answer(&line);
            // If it has ended meanwhile, its status tells.
            let _ = input.write_all(b"done\n");
        }
        let ended = process.wait();
        let ended = ended.unwrap_or_else(|error| panic!("cannot wait for Python: {error}"));
        let said = errors.join().unwrap_or_default();
        assert!(ended.success(), "{script}: {ended}\n{said}");
    }
}
