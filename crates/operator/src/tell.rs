//! What happened, for whoever prints or counts it. Nothing here prints.

use crate::api::Refused;
use crate::job::JobKey;

/// Hears what the operator has to say.
pub trait Listener: Send + Sync {
    /// Something happened.
    fn told(&self, told: &Told<'_>);
}

/// Something that happened.
#[derive(Debug)]
#[non_exhaustive]
pub enum Told<'a> {
    /// Every job and every pod has been seen once.
    Ready {
        /// So many jobs.
        jobs: usize,
        /// So many pods.
        pods: usize,
    },
    /// A watch was cut; it begins again by itself.
    WatchCut {
        /// Of what.
        what: &'static str,
        /// Why.
        why: String,
    },
    /// A condition of a job has changed.
    Condition {
        /// Whose.
        job: &'a JobKey,
        /// Why, in one word: `TFJobSucceeded`.
        kind: &'a str,
        /// In words.
        message: &'a str,
    },
    /// A request about a job was refused.
    Refused {
        /// About which job.
        job: &'a JobKey,
        /// What was being done.
        doing: &'static str,
        /// What the API server said.
        refused: &'a Refused,
    },
}
