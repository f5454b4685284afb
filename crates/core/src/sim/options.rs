//! How the simulated world behaves where no fault says otherwise.

use crate::job::RoleKind;
use crate::time::Time;

/// How long things take in the simulated world, in seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// When the run begins.
    pub begin: Time,
    /// The run is broken off after so long, if it has not come to rest before.
    pub run_for: u32,
    /// How long an instance waits before its program starts.
    pub start: u32,
    /// How long after that it is ready.
    pub ready: u32,
    /// How long a program runs that no fault names; it then ends with 0.
    pub run: u32,
    /// Roles whose programs run until they are stopped.
    pub endless: Vec<RoleKind>,
    /// How long a program takes to end once it is told to.
    pub term: u32,
    /// A program that has not ended by then is killed.
    pub grace: u32,
    /// The wait before the first restart in place; it doubles.
    pub in_place_first: u32,
    /// The longest wait before a restart in place.
    pub in_place_most: u32,
    /// How long the scheduler takes to let a gang in.
    pub gang: u32,
}

impl Default for Options {
    /// A day at most; programs run for a minute, parameter servers and evaluators until they are stopped.
    fn default() -> Self {
        Self {
            begin: Time(0),
            run_for: 24 * 60 * 60,
            start: 1,
            ready: 0,
            run: 60,
            endless: vec![RoleKind::Ps, RoleKind::Evaluator],
            term: 1,
            grace: 30,
            in_place_first: 10,
            in_place_most: 300,
            gang: 0,
        }
    }
}
