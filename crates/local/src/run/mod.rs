//! One run of one job: from what the outer process prepared to its verdict.
//!
//! ```text
//! run.json ─▶ Job, Setting ─▶ world ─▶ Observed ─▶ core::step ─▶ status.json, then actions, then events
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
//! | [`control`] | the socket on which it takes orders |
//! | [`directory`] | where runs are kept, which there are, which of them goes on |
//! | [`file`](mod@file) | `run.json`: everything the supervisor must know |
//! | [`status`] | `status.json`: how a run and each of its tasks stands |
//! | [`event`] | what happens, for those who watch |
//! | [`order`] | what may be asked of a run while it goes on |
//! | [`moment`] | a point in time as these files write it |

pub mod control;
pub mod directory;
pub mod event;
pub mod file;
pub mod moment;
pub mod order;
pub mod status;
