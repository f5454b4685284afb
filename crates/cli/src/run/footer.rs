//! The footer of a run on a terminal: the state of every task or, without room for that, how many tasks are in which state.

use std::sync::Arc;
use std::time::Duration;

use anstyle::Style;
use trainyard_local::run::store::status::{TaskState, TaskStatus};
use trainyard_local::run::timestamp::Timestamp;

use super::activity::{Activity, Heard};
use crate::printer::{BAD, CAREFUL, GOOD, QUIET, STRONG};
use crate::report::count;
use crate::simulate::text;

/// Between two tasks in one row.
const GAP: usize = 3;

/// A task that has written nothing for so long is said to be silent.
const SILENCE: Duration = Duration::from_secs(10);

/// The most rows of a footer, however high the terminal is.
const MOST_ROWS: usize = 16;

/// The part of a job that the footer shows.
#[derive(Clone, Debug)]
pub struct JobRows {
    name: String,
    /// When its run began.
    pub began: Option<Timestamp>,
    /// Its tasks, as of the newest event.
    pub tasks: Vec<TaskStatus>,
    /// It has ended and is no longer shown.
    pub ended: bool,
    activity: Arc<Activity>,
}

impl JobRows {
    /// A job before its first event.
    pub fn new(name: &str, activity: Arc<Activity>) -> Self {
        Self {
            name: name.to_owned(),
            began: None,
            tasks: Vec::new(),
            ended: false,
            activity,
        }
    }

    /// Looks from outside at programs that have said nothing yet.
    pub fn look(&self) {
        if !self.ended {
            self.activity.look(&self.tasks);
        }
    }
}

/// A line of the footer: pieces of text with their styles.
#[derive(Clone, Debug, Default)]
pub struct Line(Vec<(String, Style)>);

impl Line {
    fn push(&mut self, text: impl Into<String>, style: Style) {
        self.0.push((text.into(), style));
    }

    /// Fills up with spaces.
    fn pad(&mut self, width: usize) {
        let missing = width.saturating_sub(self.width());
        self.push(" ".repeat(missing), Style::new());
    }

    /// Its width in columns, of which each character takes one.
    pub fn width(&self) -> usize {
        self.0.iter().map(|(text, _)| text.chars().count()).sum()
    }

    /// Cuts the line to this width.
    fn cut(mut self, width: usize) -> Self {
        let mut room = width;
        for (text, _) in &mut self.0 {
            *text = text.chars().take(room).collect();
            room -= text.chars().count();
        }
        self
    }

    /// With its styles.
    pub fn styled(&self) -> String {
        let piece = |(text, style): &(String, Style)| format!("{style}{text}{style:#}");
        self.0.iter().map(piece).collect()
    }
}

/// One way to lay out a job: per task, per role, or in one line.
type Layout = fn(&JobRows, Timestamp, usize) -> Vec<Line>;

/// The footer for a terminal of this size; nothing if there is nothing to show.
pub fn lines(jobs: &[JobRows], now: Timestamp, columns: usize, rows: usize) -> Vec<Line> {
    let shown: Vec<&JobRows> = jobs
        .iter()
        .filter(|job| !job.ended && !job.tasks.is_empty())
        .collect();
    // The last column stays free: some terminals break a line that reaches it.
    let width = columns.saturating_sub(1);
    let most = (rows / 3).clamp(1, MOST_ROWS);
    let forms: [Layout; 4] = [each_line, each_task, each_role, only_head];
    let mut page = Vec::new();
    for form in forms {
        page = shown.iter().flat_map(|job| form(job, now, width)).collect();
        if page.len() <= most {
            break;
        }
    }
    page.truncate(most);
    page.into_iter().map(|line: Line| line.cut(width)).collect()
}

