//! The job model, and every decision about a running job.
//!
//! ```text
//! manifest ─▶ dialect ─▶ Job ─▶ plan ─▶ step(job, memory, observed, now) ─▶ actions ─▶ a world
//!                                            │            ▲                             │
//!                                            ▼            └───────── Observed ◀─────────┘
//!                                         Memory, events ─▶ status, reports
//! ```
//!
//! A dialect reads a manifest into one [`Job`]. [`step`] decides everything about it: total, deterministic, without
//! I/O and without a clock. Its callers are the worlds: a cluster, processes on one machine, and the simulator
//! (feature `sim`). A world stores [`Step::memory`] when [`Step::persist`] says so, carries out [`Step::actions`], reports
//! [`Step::events`], and calls again when something changed or at [`Step::wake`].
//!
//! Two things make this safe across crashes. Every instance of a task carries the life it belongs to, its
//! [`Stamp`]; an end is answered only if its stamp is current, and killing means moving the stamp in memory. And
//! actions are the difference between what memory wants and what is observed, never the consequence of an event, so
//! nothing is queued and nothing can be lost.

mod exit;
pub mod explain;
pub mod gates;
mod job;
mod memory;
mod observed;
mod plan;
mod policy;
mod ranges;
mod rule;
#[cfg(feature = "sim")]
pub mod sim;
mod step;
mod subject;
mod tf_config;
mod time;

pub use exit::Ending;
pub use job::{
    Addresses, After, BadTaskId, Clean, ClusterForm, Gang, GangChoice, GangScheduler, InPlace, Job, Limits,
    MOST_TASKS, Role, RoleKind, RoleName, TaskId, Template, Wait, asked_together,
};
pub use memory::{
    AddressForm, Cause, FORMAT, Failure, GateMemory, Hold, Memory, Outcome, RoleMemory, Verdict,
};
pub use observed::{
    Exit, FailureCause, Fixture, FixtureSeen, GangSeen, Observed, Order, Ordered, Placement, Refusal, Seen,
    Stamp, Storage, TaskSeen, Why,
};
pub use plan::{AddressBook, Task, addresses, task_name};
pub use policy::backoff::wait_before;
pub use ranges::{BadRanges, Ranges, Runs};
pub use rule::{Count, Down, How, Rule, Scope, Settled, Test, Then, When, Who};
pub use step::{Action, Event, Oddity, Persist, Step, step};
pub use subject::{
    Conventions, Isolation, JOB_LABEL, Label, LabelValue, ROLE_LABEL, Subject, TASK_INDEX_LABEL,
    board_is_suspended,
};
pub use tf_config::{Cluster, MOST_BYTES};
pub use time::Time;
