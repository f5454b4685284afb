//! A launch as processes: start, stop, end.
//!
//! Every task has one thread, which plays the task's life: its init programs one after the other, then the main program
//! with those beside it. When the main program has ended, so has the task, and what ran beside it is stopped. What
//! happens is told as [`TaskEvent`]s; what one program does is in `program`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::logs::pump::LogSink;
use crate::process::launch::{Ended, Launch, Program, TaskChange, TaskEvent};
use crate::process::program::Part;
use crate::process::stop::Stopping;
use crate::sandbox::bridge::Bridge;
use crate::sandbox::isolation::Isolation;
use crate::sandbox::mounts::Tree;

/// A task's thread does not go deep.
const STACK: usize = 256 * 1024;

/// Called when something has happened to a task.
///
/// It runs on the task's thread, which may see other files than the rest of the supervisor: it must hand the event on
/// and neither open files nor start threads or programs.
pub type Tell = dyn Fn(TaskEvent) + Send + Sync;

/// What all tasks of a run have in common.
pub struct SpawnContext {
    /// The run's id: the mark of its processes.
    pub run: String,
    /// The job's name: jobs of one run have tasks of the same names.
    pub job: String,
    /// The namespaces around the run.
    pub isolation: Isolation,
    /// Where programs start that do not say where; an absolute path.
    pub workdir: PathBuf,
    /// Under every program's own variables; see [`environment`](crate::process::environment).
    pub environment: BTreeMap<OsString, OsString>,
    /// The directory of the log files.
    pub logs: PathBuf,
    /// How many programs run at once, more or less: decides how large their pipes may be.
    pub programs: usize,
    /// A program is started even if one of its mounts cannot be made, and that is told.
    pub allow_missing_mounts: bool,
    /// Where mount points are made.
    pub tree: Tree,
    /// The networks of tasks that have one each.
    pub bridge: Option<Bridge>,
    /// Gets every program's output.
    pub sink: Arc<dyn LogSink>,
    /// Gets every task's events.
    pub tell: Box<Tell>,
}

impl fmt::Debug for SpawnContext {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("SpawnContext")
            .field("run", &self.run)
            .field("isolation", &self.isolation)
            .finish_non_exhaustive()
    }
}

/// A task that was started.
#[derive(Debug)]
pub struct Running {
    stopping: Arc<Stopping>,
    grace: Duration,
    thread: JoinHandle<()>,
}

impl Running {
    /// Asks every process of the task to end, and kills what is left when the launch's grace is over. Asking again
    /// changes nothing.
    pub fn terminate(&self) {
        self.stopping.terminate(self.grace);
    }

    /// The launch's grace.
    #[must_use]
    pub fn grace(&self) -> Duration {
        self.grace
    }

    /// The same with another grace; the earlier end counts.
    pub fn terminate_within(&self, grace: Duration) {
        self.stopping.terminate(grace);
    }

    /// Kills every process of the task.
    pub fn kill(&self) {
        self.stopping.kill();
    }

    /// Waits until nothing of the task is left.
    pub fn wait(self) {
        // A thread that panicked has told the task's end as well.
        let _ = self.thread.join();
    }
}

/// Starts a task. To be called from a thread that sees the supervisor's own files.
pub fn spawn(launch: Launch, context: &Arc<SpawnContext>) -> io::Result<Running> {
    let stopping = Arc::new(Stopping::default());
    let grace = grace(&launch);
    let thread = {
        let (stopping, context) = (Arc::clone(&stopping), Arc::clone(context));
        builder()
            .name(launch.life.task.to_string())
            .spawn(move || live(&launch, &context, &stopping))?
    };
    Ok(Running {
        stopping,
        grace,
        thread,
    })
}

