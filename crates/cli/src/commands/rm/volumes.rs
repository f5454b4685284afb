//! Volumes that are kept beyond a run: which runs name them, and which no run names any more.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use trainyard_local::pod::kept_volumes;
use trainyard_local::run::store::directory::{Home, RunDirectory};
use trainyard_local::run::store::removal;
use trainyard_local::run::store::state::read_job;

/// Volumes that may go, and those that may not.
#[derive(Default)]
pub struct Unused {
    pub paths: Vec<PathBuf>,
    /// By path, a job whose run still names it.
    pub still_named: BTreeMap<PathBuf, String>,
}

/// The volumes that these runs name.
pub fn of_runs<'a>(runs: impl Iterator<Item = &'a RunDirectory>, home: &Home) -> BTreeSet<PathBuf> {
    runs.filter_map(|run| of_run(run, home)).flatten().collect()
}

/// The ids of those among these runs whose manifest was not kept: nothing says which volumes they name.
pub fn nameless<'a>(runs: impl Iterator<Item = &'a RunDirectory>) -> Vec<String> {
    let not_kept = |run: &&RunDirectory| run.read_run().is_ok_and(|file| file.manifest_not_kept);
    runs.filter(not_kept).map(RunDirectory::id).collect()
}

/// The volumes that a run names; none if that cannot be read.
fn of_run(run: &RunDirectory, home: &Home) -> Option<BTreeSet<PathBuf>> {
    let file = run.read_run().ok()?;
    let job = read_job(run, &file)?;
    Some(kept_volumes(&job, &home.volumes()))
}

/// Which of these volumes exist and are named by no run that is left. A run that cannot be read may name any of them.
pub fn unused(home: &Home, named: BTreeSet<PathBuf>) -> Unused {
    let mut unused = Unused::default();
    let mut left = BTreeMap::new();
    let mut unknown = None;
    for job in home.jobs().unwrap_or_default() {
        for run in job.runs().unwrap_or_default() {
            match of_run(&run, home) {
                Some(paths) => left.extend(paths.into_iter().map(|path| (path, job.name.clone()))),
                None => unknown = Some(job.name.clone()),
            }
        }
    }
    for path in named.into_iter().filter(|path| path.exists()) {
        match left.remove(&path).or_else(|| unknown.clone()) {
            Some(job) => drop(unused.still_named.insert(path, job)),
            None => unused.paths.push(path),
        }
    }
    unused
}

/// Removes a volume, if it really is below the directory of volumes: no part of its path may be a link.
pub fn remove(path: &Path, home: &Home) -> io::Result<u64> {
    let root = home.volumes();
    let outside = || io::Error::other("it is not within the directory of volumes");
    let within = path.strip_prefix(&root).map_err(|_| outside())?;
    let mut walked = root.clone();
    for part in within.components() {
        walked.push(part);
        if !fs::symlink_metadata(&walked)?.is_dir() {
            return Err(outside());
        }
    }
    let bytes = removal::remove(path)?;
    // Directories above it that are empty now: a namespace, a server.
    let mut above = path.parent();
    while let Some(directory) = above.filter(|directory| directory.starts_with(&root)) {
        if fs::remove_dir(directory).is_err() {
            break;
        }
        above = directory.parent();
    }
    Ok(bytes)
}
