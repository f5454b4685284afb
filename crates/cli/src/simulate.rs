//! The output of a simulated run: lanes and a story, as text, SVG or JSON.
//!
//! `faults` parses arguments, `timeline` and `story` evaluate the trace, and the rest draws.

pub mod faults;
mod json;
pub mod story;
pub mod svg;
pub mod text;
pub mod timeline;

use trainyard_core::sim::Played;
use trainyard_core::{Job, Outcome, TaskId, Verdict};

pub use self::json::JsonRun;

/// A simulated job.
pub struct Run<'a> {
    pub job: &'a Job,
    pub played: Played,
    pub lanes: Vec<timeline::Lane>,
    /// Seconds that the lanes cover.
    pub length: u32,
    pub story: Vec<story::Line>,
}

impl Run<'_> {
    pub fn verdict(&self) -> Option<&Verdict> {
        self.played.memory.as_ref()?.verdict.as_ref()
    }

    pub fn outcome(&self) -> Option<Outcome> {
        self.verdict().map(|verdict| verdict.outcome)
    }

    /// Seconds until the result; without one, the simulated seconds.
    pub fn after(&self) -> u32 {
        let at = self
            .verdict()
            .and_then(|verdict| u32::try_from(verdict.at.0).ok());
        at.unwrap_or(self.played.played)
    }

    /// The tasks that still ran at the end.
    pub fn alive(&self) -> Vec<TaskId> {
        let alive = self.played.left.iter().filter(|left| left.alive);
        alive.map(|left| left.task.clone()).collect()
    }
}
