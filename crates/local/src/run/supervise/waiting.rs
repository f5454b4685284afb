//! The wait for tasks that were told to stop because their job has its verdict: a note says once for which, how long, and how to
//! end it. The runner asks whenever it is about to wait; nothing is stopped here.

use std::time::{Duration, Instant};

use trainyard_core::{Outcome, TaskId};

use super::runner::Runner;
use crate::run::event::What;

/// Tasks that stop within this time are not spoken of, unless the job has failed: its user wants to go on.
const PATIENCE: Duration = Duration::from_secs(1);

/// What is known of the wait.
#[derive(Debug)]
pub(crate) struct Waiting {
    /// When the first task was waited for.
    since: Option<Instant>,
    told: bool,
    /// `--detach`: there is no terminal to press Ctrl-C on.
    background: bool,
}

impl Waiting {
    pub fn new(background: bool) -> Self {
        Self {
            since: None,
            told: false,
            background,
        }
    }
}

impl Runner {
    /// Says for which tasks of a decided job the run waits, if it is time; when to ask again, if that is still to be said.
    pub(crate) fn tell_of_waiting(&mut self) -> Option<Instant> {
        let verdict = self.memory.as_ref().and_then(|memory| memory.verdict.as_ref())?;
        let failed = verdict.outcome == Outcome::Failed;
        if self.waiting.told || self.ending.is_some() {
            return None;
        }
        let tasks = self.world.awaited();
        if tasks.is_empty() {
            return None;
        }
        let since = *self.waiting.since.get_or_insert_with(Instant::now);
        let tell = if failed { since } else { since + PATIENCE };
        if tell > Instant::now() {
            return Some(tell);
        }
        self.waiting.told = true;
        let seconds = self.world.longest_grace().as_secs();
        let job = self.waiting.background.then_some(&*self.file.job);
        let text = note(&tasks, seconds, job);
        self.tell(What::Note { text });
        None
    }
}

/// The note about these tasks; `background` is the job's name if no terminal can end the wait.
fn note(tasks: &[TaskId], seconds: u64, background: Option<&str>) -> String {
    let who = match tasks {
        [] => "no task".to_owned(),
        [only] => only.to_string(),
        [first, second] => format!("{first} and {second}"),
        [first, others @ ..] => format!("{first} and {} other tasks", others.len()),
    };
    let kill = match background {
        Some(job) => format!("`trainyard stop {job} --now` kills instead"),
        None => "press Ctrl-C twice to kill instead".to_owned(),
    };
    format!("the job has ended; waiting for {who} to stop, at most {seconds} s: {kill}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_note_names_two_tasks_or_the_first_and_what_ends_the_wait() {
        let table = [
            (
                1,
                None,
                "worker-0 to stop, at most 30 s: press Ctrl-C twice to kill instead",
            ),
            (
                2,
                None,
                "worker-0 and worker-1 to stop, at most 30 s: press Ctrl-C twice to kill instead",
            ),
            (
                3,
                Some("mnist"),
                "worker-0 and 2 other tasks to stop, at most 30 s: `trainyard stop mnist --now` kills instead",
            ),
        ];
        for (tasks, background, expected) in table {
            let tasks: Vec<TaskId> = (0..tasks).map(|index| TaskId::new("worker", index)).collect();
            let expected = format!("the job has ended; waiting for {expected}");
            assert_eq!(note(&tasks, 30, background), expected);
        }
    }
}
