//! How a job ended in some world, and how that differs from what was expected.

use std::collections::BTreeMap;
use std::fmt::Debug;

use serde::Deserialize;
use trainyard_core::{Cause, Hold, Job, Memory, Outcome, TaskId, Time, Why};

use crate::scenario::Expect;

/// How a job ended. Each world makes one from the memory it persisted and from what it counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// Well or badly; none if it goes on.
    pub outcome: Option<Outcome>,
    /// The field whose rule decided, or `restarts`, `deadline`, `order`.
    pub cause: Option<String>,
    /// The task that the cause names.
    pub by: Option<TaskId>,
    /// The second of the verdict.
    pub ends_at: Option<u32>,
    /// When it started, or was last resumed.
    pub started: Option<u32>,
    /// Why nothing may run.
    pub held: Option<Hold>,
    /// Which start of the whole job it ended in.
    pub epoch: u32,
    /// Restarts paid for.
    pub paid: u32,
    /// Restarts in place.
    pub in_place: u32,
    /// The attempt each task is at, where it is not 0.
    pub attempts: BTreeMap<TaskId, u32>,
    /// Tasks that have succeeded.
    pub done: Vec<TaskId>,
    /// Tasks that have failed and stay so.
    pub failed: Vec<TaskId>,
    /// Instances created.
    pub creates: u32,
    /// Tasks of which something still lives.
    pub alive: Vec<TaskId>,
    /// The first failure of the job.
    pub first_failure: Option<FirstFailure>,
    /// The job itself has been deleted.
    pub deleted: bool,
}

/// The first failure of a job.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FirstFailure {
    /// Whose.
    pub task: TaskId,
    /// Its exit code; not compared if left out.
    pub code: Option<i32>,
    /// By whose doing.
    #[serde(default = "its_own")]
    pub why: Why,
    /// The container, where it was not the task's main one.
    pub container: Option<String>,
}

fn its_own() -> Why {
    Why::Itself
}

impl Ending {
    /// What a memory says of a job that was handed in at `begin`. What only the world can count (creates, what is
    /// alive, whether the job was deleted) is the caller's to add.
    #[must_use]
    pub fn of(job: &Job, memory: &Memory, begin: Time) -> Self {
        let second = |time: Time| u32::try_from(time.since(begin)).unwrap_or(u32::MAX);
        let (cause, by) = match memory.verdict.as_ref().map(|verdict| &verdict.cause) {
            Some(Cause::Rule { from, task }) => (Some(from.to_string()), task.clone()),
            Some(Cause::Restarts { task }) => (Some("restarts".into()), task.clone()),
            Some(Cause::Deadline) => (Some("deadline".into()), None),
            Some(Cause::Order) => (Some("order".into()), None),
            None => (None, None),
        };
        let attempt = |task: TaskId| {
            let attempt = memory.stamp(&task).attempt;
            (attempt > 0).then_some((task, attempt))
        };
        let first_failure = memory.first_failure.as_ref().map(|failure| FirstFailure {
            task: failure.task.clone(),
            code: failure.exit.code,
            why: failure.exit.why,
            container: failure.exit.container.as_deref().map(Into::into),
        });
        Self {
            outcome: memory.verdict.as_ref().map(|verdict| verdict.outcome),
            cause,
            by,
            ends_at: memory.verdict.as_ref().map(|verdict| second(verdict.at)),
            started: memory.started.map(second),
            held: memory.held,
            epoch: memory.epoch,
            paid: memory.paid,
            in_place: memory.in_place_most,
            attempts: job.tasks().filter_map(attempt).collect(),
            done: job.tasks().filter(|task| memory.is_done(task)).collect(),
            failed: job.tasks().filter(|task| memory.is_failed(task)).collect(),
            first_failure,
            ..Self::default()
        }
    }

