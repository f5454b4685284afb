//! Python environments in the cache: made on first use, shared by all runs, found again at once.
//!
//! ```text
//! Wanted ─▶ a request file? ─▶ its environment, complete? ─▶ Environment
//!             │ no                  │ no
//!             ▼                     ▼
//!           choose versions ─▶ make it, under a lock ─▶ write the marker, then the request
//! ```
//!
//! An environment without its marker is never used: the marker is written last, under the lock that the process making the
//! environment holds, and what is found without one is removed and made again. It is made where it stays, because its
//! scripts hold its path.
//!
//! The user's own Python, which goes before these where a job has no image, is looked for by `users`, and asked by `ask`.

pub(crate) mod ask;
mod build;
mod choice;
mod tools;
pub(crate) mod users;
mod version;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use self::build::build;
use self::choice::{Chosen, choose};
pub use self::choice::{Packages, Release, Wanted};
pub use self::tools::Tools;
pub(crate) use self::tools::on_path;
pub(crate) use self::version::Version;
use crate::pod::hash;
use crate::system::user_directory;

/// The form in which requests and markers are written; others are made anew.
const FORMAT: u32 = 1;
/// How often a lock that another run holds is tried.
const LOCK_INTERVAL: Duration = Duration::from_millis(200);
/// The file that says that an environment is complete.
const MARKER: &str = "trainyard.json";

/// What installers say, and what to do about it.
const KNOWN_FAILURES: &[(&str, &str)] = &[
    ("ensurepip is not", NO_VENV),
    ("No module named venv", NO_VENV),
    ("No module named pip", "install pip or uv"),
    (
        "No space left",
        "the disk is full; `XDG_CACHE_HOME` puts the cache elsewhere",
    ),
    ("Name or service not known", NO_INDEX),
    ("Temporary failure in name resolution", NO_INDEX),
    (
        "Illegal instruction",
        "this processor lacks what the package was built for (AVX)",
    ),
];
const NO_VENV: &str = "install Python's venv: `apt install python3-venv`, or install uv";
const NO_INDEX: &str = "the package index cannot be reached: is there a network, a proxy, an index of your own (`PIP_INDEX_URL`)? A Python that has TensorFlow can be named: `--python PATH`";

/// The cache of Python environments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    root: PathBuf,
}

/// A Python environment that is complete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// Where it is.
    pub root: PathBuf,
    /// What people must know about it: it is another version than they asked for.
    pub note: Option<String>,
}

impl Environment {
    /// The directory with its programs.
    #[must_use]
    pub fn bin(&self) -> PathBuf {
        self.root.join("bin")
    }

    /// Its interpreter.
    #[must_use]
    pub fn python(&self) -> PathBuf {
        self.bin().join("python")
    }
}

/// What goes on while an environment is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Why an environment is to be made; the first of all.
    Because(String),
    /// Another run is making it.
    Waiting,
    /// The index is asked for this.
    Choosing(String),
    /// It is being made.
    Making {
        /// What is in it.
        packages: Vec<String>,
        /// The version of Python.
        python: String,
    },
    /// What the installer does now, as far as it says.
    Doing(String),
    /// About a second has passed without a word of the installer: clocks go on.
    Tick,
    /// It is complete.
    Made {
        /// What it is called.
        name: String,
        /// How long it took.
        took: Duration,
    },
}

/// Gets what goes on.
pub type Tell<'a> = dyn FnMut(Progress) + 'a;

