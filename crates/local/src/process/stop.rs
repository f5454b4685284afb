//! Stopping a task: asked, then killed.
//!
//! The loop of a run signals a task's processes from here at once, even if the task's own threads are held up by
//! a terminal that takes no more output. The threads kill what is left when the grace is over.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, eventfd};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::process::orphans::{self, Mark};

/// How far stopping has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Not asked to stop.
    #[default]
    No,
    /// Asked; what is left at that moment is killed.
    Asked {
        /// The end of the grace.
        until: Instant,
    },
    /// Killed.
    Killed,
}

/// The stopping of one task, shared by its threads and the loop of the run.
#[derive(Debug, Default)]
pub(crate) struct Stopping(Mutex<StopState>);

#[derive(Debug, Default)]
struct StopState {
    stop: Stop,
    programs: Vec<Arc<Target>>,
}

/// A process that has been started and not yet been waited for: its number is its own.
#[derive(Debug)]
struct Target {
    leader: Pid,
    mark: Mark,
    wake: OwnedFd,
}

/// A program's thread wakes up when its task is stopped.
#[derive(Debug)]
pub(crate) struct Wake(Arc<Target>);

impl AsFd for Wake {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.wake.as_fd()
    }
}

impl Wake {
    /// Goes back to sleep.
    pub(crate) fn clear(&self) {
        let _ = rustix::io::read(&self.0.wake, &mut [0; 8]);
    }
}

impl Stopping {
    /// Whether the task was asked to stop.
    pub(crate) fn is_asked(&self) -> bool {
        self.state().stop != Stop::No
    }

    /// How far it has come.
    pub(crate) fn stop(&self) -> Stop {
        self.state().stop
    }

    /// Adds a program that has just been started; if the task is being stopped, so is the program.
    pub(crate) fn add(&self, leader: Pid, mark: Mark) -> std::io::Result<Wake> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let target = Arc::new(Target { leader, mark, wake });
        let mut state = self.state();
        state.programs.push(Arc::clone(&target));
        match state.stop {
            Stop::No => {}
            Stop::Asked { .. } => target.signal(Signal::TERM),
            Stop::Killed => target.signal(Signal::KILL),
        }
        Ok(Wake(target))
    }

    /// Ends the rest of a program's process group and reaps it, so that it is not signalled from then on:
    /// its number may soon be another's.
    pub(crate) fn remove<T>(&self, wake: &Wake, wait: impl FnOnce() -> T) -> T {
        let mut state = self.state();
        wake.0.signal(Signal::KILL);
        state.programs.retain(|target| !Arc::ptr_eq(target, &wake.0));
        wait()
    }

    /// Asks every program to end within the grace. Of several graces the earliest end counts.
    pub(crate) fn terminate(&self, grace: Duration) {
        let until = Instant::now() + grace;
        let mut state = self.state();
        state.stop = match state.stop {
            Stop::Killed => return,
            Stop::Asked { until: earlier } => Stop::Asked {
                until: earlier.min(until),
            },
            Stop::No => {
                for target in &state.programs {
                    target.signal(Signal::TERM);
                    orphans::ask_to_end(&target.mark);
                }
                Stop::Asked { until }
            }
        };
        state.wake();
    }

    /// Kills every program.
    pub(crate) fn kill(&self) {
        let mut state = self.state();
        state.stop = Stop::Killed;
        for target in &state.programs {
            target.signal(Signal::KILL);
        }
        state.wake();
    }

    /// Kills if the grace is over; gives the moment at which to look again.
    pub(crate) fn look(&self) -> Option<Instant> {
        match self.stop() {
            Stop::Asked { until } if until <= Instant::now() => {
                self.kill();
                None
            }
            Stop::Asked { until } => Some(until),
            Stop::No | Stop::Killed => None,
        }
    }

    fn state(&self) -> MutexGuard<'_, StopState> {
        // What is in it stays true if a thread panicked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StopState {
    fn wake(&self) {
        for target in &self.programs {
            let _ = rustix::io::write(&target.wake, &1_u64.to_ne_bytes());
        }
    }
}

impl Target {
    /// Its whole group; it may be gone already.
    fn signal(&self, signal: Signal) {
        let _ = kill_process_group(self.leader, signal);
    }
}
