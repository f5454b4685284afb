//! The supervisor's work: from the directories of runs to how each of them ended.
//!
//! Every job has a loop on a thread of its own, the last one on the calling thread. What a run was told was read
//! before the fork; a run in the background reads it from its directory.

pub(crate) mod clock;
mod debug_task;
mod ending;
mod finish;
pub(super) mod hints;
mod input;
mod orders;
mod queue;
mod runner;
mod tensorboard;
mod together;
mod waiting;

use std::env;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use trainyard_core::Job;

use self::clock::Clock;
use self::hints::{Hints, Spoken};
pub use self::input::JobInput;
use self::queue::{LoopEvent, Waker, queue};
use self::runner::Runner;
use self::tensorboard::TensorBoardProcess;
use self::together::Together;
use self::waiting::Waiting;
use super::event::{Reporter, RunEnd, RunEvent};
use super::prepare::PreparedJob;
use super::store::directory::{DirectoryError, RunDirectory};
use super::store::run_file::RunFile;
use super::store::status::TaskStatus;
use super::world::World;
use super::world::addresses::Addresses;
use super::world::tmpfs;
use crate::logs::pump::{LogBlock, LogSink, LogSource, LogTrouble};
use crate::pod::{Network, Setting};
use crate::process::environment;
use crate::process::task::SpawnContext;
use crate::sandbox::bridge::Bridge;
use crate::sandbox::isolation::Isolation;
use crate::sandbox::mounts::Tree;
use crate::sandbox::ports::PortError;
use crate::supervisor::inner::Inner;
use crate::system::error::SystemError;
use crate::system::private;

/// Seconds of a run that pass in one of ours: for tests of what takes hours.
const SPEED: &str = "TRAINYARD_TEST_SPEED";