/// Why there is no environment.
#[derive(Debug, thiserror::Error)]
pub enum PythonError {
    /// No interpreter.
    #[error(
        "there is no Python {0} here; install it, or let tasks use the programs of this machine: `--python own`"
    )]
    NoPython(String),
    /// No such package.
    #[error("there is no TensorFlow to be had: {0}")]
    NoVersion(String),
    /// The index did not answer.
    #[error("cannot find out which versions of `{package}` there are:\n{said}")]
    Index {
        /// Of what.
        package: String,
        /// What pip said.
        said: String,
    },
    /// A program could not be started.
    #[error("cannot start `{program}`")]
    Start {
        /// The program, as it was called.
        program: String,
        /// The error of the system call.
        source: io::Error,
    },
    /// A program failed.
    #[error("`{command}` failed:\n{said}")]
    Failed {
        /// The command line.
        command: String,
        /// Its last lines.
        said: String,
    },
    /// The cache cannot be used.
    #[error("cannot use the cache at `{path}`")]
    Cache {
        /// Which part of it.
        path: PathBuf,
        /// The error of the system call.
        source: io::Error,
    },
}

impl PythonError {
    /// What to do about it, where that is known.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        let (Self::Index { said, .. } | Self::Failed { said, .. }) = self else {
            return None;
        };
        let hint = KNOWN_FAILURES.iter().find(|(sign, _)| said.contains(sign));
        hint.map(|(_, hint)| *hint)
    }
}

/// What a request was answered with.
#[derive(Debug, Serialize, Deserialize)]
struct Request {
    format: u32,
    environment: String,
    note: Option<String>,
}

/// What says that an environment is complete.
#[derive(Debug, Serialize, Deserialize)]
struct Marker {
    format: u32,
    requirements: Vec<String>,
    python: String,
}

impl Cache {
    /// The cache at that place.
    #[must_use]
    pub fn at(root: PathBuf) -> Self {
        Self { root }
    }

    /// The user's: `$XDG_CACHE_HOME/trainyard/python`, else `~/.cache/trainyard/python`.
    #[must_use]
    pub fn of_user() -> Option<Self> {
        user_directory("XDG_CACHE_HOME", ".cache").map(|cache| Self::at(cache.join("trainyard/python")))
    }

    /// The environment for this, if it has been made before. Costs two small files.
    #[must_use]
    pub fn find(&self, wanted: &Wanted) -> Option<Environment> {
        let request: Request = read(&self.request(wanted))?;
        let root = self.environments().join(&request.environment);
        (request.format == FORMAT && is_complete(&root)).then_some(Environment {
            root,
            note: request.note,
        })
    }

    /// The environment for this, made now if there is none. Two runs at once make one. Tools are looked for only if it
    /// must be made: that costs more than finding an environment.
    pub fn ensure(
        &self,
        wanted: &Wanted,
        tools: &dyn Fn() -> Tools,
        tell: &mut Tell<'_>,
    ) -> Result<Environment, PythonError> {
        if let Some(found) = self.find(wanted) {
            return Ok(found);
        }
        let _one_at_a_time = self.lock(&key(wanted), tell)?;
        if let Some(found) = self.find(wanted) {
            return Ok(found);
        }
        let tools = tools();
        let chosen = choose(wanted, &tools, tell)?;
        let name = self.make(&chosen, &tools, tell)?;
        let request = Request {
            format: FORMAT,
            environment: name.clone(),
            note: chosen.note.clone(),
        };
        write(&self.request(wanted), &request)?;
        Ok(Environment {
            root: self.environments().join(name),
            note: chosen.note,
        })
    }

    /// Makes what was chosen, unless it is there for another request already.
    fn make(&self, chosen: &Chosen, tools: &Tools, tell: &mut Tell<'_>) -> Result<String, PythonError> {
        let python = chosen.interpreter.version.to_string();
        let text = format!("{:?} {python} {}", chosen.requirements, chosen.early);
        let name = format!(
            "{}-py{}-{:08x}",
            plain(&chosen.name),
            chosen.interpreter.minor(),
            hash(&text, 0) >> 32
        );
        let root = self.environments().join(&name);
        let _one_at_a_time = self.lock(&name, tell)?;
        if is_complete(&root) {
            return Ok(name);
        }
        let begun = Instant::now();
        tell(Progress::Making {
            packages: chosen.requirements.clone(),
            python: python.clone(),
        });
        clear(&root)?;
        if let Err(error) = build(&root, chosen, tools, tell) {
            // A half-made environment is useless; that it cannot be removed is not the error to report.
            let _ = clear(&root);
            return Err(error);
        }
        let marker = Marker {
            format: FORMAT,
            requirements: chosen.requirements.clone(),
            python,
        };
        write(&root.join(MARKER), &marker)?;
        tell(Progress::Made {
            name: name.clone(),
            took: begun.elapsed(),
        });
        Ok(name)
    }

