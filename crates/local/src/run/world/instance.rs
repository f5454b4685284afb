//! One instance of a task: a life with everything that is started for it, restarts in place included.
//!
//! This is the kubelet's part of a run: it follows what happens to programs, starts them again where the role says so,
//! later and later, and shows all of it as [`TaskSeen`]. It decides nothing else.

use std::sync::Arc;
use std::time::Instant;

use trainyard_core::{Exit, InPlace, Placement, Seen, Stamp, TaskId, TaskSeen, Time, Why};

use crate::process::launch::{Ended, Life};
use crate::process::task::Running;
use crate::run::event::What;

/// A kubelet starts a program again at once, the second time after ten seconds, and then waits twice as long each time.
const FIRST_WAIT: u32 = 1;
const SECOND_WAIT: u32 = 10;
const LONGEST_WAIT: u32 = 300;

/// A program that has run so long is healthy: its waits begin anew.
const HEALTHY: u32 = 600;

/// What container runtimes say of a program that could not be started.
const NOT_STARTED: i32 = 128;

/// An instance of a task.
#[derive(Debug)]
pub(crate) struct Instance {
    pub task: TaskId,
    pub stamp: Stamp,
    /// Names it for `step`.
    pub name: Arc<str>,
    pub created: Time,
    pub phase: Phase,
    pub in_place: u32,
    /// Restarts in place since it was last healthy.
    waits: u32,
    last: Option<Exit>,
    /// `trainyard kill` killed its program.
    pub killed_by_order: bool,
    /// A restart in place that is not told yet: the job may end instead.
    pub untold_restart: Option<(Instant, What)>,
    /// It was told to stop: when its grace is over.
    pub stopping: Option<Time>,
    /// Its processes, as long as there are any.
    pub running: Option<Running>,
}

/// How an instance is.
#[derive(Clone, Debug)]
pub(crate) enum Phase {
    /// Its init programs run.
    Starting,
    /// Its main program runs.
    Running {
        since: Time,
        /// Its process; none for a task that the user started.
        pid: Option<u32>,
    },
    /// Its main program has ended; `lingers` while something beside it still runs.
    Ended { exit: Exit, lingers: bool },
    /// It is started again then.
    Resting { until: Instant },
}

impl Instance {
    pub fn new(task: &TaskId, stamp: Stamp, now: Time) -> Self {
        Self {
            task: task.clone(),
            stamp,
            name: Life::new(task, stamp, 0).to_string().into(),
            created: now,
            phase: Phase::Starting,
            in_place: 0,
            waits: 0,
            last: None,
            killed_by_order: false,
            untold_restart: None,
            stopping: None,
            running: None,
        }
    }

    /// How its program's end looks to `step`.
    pub fn exit(&self, ended: &Ended, init: Option<&Arc<str>>, now: Time) -> Exit {
        let (code, why) = match ended {
            Ended::NotStarted(_) => (Some(NOT_STARTED), Why::NotStarted),
            ended => (ended.code(), Why::Itself),
        };
        let since = match self.phase {
            Phase::Running { since, .. } => since,
            _ => now,
        };
        Exit {
            code,
            why,
            asked: self.stopping.is_some(),
            at: now,
            ran: u32::try_from(now.since(since)).unwrap_or(u32::MAX),
            never_ran: matches!(self.phase, Phase::Starting),
            container: init.cloned(),
            ..Exit::default()
        }
    }

    /// Whether its program is started again in place after that end, and after how many seconds.
    pub fn comes_back(&mut self, policy: InPlace, exit: &Exit) -> Option<u32> {
        let wanted = match policy {
            InPlace::Never => false,
            InPlace::OnFailure => exit.code != Some(0),
            InPlace::Always => true,
        };
        if exit.asked || !wanted {
            return None;
        }
        if exit.ran >= HEALTHY {
            self.waits = 0;
        }
        let wait = wait_in_place(self.waits);
        self.waits += 1;
        self.in_place += 1;
        self.last = Some(exit.clone());
        Some(wait)
    }

    /// How it looks to `step`.
    pub fn seen(&self) -> TaskSeen {
        let (state, lingers) = match &self.phase {
            Phase::Starting => (Seen::Waiting, false),
            Phase::Running { .. } => (Seen::Running { ready: true }, false),
            // Between two runs of an init program the task has not begun.
            Phase::Resting { .. } if self.last.as_ref().is_some_and(|last| last.never_ran) => {
                (Seen::Waiting, false)
            }
            Phase::Resting { .. } => (Seen::Running { ready: false }, false),
            Phase::Ended { exit, lingers } => (Seen::Ended(exit.clone()), *lingers),
        };
        self.with(state, lingers)
    }

    /// How it looks when it is gone.
    pub fn gone(&self) -> TaskSeen {
        let exit = match &self.phase {
            Phase::Ended { exit, .. } => Some(exit.clone()),
            _ => None,
        };
        self.with(Seen::Gone(exit), false)
    }

    fn with(&self, state: Seen, lingers: bool) -> TaskSeen {
        TaskSeen {
            id: self.task.clone(),
            stamp: self.stamp,
            instance: Arc::clone(&self.name),
            state,
            created: self.created,
            in_place: self.in_place,
            last: self.last.clone(),
            stopping: self.stopping,
            lingers,
            placement: Placement::default(),
        }
    }
}

/// Seconds before a program is started again in place, after so many times.
fn wait_in_place(times: u32) -> u32 {
    match times {
        0 => FIRST_WAIT,
        times => SECOND_WAIT
            .saturating_mul(1 << (times - 1).min(16))
            .min(LONGEST_WAIT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_in_place_double_and_begin_anew_after_a_healthy_life() {
        let waits: Vec<u32> = (0..8).map(wait_in_place).collect();
        assert_eq!(waits, [1, 10, 20, 40, 80, 160, 300, 300]);
        let mut instance = Instance::new(&TaskId::new("worker", 0), Stamp::default(), Time(0));
        let exit = |ran| Exit {
            code: Some(1),
            why: Why::Itself,
            asked: false,
            at: Time(0),
            ran,
            ..Exit::default()
        };
        let waits = [5, 5, HEALTHY, 5].map(|ran| instance.comes_back(InPlace::OnFailure, &exit(ran)));
        assert_eq!(waits, [Some(1), Some(10), Some(1), Some(10)]);
        assert_eq!(instance.in_place, 4);
    }

    #[test]
    fn what_was_asked_to_stop_or_ended_well_stays_down() {
        let task = TaskId::new("worker", 0);
        let table = [
            (InPlace::OnFailure, 0, false, false),
            (InPlace::OnFailure, 1, false, true),
            (InPlace::OnFailure, 143, true, false),
            (InPlace::Always, 0, false, true),
            (InPlace::Never, 1, false, false),
        ];
        for (policy, code, asked, back) in table {
            let mut instance = Instance::new(&task, Stamp::default(), Time(0));
            instance.stopping = asked.then_some(Time(1));
            let exit = instance.exit(&Ended::Code(code), None, Time(2));
            let comes_back = instance.comes_back(policy, &exit).is_some();
            assert_eq!(comes_back, back, "{policy:?} {code} {asked}");
        }
    }
}
