//! Rules and policies in plain words: what `plan` prints and what reports explain.
//!
//! Stands behind the dialects: a [`Job`](crate::Job) goes in, sentences come out. Nothing is decided here and nothing is printed.
//! The sentences about ends are not paraphrases of rules: every kind of end of every task is put to the rules in the
//! way `step` does, and the responses are then described ([`story`]). So a rule that never matches is never claimed to.

mod conditions;
mod groups;
mod notes;
mod policies;
mod responses;
mod rules;
mod sentences;
mod story;
mod subjects;
#[cfg(test)]
mod tests;
mod units;

pub use self::notes::{can_succeed, notes};
pub use self::policies::{clean, gang, limits, start_order};
pub use self::rules::{RuleWords, rules, then_words, when_words};
pub use self::story::{decides, story, success};
pub use self::units::{amount, ask, duration, times};

/// How the manifest's own kind spells what a hint wants to name. The core knows no dialect, so this is handed in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vocabulary {
    /// The field that limits restarts: `runPolicy.backoffLimit`.
    pub restarts: Option<&'static str>,
    /// What restarts all tasks together: `runPolicy.restartScope: Job`.
    pub restart_all: Option<&'static str>,
    /// What leaves everything as it is at the end: `cleanPodPolicy: None`.
    pub clean_none: Option<&'static str>,
    /// What responds to a failure that no rule matches: `event: PodFailed`.
    pub on_failure: Option<&'static str>,
    /// What holds the job: `runPolicy.suspend`.
    pub suspend: Option<&'static str>,
}