    fn environments(&self) -> PathBuf {
        self.root.join("environments")
    }

    fn request(&self, wanted: &Wanted) -> PathBuf {
        self.root.join("requests").join(format!("{}.json", key(wanted)))
    }

    /// Waits until no other process makes this environment; the kernel frees the lock however a process ends.
    fn lock(&self, name: &str, tell: &mut Tell<'_>) -> Result<File, PythonError> {
        let path = self.root.join("locks").join(name);
        let file = open_lock(&path).map_err(failed(&path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => {
                tell(Progress::Waiting);
                wait_for_lock(&file, &path, tell)?;
            }
            Err(fs::TryLockError::Error(error)) => return Err(failed(&path)(error)),
        }
        Ok(file)
    }
}

/// Tries until it is free, with a tick each time: a lock cannot be waited for together with a clock.
fn wait_for_lock(file: &File, path: &Path, tell: &mut Tell<'_>) -> Result<(), PythonError> {
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(fs::TryLockError::WouldBlock) => thread::sleep(LOCK_INTERVAL),
            Err(fs::TryLockError::Error(error)) => return Err(failed(path)(error)),
        }
        tell(Progress::Tick);
    }
}

fn open_lock(path: &Path) -> io::Result<File> {
    make_directory_of(path)?;
    File::create(path)
}

fn make_directory_of(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

fn clear(root: &Path) -> Result<(), PythonError> {
    match fs::remove_dir_all(root) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(root)(error)),
        _ => Ok(()),
    }
}

/// Writes a file whole or not at all.
fn write(path: &Path, value: &impl Serialize) -> Result<(), PythonError> {
    let write = || -> io::Result<()> {
        let text = serde_json::to_string_pretty(value)?;
        make_directory_of(path)?;
        let new = path.with_extension("new");
        let mut file = File::create(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(new, path)
    };
    write().map_err(failed(path))
}

/// Names the part of the cache at which an error happened.
fn failed(path: &Path) -> impl FnOnce(io::Error) -> PythonError {
    let path = path.to_owned();
    move |source| PythonError::Cache { path, source }
}

/// Whether an environment was finished and its interpreter is still there.
fn is_complete(root: &Path) -> bool {
    let marker: Option<Marker> = read(&root.join(MARKER));
    marker.is_some_and(|marker| marker.format == FORMAT) && root.join("bin/python").exists()
}

fn read<T: for<'de> Deserialize<'de>>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// A name for a request: what people recognise, and what tells it from all others.
fn key(wanted: &Wanted) -> String {
    let words = match &wanted.packages {
        Packages::TensorFlow { release, gpu } => {
            let release = match release {
                Release::Newest => "newest",
                Release::Nightly => "nightly",
                Release::Version(version) => version,
            };
            format!("tensorflow-{release}-{}", if *gpu { "gpu" } else { "cpu" })
        }
        Packages::TensorBoard => "tensorboard".to_owned(),
        Packages::Requirements(_) => "requirements".to_owned(),
    };
    format!("{}-{:016x}", plain(&words), hash(&format!("{wanted:?}"), 0))
}

fn plain(text: &str) -> String {
    let kept = |c: char| c.is_ascii_alphanumeric() || c == '.';
    text.chars()
        .map(|c| if kept(c) { c } else { '-' })
        .take(60)
        .collect()
}

#[cfg(test)]
mod tests;