    /// Everything that is not as expected, a line each. Times may differ by so many seconds: worlds with a real clock
    /// cannot do better.
    #[must_use]
    pub fn differences(&self, expect: &Expect, tolerance: u32) -> Vec<String> {
        let mut found = Vec::new();
        let mut same = |what: &str, found_here: &dyn Debug, expected: &dyn Debug| {
            let (here, there) = (format!("{found_here:?}"), format!("{expected:?}"));
            if here != there {
                found.push(format!("{what}: expected {there}, found {here}"));
            }
        };
        same("outcome", &self.outcome, &expect.outcome);
        same("cause", &self.cause, &expect.cause);
        if expect.by.is_some() {
            same("by", &self.by, &expect.by);
        }
        same("held", &self.held, &expect.held);
        same("epoch", &self.epoch, &expect.epoch);
        same("paid", &self.paid, &expect.paid);
        if !(expect.in_place_or_more && self.in_place > expect.in_place) {
            same("in place", &self.in_place, &expect.in_place);
        }
        same("attempts", &self.attempts, &expect.attempts);
        if let Some(done) = &expect.done {
            same("done", &sorted(&self.done), &sorted(done));
        }
        same("failed", &sorted(&self.failed), &sorted(&expect.failed));
        same("creates", &self.creates, &expect.creates);
        same("alive", &sorted(&self.alive), &sorted(&expect.alive));
        same(
            "first failure",
            &self.first_failure_like(expect),
            &expect.first_failure,
        );
        same("deleted", &self.deleted, &expect.deleted);
        for (what, here, expected) in [
            ("ends at", self.ends_at, expect.ends_at),
            ("started", self.started, expect.started),
        ] {
            let near = |(here, expected): (u32, u32)| here.abs_diff(expected) <= tolerance;
            if expected.is_some() && !here.zip(expected).is_some_and(near) {
                found.push(format!("{what}: expected {expected:?}, found {here:?}"));
            }
        }
        found
    }

    /// The first failure, without the code where none is expected.
    fn first_failure_like(&self, expect: &Expect) -> Option<FirstFailure> {
        let any_code = expect
            .first_failure
            .as_ref()
            .is_some_and(|failure| failure.code.is_none());
        let mut failure = self.first_failure.clone()?;
        if any_code {
            failure.code = None;
        }
        Some(failure)
    }
}

fn sorted(tasks: &[TaskId]) -> Vec<String> {
    let mut names: Vec<String> = tasks.iter().map(ToString::to_string).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ending that differs in one thing from the expected one, and the word that must be in the difference.
    type Row = (&'static str, fn(&mut Ending));

    fn worker() -> TaskId {
        TaskId::new("worker", 0)
    }

    #[test]
    fn whatever_differs_is_told() {
        let expect = Expect {
            ends_at: Some(0),
            started: Some(0),
            done: Some(Vec::new()),
            by: Some(worker()),
            ..Expect::default()
        };
        let same = Ending {
            ends_at: Some(0),
            started: Some(0),
            by: Some(worker()),
            ..Ending::default()
        };
        assert_eq!(same.differences(&expect, 0), Vec::<String>::new());
        let table: [Row; 15] = [
            ("outcome", |ending| ending.outcome = Some(Outcome::Failed)),
            ("cause", |ending| ending.cause = Some("order".into())),
            ("by", |ending| ending.by = None),
            ("ends at", |ending| ending.ends_at = Some(3)),
            ("started", |ending| ending.started = None),
            ("held", |ending| ending.held = Some(Hold::Aborted)),
            ("epoch", |ending| ending.epoch = 1),
            ("paid", |ending| ending.paid = 1),
            ("in place", |ending| ending.in_place = 1),
            ("attempts", |ending| ending.attempts = [(worker(), 1)].into()),
            ("done", |ending| ending.done = vec![worker()]),
            ("failed", |ending| ending.failed = vec![worker()]),
            ("creates", |ending| ending.creates = 1),
            ("alive", |ending| ending.alive = vec![worker()]),
            ("deleted", |ending| ending.deleted = true),
        ];
        for (word, change) in table {
            let mut ending = same.clone();
            change(&mut ending);
            let found = ending.differences(&expect, 2);
            assert!(
                matches!(&found[..], [one] if one.starts_with(word)),
                "{word}: {found:?}"
            );
        }
    }

    #[test]
    fn a_code_that_is_not_expected_is_not_compared() {
        let failure = |code, why| FirstFailure {
            task: worker(),
            code,
            why,
            container: None,
        };
        let table = [
            (
                failure(None, Why::NotStarted),
                failure(Some(128), Why::NotStarted),
                0,
            ),
            (failure(None, Why::NotStarted), failure(Some(128), Why::Itself), 1),
            (failure(Some(1), Why::Itself), failure(Some(2), Why::Itself), 1),
        ];
        for (expected, found, differences) in table {
            let ending = Ending {
                first_failure: Some(found),
                ..Ending::default()
            };
            let expect = Expect {
                first_failure: Some(expected),
                ..Expect::default()
            };
            assert_eq!(ending.differences(&expect, 0).len(), differences);
        }
    }
}
