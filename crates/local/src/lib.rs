//! A job on this machine: one process a task, nothing left behind.
//!
//! `trainyard run` is two processes. The *outer* one is what the user started: it enters the namespaces, starts the
//! *inner* one as their first process, passes signals on and takes its exit code over. The inner one supervises: it
//! decides with `trainyard_core::step`, and for every task one thread makes the mounts, spawns the program and pumps
//! its log. Nothing outlives the inner one, by a rule of the kernel.
//!
//! This crate prints nothing and chooses no exit code: it tells a reporter what happens.
//!
//! | module | what it does |
//! |---|---|
//! | [`launch`] | the words all parts share: `Launch`, `Program`, `Mount`, `Ended`, `TaskEvent` |
//! | [`namespace`] | which walls there are around a run, and how they are put up |
//! | [`probe`] | which of them this machine allows |
//! | [`outer`], [`inner`] | the two processes of a run |
//! | [`guard`] | the third one, where namespaces are forbidden |
//! | [`mounts`] | what a program finds at which path |
//! | [`process`] | a launch as processes: start, stop, end |
//! | [`logs`] | from a program's output to its log file and to the reporter |
//! | [`log_files`], [`log_reader`], [`log_merge`] | the way back: which logs there are, and their lines in order of time |
//! | [`ports`] | free ports that nobody else takes |
//! | [`private`] | files and directories that are the user's alone |
//! | [`switch`] | a network for each task, joined by a switch, where a manifest needs it |
//! | [`watch`] | waiting until files change, for those who follow a run |
//! | [`stage`] | our own program started by ourselves: the command line asks here first |

pub mod environment;
pub mod guard;
pub mod inner;
mod kernel_file;
pub mod launch;
pub mod log_files;
pub mod log_index;
pub mod log_merge;
pub mod log_reader;
pub mod logs;
pub mod mounts;
pub mod namespace;
mod netlink;
pub mod outer;
pub mod ports;
pub mod private;
pub mod probe;
pub mod process;
mod program;
mod resolve;
pub mod signals;
pub mod stage;
mod start;
mod stopping;
pub mod strays;
pub mod switch;
mod twin;
mod wait;
pub mod watch;

// What a job's manifest asks of this machine.
pub mod gpus;
pub mod images;
pub mod overrides;
pub mod python;
pub mod run;
pub mod template;

/// An error with everything that led to it, each part once, as a sentence for people.
#[must_use]
pub fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let words = cause.to_string();
        if !text.ends_with(&words) {
            text = format!("{text}: {words}");
        }
        source = cause.source();
    }
    text
}
