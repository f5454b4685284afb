//! Real runs of the real program: what they survive, what tasks find, how they end.
//!
//! Every test has a directory, a state directory and a mark of its own, so that they run side by side; each waits for
//! what must happen, and for no time.

#![expect(clippy::expect_used, reason = "a test that cannot go on says why and stops")]
#![expect(clippy::panic, reason = "the same")]

mod bench;
mod endings;
mod faults;
mod first_use;
mod machine;
mod manifests;
mod mounts;
mod names;
mod orders;
mod output;
mod private;
mod scenarios;
mod starting;
mod survival;
mod terminal;
