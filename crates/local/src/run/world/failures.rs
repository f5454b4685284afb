//! Which failure came first: when one task fails, its peers soon do as well, and what they say is of no use.
//!
//! `step` counts in whole seconds, so it cannot tell which of several failures in one second was first. The world sees
//! them one after the other.

use std::time::{Duration, Instant};

use trainyard_core::Exit;

use crate::run::event::{Life, ProgramEnd};

/// Failures further apart than this have nothing to do with each other: what the job has survived is no cause.
const APART: Duration = Duration::from_secs(30);

/// The failures of a run, as far as they matter.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    root: Option<Root>,
    latest: Option<Instant>,
}

/// The failure with which the trouble began.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Root {
    pub life: Life,
    pub end: ProgramEnd,
    /// What it means, in a sentence.
    pub meaning: String,
}

impl Failures {
    /// Takes note of a failure. To be called in the order in which they happen.
    pub fn note(&mut self, life: &Life, end: &ProgramEnd, exit: &Exit) {
        self.note_at(Instant::now(), life, end, exit);
    }

    fn note_at(&mut self, now: Instant, life: &Life, end: &ProgramEnd, exit: &Exit) {
        let related = self
            .latest
            .is_some_and(|latest| now.saturating_duration_since(latest) <= APART);
        self.latest = Some(now);
        if related
            && self
                .root
                .as_ref()
                .is_some_and(|root| !blames_another(&root.end) || blames_another(end))
        {
            return;
        }
        self.root = Some(Root {
            life: life.clone(),
            end: end.clone(),
            meaning: match (&end.not_started, &end.container) {
                (Some(why), Some(init)) => format!("The program of its init container `{init}`: {why}"),
                (Some(why), None) => why.clone(),
                (None, _) => exit.meaning(),
            },
        });
    }

    /// The first of the newest failures that belong together.
    pub fn root(&self) -> Option<&Root> {
        self.root.as_ref()
    }
}

/// Whether a program says that it failed because another task did.
fn blames_another(end: &ProgramEnd) -> bool {
    let cause = end.cause.as_ref();
    cause.is_some_and(|cause| ["peer-lost", "peers-awaited"].contains(&&*cause.class))
}

#[cfg(test)]
mod tests {
    use trainyard_core::{Stamp, TaskId, Time, Why};

    use super::*;

    #[test]
    fn the_first_of_the_last_failures_is_the_cause() {
        let begin = Instant::now();
        let exit = Exit {
            code: Some(1),
            why: Why::Itself,
            asked: false,
            at: Time(0),
            ran: 1,
            ..Exit::default()
        };
        let mut failures = Failures::default();
        assert_eq!(failures.root(), None);
        // Seconds, who fails then, and whose failure the cause is.
        let table = [(0, 0, 0), (2, 1, 0), (20, 2, 0), (200, 2, 2), (201, 0, 2)];
        for (seconds, index, cause) in table {
            let life = Life::new(&TaskId::new("worker", index), Stamp::default(), 0);
            failures.note_at(
                begin + Duration::from_secs(seconds),
                &life,
                &ProgramEnd::default(),
                &exit,
            );
            assert_eq!(
                failures.root().unwrap().life.task.index,
                cause,
                "after {seconds} s"
            );
        }
    }
}
