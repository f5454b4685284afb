//! One instance of a task as it truly is: a pod with its kubelet, or a process with its supervisor.

use std::sync::Arc;

use super::script::ProgramEnd;
use super::trace::StopReason;
use crate::job::{InPlace, TaskId};
use crate::observed::{Exit, Placement, Seen, Stamp, TaskSeen, Why};
use crate::time::Time;

/// An instance and everything that has ever been visible of it.
#[derive(Clone, Debug)]
pub(super) struct Instance {
    pub task: TaskId,
    pub stamp: Stamp,
    pub name: Arc<str>,
    /// Whether it belongs to the job; an object of others may have the same name.
    pub ours: bool,
    pub created: Time,
    pub state: State,
    pub in_place: u32,
    pub last: Option<Exit>,
    pub told: Option<Told>,
    pub node: Node,
    /// Every state it has been in, oldest first; what is observed is one of these.
    pub history: Vec<TaskSeen>,
}

/// Whether the node it is on answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    Answers,
    /// It does not; it will again then, if at all.
    Lost {
        back: Option<Time>,
    },
}

/// It was told to stop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    /// When its grace is over.
    pub over: Time,
    /// The code its program will end with.
    pub code: i32,
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "only tests ask who stopped an instance")
    )]
    pub why: StopReason,
}

#[derive(Clone, Debug)]
pub(super) enum State {
    /// Created; its program starts then.
    Waiting { starts: Time },
    /// Its program runs.
    Running {
        since: Time,
        ready: Time,
        ends: Option<(Time, ProgramEnd)>,
    },
    /// Between two lives in place.
    Resting { until: Time },
    /// Its program has ended; something beside it still runs, until then if it was told to stop.
    Lingering { exit: Exit, until: Option<Time> },
    /// Its program has ended.
    Ended(Exit),
    /// It was deleted; how it ended, if it had.
    Gone(Option<Exit>),
}

impl Instance {
    /// A new one of the job's own.
    pub fn new(task: &TaskId, stamp: Stamp, number: u32, now: Time, starts: Time) -> Self {
        let mut instance = Self {
            task: task.clone(),
            stamp,
            name: Arc::from(format!("{task}#{number}")),
            ours: true,
            created: now,
            state: State::Waiting { starts },
            in_place: 0,
            last: None,
            told: None,
            node: Node::Answers,
            history: Vec::new(),
        };
        instance.show(now);
        instance
    }

    /// An object of others, there until then.
    pub fn foreign(task: &TaskId, now: Time, until: Time) -> Self {
        let mut instance = Self::new(task, Stamp::default(), 0, now, now);
        instance.name = Arc::from(format!("{task} of another job"));
        instance.ours = false;
        instance.state = State::Running {
            since: now,
            ready: now,
            ends: Some((until, ProgramEnd::Code(0))),
        };
        instance
    }

    /// Whether it exists, alive or not: its name is taken.
    pub fn exists(&self) -> bool {
        !matches!(self.state, State::Gone(_))
    }

    pub fn alive(&self) -> bool {
        match self.state {
            State::Waiting { .. }
            | State::Running { .. }
            | State::Resting { .. }
            | State::Lingering { .. } => true,
            State::Ended(_) | State::Gone(_) => false,
        }
    }

    /// When it changes by itself.
    pub fn next(&self, now: Time) -> Option<Time> {
        if let Node::Lost { back } = self.node {
            return back;
        }
        match &self.state {
            State::Waiting { starts } => Some(*starts),
            State::Running { ready, ends, .. } => {
                let ready = Some(*ready).filter(|ready| *ready > now);
                let end = ends.as_ref().map(|(at, _)| *at);
                [ready, end].into_iter().flatten().min()
            }
            State::Resting { until } => Some(*until),
            State::Lingering { until, .. } => *until,
            State::Ended(_) | State::Gone(_) => None,
        }
    }

    /// The end of its program in the present moment.
    pub fn exit(&self, end: ProgramEnd, now: Time) -> Exit {
        let since = match self.state {
            State::Running { since, .. } => since,
            _ => now,
        };
        let (code, why) = match end {
            ProgramEnd::Code(code) | ProgramEnd::Init(Some(code)) => (Some(code), Why::Itself),
            ProgramEnd::OutOfMemory => (Some(137), Why::OutOfMemory),
            ProgramEnd::NotStarted | ProgramEnd::Init(None) => (Some(128), Why::NotStarted),
            ProgramEnd::Evicted => (Some(137), Why::Disrupted),
            ProgramEnd::Rejected => (None, Why::Disrupted),
        };
        Exit {
            code,
            why,
            asked: self.told.is_some(),
            at: now,
            ran: u32::try_from(now.since(since)).unwrap_or(u32::MAX),
            never_ran: !matches!(self.state, State::Running { .. }),
            rejected: end == ProgramEnd::Rejected,
            container: matches!(end, ProgramEnd::Init(_)).then(|| "init".into()),
            message: None,
            cause: None,
        }
    }

    /// Whether the world itself starts the program again after such an end.
    pub fn comes_back(policy: InPlace, exit: &Exit) -> bool {
        let own = !exit.asked && exit.why != Why::Disrupted;
        own && match policy {
            InPlace::Never => false,
            InPlace::OnFailure => exit.code != Some(0),
            InPlace::Always => true,
        }
    }

    /// Notes how it looks now, if that is new.
    pub fn show(&mut self, now: Time) {
        let seen = self.seen(now);
        if self.history.last() != Some(&seen) {
            self.history.push(seen);
        }
    }

    fn seen(&self, now: Time) -> TaskSeen {
        let state = match &self.state {
            State::Waiting { .. } => Seen::Waiting,
            State::Running { ready, .. } => Seen::Running { ready: *ready <= now },
            // Between two runs of its init program a pod is still pending.
            State::Resting { .. } if self.last.as_ref().is_some_and(|last| last.never_ran) => Seen::Waiting,
            State::Resting { .. } => Seen::Running { ready: false },
            State::Lingering { exit, .. } | State::Ended(exit) => Seen::Ended(exit.clone()),
            State::Gone(exit) => Seen::Gone(exit.clone()),
        };
        TaskSeen {
            id: self.task.clone(),
            stamp: self.stamp,
            instance: Arc::clone(&self.name),
            state,
            created: self.created,
            in_place: self.in_place,
            last: self.last.clone(),
            stopping: self.told.map(|told| told.over),
            lingers: matches!(self.state, State::Lingering { .. }),
            placement: Placement::default(),
        }
    }
}
