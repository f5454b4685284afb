//! A request about an object beside the pods that was refused: it is tried again later and later, and the job does not wait for it.

use trainyard_core::Time;

use super::entry::backoff;

/// What was refused last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// What the API server said, or why nothing was sent.
    pub message: String,
    /// Requests refused in a row.
    pub failures: u32,
    /// Nothing is tried before this.
    pub until: Time,
}

impl Refused {
    /// What is known after an apply: none if it was not refused.
    #[must_use]
    pub fn after(before: Option<Self>, message: Option<String>, now: Time) -> Option<Self> {
        let failures = before.map_or(0, |before| before.failures);
        message.map(|message| Self {
            message,
            failures: failures.saturating_add(1),
            until: now + backoff(failures),
        })
    }
}
