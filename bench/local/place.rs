//! Where things are: the release that is measured, as it is installed, and a directory of our own for state and output.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The memory that is a file system, on every usual Linux: a disk that others use as well would be measured with us.
const MEMORY: &str = "/dev/shm";

/// A copy of the release, and the directory. Both are removed in the end.
#[derive(Debug)]
pub struct Place {
    trainyard: PathBuf,
    ourselves: PathBuf,
    scratch: PathBuf,
}

impl Place {
    /// The release lies beside this program: both were built by the same command.
    ///
    /// What is measured is a copy, as installing makes one. A linker writes its output page by page, and that is how it stays
    /// in memory; a file that was copied, or read from a disk, as those of the shell were, is there in larger pieces. With
    /// small ones a start takes a seventh longer.
    pub fn find(within: Option<&Path>) -> io::Result<Self> {
        let ourselves = std::env::current_exe()?;
        let built = ourselves.with_file_name("trainyard");
        if !built.is_file() {
            let missing = format!(
                "there is no {}: `cargo xtask bench local` builds it",
                built.display()
            );
            return Err(io::Error::other(missing));
        }
        let within = match within {
            Some(path) => path.to_owned(),
            None if Path::new(MEMORY).is_dir() => MEMORY.into(),
            None => std::env::temp_dir(),
        };
        let scratch = within.join(format!("trainyard-bench-{}", std::process::id()));
        fs::create_dir_all(&scratch)?;
        let place = Self {
            // On the disk: memory that is a file system has small pieces too.
            trainyard: built.with_file_name("trainyard-installed"),
            ourselves,
            scratch: fs::canonicalize(scratch)?,
        };
        fs::copy(&built, &place.trainyard)?;
        Ok(place)
    }

    /// The directory of our own.
    pub fn scratch(&self) -> &Path {
        &self.scratch
    }

    /// This program again, as a writer of lines.
    pub fn ourselves(&self) -> &Path {
        &self.ourselves
    }

    /// `trainyard` with its own state directory and without the user's configuration; output is discarded by default.
    pub fn trainyard(&self) -> Command {
        let mut command = Command::new(&self.trainyard);
        command
            // The same signs everywhere.
            .env("LC_ALL", "C")
            .env("TRAINYARD_STATE", self.scratch.join("state"))
            .env("XDG_CONFIG_HOME", self.scratch.join("config"))
            .current_dir(&self.scratch)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// Writes the manifest of a job whose tasks all run this program, and which ends with the last of them.
    pub fn manifest(&self, name: &str, tasks: usize, argv: &[String]) -> io::Result<PathBuf> {
        let argv: Vec<String> = argv.iter().map(|word| format!("{word:?}")).collect();
        let text = format!(
            "apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {{name: {name}}}
spec:
  successPolicy: AllWorkers
  tfReplicaSpecs:
    Worker:
      replicas: {tasks}
      template:
        spec:
          containers:
          - {{name: tensorflow, image: none, command: [{}]}}
",
            argv.join(", ")
        );
        let path = self.scratch.join(format!("{name}.yaml"));
        fs::write(&path, text)?;
        Ok(path)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What cannot be removed is memory, or is written over the next time.
        let _ = fs::remove_dir_all(&self.scratch);
        let _ = fs::remove_file(&self.trainyard);
    }
}

/// How busy the machine is.
pub fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

/// Starts a program, waits for it, and is content with nothing but success; how long it took.
pub fn succeed(command: &mut Command) -> io::Result<Duration> {
    let begin = Instant::now();
    let status = command.status()?;
    let took = begin.elapsed();
    if status.success() {
        Ok(took)
    } else {
        Err(io::Error::other(format!("{command:?} ended with {status}")))
    }
}