fn head(job: &JobRows, now: Timestamp, width: usize) -> Line {
    let mut line = Line::default();
    line.push("── ", QUIET);
    line.push(job.name.clone(), STRONG);
    let age = job.began.map(|began| format!(", {}", age(began, now)));
    let (tasks, age) = (count(job.tasks.len(), "task"), age.unwrap_or_default());
    line.push(format!("  {tasks}{age} "), QUIET);
    let rest = width.saturating_sub(line.width());
    line.push("─".repeat(rest), QUIET);
    line
}

/// A row for each task with the line that it has not ended; none if no task has begun one.
fn each_line(job: &JobRows, now: Timestamp, width: usize) -> Vec<Line> {
    let mut rows = cells(job, now);
    if rows.iter().all(|(_, heard)| heard.line.is_empty()) {
        return each_task(job, now, width);
    }
    let widest = rows.iter().map(|(cell, _)| cell.width()).max().unwrap_or(0);
    for (cell, heard) in &mut rows {
        cell.pad(widest + 2);
        cell.push(
            fitting(&heard.line, width.saturating_sub(widest + 2)),
            Style::new(),
        );
    }
    let rows = rows.into_iter().map(|(cell, _)| cell);
    std::iter::once(head(job, now, width)).chain(rows).collect()
}

/// As much of a text as fits into so many columns. Where it is not known whether a character takes two, it takes two.
fn fitting(text: &str, columns: usize) -> String {
    let mut room = columns;
    let fits = |character: &char| {
        let narrow =
            matches!(u32::from(*character), 0..0x1100 | 0x2000..0x2300 | 0x2500..0x2600 | 0x2800..0x2900);
        let taken = if narrow { 1 } else { 2 };
        room.checked_sub(taken).map(|left| room = left).is_some()
    };
    text.chars().take_while(fits).collect()
}

/// The state of each task as a cell, and what was heard of the task.
fn cells(job: &JobRows, now: Timestamp) -> Vec<(Line, Heard)> {
    let rows: Vec<(&TaskStatus, Heard)> = job.tasks.iter().map(|row| (row, job.activity.of(row))).collect();
    let name = job
        .tasks
        .iter()
        .map(|row| row.task.to_string().len())
        .max()
        .unwrap_or(0);
    let state = rows
        .iter()
        .map(|(row, heard)| word(row, heard).len())
        .max()
        .unwrap_or(0);
    let port = job.tasks.iter().map(|row| port(row).len()).max().unwrap_or(0);
    let cell = |(row, heard): (&TaskStatus, Heard)| {
        let mut cell = Line::default();
        cell.push(format!("{:<name$}", row.task.to_string()), STRONG);
        cell.push(format!("  {:<state$}", word(row, &heard)), state_style(row.state));
        cell.push(format!("  {:>6}", age(row.since, now)), QUIET);
        if port > 0 {
            cell.push(format!("  {:<port$}", self::port(row)), QUIET);
        }
        if row.restarts > 0 {
            cell.push(format!("  attempt {}", row.restarts + 1), CAREFUL);
        }
        if let Some(silent) = silence(row, &heard, now) {
            cell.push(format!("  silent for {silent}"), CAREFUL);
        }
        (cell, heard)
    };
    rows.into_iter().map(cell).collect()
}

/// The state of a task in a word.
fn word(row: &TaskStatus, heard: &Heard) -> &'static str {
    if row.state == TaskState::Running && heard.imports {
        "importing"
    } else {
        row.state.word()
    }
}

/// For how long a running task has written nothing, if that is worth a word. While it imports, its age says it.
fn silence(row: &TaskStatus, heard: &Heard, now: Timestamp) -> Option<String> {
    let since = heard.wrote.unwrap_or(row.since).max(row.since);
    let long = now.since(since) >= SILENCE;
    (row.state == TaskState::Running && !heard.imports && long).then(|| age(since, now))
}

