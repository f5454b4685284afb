//! A simulated run as text: one lane per task, then the story.

use std::fmt::Write as _;

use anstyle::Style;
use trainyard_core::TaskId;

use super::story::{Line, Tone};
use super::timeline::{AttemptEnd, Lane, LaneState};
use crate::printer::{BAD, CAREFUL, GOOD, QUIET, STRONG};

/// With more tasks than this, equal lanes are drawn once.
const MOST_LANES: usize = 24;

/// The lanes, with a scale above them.
pub fn lanes(lanes: &[Lane], length: u32, columns: usize) -> String {
    let groups = alike(lanes);
    let labels: Vec<String> = groups.iter().map(|(tasks, _)| names(tasks)).collect();
    let label = labels.iter().map(|label| label.chars().count()).max();
    let label = label.unwrap_or(0);
    let width = columns.saturating_sub(label + 2).max(20);
    let mut page = String::new();
    let _ = writeln!(page, "{:label$}  {QUIET}{}{QUIET:#}", "", scale(length, width));
    for (text, (_, lane)) in labels.iter().zip(&groups) {
        let lane = draw(lane, length, width);
        let _ = writeln!(page, "{STRONG}{text:<label$}{STRONG:#}  {lane}");
    }
    let _ = writeln!(
        page,
        "{:label$}  {QUIET}· waits  ━ runs  ╌ stopping  ┄ down   ✔ done  ✖ failed  ↯ disrupted  ■ stopped{QUIET:#}",
        ""
    );
    page
}

/// Groups tasks with equal lanes, if there are many.
pub fn alike(lanes: &[Lane]) -> Vec<(Vec<TaskId>, &Lane)> {
    grouped(
        lanes,
        MOST_LANES,
        |lane| &lane.task,
        |a, b| a.spans == b.spans && a.marks == b.marks,
    )
}

/// Groups items about tasks: with more than `most` of them, those of one role that are alike are one group.
pub fn grouped<T>(
    items: &[T],
    most: usize,
    task: fn(&T) -> &TaskId,
    alike: fn(&T, &T) -> bool,
) -> Vec<(Vec<TaskId>, &T)> {
    let mut groups: Vec<(Vec<TaskId>, &T)> = Vec::new();
    for item in items {
        let same = |(_, first): &&mut (Vec<TaskId>, &T)| {
            items.len() > most && task(first).role == task(item).role && alike(first, item)
        };
        match groups.iter_mut().find(same) {
            Some((tasks, _)) => tasks.push(task(item).clone()),
            None => groups.push((vec![task(item).clone()], item)),
        }
    }
    groups
}

/// Times under the columns they belong to.
fn scale(length: u32, width: usize) -> String {
    let mut line = vec![' '; width];
    let step = (width / 4).max(12);
    let mut last = None;
    for wanted in (0..width).step_by(step) {
        // A whole second, in its own column: in a short run not every column begins one.
        let time = u64::from(length) * wanted as u64 / width.max(1) as u64;
        let at = usize::try_from(time).unwrap_or(0) * width.saturating_sub(1) / length.max(1) as usize;
        let text = format!("╷{}", seconds(time));
        if last.replace(time) != Some(time) && at + text.chars().count() <= width {
            for (offset, character) in text.chars().enumerate() {
                line[at + offset] = character;
            }
        }
    }
    line.into_iter().collect::<String>().trim_end().to_owned()
}

/// One lane: each column shows the most important state or event in it.
fn draw(lane: &Lane, length: u32, width: usize) -> String {
    let last = width.saturating_sub(1);
    let column = |at: u32| {
        let at = u64::from(at) * last as u64 / u64::from(length.max(1));
        usize::try_from(at).unwrap_or(last).min(last)
    };
    let mut cells: Vec<(char, Style)> = vec![(' ', Style::new()); width];
    for span in &lane.spans {
        let cell = match span.what {
            LaneState::Down => ('┄', QUIET),
            LaneState::Waiting => ('·', QUIET),
            LaneState::Running => ('━', Style::new()),
            LaneState::Stopping => ('╌', QUIET),
        };
        for slot in &mut cells[column(span.from)..=column(span.to)] {
            // A wait in the same column does not hide a running state.
            if slot.0 != '━' || span.what == LaneState::Running {
                *slot = cell;
            }
        }
    }
    for mark in &lane.marks {
        let (sign, style) = match mark.what {
            AttemptEnd::Succeeded => ('✔', GOOD),
            AttemptEnd::Stopped => ('■', QUIET),
            AttemptEnd::Disrupted => ('↯', CAREFUL),
            AttemptEnd::Failed(_) => ('✖', BAD),
        };
        cells[column(mark.at)] = (sign, style);
    }
    let mut line = String::new();
    for (sign, style) in cells {
        let _ = write!(line, "{style}{sign}{style:#}");
    }
    line
}

