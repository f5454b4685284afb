//! The end of a run: the verdict, each task's outcome, and on failure what failed first, why, and where to look.

use std::fmt::Write as _;
use std::path::Path;

use anstyle::Style;
use trainyard_core::{Outcome, TaskId};
use trainyard_local::run::event::{End, FirstFailure, RunEnd};
use trainyard_local::run::status::{TaskState, TaskStatus};

use super::footer::state_style;
use super::talk::{short, signal_name};
use super::terminal;
use crate::printer::{BAD, CAREFUL, GOOD, QUIET, STRONG};
use crate::report::count;
use crate::simulate::text::{names, seconds};
use crate::wrap::wrap;

/// With more tasks than this, tasks of a role that ended alike are told together.
const MANY: usize = 12;

/// Longer lines of a log are cut here: the log has them whole.
const LONGEST: usize = 500;

/// The whole summary.
pub fn page(job: &str, end: &RunEnd, directory: Option<&Path>, columns: usize) -> String {
    let mut page = String::from("\n");
    page.push_str(&verdict(job, end));
    page.push('\n');
    page.push_str(&table(&end.tasks));
    if let Some(directory) = directory {
        let _ = writeln!(
            page,
            "\n  {QUIET}logs{QUIET:#}  {}",
            short(&directory.join("logs"))
        );
    }
    if let Some(failure) = &end.first_failure {
        page.push('\n');
        page.push_str(&first_failure(job, end, failure, columns));
    }
    page.push('\n');
    page
}

fn verdict(job: &str, end: &RunEnd) -> String {
    let (sign, style, word) = match (end.outcome, end.signal) {
        (_, Some(signal)) => ("■", CAREFUL, stopped_by(signal)),
        (Some(Outcome::Failed), None) if end.deadline => ("✖", BAD, "ran into its deadline".into()),
        (Some(Outcome::Failed), None) => ("✖", BAD, "failed".into()),
        (Some(Outcome::Succeeded), None) => ("✔", GOOD, "succeeded".into()),
        (Some(Outcome::Terminated), None) => ("■", CAREFUL, "was ended on request".into()),
        (None, None) => ("■", CAREFUL, "was ended before it had a verdict".into()),
    };
    let cause = end.cause.trim().trim_end_matches('.');
    let cause = if cause.is_empty() {
        String::new()
    } else {
        format!(": {cause}")
    };
    format!(
        "{style}{sign} {job} {word}{style:#} after {}{}\n",
        lasted(end.seconds),
        terminal::clean(&cause)
    )
}

fn stopped_by(signal: i32) -> String {
    match (signal, signal_name(signal)) {
        (2, _) => "was stopped by Ctrl-C".into(),
        (_, Some(name)) => format!("was stopped by {name}"),
        (signal, None) => format!("was stopped by signal {signal}"),
    }
}

/// `0.42s`, `7.3s`, `1m15s`.
fn lasted(time: f64) -> String {
    if time < 1.0 {
        format!("{time:.2}s")
    } else if time < 10.0 {
        format!("{time:.1}s")
    } else {
        std::time::Duration::try_from_secs_f64(time)
            .map_or_else(|_| "?".into(), |time| seconds(time.as_secs()))
    }
}

/// Tasks that are told in one row.
struct Group<'a> {
    tasks: Vec<TaskId>,
    like: &'a TaskStatus,
}

impl Group<'_> {
    fn outcome(&self) -> (String, Style) {
        (outcome(self.like), state_style(self.like.state))
    }

    fn restarts(&self) -> String {
        match (self.like.restarts, self.tasks.len()) {
            (0, _) => String::new(),
            (restarts, tasks) => {
                let each = if tasks > 1 { " each" } else { "" };
                let restarts = count(usize::try_from(restarts).unwrap_or(usize::MAX), "restart");
                format!("{restarts}{each}")
            }
        }
    }

    fn log(&self) -> String {
        let log = self.like.log.as_deref().filter(|_| self.tasks.len() == 1);
        let name = log.and_then(Path::file_name);
        name.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }
}

fn groups(tasks: &[TaskStatus]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for status in tasks {
        let alike = |group: &&mut Group<'_>| {
            let like = group.like;
            tasks.len() > MANY
                && like.task.role == status.task.role
                && (like.state, like.restarts) == (status.state, status.restarts)
                && outcome(like) == outcome(status)
        };
        match groups.iter_mut().find(alike) {
            Some(group) => group.tasks.push(status.task.clone()),
            None => groups.push(Group {
                tasks: vec![status.task.clone()],
                like: status,
            }),
        }
    }
    groups
}

/// How a task ended, in few words.
fn outcome(status: &TaskStatus) -> String {
    match (status.state, &status.end) {
        (TaskState::Failed, Some(end)) => brief(end),
        (TaskState::Waiting, _) => "never started".into(),
        (state, _) => state.word().into(),
    }
}

fn brief(end: &End) -> String {
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

fn table(tasks: &[TaskStatus]) -> String {
    let groups = groups(tasks);
    let rows: Vec<[String; 4]> = groups
        .iter()
        .map(|group| {
            [
                names(&group.tasks),
                group.outcome().0,
                group.restarts(),
                group.log(),
            ]
        })
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let [name, outcome, restarts] = [0, 1, 2].map(|column| width(column).unwrap_or(0));
    let mut page = String::new();
    for (row, group) in rows.iter().zip(&groups) {
        let style = group.outcome().1;
        let gap = if restarts > 0 { "  " } else { "" };
        let line = format!(
            "  {STRONG}{:<name$}{STRONG:#}  {style}{:<outcome$}{style:#}{gap}{CAREFUL}{:<restarts$}{CAREFUL:#}  {QUIET}{}{QUIET:#}",
            row[0], row[1], row[2], row[3],
        );
        let _ = writeln!(page, "{}", line.trim_end());
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
        let _ = writeln!(page, "    {}", terminal::clean(&line));
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
    let previous = end
        .tasks
        .iter()
        .any(|status| status.task == *task && status.log.as_ref().is_some_and(|log| *log != failure.log));
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
    let mut facts = Vec::new();
    if life.epoch > 0 {
        facts.push(format!("start {} of the job", life.epoch + 1));
    }
    let attempt = life.attempt.saturating_add(life.in_place);
    if attempt > 0 {
        facts.push(format!("attempt {}", attempt + 1));
    }
    if facts.is_empty() {
        String::new()
    } else {
        format!(", {}", facts.join(", "))
    }
}

fn log_line(line: &str) -> String {
    let cut: String = line.chars().take(LONGEST).collect();
    let more = if cut.len() < line.len() { "…" } else { "" };
    format!("{}{more}", terminal::clean(&cut))
}
