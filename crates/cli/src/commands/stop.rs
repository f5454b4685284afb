//! `trainyard stop JOB…`: orders runs to end, and waits until none of their processes is left.

use std::thread;
use std::time::{Duration, Instant};

use trainyard_document::problem::shown;
use trainyard_local::run::control::order::{Order, OrderReply};
use trainyard_local::run::control::{self, NotReached};
use trainyard_local::run::store::directory::{JobRuns, RunDirectory};
use trainyard_local::run::store::status::TaskState;

use super::lookup;
use crate::args::runs::Stop;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::table;
use trainyard_local::run::store::state::{StoredRun, is_over};

/// Poll interval for the end of a run.
const GLANCE: Duration = Duration::from_millis(50);
/// After this time a message says what the command waits for.
const PATIENCE: Duration = Duration::from_secs(2);
/// It says so again after each such time in which nothing changes.
const REMINDER: Duration = Duration::from_secs(10);
/// The lock of a run that has ended is free at once, but for runs of several jobs: they hold all until the last one ends.
const LINGERING: Duration = Duration::from_secs(1);
/// The states of tasks that a run waits for.
const ALIVE: [TaskState; 3] = [TaskState::Starting, TaskState::Running, TaskState::Stopping];
/// More tasks than this are counted, not named.
const MOST_NAMED: usize = 8;

/// Orders every run to end, then waits for all of them.
pub fn run(typed: &Stop, printer: &mut Printer) -> Result<Exit, Failure> {
    let home = lookup::home()?;
    let mut ends: Vec<Ending> = lookup::jobs(&home, &typed.jobs)?
        .into_iter()
        .map(|job| Ending::of(job, typed.now))
        .collect();
    let (begun, limit) = (Instant::now(), Duration::from_secs(typed.timeout.into()));
    let mut exit = Exit::Success;
    loop {
        let mut left = Vec::new();
        for mut end in ends {
            match end.glance(printer)? {
                None => left.push(end),
                Some(how) => exit = exit.max(how),
            }
        }
        let waited = begun.elapsed();
        ends = left;
        if ends.is_empty() {
            return Ok(exit);
        }
        if waited >= limit {
            break;
        }
        for end in &mut ends {
            end.tell_progress(waited, printer)?;
        }
        thread::sleep(GLANCE.min(limit.saturating_sub(waited)));
    }
    for end in &ends {
        exit = exit.max(end.out_of_time(limit, printer)?);
    }
    Ok(exit)
}

/// A run on its way to its end.
struct Ending {
    job: JobRuns,
    run: Option<RunDirectory>,
    order: Order,
    heard: Heard,
    told: Option<(Instant, String)>,
    /// When it was first seen to have written down its end.
    ended: Option<Instant>,
}

/// Whether a run has received the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    /// The run does not take orders yet.
    No,
    /// The order was sent, and there was no answer.
    Unanswered,
    /// It accepted the order.
    Obeys,
}

impl Ending {
    fn of(job: JobRuns, now: bool) -> Self {
        Self {
            run: job.newest().ok().flatten(),
            job,
            order: Order::Stop { now },
            heard: Heard::No,
            told: None,
            ended: None,
        }
    }

    fn name(&self) -> String {
        shown(&self.job.name)
    }

    /// The exit code if it has ended; else gives the order if it has not been taken yet.
    fn glance(&mut self, printer: &mut Printer) -> Result<Option<Exit>, Failure> {
        let newest = self.job.newest().ok().flatten();
        if self.run.is_none() {
            self.run.clone_from(&newest);
        }
        // Another run of the job may have begun since.
        if !self.job.is_running() || newest != self.run || self.lingers() {
            let ended = match self.heard {
                Heard::No => "had ended before",
                // It may have ended so fast because of the order.
                Heard::Unanswered | Heard::Obeys => "has ended",
            };
            let state = self.read().map(|run| format!(": {}", run.state.word()));
            printer.say(&format!("`{}` {ended}{}", self.name(), state.unwrap_or_default()))?;
            return Ok(Some(Exit::Success));
        }
        let Some(run) = self.run.as_ref().filter(|_| self.heard != Heard::Obeys) else {
            return Ok(None);
        };
        match control::send(run, &self.order) {
            Ok(OrderReply::Done) => self.heard = Heard::Obeys,
            Ok(OrderReply::Refused(why)) => {
                let message = format!("`{}` does not stop: {}", self.name(), why);
                printer.error(&message, None)?;
                return Ok(Some(Exit::No));
            }
            Err(NotReached::NoAnswer) => self.heard = Heard::Unanswered,
            // It is just beginning, or just ending.
            Err(NotReached::NotListening | NotReached::Socket(_)) => {}
        }
        Ok(None)
    }

    /// Whether it has written down its end, which it does when nothing of it is left, and only its lock remains.
    fn lingers(&mut self) -> bool {
        if !self.run.as_ref().is_some_and(is_over) {
            return false;
        }
        let ended = self.ended.get_or_insert_with(Instant::now);
        self.heard == Heard::No || ended.elapsed() >= LINGERING
    }

    fn read(&self) -> Option<StoredRun> {
        StoredRun::read(self.run.clone()?, false).ok()
    }

    fn tell_progress(&mut self, waited: Duration, printer: &mut Printer) -> Result<(), Failure> {
        if waited < PATIENCE {
            return Ok(());
        }
        let words = self.waits_for();
        let told = self.told.as_ref();
        if told.is_some_and(|(when, before)| *before == words && when.elapsed() < REMINDER) {
            return Ok(());
        }
        let passed = table::age(waited);
        printer.say(&format!("`{}` is stopping, {words} ({passed})", self.name()))?;
        self.told = Some((Instant::now(), words));
        Ok(())
    }

    /// What the run still waits for.
    fn waits_for(&self) -> String {
        if self.heard == Heard::No {
            return "but does not take orders yet".into();
        }
        let run = self.read();
        let live: Vec<String> = run
            .iter()
            .flat_map(StoredRun::tasks)
            .filter(|task| ALIVE.contains(&task.state))
            .map(|task| task.task.to_string())
            .collect();
        match live.len() {
            0 => "nearly done".into(),
            1..=MOST_NAMED => format!("waiting for {}", live.join(", ")),
            many => format!(
                "waiting for {} and {} more",
                live[..MOST_NAMED].join(", "),
                many - MOST_NAMED
            ),
        }
    }

    fn out_of_time(&self, limit: Duration, printer: &mut Printer) -> Result<Exit, Failure> {
        if limit.is_zero() && self.heard == Heard::Obeys {
            printer.say(&format!("`{}` is stopping", self.name()))?;
            return Ok(Exit::Success);
        }
        let (name, time) = (self.name(), table::age(limit));
        let message = format!("`{name}` has not stopped within {time}: {}", self.waits_for());
        let gentle = matches!(self.order, Order::Stop { now: false });
        let hint = gentle.then(|| format!("`trainyard stop {name} --now` kills its tasks"));
        printer.error(&message, hint.as_deref())?;
        Ok(Exit::No)
    }
}
