//! The end of a run: the verdict, each task's outcome, and on failure what failed first, why, and where to look.

use std::fmt::Write as _;
use std::path::Path;

use anstyle::Style;
use signal_hook::low_level::signal_name;
use trainyard_core::{Outcome, TaskId};
use trainyard_local::run::event::{FirstFailure, ProgramEnd, RunEnd, RunWarning};
use trainyard_local::run::store::status::{TaskState, TaskStatus};

use super::footer::state_style;
use super::sentences::{fate, lasted, short};
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

/// The whole summary has no more lines than this: its end, which says most, stays on the screen together with the rest.
const LINES: usize = 29;

/// The whole summary; the verdict and its cause come last.
pub fn page(job: &str, end: &RunEnd, directory: Option<&Path>, columns: usize) -> String {
    let mut verdict = verdict(job, end, columns);
    if let Some(survived) = end.first_failure.as_ref().filter(|_| has_succeeded(end)) {
        verdict.push_str(&survived_failure(survived, columns));
    }
    verdict.push_str(&warnings(job, end, columns));
    let mut notes = left_alive(end, columns);
    if let Some(directory) = directory {
        let logs = short(&directory.join("logs"));
        let _ = writeln!(notes, "  {QUIET}logs{QUIET:#}  {logs}");
    }
    let rows = |text: &str| {
        text.lines()
            .map(|line| line.chars().count().div_ceil(columns.max(1)).max(1))
            .sum::<usize>()
    };
    let fixed = rows(&verdict) + rows(&notes) + 3;
    let table = table(&end.tasks, LINES.saturating_sub(fixed + 6).max(4));
    let room = LINES.saturating_sub(fixed + table.lines().count() + 1);
    let failure = end.first_failure.as_ref().filter(|_| !has_succeeded(end));
    let lines = failure.map_or_else(String::new, |failure| last_lines(failure, room));
    let parts = [table, lines, notes, verdict];
    let given = parts.iter().filter(|part| !part.is_empty());
    given.fold(String::new(), |text, part| text + "\n" + part)
}

fn has_succeeded(end: &RunEnd) -> bool {
    end.outcome == Some(Outcome::Succeeded)
}

fn left_alive(end: &RunEnd, columns: usize) -> String {
    let mut page = String::new();
    if !end.left_alive.is_empty() {
        let left = format!(
            "The job's clean-up policy would leave {} running; the end of the run stopped what was left.",
            names(&end.left_alive)
        );
        for line in wrap(&left, columns.saturating_sub(2)) {
            let _ = writeln!(page, "  {QUIET}{line}{QUIET:#}");
        }
    }
    page
}

/// How the job ended: what failed and why, what helps, and what decided.
fn verdict(job: &str, end: &RunEnd, columns: usize) -> String {
    let failed = end.outcome == Some(Outcome::Failed) && end.signal.is_none();
    match &end.first_failure {
        Some(failure) if failed && !end.deadline => failed_task(job, end, failure, columns),
        _ => ended(job, end),
    }
}

