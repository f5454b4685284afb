//! The two processes of a run, `outer` and `inner`, and the helper processes that are this program again.

pub mod inner;
pub mod outer;
pub mod reexec;
pub mod watchdog;