/// Why a run did not begin.
#[derive(Debug, thiserror::Error)]
pub enum CannotRun {
    /// Its directory is not as it should be.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// Its manifest is not what it was.
    #[error("the run's manifest `{}` does not hold the job `{job}` any more", path.display())]
    Manifest {
        /// Its absolute path.
        path: PathBuf,
        /// The job's name.
        job: Arc<str>,
    },
    /// There are no ports.
    #[error(transparent)]
    Ports(#[from] PortError),
    /// The tasks cannot have a network each.
    #[error("the tasks cannot have a network each, which this manifest needs: {0}: {source}", source = .0.source)]
    Bridge(#[from] SystemError),
    /// Something else was refused.
    #[error("cannot {what}: {source}")]
    System {
        /// What was being done.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

fn system(what: &'static str) -> impl FnOnce(io::Error) -> CannotRun {
    move |source| CannotRun::System { what, source }
}

/// Runs every job to its end; gives the ends in the same order. `watch` makes a reporter for each.
pub fn supervise(
    inner: Inner,
    pid: u32,
    runs: Vec<JobInput>,
    watch: &mut dyn FnMut(&Job) -> Arc<dyn Reporter>,
) -> Result<Vec<RunEnd>, CannotRun> {
    let mut runners = Vec::new();
    let mut wakers = Vec::new();
    for given in runs {
        let (waker, runner) = ready(given, pid, &inner, watch)?;
        wakers.push(waker);
        runners.push(runner);
    }
    let signal_listener = inner.signal_listener(move |notice| {
        for waker in &wakers {
            waker.wake(LoopEvent::Signal(notice));
        }
    });
    match &mut runners[..] {
        [only] => only.queue.listen(signal_listener),
        _ => signal_listener.spawn().map_err(system("listen for signals"))?,
    }
    run_all(runners)
}

/// Every job has a thread of its own for its loop; the last one has this thread.
fn run_all(mut runners: Vec<Runner>) -> Result<Vec<RunEnd>, CannotRun> {
    let last = runners.pop();
    let threads: Vec<_> = runners
        .into_iter()
        .map(|runner| {
            thread::Builder::new()
                .name("run".into())
                .spawn(move || runner.run())
        })
        .collect::<io::Result<_>>()
        .map_err(system("start a thread"))?;
    // A loop that fails takes no other one with it, on whichever thread it is.
    let last = last.map(|runner| catch_unwind(AssertUnwindSafe(|| runner.run())));
    let joined = threads.into_iter().map(thread::JoinHandle::join);
    let ends = joined.chain(last).map(|end| {
        end.map_err(|_| CannotRun::System {
            what: "go on, which is a mistake in trainyard: please report it",
            source: io::Error::other("the run's thread failed"),
        })
    });
    ends.collect()
}

/// Makes one job ready to run.
fn ready(
    given: JobInput,
    pid: u32,
    inner: &Inner,
    watch: &mut dyn FnMut(&Job) -> Arc<dyn Reporter>,
) -> Result<(Waker, Runner), CannotRun> {
    let (run, isolation) = (&inner.run, inner.isolation);
    let JobInput {
        directory,
        prepared,
        background,
    } = given;
    let (file, job) = (prepared.file.clone(), Arc::clone(&prepared.job));
    let reporter = watch(&job);
    let spoken = Arc::new(Spoken::default());
    let (waker, mut queue) = queue().map_err(system("be woken up"))?;
    queue.open_socket(&directory).map_err(system("take orders"))?;
    let mut addresses = Addresses::choose(&job, &format!("{run}/{}", file.job), file.per_task_network)?;
    let network = if file.per_task_network {
        Network::per_task(&job)
    } else {
        Network::Shared
    };
    let bridge = network.addresses().map(Bridge::make).transpose()?;
    let tensorboard = tensorboard(&directory, &file, run, &mut addresses, &waker)?;
    let listener = Listener {
        reporter: Arc::clone(&reporter),
        spoken: Arc::clone(&spoken),
    };
    let context = context(&directory, &file, job.size(), inner, bridge, listener, &waker);
    let setting = setting(&directory, prepared, &addresses, network, isolation)?;
    let clock = Clock::start(speed());
    let world = World::new(setting, addresses, Arc::new(context), clock, &file);
    let runner = Runner {
        events: private::append(&directory.events()).ok(),
        disk_refused: false,
        directory,
        file,
        world,
        clock,
        queue,
        reporter,
        spoken,
        tensorboard,
        memory: None,
        hints: Hints::default(),
        together: Together::default(),
        waiting: Waiting::new(background),
        pid,
        isolation,
        ending: None,
        tensorboard_url: None,
        unwritten: true,
        may_write: Instant::now(),
        forced: false,
        unanswered: Vec::new(),
    };
    Ok((waker, runner))
}

/// What the pods of the tasks are made from.
fn setting(
    directory: &RunDirectory,
    prepared: PreparedJob,
    addresses: &Addresses,
    network: Network,
    isolation: Isolation,
) -> Result<Setting, CannotRun> {
    let PreparedJob {
        file,
        job,
        objects,
        machine,
        notes: _,
    } = prepared;
    Ok(Setting {
        files: files(directory, &file, isolation)?,
        book: addresses.book(&job),
        job,
        network,
        objects,
        images: file.images,
        gpus: file.gpus,
        machine,
        volumes: file.volumes,
        lives: directory.lives(),
        kept: file.kept,
    })
}

/// Where the files of the tasks' volumes are written: into memory where the manifest must not be kept on disk.
fn files(directory: &RunDirectory, file: &RunFile, isolation: Isolation) -> Result<PathBuf, CannotRun> {
    let in_memory = file.manifest_not_kept
        && tmpfs::put(&directory.files(), isolation).map_err(system("keep files in memory"))?;
    Ok(if in_memory {
        directory.files()
    } else {
        directory.lives()
    })
}

/// Starts the `TensorBoard` that was asked for, if one was.
fn tensorboard(
    directory: &RunDirectory,
    file: &RunFile,
    run: &str,
    addresses: &mut Addresses,
    waker: &Waker,
) -> Result<Option<TensorBoardProcess>, CannotRun> {
    let Some(told) = &file.tensorboard else {
        return Ok(None);
    };
    let log = directory.logs().join("tensorboard.log");
    let board = TensorBoardProcess::start(told.clone(), run, addresses.another()?, &log, waker.clone());
    board.map(Some).map_err(system("start TensorBoard"))
}

fn speed() -> u32 {
    let speed = env::var(SPEED).ok().and_then(|speed| speed.parse().ok());
    speed.unwrap_or(1)
}

/// What the tasks of a run share.
fn context(
    directory: &RunDirectory,
    file: &RunFile,
    tasks: u64,
    inner: &Inner,
    bridge: Option<Bridge>,
    listener: Listener,
    waker: &Waker,
) -> SpawnContext {
    let root = directory.path.join("root");
    let home = env::var_os("HOME").map(PathBuf::from);
    let own = [
        Some(file.directory.clone()),
        home,
        Some(env::temp_dir()),
        Some(directory.path.clone()),
    ];
    let waker = waker.clone();
    SpawnContext {
        run: inner.run.clone(),
        job: file.job.to_string(),
        isolation: inner.isolation,
        workdir: file.directory.clone(),
        environment: environment::passed(env::vars_os()),
        logs: directory.logs(),
        programs: usize::try_from(tasks).unwrap_or(usize::MAX),
        allow_missing_mounts: file.allow_missing_mounts,
        tree: Tree::new(root, own.into_iter().flatten().collect()),
        bridge,
        sink: Arc::new(listener),
        tell: Box::new(move |event| {
            // A run that has ended needs no news.
            waker.wake(LoopEvent::Task(event));
        }),
    }
}

/// Hands output on to the reporter, and notes that there was some.
struct Listener {
    reporter: Arc<dyn Reporter>,
    spoken: Arc<Spoken>,
}

impl LogSink for Listener {
    fn lines(&self, source: &LogSource, block: LogBlock<'_>) {
        self.spoken.note();
        self.reporter.lines(source, block);
    }

    fn unfinished(&self, source: &LogSource, line: &[u8]) {
        self.spoken.note();
        self.reporter.unfinished(source, line);
    }

    fn trouble(&self, source: &LogSource, trouble: &LogTrouble) {
        self.reporter.trouble(source, trouble);
    }
}

/// A reporter that shows nothing: for runs in the background.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl LogSink for Unwatched {
    fn lines(&self, _: &LogSource, _: LogBlock<'_>) {}

    fn trouble(&self, _: &LogSource, _: &LogTrouble) {}
}

impl Reporter for Unwatched {
    fn event(&self, _: &RunEvent) {}

    fn tasks(&self, _: &[TaskStatus]) {}
}
