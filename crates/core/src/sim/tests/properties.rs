//! What must always hold, as code: L1 to L11 for one call of `step` on any input, T1 to T15 and I1 over whole runs.
//!
//! The names are those of docs/architecture.md. [`PROPERTIES`] says each in one sentence; the functions that check
//! them are in `each_step` and `late` (one call), `over_runs` (as a run goes on), `verdicts` (T6, judged a second time and
//! naively) and `at_rest` (T7).

mod at_rest;
mod each_step;
mod late;
mod over_runs;
mod verdicts;

use std::fmt;

pub(super) use at_rest::check as check_at_rest;
pub use each_step::check_step;
pub(super) use over_runs::Ledger;
pub use verdicts::check_verdict;

/// Every property, in one sentence each.
pub const PROPERTIES: [(&str, &str); 26] = [
    ("L1", "`step` never panics."),
    (
        "L2",
        "Stepping again on the memory that `step` gave changes nothing, asks for the same, and tells nothing but oddities.",
    ),
    (
        "L3",
        "The order in which instances and orders are observed is irrelevant.",
    ),
    ("L4", "A verdict never changes, and nothing is created after it."),
    (
        "L5",
        "Epoch, paid restarts, the in-place count and, within an epoch, attempts never fall; a restart is paid only within the limit.",
    ),
    (
        "L6",
        "Only what is wanted is created: with its current stamp, a task the job has, not ended, no hold, no deletion, no instance of it there, and nothing alive of an older epoch, or of an older life of a role that is restarted together with its own.",
    ),
    (
        "L7",
        "Only what was observed is stopped, once (or by force), and only for a reason: superseded, scaled away, ended yet alive, on hold, cleaned up, or on a lost node.",
    ),
    (
        "L8",
        "`step` wants to be called later than now, and something differs then.",
    ),
    (
        "L9",
        "Deciding ends: what one call tells and remembers grows with what it was given and not beyond, and calls become rare, whatever is forged.",
    ),
    (
        "L10",
        "What is stored late is what the next step finds out again from visible instances: the first lives for 3 s, successes for 2 s, `born`; and nothing while it is not known that memory is kept.",
    ),
    (
        "L11",
        "Nothing is made while that was refused, nothing is done while memory is dropped, and fixtures of others are neither made nor removed.",
    ),
    ("T1", "At most one instance of a task lives."),
    (
        "T2",
        "No instance of an epoch is created while one of an older epoch lives.",
    ),
    (
        "T3",
        "The end of each life is answered at most once, only if that life was, and never if we ended it ourselves.",
    ),
    (
        "T4",
        "`paid` is the number of paid restarts that were stored, the same without crashes and delays, once for each broken gang; past the limit a job that may run has a verdict.",
    ),
    (
        "T5",
        "A task that is done is not created again in that epoch, unless a restart names it or it was scaled away.",
    ),
    (
        "T5w",
        "A task that has exited 0 unasked is not created again in that epoch, unless a restart names it, it was scaled away, or its instance vanished before the end was stored and then the operator crashed or had to list again.",
    ),
    (
        "T6",
        "A verdict follows from memory, observation and rules, and from the first rule that gives one.",
    ),
    (
        "T7",
        "When nothing goes wrong any more, the job comes to rest: ended and cleaned up, on hold with nothing alive, or running as wanted; and then stays so.",
    ),
    (
        "T8",
        "A deadline is kept to the second, but for the time in which the operator was away.",
    ),
    (
        "T9",
        "Instances of one epoch, created under equal numbers of replicas, are told the same cluster.",
    ),
    ("T10", "Nothing is touched that is not the job's own."),
    (
        "T11",
        "When every task has ended, a job that may run has a verdict.",
    ),
    ("T12", "Memory stays below 8 KiB."),
    (
        "T15",
        "A task has at most 4 lives in any 60 s and 16 in any hour, unless one of them, or of a task that it is restarted with, ran for ten minutes, a user had a hand in it, or a crash of the operator hid one.",
    ),
    (
        "I1",
        "No instance carries a newer stamp than the memory that is stored; before the first memory, than a first life.",
    ),
];

/// A property that did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which, by its name in [`PROPERTIES`].
    pub property: &'static str,
    /// In which second of the run.
    pub at: u32,
    /// What was found.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sentence = PROPERTIES.iter().find(|(name, _)| *name == self.property);
        let sentence = sentence.map_or("", |(_, sentence)| sentence);
        write!(
            out,
            "{} at {} s: {}\n    {sentence}",
            self.property, self.at, self.what
        )
    }
}