/// A cell for each task, as many in a row as there is room for.
fn each_task(job: &JobRows, now: Timestamp, width: usize) -> Vec<Line> {
    let cells: Vec<Line> = cells(job, now).into_iter().map(|(cell, _)| cell).collect();
    let widest = cells.iter().map(Line::width).max().unwrap_or(0);
    let in_row = ((width + GAP) / (widest + GAP)).max(1);
    // As many rows as that takes, and no row much longer than the others.
    let in_row = cells.len().div_ceil(cells.len().div_ceil(in_row));
    let mut lines = vec![head(job, now, width)];
    for chunk in cells.chunks(in_row) {
        let mut line = Line::default();
        for (position, cell) in chunk.iter().enumerate() {
            line.pad(position * (widest + GAP));
            line.0.extend(cell.0.iter().cloned());
        }
        lines.push(line);
    }
    lines
}

/// `worker  61 running, 3 waiting`.
fn each_role(job: &JobRows, now: Timestamp, width: usize) -> Vec<Line> {
    let mut roles: Vec<&str> = job.tasks.iter().map(|row| row.task.role.as_str()).collect();
    roles.dedup();
    let name = roles.iter().map(|role| role.len()).max().unwrap_or(0);
    let mut lines = vec![head(job, now, width)];
    for role in roles {
        let of_role: Vec<&TaskStatus> = job
            .tasks
            .iter()
            .filter(|row| row.task.role.as_str() == role)
            .collect();
        let mut line = Line::default();
        line.push(format!("{role:<name$}  "), STRONG);
        tell_counts(&mut line, &of_role);
        lines.push(line);
    }
    lines
}

/// One line with the counts of the whole job.
fn only_head(job: &JobRows, _: Timestamp, _: usize) -> Vec<Line> {
    let mut line = Line::default();
    line.push(format!("{}  ", job.name), STRONG);
    tell_counts(&mut line, &job.tasks.iter().collect::<Vec<_>>());
    vec![line]
}

fn tell_counts(line: &mut Line, rows: &[&TaskStatus]) {
    let mut states: Vec<TaskState> = rows.iter().map(|row| row.state).collect();
    states.sort_unstable_by_key(|state| (*state != TaskState::Running, *state));
    states.dedup();
    for (position, state) in states.iter().enumerate() {
        if position > 0 {
            line.push(", ", QUIET);
        }
        let number = rows.iter().filter(|row| row.state == *state).count();
        line.push(format!("{number} {}", state.word()), state_style(*state));
    }
    let restarts: u32 = rows.iter().map(|row| row.restarts).sum();
    if restarts > 0 {
        line.push(format!(", {}", count(restarts, "restart")), CAREFUL);
    }
}

fn port(row: &TaskStatus) -> String {
    row.port.map_or_else(String::new, |port| format!(":{port}"))
}

/// `12s`, `1m05s`, `2h10m`: seconds are left out where they say little.
fn age(since: Timestamp, now: Timestamp) -> String {
    let seconds = now.since(since).as_secs();
    let unsaid = if seconds >= 3600 { seconds % 60 } else { 0 };
    text::seconds(seconds - unsaid)
}

