//! The loop of a run: observe, decide, act, report, store; then wait for events.
//!
//! Nothing is decided here: `step` decides. The runner adds what a program on one machine needs and a cluster does not:
//! signals end it, and when the job has its verdict nothing is left running.

use std::fs::{self, File};
use std::io::Write as _;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use trainyard_core::{Event, Memory, TaskId, step};

use super::clock::Clock;
use super::ending::{Ending, run_end};
use super::hints::{Hints, Spoken};
use super::queue::{EventQueue, LoopEvent};
use super::tensorboard::TensorBoardProcess;
use super::together::Together;
use super::waiting::Waiting;
use crate::run::control::order::OrderReply;
use crate::run::event::{Reporter, RunEnd, RunEvent, What, text};
use crate::run::json_line;
use crate::run::store::directory::{Durable, RunDirectory};
use crate::run::store::run_file::RunFile;
use crate::run::store::status::{FORMAT, Status};
use crate::run::timestamp::Timestamp;
use crate::run::world::World;
use crate::sandbox::isolation::Isolation;
use crate::system::signals::SignalKind;

/// The shortest time between two writes of the status.
const BETWEEN_WRITES: Duration = Duration::from_millis(100);
/// The same after a write that failed.
const AFTER_REFUSAL: Duration = Duration::from_secs(5);

/// The end of a shorter run need not survive a crash of the machine: it is sooner repeated than missed.
const WORTH_KEEPING: Duration = Duration::from_secs(1);

/// Signals closer together than this count as one.
const ONE_WISH: Duration = Duration::from_millis(300);

/// One run of one job.
pub(crate) struct Runner {
    pub directory: RunDirectory,
    pub file: RunFile,
    pub world: World,
    pub clock: Clock,
    pub queue: EventQueue,
    pub reporter: Arc<dyn Reporter>,
    pub spoken: Arc<Spoken>,
    pub tensorboard: Option<TensorBoardProcess>,
    pub memory: Option<Memory>,
    pub hints: Hints,
    pub together: Together,
    pub waiting: Waiting,
    pub pid: u32,
    /// Its namespaces.
    pub isolation: Isolation,
    /// The user ends the run.
    pub ending: Option<Ending>,
    pub events: Option<File>,
    /// A write has failed, and a note has said so.
    pub disk_refused: bool,
    /// Where `TensorBoard` answers.
    pub tensorboard_url: Option<String>,
    /// The status has changed since it was last written.
    pub unwritten: bool,
    /// The status is not written before.
    pub may_write: Instant,
    /// Every task was killed: nothing is waited for any longer.
    pub forced: bool,
    /// Replies to orders, held back until the status shows their effect.
    pub unanswered: Vec<(SyncSender<OrderReply>, OrderReply)>,
}

impl Runner {
    /// Runs the job to its end.
    pub fn run(mut self) -> RunEnd {
        let tasks = u32::try_from(self.world.job().size()).unwrap_or(u32::MAX);
        self.tell(What::RunStarted {
            run: self.directory.id(),
            directory: self.directory.path.clone(),
            tasks,
        });
        self.announce_debug_task();
        let left_alive = self.until_verdict();
        self.stop_what_is_left();
        self.world.table.nothing_starts_again();
        let end = run_end(&mut self, left_alive);
        let durable = if self.clock.elapsed() < WORTH_KEEPING {
            Durable::No
        } else {
            Durable::Yes
        };
        self.write(Some(&end), durable);
        self.tell(What::RunEnded(Box::new(end.clone())));
        self.stay_for_tensorboard();
        self.world.clean_up();
        // From now on clients see that the run has ended.
        let _ = fs::remove_file(self.directory.socket());
        if self.queue.listens() {
            // It was the only one: the process is about to end, and gives back faster what is left here.
            std::mem::forget(self);
        }
        end
    }

    /// Runs until the job has its verdict and every task that was asked to stop has, or the user ends the run. Returns the tasks
    /// that the job's own clean-up policy would leave running.
    fn until_verdict(&mut self) -> Vec<TaskId> {
        loop {
            if self.ending.is_some() {
                return Vec::new();
            }
            let (acted, wake) = self.look();
            if self.has_verdict() && !acted && !self.world.is_stopping() {
                return self.world.alive();
            }
            if acted {
                self.queue.poll();
                self.take_waiting();
            } else {
                self.wait(wake);
            }
        }
    }

