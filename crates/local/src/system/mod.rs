//! Thin layers over system calls: files, signals, polling, fork.

pub mod error;
pub(crate) mod fork;
pub(crate) mod poll;
pub mod private;
pub(crate) mod proc_file;
pub mod signals;
pub mod watch;
