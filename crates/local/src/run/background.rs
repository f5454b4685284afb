//! `--detach`: a process in a session of its own takes the run over.
//!
//! The two talk over a socket, which is the new process' standard input: it says that it is there, this process gives up the
//! locks, the new one takes them and says so. This process returns once every run has a status; what went wrong before
//! is in the new process' log, which becomes the error message.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use rustix::stdio::stdin;

use super::begin::Begun;
use super::execute::{Frontend, Outcome, RunError, isolated};
use super::store::directory::{Claim, Home, RunDirectory, cannot};
use super::store::run_file::UnkeptManifest;
use super::supervise::JobInput;
use crate::sandbox::isolation::Isolation;
use crate::supervisor::reexec::{BACKGROUND, Background, ourselves};
use crate::system::private;

/// A run begins within a second; this is the limit.
const START_TIMEOUT: Duration = Duration::from_secs(20);
/// After this long without a status, the disk is full.
const STATUS_TIMEOUT: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

// The protocol, one byte each.
const HERE: u8 = b'h';
const YOURS: u8 = b'y';
const TAKEN: u8 = b't';

/// Starts the runs in the background and waits until they have begun.
pub(super) fn start(
    mut begun: Begun,
    unkept: Option<&UnkeptManifest>,
    isolation: Isolation,
) -> Result<Outcome, RunError> {
    let directories: Vec<RunDirectory> = begun.directories().cloned().collect();
    let log = directories
        .first()
        .map(|run| run.path.join("supervisor.log"))
        .unwrap_or_default();
    let (ours, theirs) = UnixStream::pair().map_err(RunError::Handover)?;
    let mut child = match spawn(&begun.id(), isolation, &directories, &log, theirs) {
        Ok(child) => child,
        Err(error) => {
            begun.undo();
            return Err(error);
        }
    };
    let taken = hand_over(ours, &mut begun, unkept);
    if taken.is_ok() && wait_until_up(&directories, &mut child) {
        return Ok(Outcome::Background(directories));
    }
    // A start that takes too long must not go on after the message that it failed.
    let _ = child.kill();
    let _ = child.wait();
    Err(RunError::NotStarted(fs::read_to_string(&log).unwrap_or_default()))
}

fn spawn(
    run: &str,
    isolation: Isolation,
    directories: &[RunDirectory],
    log: &Path,
    socket: UnixStream,
) -> Result<Child, RunError> {
    let out = private::create(log).map_err(cannot("write", log))?;
    let err = out.try_clone().map_err(cannot("write", log))?;
    Command::new(ourselves())
        .arg0("trainyard")
        .args([BACKGROUND, &isolation.to_string(), run])
        .args(directories.iter().map(|directory| &directory.path))
        .stdin(OwnedFd::from(socket))
        .stdout(out)
        .stderr(err)
        .spawn()
        .map_err(RunError::Handover)
}

fn hand_over(mut socket: UnixStream, begun: &mut Begun, unkept: Option<&UnkeptManifest>) -> io::Result<()> {
    socket.set_read_timeout(Some(START_TIMEOUT))?;
    socket.set_write_timeout(Some(START_TIMEOUT))?;
    expect(&mut socket, HERE)?;
    begun.release();
    socket.write_all(&[YOURS])?;
    // The other side reads to the end of the stream.
    socket.write_all(&serde_json::to_vec(&unkept)?)?;
    socket.shutdown(Shutdown::Write)?;
    expect(&mut socket, TAKEN)
}

fn expect(socket: &mut impl io::Read, word: u8) -> io::Result<()> {
    let mut received = [0];
    socket.read_exact(&mut received)?;
    if received[0] == word {
        Ok(())
    } else {
        Err(io::ErrorKind::InvalidData.into())
    }
}

/// Waits until every run has a status; false if the process ended before. On a full disk no status is ever written: there it is
/// enough that the runs take orders after a while.
fn wait_until_up(directories: &[RunDirectory], child: &mut Child) -> bool {
    let begin = Instant::now();
    let is_up = |directory: &RunDirectory| {
        let takes_orders = || begin.elapsed() > STATUS_TIMEOUT && directory.socket().exists();
        matches!(directory.read_status(), Ok(Some(_))) || takes_orders()
    };
    while !directories.iter().all(is_up) {
        let ended = !matches!(child.try_wait(), Ok(None));
        if ended || begin.elapsed() > START_TIMEOUT {
            return directories.iter().all(is_up);
        }
        thread::sleep(POLL_INTERVAL);
    }
    true
}

/// The process in the background: takes the locks and is the outer process of the runs from then on.
pub fn resume(told: &Background, frontend: &mut dyn Frontend) -> Result<Outcome, RunError> {
    // The terminal may be closed from now on. Fails only in a process that leads a session already.
    let _ = rustix::process::setsid();
    let (claims, unkept) = take_over(&told.arguments).map_err(RunError::Handover)?;
    let directories = told
        .arguments
        .iter()
        .map(|path| RunDirectory { path: path.into() });
    let jobs: Vec<JobInput> = directories
        .map(|directory| JobInput::read(directory, unkept.as_ref()))
        .collect::<Result<_, _>>()?;
    let jobs = move || {
        drop(claims);
        jobs
    };
    isolated(&told.run, told.isolation, jobs, frontend)
}

fn take_over(arguments: &[OsString]) -> io::Result<(Vec<Claim>, Option<UnkeptManifest>)> {
    rustix::io::write(stdin(), &[HERE])?;
    let mut socket = io::stdin().lock();
    expect(&mut socket, YOURS)?;
    let unkept = serde_json::from_reader(socket)?;
    let mut claims = Vec::new();
    for path in arguments {
        let directory = RunDirectory { path: path.into() };
        let claim = Home::runs_of(&directory).claim().map_err(io::Error::other)?;
        claims.push(claim.ok_or_else(|| io::Error::other("another run of the job has begun"))?);
    }
    rustix::io::write(stdin(), &[TAKEN])?;
    Ok((claims, unkept))
}
