//! Which log files a run has: what their names say, and which of them are meant.
//!
//! One file per program of a life: `worker-0.EPOCH.ATTEMPT[+IN_PLACE][.CONTAINER].log`, the main program's without a
//! container's name (see `process::launch::Life`).

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use trainyard_core::{Stamp, TaskId};

use crate::logs::pump::LogSource;

/// Which lives of each task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lives {
    /// The newest.
    Newest,
    /// The one before it.
    Previous,
    /// All of them.
    All,
}

/// Whose log this file is; none if it is no log.
#[must_use]
pub fn source_of(file: &Path) -> Option<LogSource> {
    let name = file.file_name()?.to_str()?.strip_suffix(".log")?;
    let mut parts = name.splitn(4, '.');
    let task: TaskId = parts.next()?.parse().ok()?;
    let epoch = parts.next()?.parse().ok()?;
    let attempt = parts.next()?;
    let (attempt, in_place) = attempt.split_once('+').unwrap_or((attempt, "0"));
    Some(LogSource {
        task,
        stamp: Stamp {
            epoch,
            attempt: attempt.parse().ok()?,
        },
        in_place: in_place.parse().ok()?,
        container: parts.next().map(Arc::from),
        file: file.to_owned(),
    })
}

/// Every log in a directory, by task, life and container; none if there is no directory yet.
pub fn list(logs: &Path) -> io::Result<Vec<LogSource>> {
    let entries = match fs::read_dir(logs) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut sources = Vec::new();
    for entry in entries {
        sources.extend(source_of(&entry?.path()));
    }
    // A log source sorts by task, then life, then container.
    sources.sort();
    Ok(sources)
}

/// Those of the meant lives. Sources are sorted, as [`list`] gives them.
#[must_use]
pub fn of_lives(sources: &[LogSource], lives: Lives) -> Vec<LogSource> {
    let life = |source: &LogSource| (source.stamp, source.in_place);
    let mut chosen = Vec::new();
    for of_task in sources.chunk_by(|a, b| a.task == b.task) {
        let mut each: Vec<_> = of_task.iter().map(life).collect();
        each.dedup();
        let meant = match lives {
            Lives::All => None,
            Lives::Newest => Some(each.last()),
            Lives::Previous => Some(each.len().checked_sub(2).and_then(|before| each.get(before))),
        };
        let fits = |source: &&LogSource| meant.is_none_or(|meant| meant == Some(&life(source)));
        chosen.extend(of_task.iter().filter(fits).cloned());
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::launch::Life;

    fn named(name: &str) -> Option<LogSource> {
        source_of(&Path::new("/logs").join(name))
    }

    #[test]
    fn a_name_says_whose_log_it_is() {
        let task = TaskId::new("worker", 12);
        for (epoch, attempt, in_place) in [(0, 0, 0), (2, 31, 0), (0, 1, 4)] {
            let stamp = Stamp { epoch, attempt };
            for container in [None, Some(Arc::from("side.car"))] {
                let life = Life::new(&task, stamp, in_place);
                let name = match &container {
                    None => format!("{life}.log"),
                    Some(container) => format!("{life}.{container}.log"),
                };
                let expected = LogSource {
                    task: task.clone(),
                    stamp,
                    in_place,
                    container,
                    file: Path::new("/logs").join(&name),
                };
                assert_eq!(named(&name), Some(expected));
            }
        }
        for other in [
            "worker-0.0.0.log.idx",
            "worker.0.0.log",
            "worker-0.0.log",
            "core",
            ".log",
        ] {
            assert_eq!(named(other), None, "{other}");
        }
    }

    #[test]
    fn lives_are_told_apart_by_task() {
        let names = [
            "ps-0.0.0.log",
            "worker-0.0.0.log",
            "worker-0.0.0+1.log",
            "worker-0.0.2.data.log",
            "worker-0.0.2.log",
            "worker-0.0.10.log",
            "worker-0.0.10.data.log",
        ];
        let directory = tempfile::tempdir().unwrap();
        for name in names {
            fs::write(directory.path().join(name), "").unwrap();
        }
        let cases: [(Lives, &[&str]); 3] = [
            (
                Lives::Newest,
                &["ps-0.0.0.log", "worker-0.0.10.log", "worker-0.0.10.data.log"],
            ),
            (Lives::Previous, &["worker-0.0.2.log", "worker-0.0.2.data.log"]),
            (
                Lives::All,
                &[
                    "ps-0.0.0.log",
                    "worker-0.0.0.log",
                    "worker-0.0.0+1.log",
                    "worker-0.0.2.log",
                    "worker-0.0.2.data.log",
                    "worker-0.0.10.log",
                    "worker-0.0.10.data.log",
                ],
            ),
        ];
        for (lives, expected) in cases {
            let chosen = of_lives(&list(directory.path()).unwrap(), lives);
            let names: Vec<_> = chosen
                .iter()
                .map(|source| source.file.file_name().unwrap().to_str().unwrap())
                .collect();
            assert_eq!(names, expected, "{lives:?}");
        }
        assert_eq!(list(&directory.path().join("none")).unwrap(), []);
    }
}
