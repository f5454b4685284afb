//! One table of scenarios that every world must play to the same end.
//!
//! ```text
//! scenarios/*.yaml ─▶ Scenario { manifest, faults, expect } ─▶ a world plays it ─▶ Ending ─▶ differences
//! ```
//!
//! A scenario is data: a manifest as a user would write it, what happens to its tasks from outside, and how the job
//! must end. The simulator, processes on one machine and a real API server each play the rows that name them. That
//! they agree is what makes the simulator worth believing. `README.md` beside `scenarios/` says how a row is written.

mod ending;
mod fault;
mod file;
mod scenario;

pub use ending::{Ending, FirstFailure};
pub use fault::{Fault, Order};
pub use file::{BadFile, all, read_text};
pub use scenario::{Expect, Scenario, World};