    /// Whether the job is decided.
    pub(crate) fn has_verdict(&self) -> bool {
        let memory = self.memory.as_ref();
        memory.is_some_and(|memory| memory.verdict.is_some())
    }

    /// One step; whether something was done, so that another is due at once, and when the next one is due.
    fn look(&mut self) -> (bool, Option<Instant>) {
        let now = self.clock.now();
        let resumed = self.memory.as_ref().is_some_and(|memory| memory.resumed);
        if !self.has_verdict() {
            self.world.tell_of_restarts();
        }
        self.world.start_rested(resumed);
        let observed = self.world.observe();
        let decided = step(self.world.job(), self.memory.as_ref(), &observed, now);
        let changed = self.memory.as_ref() != Some(&decided.memory);
        let resumed = decided.memory.resumed;
        self.memory = Some(decided.memory);
        self.world.absorbed();
        // What happened comes before what was decided about it.
        self.tell_of_tasks();
        for action in &decided.actions {
            self.world.act(action, resumed);
        }
        for event in &decided.events {
            if let Event::Restarting { task: Some(task), .. } = event {
                self.world.table.starts_again(task);
            }
            let told = text::told(self.world.job(), event, now);
            if let Some(what) = told {
                self.tell(what);
            }
        }
        let held = self.memory.as_ref().and_then(|memory| memory.held);
        if self.has_verdict() || held.is_some() {
            self.world.table.nothing_starts_again();
        }
        self.unwritten |= changed || self.world.table.changed();
        self.pass_on();
        if !self.unanswered.is_empty() {
            // A client that has its reply may read the status at once.
            (self.unwritten, self.may_write) = (true, Instant::now());
        }
        // Memory lives as long as the tasks do, and nothing is decided from the file: tasks do not wait for it (ADR 10).
        self.write_in_time();
        self.answer();
        let acted = changed || !decided.actions.is_empty();
        (acted, decided.wake.map(|wake| self.clock.instant(wake)))
    }

    /// Writes the status if it is time, not for every one of a thousand tasks that start together: nothing is
    /// decided from the file.
    pub(crate) fn write_in_time(&mut self) {
        if self.unwritten && self.may_write <= Instant::now() {
            let written = self.write(None, Durable::No);
            // A disk that is full now may have room later.
            let pause = if written { BETWEEN_WRITES } else { AFTER_REFUSAL };
            self.unwritten = !written;
            self.may_write = Instant::now() + pause;
        }
    }

    /// Sends the replies to orders that have been carried out.
    pub(crate) fn answer(&mut self) {
        for (asked, answer) in self.unanswered.drain(..) {
            // The client may have gone.
            let _ = asked.send(answer);
        }
    }

    /// Reports what has happened to the tasks.
    fn tell_of_tasks(&mut self) {
        for what in self.world.take_told() {
            self.tell(what);
        }
    }

    /// Reports what the world has to report.
    pub(crate) fn pass_on(&mut self) {
        self.tell_of_tasks();
        if self.world.table.take_changed() {
            self.reporter.tasks(self.world.table.tasks());
        }
    }

    /// Waits for an event, or until something is due.
    fn wait(&mut self, wake: Option<Instant>) {
        self.world.addresses.age();
        let waiting = self.tell_of_waiting();
        // Once the job is decided, its tasks need not open ports.
        let undecided = !self.has_verdict();
        let hint = self
            .hints
            .due(&self.world, &self.spoken)
            .filter(|_| undecided)
            .map(|at| self.clock.instant(at));
        let write = self.unwritten.then_some(self.may_write);
        let sockets = self.together.due(&self.world);
        let due = [wake, hint, write, sockets, waiting, self.world.due()]
            .into_iter()
            .flatten()
            .min();
        if let Some(news) = self.queue.wait(due) {
            self.take(news);
        }
        self.take_waiting();
        self.together.look(&self.world);
        let now = self.clock.now();
        if undecided {
            for hint in self.hints.look(&self.world, &self.spoken, now) {
                self.tell(hint);
            }
        }
    }

    /// Takes all events that have come: they belong to the same step.
    fn take_waiting(&mut self) {
        while let Some(news) = self.queue.next() {
            self.take(news);
        }
    }

