//! Where runs are kept: which there are, which of them runs, and the lock that keeps a job from running twice.
//!
//! ```text
//! <state>/runs/<job>/lock                the job's: held by the run that goes on, freed by the kernel however it dies
//! <state>/runs/<job>/<run>/run.json      what the run was told           manifest.yaml   the manifest, overrides applied
//!                          status.json   how it stands                   events.jsonl    what happened
//!                          logs/         one file per life               control.sock    where it takes orders
//!                          lives/        `emptyDir`s and files of tasks, gone with them
//!                          files/        the files in memory, for runs that keep no manifest
//! <state>/volumes/<claim>                volumes that outlive runs
//! <state>/expanded/                      which files `trainyard expand` has written
//! ```
//!
//! `<state>` is `$TRAINYARD_STATE`, else `$XDG_STATE_HOME/trainyard`, else `~/.local/state/trainyard`.

use std::env;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::removal;
use super::run_file::RunFile;
use super::status::Status;
use crate::run::event::{RunEnd, RunEvent, What};
use crate::run::timestamp::Timestamp;
use crate::system::{is_at, private, user_directory};

/// `trainyard ps` holds the lock for a moment, which is no reason to refuse a run.
const TRIES: u32 = 20;
const BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// A file or directory of a run that could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what} `{path}`: {source}", path = path.display())]
pub struct DirectoryError {
    /// What was being done.
    pub what: &'static str,
    /// With what.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

pub(crate) fn cannot(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> DirectoryError {
    let path = path.to_owned();
    move |source| DirectoryError { what, path, source }
}

/// The directory of all runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
}

impl Home {
    /// The one of the user who started us; none if nothing says where it is.
    #[must_use]
    pub fn of_user() -> Option<Self> {
        // The user has set it, so it counts even if it is relative.
        let given = env::var_os("TRAINYARD_STATE").filter(|path| !path.is_empty());
        let root = given
            .and_then(|path| std::path::absolute(path).ok())
            .or_else(|| Some(user_directory("XDG_STATE_HOME", ".local/state")?.join("trainyard")))?;
        Some(Self { root })
    }

    /// The one at that path.
    #[must_use]
    pub fn at(root: PathBuf) -> Self {
        Self { root }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// Where runs are kept.
    #[must_use]
    pub fn runs(&self) -> PathBuf {
        self.root.join("runs")
    }

    /// The cache of [`probe`](crate::sandbox::probe).
    pub(crate) fn isolation_cache(&self) -> PathBuf {
        self.root.join("isolation")
    }

    /// Where is kept which files `trainyard expand` has written.
    #[must_use]
    pub fn expanded(&self) -> PathBuf {
        self.root.join("expanded")
    }

    /// Where volumes are kept beyond a run.
    #[must_use]
    pub fn volumes(&self) -> PathBuf {
        self.root.join("volumes")
    }

    /// The runs among which that one is.
    #[must_use]
    pub fn runs_of(run: &RunDirectory) -> JobRuns {
        let path = run.path.parent().unwrap_or_else(|| Path::new("/")).to_owned();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        JobRuns { name, path }
    }

    /// The runs of one job. Names of jobs hold neither slashes nor dots at their beginning.
    #[must_use]
    pub fn job(&self, name: &str) -> JobRuns {
        JobRuns {
            name: name.to_owned(),
            path: self.runs().join(name),
        }
    }

    /// Every job that has been run, by name.
    pub fn jobs(&self) -> Result<Vec<JobRuns>, DirectoryError> {
        let names = entries(&self.runs())?;
        Ok(names.iter().map(|name| self.job(name)).collect())
    }
}

/// The runs of one job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRuns {
    /// The job's name.
    pub name: String,
    path: PathBuf,
}

/// The lock of a job: no other process can run the job until this is dropped.
#[derive(Debug)]
pub struct Claim(#[expect(dead_code, reason = "held for its lock")] File);

impl JobRuns {
    /// Takes the right to run this job; none if a run of it goes on.
    pub fn claim(&self) -> Result<Option<Claim>, DirectoryError> {
        let lock = self.path.join("lock");
        for _ in 0..TRIES {
            private::directory(&self.path).map_err(cannot("make", &self.path))?;
            private::close(&self.path).map_err(cannot("close", &self.path))?;
            let file = match private::append(&lock) {
                // The job has just been forgotten.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened.map_err(cannot("open", &lock))?,
            };
            if let Some(claim) = self.claim_with(file).map_err(cannot("lock", &lock))? {
                return Ok(Some(claim));
            }
            thread::sleep(BETWEEN_TRIES);
        }
        Ok(None)
    }

    /// The job may have been forgotten since the lock was opened: then its file is not the lock any more.
    fn claim_with(&self, file: File) -> io::Result<Option<Claim>> {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) if is_at(&file, &self.path.join("lock")) => Ok(Some(Claim(file))),
            Ok(()) | Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether a run of this job goes on.
    #[must_use]
    pub fn is_running(&self) -> bool {
        let Ok(file) = File::open(self.path.join("lock")) else {
            return false;
        };
        flock(&file, FlockOperation::NonBlockingLockShared) == Err(rustix::io::Errno::WOULDBLOCK)
    }

    /// Every run of this job, oldest first: ids begin with the time.
    pub fn runs(&self) -> Result<Vec<RunDirectory>, DirectoryError> {
        let ids = entries(&self.path)?;
        let runs = ids.iter().map(|id| self.run(id));
        Ok(runs.filter(|run| run.path.join("run.json").exists()).collect())
    }

    /// The newest run of this job.
    pub fn newest(&self) -> Result<Option<RunDirectory>, DirectoryError> {
        Ok(self.runs()?.pop())
    }

    /// The run with that id.
    #[must_use]
    pub fn run(&self, id: &str) -> RunDirectory {
        RunDirectory {
            path: self.path.join(id),
        }
    }

    /// Makes the directory of a new run. The caller holds the job's claim.
    pub fn begin(&self) -> Result<RunDirectory, DirectoryError> {
        let mut id = new_id(Timestamp::now());
        // Two runs within a millisecond: the second waits for the next one.
        while self.path.join(&id).exists() {
            thread::sleep(Duration::from_millis(1));
            id = new_id(Timestamp::now());
        }
        let run = self.run(&id);
        let logs = run.logs();
        private::directory(&logs).map_err(cannot("make", &logs))?;
        Ok(run)
    }

    /// Forgets the job if no run of it is left. The claim keeps new ones from beginning meanwhile.
    pub fn forget_if_empty(&self, claim: Claim) {
        let Ok(begun) = entries(&self.path) else { return };
        if self.runs().is_ok_and(|runs| runs.is_empty()) {
            // Runs that were killed before anything was told to them.
            for id in begun.iter().filter(|id| is_id(id)) {
                let _ = self.run(id).remove();
            }
            let _ = fs::remove_file(self.path.join("lock"));
            let _ = fs::remove_dir(&self.path);
        }
        drop(claim);
    }
}

/// `20261116-014512-345`: sorts by time, and reads as one.
fn new_id(now: Timestamp) -> String {
    let digits: String = now.to_string().chars().filter(char::is_ascii_digit).collect();
    format!("{}-{}-{}", &digits[..8], &digits[8..14], &digits[14..17])
}

fn is_id(name: &str) -> bool {
    name.len() == 19 && name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
}

/// The names of the directories in a directory, in order; none if there is none.
fn entries(path: &Path) -> Result<Vec<String>, DirectoryError> {
    let listed = match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        listed => listed.map_err(cannot("list", path))?,
    };
    let mut names = Vec::new();
    for entry in listed {
        let entry = entry.map_err(cannot("list", path))?;
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        names.extend(entry.file_name().into_string().ok().filter(|_| is_directory));
    }
    names.sort();
    Ok(names)
}

/// The directory of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDirectory {
    /// Where it is.
    pub path: PathBuf,
}

