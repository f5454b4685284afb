//! A simulated run as JSON; stable, see docs/json.md.

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
    /// Simulated seconds.
    pub seconds: u32,
    /// Number of instances created.
    pub creates: u32,
    /// Tasks that ran at the end.
    pub alive: Vec<String>,
    /// The memory at the end.
    pub memory: Option<&'a Memory>,
    /// States and ends per task.
    pub lanes: &'a [Lane],
    /// The story, as in the text output.
    pub story: &'a [Line],
    /// The whole trace.
    pub trace: &'a [Entry],
    /// Faults that never took effect.
    pub unused: &'a [Fault],
}
