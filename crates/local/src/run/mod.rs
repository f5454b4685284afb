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
//! | [`closed`] | that no other user reaches what is kept |
//! | [`control`] | the socket on which it takes orders |
//! | [`directory`] | where runs are kept, which there are, which of them goes on |
//! | [`file`](mod@file) | `run.json`: everything the supervisor must know |
//! | [`status`] | `status.json`: how a run and each of its tasks stands |
//! | [`event`] | what happens, for those who watch |
//! | [`order`] | what may be asked of a run while it goes on |
//! | [`prepare`](mod@prepare) | what the outer process does before the walls go up |
//! | [`supervise`] | the supervisor's work: a loop for each job (`runner`) and what wakes it (`inbox`), its processes (`world`, `instance`), its ports
//! (`addresses`), what is told (`telling`, `hints`, `board`, `ending`), what is ordered (`orders`) |
//! | [`removal`] | removing what runs have left |
//! | [`moment`] | a point in time as these files write it |

mod addresses;
mod board;
mod by_hand;
mod clock;
pub mod closed;
pub mod control;
pub mod directory;
mod ending;
pub mod event;
mod failures;
pub mod file;
mod finish;
mod hints;
mod in_memory;
mod inbox;
mod instance;
pub mod moment;
pub mod order;
mod orders;
pub mod prepare;
pub mod removal;
mod runner;
pub mod status;
pub mod supervise;
mod telling;
mod tensorboard;
mod world;