fn live(launch: &Launch, context: &SpawnContext, stopping: &Stopping) {
    let threads = TaskThreads {
        launch,
        context,
        stopping,
    };
    let mut ending = Ending { threads, told: false };
    // Before any other thread of the task is started: they inherit the network.
    if let Some(Err(error)) = context
        .bridge
        .as_ref()
        .map(|bridge| bridge.enter(&launch.life.task))
    {
        let why = format!("{error}: {}", error.source);
        ending.tell(&launch.main, Ended::NotStarted(why), false);
        return;
    }
    for program in &launch.init {
        let ended = threads.initialise(program);
        if !ended.is_success() {
            ending.tell(program, ended, false);
            return;
        }
    }
    let beside = AtomicUsize::new(launch.beside.len());
    thread::scope(|scope| {
        // Before this thread enters the main program's mounts: the others would inherit them.
        for program in &launch.beside {
            let beside = &beside;
            let run = move || {
                threads.accompany(program);
                beside.fetch_sub(1, Ordering::Relaxed);
            };
            if let Err(error) = builder().spawn_scoped(scope, run) {
                threads.beside_ended(program, no_thread(&error));
                beside.fetch_sub(1, Ordering::Relaxed);
            }
        }
        let ended = threads
            .part(&launch.main)
            .run(|pid| threads.tell(TaskChange::Started { pid }));
        ending.tell(&launch.main, ended, beside.load(Ordering::Relaxed) > 0);
        stopping.terminate(grace(launch));
    });
}

fn builder() -> thread::Builder {
    thread::Builder::new().stack_size(STACK)
}

fn grace(launch: &Launch) -> Duration {
    Duration::from_secs(launch.grace.into())
}

fn no_thread(error: &io::Error) -> Ended {
    Ended::NotStarted(format!(
        "there is no thread left for it ({error}): raise `ulimit -u`"
    ))
}

/// What the threads of one task share.
#[derive(Clone, Copy)]
pub(crate) struct TaskThreads<'a> {
    pub(crate) launch: &'a Launch,
    pub(crate) context: &'a SpawnContext,
    pub(crate) stopping: &'a Stopping,
}

impl<'a> TaskThreads<'a> {
    pub(crate) fn tell(self, change: TaskChange) {
        let life = self.launch.life.clone();
        (self.context.tell)(TaskEvent { life, change });
    }

    pub(crate) fn is_main(self, program: &Program) -> bool {
        std::ptr::eq(program, &raw const self.launch.main)
    }

    fn part(self, program: &'a Program) -> Part<'a> {
        Part { task: self, program }
    }

    /// An init program has a thread of its own, since it has mounts of its own.
    fn initialise(self, program: &'a Program) -> Ended {
        let run = move || {
            self.part(program).run(|pid| {
                let container = Arc::clone(&program.container);
                self.tell(TaskChange::Initialising { container, pid });
            })
        };
        thread::scope(|scope| match builder().spawn_scoped(scope, run) {
            Err(error) => no_thread(&error),
            Ok(thread) => thread
                .join()
                .unwrap_or_else(|_| Ended::NotStarted(PANICKED.into())),
        })
    }

    fn accompany(self, program: &'a Program) {
        let ended = self.part(program).run(|_| {});
        if !self.stopping.is_asked() {
            self.beside_ended(program, ended);
        }
    }

    fn beside_ended(self, program: &Program, ended: Ended) {
        self.tell(TaskChange::BesideEnded {
            container: Arc::clone(&program.container),
            ended,
        });
    }
}

const PANICKED: &str =
    "the supervisor's thread for it failed, which is a mistake in trainyard: please report it";

/// Tells the task's end: however its thread ends, both parts of it are told, once each.
struct Ending<'a> {
    threads: TaskThreads<'a>,
    told: bool,
}

impl Ending<'_> {
    fn tell(&mut self, program: &Program, ended: Ended, lingers: bool) {
        self.told = true;
        self.threads.tell(TaskChange::Ended {
            container: Arc::clone(&program.container),
            main: self.threads.is_main(program),
            ended,
            lingers,
        });
    }
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        if !self.told {
            self.tell(
                &self.threads.launch.main,
                Ended::NotStarted(PANICKED.into()),
                false,
            );
        }
        self.threads.tell(TaskChange::Gone);
    }
}
