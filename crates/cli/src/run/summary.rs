//! The end of a run: the verdict, each task's outcome, and on failure what failed first, why, and where to look.

use std::fmt::Write as _;
use std::path::Path;

use anstyle::Style;
use trainyard_core::{Outcome, TaskId};
use trainyard_local::run::event::{FirstFailure, ProgramEnd, RunEnd};
use trainyard_local::run::store::status::{TaskState, TaskStatus};

use super::footer::state_style;
use super::sentences::{lasted, short, signal_name};
use super::terminal;
use crate::printer::{BAD, CAREFUL, GOOD, QUIET, STRONG};
use crate::report::count;
use crate::simulate::text::names;
use crate::visible;
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
        (signal, None) => format!("was stopped by signal {signal}"),
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
        let outcome_style = group.outcome().1;
        let cells = [
            (STRONG, name),
            (outcome_style, outcome),
            (CAREFUL, restarts),
            (QUIET, 0),
        ];
        let last = row.iter().rposition(|cell| !cell.is_empty()).unwrap_or(0);
        for (position, (cell, (style, width))) in row.iter().zip(cells).enumerate().take(last + 1) {
            // Where there is nothing in a column, there is no column.
            if position < last && width > 0 {
                let _ = write!(page, "  {style}{cell:<width$}{style:#}");
            } else if position == last {
                let _ = write!(page, "  {style}{cell}{style:#}");
            }
        }
        page.push('\n');
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

#[cfg(test)]
mod tests {
    use super::*;
    use trainyard_local::run::event::Life;
    use trainyard_local::run::timestamp::Timestamp;

    fn status(task: &str, state: TaskState, restarts: u32, end: impl Into<Option<ProgramEnd>>) -> TaskStatus {
        TaskStatus {
            task: task.parse().unwrap(),
            state,
            since: Timestamp(0),
            epoch: 0,
            attempt: restarts,
            restarts,
            port: None,
            end: end.into(),
            log: Some(format!("/state/runs/mnist/1/logs/{task}.0.{restarts}.log").into()),
        }
    }

    fn exit(code: i32) -> ProgramEnd {
        ProgramEnd {
            code: Some(code),
            ..ProgramEnd::default()
        }
    }

    fn killed(signal: i32) -> ProgramEnd {
        ProgramEnd {
            code: Some(128 + signal),
            signal: Some(signal),
            ..ProgramEnd::default()
        }
    }

    fn ended(outcome: Option<Outcome>, cause: &str, seconds: f64, tasks: Vec<TaskStatus>) -> RunEnd {
        RunEnd {
            outcome,
            cause: cause.into(),
            deadline: false,
            signal: None,
            seconds,
            first_failure: None,
            left_alive: Vec::new(),
            tasks,
        }
    }

    fn failure(task: &str, attempt: u32, end: ProgramEnd, meaning: &str, lines: &[&str]) -> FirstFailure {
        FirstFailure {
            life: Life {
                task: task.parse().unwrap(),
                epoch: 0,
                attempt,
                in_place: 0,
            },
            end,
            meaning: meaning.into(),
            log: format!("/state/runs/mnist/1/logs/{task}.0.{attempt}.log").into(),
            last_lines: lines.iter().map(ToString::to_string).collect(),
        }
    }

    fn shown(end: &RunEnd) -> String {
        let page = page("mnist", end, Some(Path::new("/state/runs/mnist/1")), 80);
        anstream::adapter::strip_str(&page).to_string()
    }

    #[test]
    fn a_job_that_succeeded_is_told_in_a_few_lines() {
        let tasks = vec![
            status("chief-0", TaskState::Succeeded, 0, exit(0)),
            status("worker-0", TaskState::Succeeded, 0, exit(0)),
            status("worker-1", TaskState::Succeeded, 1, exit(0)),
            status("ps-0", TaskState::Stopped, 0, killed(15)),
        ];
        let end = ended(
            Some(Outcome::Succeeded),
            "chief-0, by `successPolicy`",
            75.4,
            tasks,
        );
        insta::assert_snapshot!(shown(&end));
    }

    #[test]
    fn a_failure_is_told_with_its_root_and_the_stopped_are_not_blamed() {
        let tasks = vec![
            status("chief-0", TaskState::Stopped, 0, killed(15)),
            status("worker-0", TaskState::Restarting, 0, killed(9)),
            status("worker-1", TaskState::Failed, 2, exit(1)),
            status("ps-0", TaskState::Waiting, 0, None),
        ];
        let mut end = ended(
            Some(Outcome::Failed),
            "no restart is left for worker-1",
            7.31,
            tasks,
        );
        let lines = [
            "Traceback (most recent call last):",
            "\x1b[2J\x07ValueError: \x1b[31mbad",
        ];
        let meaning = "Exit code 1: the program reported an error, usually a Python exception; its last lines say which.";
        end.first_failure = Some(failure("worker-1", 1, exit(1), meaning, &lines));
        insta::assert_snapshot!(shown(&end));
    }

    #[test]
    fn many_tasks_that_ended_alike_are_told_together() {
        let mut tasks: Vec<TaskStatus> = (0..62)
            .map(|index| status(&format!("worker-{index}"), TaskState::Stopped, 0, killed(15)))
            .collect();
        tasks[3] = status("worker-3", TaskState::Failed, 0, killed(9));
        tasks.push(status("ps-0", TaskState::Stopped, 0, killed(15)));
        let end = ended(
            Some(Outcome::Failed),
            "worker-3, by `restartPolicy`",
            3700.0,
            tasks,
        );
        insta::assert_snapshot!(shown(&end));
    }

    #[test]
    fn the_first_line_says_how_it_ended() {
        let base = ended(Some(Outcome::Failed), "why", 0.123, Vec::new());
        let table = [
            (base.clone(), "✖ mnist failed after 0.12s: why"),
            (
                RunEnd {
                    deadline: true,
                    ..base.clone()
                },
                "✖ mnist ran into its deadline after 0.12s",
            ),
            (
                RunEnd {
                    outcome: None,
                    signal: Some(2),
                    ..base.clone()
                },
                "■ mnist was stopped by Ctrl-C after 0.12s",
            ),
            (
                RunEnd {
                    outcome: None,
                    signal: Some(15),
                    ..base.clone()
                },
                "■ mnist was stopped by SIGTERM after 0.12s",
            ),
            (
                RunEnd {
                    outcome: None,
                    ..base.clone()
                },
                "■ mnist was stopped before it had ended after 0.12s",
            ),
            (
                RunEnd {
                    outcome: Some(Outcome::Terminated),
                    ..base
                },
                "■ mnist was ended on request after 0.12s: why",
            ),
        ];
        for (end, expected) in table {
            assert_eq!(
                anstream::adapter::strip_str(&verdict("mnist", &end)).to_string(),
                format!("{expected}\n")
            );
        }
    }

    #[test]
    fn what_could_not_be_started_says_why() {
        let not_started = ProgramEnd {
            not_started: Some("there is no program `pyton` on the PATH".into()),
            container: Some("setup".into()),
            ..ProgramEnd::default()
        };
        let tasks = vec![status(
            "worker-0",
            TaskState::Failed,
            0,
            Some(not_started.clone()),
        )];
        let mut end = ended(Some(Outcome::Failed), "worker-0", 1.0, tasks);
        end.left_alive = vec![TaskId::new("ps", 0), TaskId::new("ps", 1)];
        end.first_failure = Some(failure("worker-0", 0, not_started, "as above", &[]));
        insta::assert_snapshot!(shown(&end));
    }
}
