//! A simulated run for programs. Its form is stable; see docs/json.md.

use serde::Serialize;
use trainyard_core::Memory;
use trainyard_core::sim::{Entry, Fault};

use super::story::Line;
use super::timeline::Lane;

/// One job's run.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JsonRun<'a> {
    /// The job's name.
    pub job: &'a str,
    /// `Succeeded`, `Failed` or `Terminated`; null if it had not ended.
    pub outcome: Option<String>,
    /// Seconds that were played.
    pub seconds: u32,
    /// How many instances were created.
    pub creates: u32,
    /// Tasks that still ran at the end.
    pub alive: Vec<String>,
    /// What `step` remembers at the end.
    pub memory: Option<&'a Memory>,
    /// Each task's spans and ends.
    pub lanes: &'a [Lane],
    /// The story, as it is told in the terminal.
    pub story: &'a [Line],
    /// Everything that happened.
    pub trace: &'a [Entry],
    /// Faults that never came about.
    pub unused: &'a [Fault],
}
