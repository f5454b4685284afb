//! The trace, task by task: spans of time and the ends between them.

use std::collections::BTreeMap;

use serde::Serialize;
use trainyard_core::sim::{Happened, StopReason, Trace};
use trainyard_core::{Ending, Exit, Job, TaskId};

/// What a task did, from left to right.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lane {
    pub task: TaskId,
    pub spans: Vec<Span>,
    pub marks: Vec<Mark>,
}

/// A stretch of time, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Span {
    pub from: u32,
    pub to: u32,
    pub what: State,
}

/// How a task is during a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum State {
    /// Down, until it is created again.
    Down,
    /// Created, not running yet.
    Waiting,
    /// Running.
    Running,
    /// Told to stop, not ended yet.
    Stopping,
}

/// The end of one life.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mark {
    pub at: u32,
    pub what: End,
}

/// How a life ended, as it is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum End {
    /// By itself, well.
    Succeeded,
    /// We stopped it.
    Stopped,
    /// Somebody else stopped it.
    Disrupted,
    /// By itself, badly, with this code if there is one.
    Failed(Option<i32>),
}

/// The lanes of a run, in the job's order, and how long it was: at least so many seconds.
pub fn lanes(job: &Job, trace: &Trace, at_least: u32) -> (Vec<Lane>, u32) {
    let length = trace.entries.last().map_or(0, |entry| entry.at).max(at_least);
    let mut lanes: BTreeMap<TaskId, Open> = BTreeMap::new();
    let mut order: Vec<TaskId> = job.tasks().collect();
    for entry in &trace.entries {
        let Some(task) = subject(&entry.what) else {
            continue;
        };
        if !lanes.contains_key(task) && !order.contains(task) {
            order.push(task.clone());
        }
        lanes
            .entry(task.clone())
            .or_default()
            .follow(entry.at, &entry.what);
    }
    let close = |task: TaskId| {
        let open = lanes.remove(&task).unwrap_or_default();
        open.close(task, length)
    };
    (order.into_iter().map(close).collect(), length)
}

/// The one task that something happened to.
fn subject(what: &Happened) -> Option<&TaskId> {
    match what {
        Happened::Created { task, .. }
        | Happened::Started { task, .. }
        | Happened::Ended { task, .. }
        | Happened::RestartsInPlace { task, .. }
        | Happened::Stopped { task, .. }
        | Happened::Gone { task, .. } => Some(task),
        _ => None,
    }
}

/// A lane that is still being drawn.
#[derive(Default)]
struct Open {
    spans: Vec<Span>,
    marks: Vec<Mark>,
    now: Option<(State, u32)>,
    stopped_by_us: bool,
}

impl Open {
    fn follow(&mut self, at: u32, what: &Happened) {
        match what {
            Happened::Created { .. } => {
                self.stopped_by_us = false;
                self.turn(at, Some(State::Waiting));
            }
            Happened::Started { .. } => self.turn(at, Some(State::Running)),
            Happened::Stopped { why, .. } => {
                self.stopped_by_us |= *why != StopReason::Asked;
                if matches!(self.now, Some((State::Waiting | State::Running, _))) {
                    self.turn(at, Some(State::Stopping));
                }
            }
            Happened::Ended { exit, .. } => {
                self.mark(at, exit);
                self.turn(at, Some(State::Down));
            }
            Happened::Gone { .. } => {
                let alive = matches!(
                    self.now,
                    Some((State::Waiting | State::Running | State::Stopping, _))
                );
                if alive {
                    let what = if self.stopped_by_us {
                        End::Stopped
                    } else {
                        End::Disrupted
                    };
                    self.marks.push(Mark { at, what });
                    self.turn(at, Some(State::Down));
                }
            }
            _ => {}
        }
    }

    fn mark(&mut self, at: u32, exit: &Exit) {
        let what = match Ending::of(Some(exit)) {
            _ if self.stopped_by_us => End::Stopped,
            Ending::Succeeded => End::Succeeded,
            Ending::Disrupted | Ending::Vanished => End::Disrupted,
            Ending::Failed(code) => End::Failed(code),
            Ending::NotStarted => End::Failed(None),
        };
        self.marks.push(Mark { at, what });
    }

    fn turn(&mut self, at: u32, next: Option<State>) {
        if let Some((what, from)) = self.now {
            self.spans.push(Span { from, to: at, what });
        }
        self.now = next.map(|state| (state, at));
    }

    /// What lasts to the end is drawn to the end; a task that stays down is not drawn as waiting.
    fn close(mut self, task: TaskId, length: u32) -> Lane {
        let next = self.now.filter(|(state, _)| *state != State::Down);
        self.now = next;
        self.turn(length, None);
        Lane {
            task,
            spans: self.spans,
            marks: self.marks,
        }
    }
}
