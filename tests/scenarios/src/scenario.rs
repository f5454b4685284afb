//! A row of the table: a manifest, what happens to it, and how it must end.

use std::collections::BTreeMap;

use serde::Deserialize;
use trainyard_core::{Hold, Outcome, TaskId};

use crate::ending::FirstFailure;
use crate::fault::Fault;

/// One row.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What it shows, in a sentence; for a variant, its name follows.
    pub name: String,
    /// The file it is in.
    pub file: String,
    /// The manifest, as a user would write it.
    pub manifest: String,
    /// What happens, in any order.
    pub faults: Vec<Fault>,
    /// How it must end.
    pub expect: Expect,
    /// The worlds that can play it.
    pub worlds: Vec<World>,
    /// It is watched for so many seconds, for jobs that would go on for ever.
    pub watch: Option<u32>,
}

/// Where a job runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum World {
    /// The simulated world of `trainyard_core::sim`.
    Simulator,
    /// Processes on one machine.
    Processes,
    /// The operator on an API server whose pods a test plays.
    ApiServer,
}

/// How a job must end. What is left out must be zero, empty or absent, except where it says otherwise.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Expect {
    /// Well or badly; absent if it goes on.
    pub outcome: Option<Outcome>,
    /// The field whose rule decided, or `restarts`, `deadline`, `order`.
    pub cause: Option<String>,
    /// The task that the cause names. Not compared if left out.
    pub by: Option<TaskId>,
    /// The second of the verdict. Not compared if left out.
    pub ends_at: Option<u32>,
    /// When it started, or was last resumed. Not compared if left out.
    pub started: Option<u32>,
    /// Why nothing may run.
    pub held: Option<Hold>,
    /// Which start of the whole job it ended in.
    #[serde(default)]
    pub epoch: u32,
    /// Restarts paid for.
    #[serde(default)]
    pub paid: u32,
    /// Restarts in place.
    #[serde(default)]
    pub in_place: u32,
    /// There may be more restarts in place than that: the kubelet makes them by itself.
    #[serde(default)]
    pub in_place_or_more: bool,
    /// The attempt each task is at, where it is not 0.
    #[serde(default)]
    pub attempts: BTreeMap<TaskId, u32>,
    /// Tasks that have succeeded. Not compared if left out.
    pub done: Option<Vec<TaskId>>,
    /// Tasks that have failed and stay so.
    #[serde(default)]
    pub failed: Vec<TaskId>,
    /// Instances created.
    pub creates: u32,
    /// Tasks of which something still lives.
    #[serde(default)]
    pub alive: Vec<TaskId>,
    /// The first failure of the job.
    pub first_failure: Option<FirstFailure>,
    /// The job itself has been deleted.
    #[serde(default)]
    pub deleted: bool,
}