impl RunDirectory {
    /// The run's id.
    #[must_use]
    pub fn id(&self) -> String {
        let name = self.path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// The logs of its tasks.
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.path.join("logs")
    }

    /// What its tasks find at their mounts.
    #[must_use]
    pub fn lives(&self) -> PathBuf {
        self.path.join("lives")
    }

    /// The files that tasks find at their mounts, where these must not be on disk.
    #[must_use]
    pub fn files(&self) -> PathBuf {
        self.path.join("files")
    }

    /// The effective manifest.
    #[must_use]
    pub fn manifest(&self) -> PathBuf {
        self.path.join("manifest.yaml")
    }

    /// What happened.
    #[must_use]
    pub fn events(&self) -> PathBuf {
        self.path.join("events.jsonl")
    }

    /// Where it takes orders.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.path.join("control.sock")
    }

    /// What the run was told.
    pub fn read_run(&self) -> Result<RunFile, DirectoryError> {
        read(&self.path.join("run.json"))
    }

    /// Writes what the run is told.
    pub fn write_run(&self, run: &RunFile) -> Result<(), DirectoryError> {
        write(&self.path.join("run.json"), &run.to_keep(), Durable::No)
    }

    /// How it stands; none if it never got so far.
    pub fn read_status(&self) -> Result<Option<Status>, DirectoryError> {
        let path = self.path.join("status.json");
        if path.exists() {
            read(&path).map(Some)
        } else {
            Ok(None)
        }
    }

    /// When and how it ended, as its events tell it.
    pub(crate) fn read_end(&self) -> Option<(Timestamp, RunEnd)> {
        let text = fs::read(self.events()).ok()?;
        let events = text.rsplit(|byte| *byte == b'\n');
        let end = |event: RunEvent| match event.what {
            What::RunEnded(end) => Some((event.time, *end)),
            _ => None,
        };
        events
            .filter_map(|line| serde_json::from_slice(line).ok())
            .find_map(end)
    }

    /// Writes how it stands.
    pub fn write_status(&self, status: &Status, durable: Durable) -> Result<(), DirectoryError> {
        write(&self.path.join("status.json"), status, durable)
    }

    /// Removes the run with everything in it, and says how many bytes that were.
    pub fn remove(&self) -> Result<u64, DirectoryError> {
        removal::remove(&self.path).map_err(cannot("remove", &self.path))
    }
}

/// Whether a file must survive the machine's sudden end.
///
/// While a run goes on it need not: every process of it would be gone as well, and nothing is decided from the file
/// afterwards. Its end must.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durable {
    /// It must.
    Yes,
    /// It need not.
    No,
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T, DirectoryError> {
    let bytes = fs::read(path).map_err(cannot("read", path))?;
    serde_json::from_slice(&bytes).map_err(|error| cannot("parse", path)(error.into()))
}

/// Writes a file atomically: a reader sees the old one or the new one.
fn write<T: Serialize>(path: &Path, value: &T, durable: Durable) -> Result<(), DirectoryError> {
    let scratch = path.with_added_extension("new");
    let attempt = || -> io::Result<()> {
        let mut bytes = serde_json::to_vec_pretty(value)?;
        bytes.push(b'\n');
        let mut file = private::create(&scratch)?;
        file.write_all(&bytes)?;
        if durable == Durable::Yes {
            file.sync_all()?;
        }
        fs::rename(&scratch, path)
    };
    attempt().map_err(cannot("write", path))
}

#[cfg(test)]
mod tests;
