//! The Python that a job without an image uses: the user's own, if there is one.
//!
//! ```text
//! the command names an interpreter ─▶ that one
//! an environment is activated      ─▶ that one
//! `python` on PATH has TensorFlow  ─▶ that one
//! else                             ─▶ an environment of ours, and why
//! ```

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::ask::{Answer, NoAnswer};
use super::tools::is_program;
use crate::pod::Machine;
use crate::process::lookup::first_bytes;

/// How conda calls the environment that a login shell activates unasked.
const CONDA_BASE: [&str; 2] = ["base", "root"];

/// The Python that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// The user's.
    Users(UsersPython),
    /// None that can be used: one is to be made.
    None {
        /// The version that the command asks for: `3.11` of `python3.11`.
        version: Option<String>,
        /// Why the user's is not used.
        why: String,
    },
}

/// A Python of the user's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UsersPython {
    /// Its interpreter.
    pub interpreter: PathBuf,
    /// The directory that must come first on PATH for it to be found.
    pub path: Option<PathBuf>,
    /// Its virtual environment, if it is one.
    pub environment: Option<PathBuf>,
    /// What it said; none if it was not asked or did not answer.
    pub answer: Option<Answer>,
    /// Why this one.
    pub why: String,
}

impl UsersPython {
    /// One line: which it is, and why.
    pub(crate) fn note(&self) -> String {
        let path = self.interpreter.display();
        let about = self.answer.as_ref().map_or_else(String::new, about);
        format!("tasks use {path}{about}: {}", self.why)
    }
}

/// ` (Python 3.11.7)`, and whether it lacks TensorFlow.
fn about(answer: &Answer) -> String {
    let lacks = if answer.has_tensorflow {
        ""
    } else {
        ", without TensorFlow"
    };
    format!(" (Python {}{lacks})", answer.version)
}

/// How a command starts Python.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StartedBy {
    /// A name that is looked up on PATH, typed or in the first line of a script.
    Name(String),
    /// An interpreter's file, and what names it.
    File(PathBuf, String),
    /// It is not known whether it starts one: a shell script may.
    Unknown,
}

/// Whether this is what a Python interpreter is called: `python`, `python3`, `python3.11`.
pub(crate) fn is_python_name(name: &str) -> bool {
    name.strip_prefix("python")
        .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
}

/// How this command starts Python, seen from that directory.
pub(crate) fn started_by(program: &str, machine: &Machine, directory: &Path) -> StartedBy {
    let path = Path::new(program);
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    if is_python_name(name) {
        return if program.contains('/') {
            StartedBy::File(directory.join(path), "the command names it".to_owned())
        } else {
            StartedBy::Name(name.to_owned())
        };
    }
    let file = if program.contains('/') {
        Some(directory.join(path))
    } else {
        on_path(program, machine)
    };
    file.and_then(|file| named_by_script(&file))
        .unwrap_or(StartedBy::Unknown)
}

/// What the first line of a script says: `#!/usr/bin/env python3`, `#!/opt/venv/bin/python`.
fn named_by_script(file: &Path) -> Option<StartedBy> {
    let start = first_bytes(file).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split_ascii_whitespace();
    let interpreter = Path::new(words.next()?);
    let name = interpreter.file_name()?.to_str()?;
    if name == "env" {
        let named = words.find(|word| !word.starts_with('-') && !word.contains('='))?;
        return is_python_name(named).then(|| StartedBy::Name(named.to_owned()));
    }
    let why = format!("the first line of {} names it", file.display());
    is_python_name(name).then(|| StartedBy::File(interpreter.to_owned(), why))
}

/// A program on the PATH that tasks inherit.
pub(crate) fn on_path(program: &str, machine: &Machine) -> Option<PathBuf> {
    let path = OsStr::from_bytes(machine.variable("PATH")?);
    let mut files = std::env::split_paths(path).map(|directory| directory.join(program));
    files.find(|file| is_program(file))
}