    pub(crate) fn take(&mut self, news: LoopEvent) {
        match news {
            LoopEvent::Task(event) => self.world.happened(event),
            LoopEvent::Signal(notice) => self.signal(notice),
            LoopEvent::Order(order, asked) => {
                let answer = self.obey(&order);
                self.unanswered.push((asked, answer));
            }
            LoopEvent::TensorBoard(Ok(url)) => {
                self.tensorboard_url = Some(url.clone());
                self.tell(What::TensorBoard { url });
            }
            LoopEvent::TensorBoard(Err(why)) => self.tell(What::Note { text: why }),
        }
    }

    fn signal(&mut self, notice: SignalKind) {
        let now = match (notice, &self.ending) {
            (SignalKind::Child | SignalKind::Resize, _) => return,
            // A terminal or a service manager may signal this process and its group: that counts once.
            (SignalKind::Terminate | SignalKind::Hangup, Some(ending))
                if ending.since.elapsed() < ONE_WISH =>
            {
                return;
            }
            (SignalKind::Quit, _) | (_, Some(_)) => true,
            (_, None) => false,
        };
        self.end(Some(notice.number()), now);
    }

    /// Ends the run: once asks the tasks to stop, twice kills them.
    pub(crate) fn end(&mut self, signal: Option<i32>, now: bool) {
        self.ending.get_or_insert_with(|| Ending::now(signal));
        self.forced |= now;
        if !self.world.alive().is_empty() {
            let text = self.stopping_note(signal, now);
            self.tell(What::Note { text });
        }
        self.world.stop_all(now);
        self.pass_on();
    }

    /// What happens to the tasks of a run that is ended. One that waits for its restart has no process.
    fn stopping_note(&self, signal: Option<i32>, now: bool) -> String {
        let running = self.world.with_processes();
        let (tasks, have, them) = match running {
            0 => return "stopping; no task is running".to_owned(),
            1 => ("1 task".to_owned(), "has", "it"),
            more => (format!("{more} tasks"), "have", "them"),
        };
        if now {
            return format!("killing {tasks}");
        }
        let seconds = self.world.longest_grace().as_secs();
        let kill = match signal {
            Some(_) => format!("press Ctrl-C again to kill {them}"),
            None => format!("`trainyard stop {} --now` kills {them}", self.file.job),
        };
        format!("stopping: {tasks} {have} {seconds} s to exit; {kill}")
    }

    /// Tells the reporter, and appends to `events.jsonl`.
    pub(crate) fn tell(&mut self, what: What) {
        let event = RunEvent {
            time: Timestamp::now(),
            job: self.file.job.clone(),
            what,
        };
        if let Some(file) = &mut self.events {
            let written = json_line(&event).and_then(|line| file.write_all(&line));
            if let Err(error) = written {
                // A full disk must not end a training; the reporter still hears everything.
                self.events = None;
                self.refused_by_disk(&format!(
                    "cannot write `{}`: {error}",
                    self.directory.events().display()
                ));
            }
        }
        self.reporter.event(&event);
    }

    /// A write to the run's directory failed. A note says so once; the run continues, since nothing is decided from these
    /// files.
    fn refused_by_disk(&mut self, error: &str) {
        if !std::mem::replace(&mut self.disk_refused, true) {
            self.tell(What::Note {
                text: format!("{error}; the run continues, and `trainyard ps` shows an older state"),
            });
        }
    }

    /// Writes the status; whether that worked.
    fn write(&mut self, end: Option<&RunEnd>, durable: Durable) -> bool {
        let is_over = self.ending.is_some() || self.has_verdict();
        let status = Status {
            format: FORMAT,
            job: self.file.job.clone(),
            pid: self.pid,
            started: self.file.started,
            stopping: end.is_none() && is_over,
            ended: end.map(|_| Timestamp::now()),
            end: end.cloned(),
            tensorboard: self.tensorboard_url.clone(),
            tasks: self.world.table.tasks().to_vec(),
            memory: self.memory.clone(),
        };
        let written = self.directory.write_status(&status, durable);
        if let Err(error) = &written {
            self.refused_by_disk(&error.to_string());
        }
        written.is_ok()
    }
}