/// A verdict that no task's failure explains.
fn ended(job: &str, end: &RunEnd) -> String {
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
    let cause = if cause.is_empty() || end.outcome.is_none() {
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

/// `✖ mnist: worker-1 failed: ModuleNotFoundError: No module named 'pandas' (train.py:2)`, and what follows from it.
fn failed_task(job: &str, end: &RunEnd, failure: &FirstFailure, columns: usize) -> String {
    let task = &failure.life.task;
    let cause = failure.end.cause.as_deref();
    let fate = why(&failure.end);
    let mut page = String::new();
    // One line however long it is: people search for it, and a terminal breaks it.
    let first = format!("{job}: {task} {fate}");
    let _ = writeln!(page, "{BAD}✖ {}{BAD:#}", visible::line(&first));
    let mut tell = |label: &str, text: &str| labelled(&mut page, STRONG, label, text, columns);
    let help = cause.and_then(|cause| cause.help.as_deref());
    let meaning = failure.end.not_started.is_none() && cause.is_none();
    if let Some(help) = help {
        tell("help", help);
    } else if meaning {
        tell("note", &failure.meaning);
    }
    tell("verdict", &decided(end, failure));
    let previous = end.tasks.iter().any(|status| {
        status.task == *task && status.restarts > 0 && status.log.as_ref() != Some(&failure.log)
    });
    let previous = if previous { " --previous" } else { "" };
    let explain = cause.and_then(|cause| cause.code.as_deref());
    let explain = explain
        .map(|code| format!("; trainyard explain {code}"))
        .unwrap_or_default();
    tell(
        "more",
        &format!("trainyard logs {job} --task {task}{previous}{explain}"),
    );
    page
}

/// What a job that succeeded should be looked at for.
fn warnings(job: &str, end: &RunEnd, columns: usize) -> String {
    let mut page = String::new();
    for RunWarning { task, cause } in &end.warnings {
        let text = match task {
            Some(task) => format!(
                "{task} failed: {}; the job succeeded without it",
                cause.headline()
            ),
            None => cause.headline(),
        };
        // One line however long it is, as the verdict's.
        labelled(&mut page, CAREFUL, "warning", &text, usize::MAX);
        if let Some(help) = &cause.help {
            labelled(&mut page, STRONG, "help", help, columns);
        }
        let logs = task
            .as_ref()
            .map(|task| format!("trainyard logs {job} --task {task}"));
        let explain = cause
            .code
            .as_ref()
            .map(|code| format!("trainyard explain {code}"));
        let more: Vec<String> = logs.into_iter().chain(explain).collect();
        labelled(&mut page, STRONG, "more", &more.join("; "), columns);
    }
    page
}

/// `  help: …`, wrapped, with a hanging indent.
fn labelled(page: &mut String, style: Style, label: &str, text: &str, columns: usize) {
    let room = columns.saturating_sub(label.len() + 4);
    for (at, line) in wrap(&visible::line(text), room).iter().enumerate() {
        let label = if at == 0 {
            format!("{label}: ")
        } else {
            " ".repeat(label.len() + 2)
        };
        let _ = writeln!(page, "  {style}{label}{style:#}{line}");
    }
}

/// What the failure was, after the task's name.
pub fn why(end: &ProgramEnd) -> String {
    let Some(cause) = &end.cause else {
        return fate(end);
    };
    let whose = end
        .container
        .as_ref()
        .map_or_else(String::new, |name| format!(" in its init container {name}"));
    format!("failed{whose}: {}", cause.headline())
}

/// What decided that the job failed, and why that names another task than the first line, if it does.
fn decided(end: &RunEnd, failure: &FirstFailure) -> String {
    let first = &failure.life.task;
    let cause = end.cause.trim().trim_end_matches('.');
    let which = which_life(failure);
    let which = if which.is_empty() {
        which
    } else {
        format!("{first}{which}; ")
    };
    let other = match &end.decided_by {
        Some(other) if other != first => format!("; {first} had failed before {other}"),
        _ => String::new(),
    };
    format!(
        "{which}the job failed after {}: {cause}{other}",
        lasted(end.seconds)
    )
}

fn survived_failure(failure: &FirstFailure, columns: usize) -> String {
    let text = format!("{} {}", failure.life.task, why(&failure.end));
    let mut page = String::new();
    let label = "first failure, which the job survived";
    for (at, line) in wrap(
        &visible::line(&format!("{label}: {text}")),
        columns.saturating_sub(2),
    )
    .iter()
    .enumerate()
    {
        let line = line.replacen(
            label,
            &format!("{CAREFUL}{label}{CAREFUL:#}"),
            usize::from(at == 0),
        );
        let _ = writeln!(page, "  {line}");
    }
    page
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
fn table(tasks: &[TaskStatus], most: usize) -> String {
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
    let mut groups: Vec<_> = groups.into_iter().collect();
    // If not all fit, those that failed are shown.
    let hidden = groups.len().saturating_sub(most);
    if hidden > 0 {
        groups.sort_by_key(|(_, status)| status.state != TaskState::Failed);
        groups.truncate(most.saturating_sub(1));
    }
    let rows: Vec<[Cell; 4]> = groups.into_iter().map(row).collect();
    let mut page = String::new();
    for line in table::lines(&rows) {
        // Writing to a String cannot fail.
        let _ = writeln!(page, "  {line}");
    }
    if hidden > 0 {
        let _ = writeln!(
            page,
            "  {QUIET}and {} more; `trainyard ps JOB` shows all{QUIET:#}",
            hidden + 1
        );
    }
    page
}

/// The last lines of the log, at most so many with the heading, and without the frames of libraries.
fn last_lines(failure: &FirstFailure, room: usize) -> String {
    let lines = folded(&failure.last_lines);
    let skip = lines.len().saturating_sub(room.saturating_sub(1).max(3));
    let mut page = String::new();
    if lines.is_empty() {
        return page;
    }
    let log = short(&failure.log);
    let _ = writeln!(
        page,
        "  {STRONG}{}{STRONG:#}, last lines {QUIET}({log}){QUIET:#}",
        failure.life.task
    );
    for line in &lines[skip..] {
        let _ = writeln!(page, "    {QUIET}│{QUIET:#} {}", log_line(line));
    }
    page
}

/// The lines with each row of library frames as one line.
fn folded(lines: &[String]) -> Vec<String> {
    let is_library = |line: &str| {
        let frame = line.trim_start().starts_with("File \"") && line.starts_with("  ");
        frame
            && ["/site-packages/", "/dist-packages/", "/lib/python3"]
                .iter()
                .any(|part| line.contains(part))
    };
    let mut out: Vec<String> = Vec::new();
    let (mut hidden, mut in_library) = (0_u32, false);
    for line in lines {
        if is_library(line) {
            (hidden, in_library) = (hidden + 1, true);
            continue;
        }
        // The source below a frame is indented more than it.
        if in_library && line.starts_with("    ") {
            continue;
        }
        if hidden > 0 {
            out.push(format!("  … {} of libraries", count(hidden, "frame")));
        }
        (hidden, in_library) = (0, false);
        out.push(line.clone());
    }
    out
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
