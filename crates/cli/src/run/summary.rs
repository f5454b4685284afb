//! The end of a run: the verdict, each task's outcome, and on failure what failed first, why, and where to look.

use std::fmt::Write as _;
use std::path::Path;

use signal_hook::low_level::signal_name;
use trainyard_core::{Outcome, TaskId};
use trainyard_local::run::event::{FirstFailure, ProgramEnd, RunEnd};
use trainyard_local::run::store::status::{TaskState, TaskStatus};

use super::footer::state_style;
use super::sentences::{lasted, short};
use super::terminal;
use crate::printer::{BAD, CAREFUL, GOOD, QUIET, STRONG};
use crate::report::count;
use crate::simulate::text::{grouped, names};
use crate::table::{self, Cell};
use crate::visible;
use crate::wrap::wrap;

/// With more tasks than this, tasks of a role that ended alike share a line.
const MANY: usize = 12;

/// Longer lines of a log are cut to this many characters.
const LONGEST: usize = 500;

/// The whole summary.
pub fn page(job: &str, end: &RunEnd, directory: Option<&Path>, columns: usize) -> String {
    let mut page = format!("\n{}\n{}", verdict(job, end), table(&end.tasks));
    if !end.left_alive.is_empty() {
        let left = format!(
            "The job's clean-up policy would leave {} running; the end of the run stopped what was left.",
            names(&end.left_alive)
        );
        page.push('\n');
        for line in wrap(&left, columns.saturating_sub(2)) {
            let _ = writeln!(page, "  {QUIET}{line}{QUIET:#}");
        }
    }
    if let Some(directory) = directory {
        let logs = short(&directory.join("logs"));
        let _ = writeln!(page, "\n  {QUIET}logs{QUIET:#}  {logs}");
    }
    if let Some(failure) = &end.first_failure {
        page.push('\n');
        page.push_str(&first_failure(job, end, failure, columns));
    }
    page
}

fn verdict(job: &str, end: &RunEnd) -> String {
    let (sign, style, word) = match (end.outcome, end.signal) {
        (_, Some(signal)) => ("■", CAREFUL, stopped_by(signal)),
        (Some(Outcome::Failed), None) if end.deadline => ("✖", BAD, "ran into its deadline".into()),
        (Some(Outcome::Failed), None) => ("✖", BAD, "failed".into()),
        (Some(Outcome::Succeeded), None) => ("✔", GOOD, "succeeded".into()),
        (Some(Outcome::Terminated), None) => ("■", CAREFUL, "was ended on request".into()),
        (None, None) => ("■", CAREFUL, "was stopped before it had ended".into()),
    };
    let cause = end.cause.trim().trim_end_matches('.');
    // Without a verdict the words above say it all.
    let cause = if cause.is_empty() || end.outcome.is_none() || end.deadline {
        String::new()
    } else {
        format!(": {cause}")
    };
    format!(
        "{style}{sign} {job} {word}{style:#} after {}{}\n",
        lasted(end.seconds),
        visible::line(&cause)
    )
}

fn stopped_by(signal: i32) -> String {
    match (signal, signal_name(signal)) {
        (2, _) => "was stopped by Ctrl-C".into(),
        (_, Some(name)) => format!("was stopped by {name}"),
        (_, None) => format!("was stopped by signal {signal}"),
    }
}

/// How a task ended, in few words.
fn outcome(status: &TaskStatus) -> String {
    match (status.state, &status.end) {
        // The job ended before it was started again.
        (TaskState::Failed | TaskState::Restarting, Some(end)) => brief(end),
        (TaskState::Waiting, _) => "never started".into(),
        (state, _) => state.word().into(),
    }
}

