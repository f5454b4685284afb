//! Parses faults: `worker-1=137@30s`, `chief-0@2m`, `30s..90s`.

use trainyard_core::sim::{Fault, ProgramEnd};
use trainyard_core::{Job, RoleName, TaskId};

use crate::failure::Failure;

/// `30`, `30s`, `2m`, `1h30m`, `1d`: seconds.
pub fn duration(text: &str) -> Result<u32, String> {
    const UNITS: [(char, u32); 4] = [('s', 1), ('m', 60), ('h', 60 * 60), ('d', 24 * 60 * 60)];
    let seconds = |part: &str| {
        let (unit, seconds) = UNITS.into_iter().find(|(unit, _)| part.ends_with(*unit))?;
        let number: u32 = part.strip_suffix(unit)?.parse().ok()?;
        number.checked_mul(seconds)
    };
    let mut parts = text.split_inclusive(|letter: char| !letter.is_ascii_digit());
    let sum = parts.try_fold(0u32, |sum, part| sum.checked_add(seconds(part)?));
    let plain = text.parse().ok();
    plain
        .or_else(|| sum.filter(|_| !text.is_empty()))
        .ok_or_else(|| format!("`{text}` is not a time: expected something like `30s`, `2m` or `1h30m`"))
}

/// `--fail worker-1=137@30s`: the task exits with this code (or `oom`, `missing`, `evicted`) at this second, or when it
/// next runs.
pub fn fail(text: &str) -> Result<Fault, String> {
    let shape = || format!("`{text}`: expected TASK=CODE@TIME, as in `worker-1=137@30s`");
    let (task, rest) = text.split_once('=').ok_or_else(shape)?;
    let (end, at) = rest.split_once('@').ok_or_else(shape)?;
    let end = match end {
        "oom" => ProgramEnd::OutOfMemory,
        "missing" => ProgramEnd::NotStarted,
        "evicted" => ProgramEnd::Evicted,
        code => {
            let code: i32 = code.parse().map_err(|_| shape())?;
            let named = "an exit code from 0 to 255, `oom`, `missing` or `evicted`";
            if !(0..=255).contains(&code) {
                return Err(format!("`{code}` is not an exit code: expected {named}"));
            }
            ProgramEnd::Code(code)
        }
    };
    let (task, at) = (task_id(task)?, duration(at)?);
    Ok(Fault::EndsAt { task, at, end })
}

/// `--evict chief-0@2m`, or `chief-0=0@2m` for a program that saves its work and exits 0 on SIGTERM.
pub fn evict(text: &str) -> Result<Fault, String> {
    let shape = || format!("`{text}`: expected TASK@TIME, as in `worker-0@30s`");
    let (who, at) = text.split_once('@').ok_or_else(shape)?;
    let (task, code) = match who.split_once('=') {
        None => (who, 143),
        Some((task, code)) => (task, code.parse().map_err(|_| shape())?),
    };
    let (task, at) = (task_id(task)?, duration(at)?);
    Ok(Fault::Drained { task, at, code })
}

/// When the job is suspended and, unless never, resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suspend {
    pub from: u32,
    pub to: Option<u32>,
}

/// `--suspend 30s..90s`, or `30s..` for a job that is never resumed.
pub fn suspend(text: &str) -> Result<Suspend, String> {
    let shape = || format!("`{text}`: expected FROM..TO, as in `30s..90s`");
    let (from, to) = text.split_once("..").ok_or_else(shape)?;
    let from = duration(from)?;
    let to = if to.is_empty() { None } else { Some(duration(to)?) };
    if to.is_some_and(|to| to <= from) {
        return Err(format!("`{text}` ends before it starts"));
    }
    Ok(Suspend { from, to })
}

/// `--runs worker=5m`: a role or a task, and how many seconds its programs run without faults.
pub fn runs(text: &str) -> Result<(String, u32), String> {
    let shape = || format!("`{text}`: expected ROLE=TIME or TASK=TIME, as in `worker=5m`");
    let (who, time) = text.split_once('=').ok_or_else(shape)?;
    Ok((who.into(), duration(time)?))
}

/// Limit of `--scale`.
const MOST_REPLICAS: u32 = 10_000;

/// `--scale worker=4@2m`: changes the number of tasks of a role.
pub fn scale(text: &str) -> Result<Fault, String> {
    let shape = || format!("`{text}`: expected ROLE=NUMBER@TIME, as in `worker=4@2m`");
    let (role, rest) = text.split_once('=').ok_or_else(shape)?;
    let (count, at) = rest.split_once('@').ok_or_else(shape)?;
    let count: u32 = count.parse().map_err(|_| shape())?;
    if count > MOST_REPLICAS {
        return Err(format!(
            "cannot simulate {count} replicas: expected at most {MOST_REPLICAS}"
        ));
    }
    let (role, at) = (RoleName::new(role), duration(at)?);
    Ok(Fault::Replicas { role, at, count })
}

fn task_id(text: &str) -> Result<TaskId, String> {
    text.parse::<TaskId>().map_err(|error| error.to_string())
}

/// Checks that the job has this task.
pub fn known(job: &Job, task: &TaskId) -> Result<(), Failure> {
    let tasks: Vec<TaskId> = job.tasks().collect();
    if tasks.contains(task) {
        return Ok(());
    }
    let message = format!("job `{}` has no task `{task}`", job.name);
    let help = format!("the tasks are {}", super::text::names(&tasks));
    Err(Failure::usage(message, help))
}

/// Faults by which each attempt of a task exits 0 after `seconds`.
pub fn lives(task: &TaskId, seconds: u32) -> impl Iterator<Item = Fault> + use<> {
    let task = task.clone();
    // Later attempts run for the default time.
    (0..64).map(move |life| Fault::Ends {
        task: task.clone(),
        life,
        after: seconds,
        end: ProgramEnd::Code(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        let table = [
            ("30", 30),
            ("30s", 30),
            ("2m", 120),
            ("1h30m", 5400),
            ("1d", 86_400),
            ("0s", 0),
        ];
        for (text, seconds) in table {
            assert_eq!(duration(text), Ok(seconds), "{text}");
        }
        for text in ["", "s", "1x", "1.5m", "5m3", "-1s", "99999999d"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn faults_are_read_and_nonsense_says_what_was_expected() {
        let worker = TaskId::new("worker", 1);
        assert_eq!(
            fail("worker-1=137@30s"),
            Ok(Fault::EndsAt {
                task: worker.clone(),
                end: ProgramEnd::Code(137),
                at: 30
            })
        );
        assert_eq!(
            fail("worker-1=oom@1m"),
            Ok(Fault::EndsAt {
                task: worker.clone(),
                end: ProgramEnd::OutOfMemory,
                at: 60
            })
        );
        assert_eq!(
            evict("worker-1@9s"),
            Ok(Fault::Drained {
                task: worker.clone(),
                code: 143,
                at: 9
            })
        );
        assert_eq!(
            evict("worker-1=0@9s"),
            Ok(Fault::Drained {
                task: worker,
                code: 0,
                at: 9
            })
        );
        assert_eq!(
            suspend("30s..90s"),
            Ok(Suspend {
                from: 30,
                to: Some(90)
            })
        );
        assert_eq!(suspend("30s.."), Ok(Suspend { from: 30, to: None }));
        for text in [
            "worker-1",
            "worker-1=137",
            "worker=137@1s",
            "worker-1=x@1s",
            "worker-1=300@1s",
            "worker-1=1@x",
        ] {
            assert!(fail(text).is_err(), "{text}");
        }
        assert!(suspend("90s..30s").unwrap_err().contains("ends before it starts"));
    }
}