/// The style of a state.
pub fn state_style(state: TaskState) -> Style {
    match state {
        TaskState::Running => Style::new(),
        TaskState::Waiting
        | TaskState::Starting
        | TaskState::Stopping
        | TaskState::Stopped
        | TaskState::LeftOut => QUIET,
        TaskState::Restarting => CAREFUL,
        TaskState::Succeeded => GOOD,
        TaskState::Failed => BAD,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(10_000_000);

    fn row(task: &str, state: TaskState, seconds: u64, restarts: u32, port: Option<u16>) -> TaskStatus {
        TaskStatus {
            task: task.parse().unwrap(),
            state,
            since: Timestamp(NOW.0 - seconds * 1000),
            epoch: 0,
            attempt: restarts,
            restarts,
            port,
            end: None,
            log: None,
        }
    }

    fn job(name: &str, rows: Vec<TaskStatus>) -> JobRows {
        JobRows {
            began: Some(Timestamp(NOW.0 - 75_000)),
            tasks: rows,
            ..JobRows::new(name, Arc::default())
        }
    }

    fn heard(wrote: Option<u64>, line: &str, imports: bool) -> Heard {
        let mut heard = Heard::default();
        heard.wrote = wrote.map(|seconds| Timestamp(NOW.0 - seconds * 1000));
        heard.line = line.to_owned();
        heard.imports = imports;
        heard
    }

    /// The chief wrote two seconds ago; worker 0 has never written.
    fn four() -> JobRows {
        let four = job(
            "mnist",
            vec![
                row("chief-0", TaskState::Running, 70, 0, Some(20001)),
                row("worker-0", TaskState::Running, 70, 0, Some(20002)),
                row("worker-1", TaskState::Restarting, 4, 2, Some(20003)),
                row("evaluator-0", TaskState::Waiting, 7300, 0, None),
            ],
        );
        four.activity.pretend("chief-0", heard(Some(2), "", false));
        four
    }

    fn many() -> JobRows {
        let worker = |index| {
            let state = if index < 3 {
                TaskState::Waiting
            } else {
                TaskState::Running
            };
            row(&format!("worker-{index}"), state, 9, u32::from(index == 5), None)
        };
        let mut rows = vec![row("ps-0", TaskState::Running, 9, 0, None)];
        rows.extend((0..64).map(worker));
        job("large", rows)
    }

    fn drawn(jobs: &[JobRows], columns: usize, rows: usize) -> String {
        let lines = lines(jobs, NOW, columns, rows);
        for line in &lines {
            assert!(line.width() < columns, "{line:?}");
        }
        let text: Vec<String> = lines.iter().map(Line::styled).collect();
        let plain = anstream::adapter::strip_str(&text.join("\n")).to_string();
        let trimmed: Vec<&str> = plain.lines().map(str::trim_end).collect();
        trimmed.join("\n")
    }

    #[test]
    fn every_task_is_shown_where_there_is_room() {
        insta::assert_snapshot!(drawn(&[four()], 60, 40));
    }

    #[test]
    fn a_wide_terminal_shows_tasks_side_by_side() {
        insta::assert_snapshot!(drawn(&[four()], 120, 24));
    }

    #[test]
    fn lines_without_an_end_have_a_row_each_and_never_break() {
        let bars = || {
            let bars = four();
            bars.activity.pretend(
                "chief-0",
                heard(Some(1), "37/100 ━━━━━━━ 12s 20ms/step - loss: 0.31", false),
            );
            bars.activity.pretend("worker-0", heard(None, "", true));
            bars
        };
        insta::assert_snapshot!(drawn(&[bars()], 80, 24));
        // Without room for a row each, the tasks stand side by side.
        assert!(!drawn(&[bars()], 120, 9).contains("37/100"));
        assert!(drawn(&[bars()], 120, 9).contains("importing"));
        for (text, columns, expected) in [
            ("abc", 2, "ab"),
            ("█▌█", 3, "█▌█"),
            ("中文", 3, "中"),
            ("a中", 2, "a"),
            ("abc", 0, ""),
        ] {
            assert_eq!(fitting(text, columns), expected);
        }
    }

    #[test]
    fn many_tasks_are_counted_by_role() {
        insta::assert_snapshot!(drawn(&[many()], 80, 24));
    }

    #[test]
    fn a_small_terminal_shows_what_fits() {
        insta::assert_snapshot!(drawn(&[four(), many()], 50, 6));
        assert_eq!(drawn(&[four(), many()], 20, 3), "mnist  2 running, 1");
        assert_eq!(drawn(&[four()], 1, 1), "");
    }

    #[test]
    fn what_has_ended_or_not_begun_is_not_shown() {
        let ended = JobRows {
            ended: true,
            ..four()
        };
        assert_eq!(drawn(&[ended, JobRows::new("later", Arc::default())], 80, 24), "");
    }
}