fn brief(end: &ProgramEnd) -> String {
    let whose = end
        .container
        .as_ref()
        .map_or_else(String::new, |name| format!(" in {name}"));
    match (&end.not_started, end.signal, end.code) {
        (Some(_), ..) => format!("failed{whose}: not started"),
        (None, Some(signal), _) => match signal_name(signal) {
            Some(name) => format!("failed{whose}: killed, {name}"),
            None => format!("failed{whose}: killed, signal {signal}"),
        },
        (None, None, Some(code)) => format!("failed{whose}: exit code {code}"),
        (None, None, None) => format!("failed{whose}"),
    }
}

/// One line per task, or per group of tasks that ended alike.
fn table(tasks: &[TaskStatus]) -> String {
    let alike = |a: &TaskStatus, b: &TaskStatus| {
        (a.state, a.restarts) == (b.state, b.restarts) && outcome(a) == outcome(b)
    };
    let groups = grouped(tasks, MANY, |status| &status.task, alike);
    let row = |(tasks, status): (Vec<TaskId>, &TaskStatus)| {
        let several = tasks.len() > 1;
        let restarts = match (status.restarts, several) {
            (0, _) => String::new(),
            (restarts, false) => count(restarts, "restart"),
            (restarts, true) => format!("{} each", count(restarts, "restart")),
        };
        let log = status.log.as_deref().filter(|_| !several);
        let log = log.and_then(Path::file_name).unwrap_or_default();
        [
            Cell::styled(names(&tasks), STRONG),
            Cell::styled(outcome(status), state_style(status.state)),
            Cell::styled(restarts, CAREFUL),
            Cell::styled(log.to_string_lossy(), QUIET),
        ]
    };
    let rows: Vec<[Cell; 4]> = groups.into_iter().map(row).collect();
    let mut page = String::new();
    for line in table::lines(&rows) {
        // Writing to a String cannot fail.
        let _ = writeln!(page, "  {line}");
    }
    page
}

fn first_failure(job: &str, end: &RunEnd, failure: &FirstFailure, columns: usize) -> String {
    let mut page = String::new();
    let task = &failure.life.task;
    let recovered = end.outcome == Some(Outcome::Succeeded);
    let (style, what) = if recovered {
        (CAREFUL, "first failure, which the job survived")
    } else {
        (BAD, "first failure")
    };
    let _ = writeln!(
        page,
        "  {style}{what}{style:#}: {STRONG}{task}{STRONG:#}{}",
        which_life(failure)
    );
    let room = columns.saturating_sub(4);
    let meaning = failure.end.not_started.as_ref().unwrap_or(&failure.meaning);
    for line in wrap(meaning, room) {
        let _ = writeln!(page, "    {}", visible::line(&line));
    }
    if recovered {
        return page;
    }
    if !failure.last_lines.is_empty() {
        page.push('\n');
    }
    for line in &failure.last_lines {
        let _ = writeln!(page, "    {QUIET}│{QUIET:#} {}", log_line(line));
    }
    let previous = end.tasks.iter().any(|status| {
        status.task == *task && status.restarts > 0 && status.log.as_ref() != Some(&failure.log)
    });
    let previous = if previous { " --previous" } else { "" };
    let _ = writeln!(page, "\n    {QUIET}log{QUIET:#}   {}", short(&failure.log));
    let _ = writeln!(
        page,
        "    {QUIET}next{QUIET:#}  {STRONG}trainyard logs {job} --task {task}{previous}{STRONG:#}"
    );
    page
}

fn which_life(failure: &FirstFailure) -> String {
    let life = &failure.life;
    let mut which = String::new();
    if life.epoch > 0 {
        let _ = write!(which, ", start {} of the job", life.epoch + 1);
    }
    let attempt = life.attempt.saturating_add(life.in_place);
    if attempt > 0 {
        let _ = write!(which, ", attempt {}", attempt + 1);
    }
    which
}

fn log_line(line: &str) -> String {
    let cut: String = line.chars().take(LONGEST).collect();
    let more = if cut.len() < line.len() { "…" } else { "" };
    format!("{}{more}", terminal::clean(&cut))
}

#[cfg(test)]
mod tests;
