//! The trace per task: states over time, and how attempts ended.

use std::collections::BTreeMap;

use serde::Serialize;
use trainyard_core::sim::{Happened, StopReason, Trace};
use trainyard_core::{Ending, Exit, Job, TaskId};

/// The states of one task over time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lane {
    pub task: TaskId,
    pub spans: Vec<Span>,
    pub marks: Vec<Mark>,
}

/// A period, including both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Span {
    pub from: u32,
    pub to: u32,
    pub what: LaneState,
}

/// The state of a task during a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum LaneState {
    /// No instance exists.
    Down,
    /// Created, not running yet.
    Waiting,
    /// Running.
    Running,
    /// Terminating.
    Stopping,
}

/// The end of one attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mark {
    pub at: u32,
    pub what: AttemptEnd,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum AttemptEnd {
    /// Exit code 0.
    Succeeded,
    /// The job stopped it.
    Stopped,
    /// It was evicted, drained or deleted.
    Disrupted,
    /// With this exit code, if there is one.
    Failed(Option<i32>),
}

/// The lanes of a run, in the job's order, and its length, at least `at_least` seconds.
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

/// The task that an entry is about.
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

/// A lane under construction.
#[derive(Default)]
struct Open {
    spans: Vec<Span>,
    marks: Vec<Mark>,
    now: Option<(LaneState, u32)>,
    stopped_by_us: bool,
}

impl Open {
    fn follow(&mut self, at: u32, what: &Happened) {
        match what {
            Happened::Created { .. } => {
                self.stopped_by_us = false;
                self.turn(at, Some(LaneState::Waiting));
            }
            Happened::Started { .. } => self.turn(at, Some(LaneState::Running)),
            Happened::Stopped { why, .. } => {
                self.stopped_by_us |= *why != StopReason::Asked;
                if matches!(self.now, Some((LaneState::Waiting | LaneState::Running, _))) {
                    self.turn(at, Some(LaneState::Stopping));
                }
            }
            Happened::Ended { exit, .. } => {
                self.mark(at, exit);
                self.turn(at, Some(LaneState::Down));
            }
            Happened::Gone { .. } if self.now.is_some_and(|(state, _)| state != LaneState::Down) => {
                let what = if self.stopped_by_us {
                    AttemptEnd::Stopped
                } else {
                    AttemptEnd::Disrupted
                };
                self.marks.push(Mark { at, what });
                self.turn(at, Some(LaneState::Down));
            }
            _ => {}
        }
    }

    fn mark(&mut self, at: u32, exit: &Exit) {
        let what = match Ending::of(Some(exit)) {
            _ if self.stopped_by_us => AttemptEnd::Stopped,
            Ending::Succeeded => AttemptEnd::Succeeded,
            Ending::Disrupted | Ending::Vanished => AttemptEnd::Disrupted,
            Ending::Failed(code) => AttemptEnd::Failed(code),
            Ending::NotStarted => AttemptEnd::Failed(None),
        };
        self.marks.push(Mark { at, what });
    }

    fn turn(&mut self, at: u32, next: Option<LaneState>) {
        if let Some((what, from)) = self.now {
            self.spans.push(Span { from, to: at, what });
        }
        self.now = next.map(|state| (state, at));
    }

    /// Extends the last state to the end of the run, unless the task stays down.
    fn close(mut self, task: TaskId, length: u32) -> Lane {
        self.now = self.now.filter(|(state, _)| *state != LaneState::Down);
        self.turn(length, None);
        Lane {
            task,
            spans: self.spans,
            marks: self.marks,
        }
    }
}
