//! A job on this machine: one process per task, nothing left behind.
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
//! | [`run`] | one run from its manifest to its end: preparation, the loop around `step`, what is kept on disk |
//! | [`pod`] | a pod template as programs, files and mounts |
//! | [`overrides`], [`images`], [`python`], `gpus` | what the command line and this machine add to the manifest |
//! | [`process`] | one task as processes: start, stop, end |
//! | [`logs`] | task output: into log files, to the reporter, and back |
//! | [`sandbox`] | namespaces, mounts, networks and ports |
//! | [`supervisor`] | the two processes of a run, and this program started again for helpers |
//! | [`system`] | thin layers over system calls |

mod gpus;
pub mod images;
pub mod logs;
pub mod overrides;
pub mod pod;
pub mod process;
pub mod python;
pub mod run;
pub mod sandbox;
pub mod supervisor;
pub mod system;

/// An error and its sources on one line, each message once.
#[must_use]
pub fn error_chain(error: &dyn std::error::Error) -> String {
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