/// How interpreters are asked.
pub(crate) type Ask<'a> = dyn Fn(&Path) -> Result<Answer, NoAnswer> + 'a;

/// The Python for a command. `configured`: the configuration says what stands for the image, which goes before what is on PATH.
pub(crate) fn find(started_by: &StartedBy, machine: &Machine, configured: bool, ask: &Ask<'_>) -> Found {
    let name = match started_by {
        StartedBy::File(file, why) => {
            return Found::Users(UsersPython {
                answer: ask(file).ok(),
                interpreter: file.clone(),
                path: None,
                environment: None,
                why: why.clone(),
            });
        }
        StartedBy::Name(name) => name.as_str(),
        StartedBy::Unknown => "python3",
    };
    if let Some(active) = activated(name, machine, ask) {
        return Found::Users(active);
    }
    let version = name.strip_prefix("python").filter(|rest| rest.contains('.'));
    let version = version.map(str::to_owned);
    if configured {
        let why = "the configuration has an entry for `tensorflow/tensorflow`".to_owned();
        return Found::None { version, why };
    }
    let why = match on_path(name, machine) {
        None => format!("there is no `{name}` on PATH"),
        Some(file) => match ask(&file) {
            Ok(answer) if answer.has_tensorflow => {
                return Found::Users(UsersPython {
                    interpreter: answer.executable.clone(),
                    path: None,
                    environment: None,
                    answer: Some(answer),
                    why: format!("`{name}` on PATH, which has TensorFlow"),
                });
            }
            Ok(answer) => format!(
                "`{name}` on PATH ({}, Python {}) has no TensorFlow",
                file.display(),
                answer.version
            ),
            Err(error) => format!("`{name}` on PATH ({}) {error}", file.display()),
        },
    };
    Found::None { version, why }
}

/// The environment that is activated, if it has that program. The user chose it, so it need not have TensorFlow.
fn activated(name: &str, machine: &Machine, ask: &Ask<'_>) -> Option<UsersPython> {
    let directory = |variable: &str| {
        let path = Path::new(OsStr::from_bytes(machine.variable(variable)?));
        path.is_absolute().then(|| path.to_owned())
    };
    let is_base = machine
        .variable("CONDA_DEFAULT_ENV")
        .is_some_and(|name| CONDA_BASE.iter().any(|base| name == base.as_bytes()));
    let conda = directory("CONDA_PREFIX").filter(|_| !is_base);
    let both = [
        (directory("VIRTUAL_ENV"), "virtual environment"),
        (conda, "conda environment"),
    ];
    both.into_iter().find_map(|(root, kind)| {
        let root = root?;
        let interpreter = root.join("bin").join(name);
        if !is_program(&interpreter) {
            return None;
        }
        Some(UsersPython {
            answer: ask(&interpreter).ok(),
            interpreter,
            path: Some(root.join("bin")),
            environment: is_virtual(&root).then_some(root),
            why: format!("the activated {kind}"),
        })
    })
}

/// The Python that `--python PATH` names: an interpreter, or the directory of an environment.
pub(crate) fn named(path: &Path, ask: &Ask<'_>) -> Result<UsersPython, String> {
    let interpreter = if path.is_dir() {
        path.join("bin/python")
    } else {
        path.to_owned()
    };
    let shown = interpreter.display();
    if !interpreter.exists() {
        return Err(format!("`{shown}` does not exist"));
    }
    let answer = ask(&interpreter).map_err(|error| format!("`{shown}` {error}"))?;
    let bin = interpreter.parent().map(Path::to_owned);
    let root = bin.as_deref().and_then(Path::parent);
    Ok(UsersPython {
        environment: root.filter(|root| is_virtual(root)).map(Path::to_owned),
        path: bin,
        interpreter,
        answer: Some(answer),
        why: "`--python` names it".to_owned(),
    })
}

/// Whether a directory is a virtual environment, as `venv` and uv make them.
fn is_virtual(root: &Path) -> bool {
    root.join("pyvenv.cfg").exists()
}

#[cfg(test)]
mod tests;
