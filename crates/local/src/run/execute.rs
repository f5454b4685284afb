//! A run from start to end, as one call: [`execute`].
//!
//! ```text
//! RunRequest ─▶ prepare ─▶ isolation (probe) ─▶ begin (locks, directories) ─┬─▶ fork ─▶ supervise ─▶ exit code
//!                                                                          └─▶ background process
//! ```
//!
//! Nothing is printed here and no exit code is chosen: a [`Frontend`] does both.

use std::env;
use std::sync::Arc;

use trainyard_core::Job;
use trainyard_dialect::{ReadJob, Reading};

use super::background;
use super::begin::{Begun, CannotBegin};
use super::event::{Reporter, RunEnd};
use super::prepare::{self, PreparedJob, Provisions, RunOptions};
use super::store::directory::{DirectoryError, Home, RunDirectory};
use super::supervise::{CannotRun, JobInput, supervise};
use crate::images::Config;
use crate::pod::Refusal;
use crate::python::{Cache, Progress, on_path};
use crate::sandbox::isolation::Isolation;
use crate::sandbox::probe::{self, NoNetwork, probe_once};
use crate::supervisor::inner::{self, InnerError};
use crate::supervisor::outer::{self, Split, SupervisorEnd};
use crate::system::error::SystemError;
use crate::{error_chain, gpus};

/// What to run, and how.
#[derive(Debug)]
pub struct RunRequest<'a> {
    /// The manifest's text, overrides applied.
    pub manifest: &'a str,
    /// What that text says, and which of its jobs to run.
    pub reading: &'a Reading,
    /// The jobs to run.
    pub jobs: Vec<&'a ReadJob>,
    /// The job was chosen by its name.
    pub by_name: bool,
    /// Where runs are kept.
    pub home: Home,
    /// The user's configuration.
    pub config: Config,
    /// What was typed besides the manifest.
    pub options: RunOptions,
    /// `--detach`.
    pub background: bool,
}

/// What shows a run. The first three are called in the process that the user started, the others in the supervisor.
pub trait Frontend {
    /// A Python environment is being made.
    fn preparing(&mut self, step: Progress);
    /// Something that the user should know before the run starts.
    fn note(&mut self, text: &str);
    /// The same for what no user may miss.
    fn warning(&mut self, text: &str);
    /// The reporter of one job.
    fn reporter(&mut self, job: &Job, several: bool) -> Arc<dyn Reporter>;
    /// Every job has ended, in the order of the request. Shows what is left to show; returns the exit code.
    fn ended(&mut self, ends: Result<Vec<RunEnd>, CannotRun>) -> u8;
}

/// How [`execute`] ended. In the foreground it returns in two processes, the outer one and the supervisor.
#[derive(Debug)]
pub enum Outcome {
    /// The code that [`Frontend::ended`] chose.
    Exit(u8),
    /// The runs go on in the background.
    Background(Vec<RunDirectory>),
}