/// The story, with the time before each line.
pub fn story(lines: &[Line]) -> String {
    let times: Vec<String> = lines.iter().map(|line| seconds(u64::from(line.at))).collect();
    let width = times.iter().map(String::len).max().unwrap_or(0).max(6);
    let mut page = String::new();
    let mut last = None;
    for (line, time) in lines.iter().zip(&times) {
        let time = if last == Some(line.at) { "" } else { time };
        last = Some(line.at);
        let (style, text) = (tone(line.tone), &line.text);
        let _ = writeln!(page, "{QUIET}{time:>width$}{QUIET:#}  {style}{text}{style:#}");
    }
    page
}

fn tone(tone: Tone) -> Style {
    match tone {
        Tone::Plain => Style::new(),
        Tone::Good => GOOD,
        Tone::Bad => BAD,
        Tone::Careful => CAREFUL,
        Tone::Quiet => QUIET,
    }
}

/// `worker-0`, `worker-0, worker-2`, `worker-0 … worker-63`: adjacent tasks of one role are combined.
pub fn names(tasks: &[TaskId]) -> String {
    let mut sorted: Vec<&TaskId> = tasks.iter().collect();
    sorted.sort();
    sorted.dedup();
    let mut parts: Vec<String> = Vec::new();
    let mut at = 0;
    while at < sorted.len() {
        let mut end = at;
        while sorted
            .get(end + 1)
            .is_some_and(|next| next.role == sorted[at].role && next.index == sorted[end].index + 1)
        {
            end += 1;
        }
        match end - at {
            0 => parts.push(sorted[at].to_string()),
            1 => parts.extend([sorted[at].to_string(), sorted[end].to_string()]),
            _ => parts.push(format!("{} … {}", sorted[at], sorted[end])),
        }
        at = end + 1;
    }
    parts.join(", ")
}

/// `75s` is `1m15s`.
pub fn seconds(total: u64) -> String {
    let (hours, minutes, seconds) = (total / 3600, total / 60 % 60, total % 60);
    match (hours, minutes, seconds) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, 0) => format!("{minutes}m"),
        (0, minutes, seconds) => format!("{minutes}m{seconds:02}s"),
        (hours, 0, 0) => format!("{hours}h"),
        (hours, minutes, 0) => format!("{hours}h{minutes:02}m"),
        (hours, minutes, seconds) => format!("{hours}h{minutes:02}m{seconds:02}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_told_together() {
        let task = |index| TaskId::new("worker", index);
        let table = [
            (vec![task(0)], "worker-0"),
            (vec![task(1), task(0)], "worker-0, worker-1"),
            (
                vec![task(0), task(1), task(2), task(5)],
                "worker-0 … worker-2, worker-5",
            ),
            (vec![TaskId::new("ps", 0), task(1)], "ps-0, worker-1"),
        ];
        for (tasks, expected) in table {
            assert_eq!(names(&tasks), expected);
        }
    }

    #[test]
    fn a_short_run_has_every_second_once() {
        let words: Vec<String> = scale(3, 80).split_whitespace().map(str::to_owned).collect();
        assert_eq!(words, ["╷0s", "╷1s", "╷2s"]);
        assert_eq!(scale(3, 80).chars().position(|sign| sign == '1'), Some(27));
    }

    #[test]
    fn times_are_short() {
        for (total, text) in [
            (0, "0s"),
            (60, "1m"),
            (75, "1m15s"),
            (3600, "1h"),
            (3661, "1h01m01s"),
            (5400, "1h30m"),
        ] {
            assert_eq!(seconds(total), text);
        }
    }
}
