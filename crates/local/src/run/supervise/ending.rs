//! How a run ended: the verdict, the first failure with its last lines, and how each task ended.

use std::io;
use std::path::Path;
use std::time::Instant;

use trainyard_core::{Cause, Failure, FailureCause, Outcome, TaskId};

use super::runner::Runner;
use crate::logs::tail::tail;
use crate::run::event::text;
use crate::run::event::{FirstFailure, Life, ProgramEnd, RunEnd, RunWarning};
use crate::run::store::status::TaskState;
use crate::run::world::failures::Root;

/// So many lines of the first failure's log are shown.
const LINES: usize = 20;

/// Tasks that failed in a job that succeeded, of which so many are told.
const MOST_WARNINGS: usize = 5;

/// They are looked for in so much of its end.
const TAIL: usize = 64 * 1024;

/// The user ended the run before its job did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    /// By this signal, if by one.
    pub signal: Option<i32>,
    /// Since when.
    pub since: Instant,
}

impl Ending {
    pub fn now(signal: Option<i32>) -> Self {
        Self {
            signal,
            since: Instant::now(),
        }
    }
}

/// What there is to say at the end.
pub(crate) fn run_end(run: &mut Runner, left_alive: Vec<TaskId>) -> RunEnd {
    let warnings = warnings(run);
    let memory = run.memory.as_ref();
    let verdict = memory.and_then(|memory| memory.verdict.as_ref());
    let cause = match (verdict, &run.ending) {
        (Some(verdict), _) => text::cause(run.world.job(), verdict),
        (None, Some(Ending { signal: Some(2), .. })) => "Ctrl-C was pressed".to_owned(),
        (None, _) => "it was stopped".to_owned(),
    };
    let failed = verdict.is_some_and(|verdict| verdict.outcome == Outcome::Failed);
    let failure = memory
        .and_then(|memory| memory.first_failure.as_ref())
        .filter(|_| failed);
    RunEnd {
        outcome: verdict.map(|verdict| verdict.outcome),
        cause,
        decided_by: verdict.and_then(|verdict| text::decider(&verdict.cause).cloned()),
        deadline: verdict.is_some_and(|verdict| verdict.cause == Cause::Deadline),
        signal: run
            .ending
            .and_then(|ending| ending.signal)
            .filter(|_| verdict.is_none()),
        seconds: run.clock.elapsed().as_secs_f64(),
        first_failure: failure.map(|failure| first_failure(run, failure)),
        warnings,
        left_alive,
        tasks: run.world.table.tasks().to_vec(),
    }
}

/// What is told of a job that succeeded: tasks that failed and that it did not need, and that its tasks trained apart.
fn warnings(run: &mut Runner) -> Vec<RunWarning> {
    let verdict = run.memory.as_ref().and_then(|memory| memory.verdict.as_ref());
    if verdict.is_none_or(|verdict| verdict.outcome != Outcome::Succeeded) {
        return Vec::new();
    }
    let failed = run.world.table.tasks().iter().filter_map(|status| {
        let end = status.end.as_ref()?;
        let silent = || FailureCause {
            class: "exit-code".into(),
            sentence: match end.code {
                Some(code) => format!("exit code {code}").into(),
                None => "it could not be started".into(),
            },
            ..FailureCause::default()
        };
        let failed = status.state == TaskState::Failed || end.cause.is_some();
        failed.then(|| RunWarning {
            task: Some(status.task.clone()),
            cause: end.cause.as_deref().cloned().unwrap_or_else(silent),
        })
    });
    let mut warnings: Vec<RunWarning> = failed.take(MOST_WARNINGS).collect();
    let alone = run.together.trained_alone(&run.world);
    warnings.extend(alone.map(|tasks| RunWarning {
        task: None,
        cause: trainyard_causes::trained_alone(tasks),
    }));
    warnings
}

fn first_failure(run: &Runner, failure: &Failure) -> FirstFailure {
    let root = run.world.root_cause().cloned().unwrap_or_else(|| Root {
        life: Life::new(&failure.task, failure.stamp, 0),
        end: ProgramEnd {
            code: failure.exit.code,
            ..ProgramEnd::default()
        },
        meaning: failure.exit.meaning(),
    });
    let Root { life, end, meaning } = root;
    let log = life.log_name(end.container.as_deref());
    let log = run.directory.logs().join(log);
    FirstFailure {
        meaning,
        last_lines: last_lines(&log, LINES).unwrap_or_default(),
        life,
        end,
        log,
    }
}

/// The last lines of a file, whatever bytes are in them.
fn last_lines(path: &Path, count: usize) -> io::Result<Vec<String>> {
    let (bytes, has_more) = tail(path, TAIL)?;
    let text = String::from_utf8_lossy(&bytes);
    let mut lines: Vec<&str> = text.lines().collect();
    if has_more && lines.len() > 1 {
        // The first one is probably not whole.
        lines.remove(0);
    }
    let skip = lines.len().saturating_sub(count);
    Ok(lines[skip..].iter().map(ToString::to_string).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_whole_and_few() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.log");
        let lines: Vec<String> = (0..20_000).map(|line| format!("line {line}\n")).collect();
        let text = lines.concat();
        for (text, first, count) in [
            (text.as_str(), "line 19980", 20),
            ("one\ntwo", "one", 2),
            ("", "", 0),
            ("\u{fffd}bin\n", "\u{fffd}bin", 1),
        ] {
            std::fs::write(&path, text).unwrap();
            let lines = last_lines(&path, 20).unwrap();
            assert_eq!(lines.len(), count);
            assert_eq!(lines.first().map_or("", String::as_str), first);
        }
        assert!(last_lines(Path::new("/nowhere"), 20).is_err());
    }
}