/// Why a run did not start, or how it was cut off.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The jobs cannot run on this machine; every reason.
    #[error("the job cannot run on this machine")]
    Refused(Vec<Refusal>),
    /// `--isolate`, and no network namespace.
    #[error(transparent)]
    NoNetwork(#[from] NoNetwork),
    /// The run's lock or directory was refused.
    #[error(transparent)]
    Begin(#[from] CannotBegin),
    /// The supervisor could not be started.
    #[error("{}", error_chain(.0))]
    Outer(#[from] SystemError),
    /// The supervisor could not enter its namespaces.
    #[error("{}", error_chain(.0))]
    Inner(#[from] InnerError),
    /// The run's directory does not hold what it should.
    #[error(transparent)]
    CannotRun(#[from] CannotRun),
    /// The background process did not start the run. Holds what it wrote.
    #[error("the run did not begin: {0}")]
    NotStarted(String),
    /// The two processes of a run in the background could not talk.
    #[error("the run could not be taken over: {0}")]
    Handover(std::io::Error),
    /// The supervisor was killed.
    #[error("the run's supervisor was killed by signal {signal}, and every task with it")]
    Killed {
        /// The signal's number.
        signal: i32,
    },
}

impl From<DirectoryError> for RunError {
    fn from(error: DirectoryError) -> Self {
        Self::Begin(error.into())
    }
}

impl RunError {
    /// What the user can do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Begin(error) => Some(error.help()),
            _ => None,
        }
    }
}

/// Runs jobs to their ends, or, in the background, until they have begun.
///
/// In the foreground the process must have one thread and no unflushed output: it is forked.
pub fn execute(request: &RunRequest<'_>, frontend: &mut dyn Frontend) -> Result<Outcome, RunError> {
    let prepared = prepare_all(request, frontend)?;
    let cache = request.home.isolation_cache();
    let probed = probe_once(request.options.isolate, &cache)?;
    if let Some(sentence) = probed.not_covered() {
        frontend.warning(&sentence);
    }
    // `--set metadata.name=…` changes every job that was chosen, and `--job` looks for the name before that.
    let alone = !request.by_name && request.reading.jobs().count() == 1;
    let begun = Begun::new(&request.home, request.manifest, prepared, alone)?;
    let outcome = if request.background {
        let unkept = begun.unkept(request.manifest);
        background::start(begun, unkept.as_ref(), probed.isolation)
    } else {
        isolated(&begun.id(), probed.isolation, || begun.into_inputs(), frontend)
    };
    // What was found about this machine may not hold any more.
    outcome.inspect_err(|_| probe::forget(&cache))
}

/// Prepares every job, or collects everything that is in the way.
fn prepare_all(request: &RunRequest<'_>, frontend: &mut dyn Frontend) -> Result<Vec<PreparedJob>, RunError> {
    let provisions =
        provisions(request.config.clone()).map_err(|refusal| RunError::Refused(vec![refusal]))?;
    let (mut prepared, mut refusals) = (Vec::new(), Vec::new());
    for job in &request.jobs {
        let mut tell = |step| frontend.preparing(step);
        match prepare::prepare(job, request.reading, &request.options, &provisions, &mut tell) {
            Ok(job) => prepared.push(job),
            Err(more) => refusals.extend(more),
        }
    }
    if !refusals.is_empty() {
        return Err(RunError::Refused(refusals));
    }
    for note in prepared.iter().flat_map(|job| &job.notes) {
        frontend.note(note);
    }
    Ok(prepared)
}

/// The cache and the GPUs of this machine.
fn provisions(config: Config) -> Result<Provisions, Refusal> {
    let visible = env::var_os("CUDA_VISIBLE_DEVICES");
    // Most machines have no GPUs, and looking for the program is cheaper than trying to start it.
    let found = match on_path("nvidia-smi") {
        Some(program) => gpus::find(&program, visible.as_deref()),
        None => Ok(Vec::new()),
    };
    let gpus = found.map_err(|error| {
        let hint = "`CUDA_VISIBLE_DEVICES=` hides them all".to_owned();
        Refusal::new("GPUs", error, Some(hint))
    })?;
    Ok(Provisions {
        config,
        cache: Cache::of_user(),
        gpus,
    })
}

/// Forks. The supervisor runs `jobs`; the outer process keeps what that closure holds, which is the locks, until it has ended.
pub(super) fn isolated(
    run: &str,
    isolation: Isolation,
    jobs: impl FnOnce() -> Vec<JobInput>,
    frontend: &mut dyn Frontend,
) -> Result<Outcome, RunError> {
    let pid = std::process::id();
    match outer::fork_supervisor(run, isolation)? {
        Split::Outer(outer) => match outer.wait()? {
            SupervisorEnd::Code(code) => Ok(Outcome::Exit(u8::try_from(code).unwrap_or(u8::MAX))),
            SupervisorEnd::Signal(signal) => Err(RunError::Killed { signal }),
        },
        Split::Supervisor(new) => supervised(new, pid, jobs(), frontend),
    }
}

/// Everything that the supervisor does. `pid` is that of the outer process.
fn supervised(
    new: inner::NewSupervisor,
    pid: u32,
    jobs: Vec<JobInput>,
    frontend: &mut dyn Frontend,
) -> Result<Outcome, RunError> {
    let inner = inner::prepare(new)?;
    let exit_report = inner.exit_report();
    let several = jobs.len() > 1;
    let ends = supervise(inner, pid, jobs, &mut |job| frontend.reporter(job, several));
    let code = frontend.ended(ends);
    exit_report.send(code);
    Ok(Outcome::Exit(code))
}
