//! Runs the program from the root of the repository and keeps what came out.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// What came out of one run.
pub struct Ran {
    pub out: String,
    pub err: String,
    pub code: Option<i32>,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            out: String::from_utf8(output.stdout).expect("standard output is UTF-8"),
            err: String::from_utf8(output.stderr).expect("standard error is UTF-8"),
            code: output.status.code(),
        }
    }
}

impl Ran {
    /// Everything, for a snapshot.
    pub fn shown(&self) -> String {
        let code = self
            .code
            .map_or_else(|| "none".to_owned(), |code| code.to_string());
        format!(
            "exit {code}\n---- standard output\n{}---- standard error\n{}",
            self.out, self.err
        )
    }

    /// Standard output as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).expect("standard output is JSON")
    }
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The program, ready to run in a known environment.
pub fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trainyard"));
    command
        .args(arguments)
        .current_dir(root())
        .env_clear()
        .env("LC_ALL", "C.UTF-8")
        .env("COLUMNS", "100")
        .stdin(Stdio::null());
    command
}

/// Runs the program to its end.
pub fn run(arguments: &[&str]) -> Ran {
    program(arguments).output().expect("the program runs").into()
}

/// Runs the program with a text on standard input.
pub fn run_with(arguments: &[&str], input: &str) -> Ran {
    let mut child = program(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(input.as_bytes()).expect("the text is read");
    drop(stdin);
    child.wait_with_output().expect("the program ends").into()
}

/// An empty folder of this name for one test.
pub fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("a folder can be made");
    path
}

/// A device that is always full.
pub fn full_disk() -> File {
    File::options()
        .write(true)
        .open("/dev/full")
        .expect("there is /dev/full")
}

/// A small job.
pub fn manifest(name: &str, workers: u32) -> String {
    format!(
        "apiVersion: kubeflow.org/v1\nkind: TFJob\nmetadata: {{name: {name}}}\nspec:\n  tfReplicaSpecs:\n    Worker:\n      \
         replicas: {workers}\n      template:\n        spec:\n          containers: [{{name: tensorflow, image: x}}]\n"
    )
}

/// Every example and every good fixture, by its path from the root.
pub fn manifests() -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![root().join("examples"), root().join("tests/fixtures/ok")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "yaml" || extension == "json")
            {
                let path = path.strip_prefix(root()).expect("a path below the root");
                found.push(path.to_str().expect("a path").to_owned());
            }
        }
    }
    found.sort();
    found
}
