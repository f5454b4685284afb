//! What was last heard of each task of a job: when it wrote, the line that it has not ended, whether it opened its port.
//!
//! The threads that read the tasks' output write it; the footer reads it with each frame. Neither waits for the terminal.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use trainyard_core::{Stamp, TaskId};
use trainyard_local::logs::pump::LogSource;
use trainyard_local::run::event::Life;
use trainyard_local::run::evidence;
use trainyard_local::run::store::status::{TaskState, TaskStatus};
use trainyard_local::run::timestamp::Timestamp;

use super::display::lock;
use super::terminal;
use crate::visible;

/// More characters of an unfinished line are not kept: no terminal shows them.
const LONGEST: usize = 300;

/// What was heard of the tasks of a job.
#[derive(Debug, Default)]
pub struct Activity(Mutex<BTreeMap<TaskId, Heard>>);

/// What was heard of one life of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    stamp: Stamp,
    in_place: u32,
    pid: Option<u32>,
    /// When it last wrote something.
    pub wrote: Option<Timestamp>,
    /// The line that it has not ended, as a terminal would show it.
    pub line: String,
    /// It is a Python program that has neither written anything nor opened its port: it is still importing.
    pub imports: bool,
}

impl Activity {
    /// A life of a task has begun as this process.
    pub fn started(&self, life: &Life, pid: u32) {
        let mut tasks = lock(&self.0);
        let heard = tasks.entry(life.task.clone()).or_default();
        // Its first line may have been quicker.
        let stamp = Stamp {
            epoch: life.epoch,
            attempt: life.attempt,
        };
        heard.turn_to(stamp, life.in_place);
        heard.pid = Some(pid);
    }

    /// A task has written whole lines.
    pub fn wrote(&self, source: &LogSource) {
        self.hear(source, String::new());
    }

    /// A task has written part of a line.
    pub fn writes(&self, source: &LogSource, line: &[u8]) {
        self.hear(source, shown(line));
    }

    fn hear(&self, source: &LogSource, line: String) {
        if source.container.is_some() {
            return;
        }
        let mut tasks = lock(&self.0);
        let heard = tasks.entry(source.task.clone()).or_default();
        heard.turn_to(source.stamp, source.in_place);
        heard.wrote = Some(Timestamp::now());
        heard.line = line;
        heard.imports = false;
    }

    /// Looks at the programs of tasks that have been silent since they started: they import, or have opened their ports.
    pub fn look(&self, rows: &[TaskStatus]) {
        let mut tasks = lock(&self.0);
        let mut ports: Option<BTreeSet<u16>> = None;
        for row in rows.iter().filter(|row| row.state == TaskState::Running) {
            let Some(heard) = tasks.get_mut(&row.task).filter(|heard| heard.wrote.is_none()) else {
                continue;
            };
            let is_python = heard.pid.is_some_and(evidence::is_python);
            let listens = |port: u16| ports.get_or_insert_with(evidence::open_ports).contains(&port);
            heard.imports = is_python && !row.port.is_some_and(listens);
        }
    }

    /// As if this had been heard of the first life of a task.
    #[cfg(test)]
    pub fn pretend(&self, task: &str, heard: Heard) {
        lock(&self.0).insert(task.parse().unwrap(), heard);
    }

    /// What was heard of the task's present life.
    pub fn of(&self, row: &TaskStatus) -> Heard {
        let tasks = lock(&self.0);
        let heard = tasks.get(&row.task);
        let stamp = Stamp {
            epoch: row.epoch,
            attempt: row.attempt,
        };
        heard
            .filter(|heard| heard.stamp == stamp)
            .cloned()
            .unwrap_or_default()
    }
}

impl Heard {
    /// Forgets what was heard of an earlier life.
    fn turn_to(&mut self, stamp: Stamp, in_place: u32) {
        if (self.stamp, self.in_place) != (stamp, in_place) {
            *self = Self {
                stamp,
                in_place,
                ..Self::default()
            };
        }
    }
}

/// The last state of a line, in plain characters.
fn shown(line: &[u8]) -> String {
    let state = terminal::last_state(line);
    // Four bytes are the longest character; styles and escapes take more, and are cut with the rest.
    let state = &state[..state.len().min(4 * LONGEST)];
    let clean = terminal::clean(&String::from_utf8_lossy(state));
    let plain = anstream::adapter::strip_str(&clean).to_string();
    let plain = plain.replace('\t', " ");
    visible::line(plain.trim()).chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_heard_of_an_earlier_life_is_forgotten() {
        let activity = Activity::default();
        let task: TaskId = "worker-0".parse().unwrap();
        let stamp = |attempt| Stamp { epoch: 0, attempt };
        let source = |attempt, in_place| LogSource {
            task: task.clone(),
            stamp: stamp(attempt),
            in_place,
            container: None,
            file: "x.log".into(),
        };
        let row = |attempt| TaskStatus {
            task: task.clone(),
            state: TaskState::Running,
            since: Timestamp(0),
            epoch: 0,
            attempt,
            restarts: 0,
            port: None,
            end: None,
            log: None,
        };
        // The first line may come before the news of the start.
        activity.writes(&source(0, 0), b" 1%");
        activity.started(&Life::new(&task, stamp(0), 0), 1);
        assert_eq!(activity.of(&row(0)).line, "1%");
        assert_eq!(activity.of(&row(1)), Heard::default());
        // A sidecar's words are not the task's.
        let beside = LogSource {
            container: Some("logger".into()),
            ..source(0, 0)
        };
        activity.writes(&beside, b"other");
        assert_eq!(activity.of(&row(0)).line, "1%");
        activity.wrote(&source(0, 0));
        let heard = activity.of(&row(0));
        assert!(heard.line.is_empty() && heard.wrote.is_some());
        activity.started(&Life::new(&task, stamp(0), 1), 2);
        assert_eq!(activity.of(&row(0)).wrote, None, "it was restarted in place");
    }

    #[test]
    fn of_a_bar_its_last_state_is_shown_in_plain_characters() {
        let table: [(&[u8], &str); 9] = [
            (b"\r 10%|#   |\r 20%|##  |", "20%|##  |"),
            (b" 10%\r 20%\r", "20%"),
            (b" 10%\r 20%\x08\x08\x08", "20%"),
            (
                b"1/9\x08\x08\x08\r\x1b[1m2/9\x1b[0m \x1b[32m--\x1b[0m\x08\x08",
                "2/9 --",
            ),
            (b"loading", "loading"),
            ("█▌ 中".as_bytes(), "█▌ 中"),
            (b"\x1b[2Ja\tb\xff", "\\x1b[2Ja b\u{fffd}"),
            ("a\u{202e}b".as_bytes(), "a\\u{202e}b"),
            (b"", ""),
        ];
        for (line, expected) in table {
            assert_eq!(shown(line), expected, "{line:?}");
        }
        assert_eq!(shown(&[b'x'; 5000]).len(), LONGEST);
    }
}
