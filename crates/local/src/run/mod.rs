//! One run of one job: from what the outer process prepared to its verdict.
//!
//! ```text
//! run.json ─▶ Job, Setting ─▶ world ─▶ Observed ─▶ core::step ─▶ actions, then events, then status.json
//!                               ▲                                   │
//!                               └───────── processes ◀──────────────┘
//! ```
//!
//! A run lives in a directory of its own, which is all that other commands need: what it was told (`run.json`,
//! `manifest.yaml`), how it stands (`status.json`), what happened (`events.jsonl`), what its tasks wrote (`logs/`), and
//! while it runs a socket on which it takes orders (`control.sock`).
//!
//! | module | what it does |
//! |---|---|
//! | [`execute`](mod@execute) | one call for a whole run; `begin` makes its directories, [`background`] hands it to another process |
//! | [`prepare`](mod@prepare) | what the outer process does before the namespaces are made |
//! | [`supervise`] | the supervisor's loop, one per job: what wakes it, orders, hints, the end of a run |
//! | `world` | the job's processes as `step` sees them: instances, addresses, the table of tasks |
//! | [`event`] | what happens, for reporters and `events.jsonl` |
//! | [`evidence`] | what can be seen of a task's program from outside |
//! | [`control`] | the socket on which a run takes orders |
//! | [`store`] | the directories of runs: `run.json`, `status.json`, who may read them, removing them |
//! | [`timestamp`] | a point in time as these files write it |

pub mod background;
pub mod begin;
pub mod control;
pub mod event;
pub mod evidence;
pub mod execute;
mod log_directories;
pub mod prepare;
pub mod store;
pub mod supervise;
pub mod timestamp;
mod world;

use std::io;

use serde::Serialize;

/// A value as one line of JSON.
fn json_line(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}
