//! Reads files, directories and standard input, in parallel, with results in order.

use std::fs;
use std::io;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use trainyard_document::Source;
use trainyard_document::codes::Code;
use trainyard_document::problem::{Place, Problem, escaped};

/// Below this many sources, starting threads costs more than it saves.
const WORTH_THREADS: usize = 8;
/// Limit for nested directories.
const DEEPEST: usize = 32;

/// A file to read, or `-`; a problem for a directory that cannot be read or has no manifests.
pub type Input = Result<PathBuf, Box<Problem>>;

/// Replaces directories by the manifests in them, sorted by name.
pub fn expand(typed: &[PathBuf]) -> Vec<Input> {
    let mut inputs = Vec::new();
    let mut standard_input = false;
    for path in typed {
        if path.as_os_str() == "-" {
            // It can be read only once.
            if !standard_input {
                inputs.push(Ok(path.clone()));
            }
            standard_input = true;
        } else if path.is_dir() {
            folder(path, &mut inputs);
        } else {
            inputs.push(Ok(path.clone()));
        }
    }
    inputs
}

fn folder(path: &Path, inputs: &mut Vec<Input>) {
    let before = inputs.len();
    walk(path, 0, inputs);
    if inputs.len() == before {
        let message = "no manifests in this directory: expected files named `*.yaml`, `*.yml` or `*.json`";
        inputs.push(Err(unreadable(path, message)));
    }
}

fn walk(path: &Path, depth: usize, inputs: &mut Vec<Input>) {
    let entries = fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut entries = match entries {
        Ok(entries) => entries,
        Err(error) => {
            let message = format!("cannot read the directory: {error}");
            return inputs.push(Err(unreadable(path, &message)));
        }
    };
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, kind) = (entry.path(), entry.file_type());
        let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        // Links to directories are not followed: they may form a cycle.
        if kind.is_ok_and(|kind| kind.is_dir()) {
            if !hidden && depth < DEEPEST {
                walk(&path, depth + 1, inputs);
            }
        } else if !hidden && is_manifest(&path) {
            inputs.push(Ok(path));
        }
    }
}

fn is_manifest(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    let known = ["yaml", "yml", "json"];
    extension.is_some_and(|extension| known.iter().any(|known| extension.eq_ignore_ascii_case(known)))
}

fn unreadable(path: &Path, message: &str) -> Box<Problem> {
    let place = Place {
        source: shown_path(path).into(),
        document: 0,
        span: None,
        path: String::new(),
    };
    Box::new(Problem::new(Code::CannotRead, place, message))
}

/// A path with control characters and invalid UTF-8 escaped.
pub fn shown_path(path: &Path) -> String {
    escaped(&path.to_string_lossy())
}

/// Reads a file, or standard input for `-`.
pub fn read(path: &Path) -> Result<Source, Box<Problem>> {
    match path.to_str() {
        Some(_) if path.is_dir() => {
            let problem = unreadable(path, "this is a directory; expected a file");
            let hint = "name one of its files; only `trainyard check` takes directories";
            Err(Box::new(problem.hint(hint)))
        }
        Some(text) => Source::read(text),
        None => Err(unreadable(path, "the name of the file is not UTF-8")),
    }
}

/// Reads every input and maps it, on all cores; the results are in the order of the inputs.
pub fn each<T: Send>(inputs: &[Input], make: impl Fn(Result<Source, Box<Problem>>) -> T + Sync) -> Vec<T> {
    let threads = thread::available_parallelism()
        .map_or(1, NonZero::get)
        .min(inputs.len());
    let make = |input: &Input| make(input.clone().and_then(|path| read(&path)));
    if inputs.len() < WORTH_THREADS || threads < 2 {
        return inputs.iter().map(make).collect();
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let claim = || {
            let position = next.fetch_add(1, Ordering::Relaxed);
            Some((position, make(inputs.get(position)?)))
        };
        std::iter::from_fn(claim).collect::<Vec<(usize, T)>>()
    };
    let mut made: Vec<(usize, T)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let ended = workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic)));
        ended.flatten().collect()
    });
    made.sort_by_key(|(position, _)| *position);
    made.into_iter().map(|(_, value)| value).collect()
}
