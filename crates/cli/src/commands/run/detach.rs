//! `--detach`: a process of its own, in a session of its own, takes the run over.
//!
//! The two talk over a socket that is the new process' standard input: it says that it is there, we let go of the
//! claims, it takes them and says so. Only then do we end; a run that could not begin is told here.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use rustix::stdio::stdin;
use trainyard_local::run::store::directory::{Claim, Home, RunDirectory};
use trainyard_local::run::store::run_file::Handed;
use trainyard_local::run::supervise::Given;
use trainyard_local::sandbox::isolation::Isolation;
use trainyard_local::supervisor::outer::{self, OuterError, Split};
use trainyard_local::supervisor::reexec::{DETACHED, Detached};
use trainyard_local::system::private;
use trainyard_local::told;

use super::begin::Begun;
use super::supervisor::Told;
use crate::args::Format;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::visible;

/// A run begins within a second.
const PATIENCE: Duration = Duration::from_secs(20);
/// One that has written nothing by then finds no room for it.
const UNWRITTEN: Duration = Duration::from_secs(2);
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// What the two say to each other.
const HERE: u8 = b'h';
const YOURS: u8 = b'y';
const TAKEN: u8 = b't';

/// Starts the run in the background and says how to look at it; to programs, where it is.
pub fn detach(
    begun: Begun,
    handed: Option<&Handed>,
    isolation: Isolation,
    output: Format,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    let mut begun = begun;
    let arguments: Vec<OsString> = begun
        .directories()
        .map(|directory| directory.path.clone().into_os_string())
        .collect();
    let log_path = PathBuf::from(arguments.first().cloned().unwrap_or_default()).join("supervisor.log");
    let (ours, theirs) = UnixStream::pair()?;
    let mut child = match start(&begun.id(), isolation, &arguments, &log_path, theirs) {
        Ok(child) => child,
        Err(failure) => {
            begun.undo();
            return Err(failure);
        }
    };
    let claims = begun.take_claims();
    let taken = hand_over(ours, claims, handed);
    let up = taken.is_ok() && wait_until_up(&begun, &mut child);
    if !up {
        // A start that takes too long must not go on behind the message that it failed.
        let _ = child.kill();
        let _ = child.wait();
        let said = std::fs::read_to_string(&log_path).unwrap_or_default();
        let message = format!("the run did not begin: {}", visible::continued(&said));
        return Err(Failure::usage(message, None));
    }
    if output == Format::Json {
        for directory in begun.directories() {
            printer.data(&visible::json(first_event(directory)))?;
        }
        return Ok(Exit::Success);
    }
    for name in begun.names() {
        printer.say(&format!(
            "{name} runs in the background: `trainyard logs -f {name}` shows it, `trainyard stop {name}` ends it"
        ))?;
    }
    Ok(Exit::Success)
}

/// What was told first of a run, which is that it has started; a disk that is full may have kept nothing of it.
fn first_event(run: &RunDirectory) -> String {
    let events = std::fs::read_to_string(run.events()).unwrap_or_default();
    events.split_inclusive('\n').next().unwrap_or_default().to_owned()
}

fn start(
    run: &str,
    isolation: Isolation,
    arguments: &[OsString],
    log: &std::path::Path,
    socket: UnixStream,
) -> Result<Child, Failure> {
    let unwritable = |cause| Failure::File {
        path: log.display().to_string(),
        cause,
    };
    let out = private::create(log).map_err(unwritable)?;
    let err = out.try_clone().map_err(unwritable)?;
    let spawned = Command::new("/proc/self/exe")
        .arg0("trainyard")
        .args([DETACHED, &isolation.to_string(), run])
        .args(arguments)
        .stdin(OwnedFd::from(socket))
        .stdout(out)
        .stderr(err)
        .spawn();
    spawned.map_err(|error| Failure::usage(format!("cannot start ourselves: {error}"), None))
}

fn hand_over(mut socket: UnixStream, claims: Vec<Claim>, handed: Option<&Handed>) -> io::Result<()> {
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_write_timeout(Some(PATIENCE))?;
    expect(&mut socket, HERE)?;
    drop(claims);
    socket.write_all(&[YOURS])?;
    // It is read to its end, which is the end of what we say.
    socket.write_all(&serde_json::to_vec(&handed)?)?;
    socket.shutdown(Shutdown::Write)?;
    expect(&mut socket, TAKEN)
}

fn expect(socket: &mut impl io::Read, word: u8) -> io::Result<()> {
    let mut heard = [0];
    socket.read_exact(&mut heard)?;
    if heard[0] == word {
        Ok(())
    } else {
        Err(io::ErrorKind::InvalidData.into())
    }
}

/// Waits until every run has written how it stands; false if the process ended before. On a full disk nothing is ever written:
/// there it is enough that they take orders, and have not ended after a while.
fn wait_until_up(begun: &Begun, child: &mut Child) -> bool {
    let begin = Instant::now();
    let until = begin + PATIENCE;
    let up = |directory: &RunDirectory| {
        let takes_orders = || begin.elapsed() > UNWRITTEN && directory.socket().exists();
        matches!(directory.read_status(), Ok(Some(_))) || takes_orders()
    };
    while !begun.directories().all(up) {
        let ended = !matches!(child.try_wait(), Ok(None));
        if ended || Instant::now() > until {
            return begun.directories().all(up);
        }
        thread::sleep(BETWEEN_LOOKS);
    }
    true
}

/// The process in the background: takes the claims over and is the outer process of the run from then on.
pub fn go_on(detached: &Detached) -> Result<Exit, Failure> {
    // Whoever started us may close its terminal. That fails only where we lead a session already.
    let _ = rustix::process::setsid();
    let (claims, handed) = take_over(&detached.arguments)
        .map_err(|error| Failure::usage(format!("the run could not be taken over: {error}"), None))?;
    let directories = detached
        .arguments
        .iter()
        .map(|path| RunDirectory { path: path.into() });
    let runs: Result<Vec<Given>, _> = directories
        .map(|directory| Given::read(directory, handed.as_ref()))
        .collect();
    let supervision = Told {
        view: None,
        pid: std::process::id(),
        runs: runs.map_err(|error| Failure::usage(error.to_string(), None))?,
    };
    let unable = |error: OuterError| Failure::usage(told(&error), None);
    match outer::fork_supervisor(&detached.run, detached.isolation).map_err(unable)? {
        Split::Outer(outside) => super::exit(outside.wait().map_err(unable)?),
        Split::Supervisor(inside) => {
            // The outer process holds them.
            drop(claims);
            // Whoever started us sees that nothing has begun.
            Ok(super::supervised(inside, supervision, || {}))
        }
    }
}

fn take_over(arguments: &[OsString]) -> io::Result<(Vec<Claim>, Option<Handed>)> {
    rustix::io::write(stdin(), &[HERE])?;
    let mut told = io::stdin().lock();
    expect(&mut told, YOURS)?;
    let handed = serde_json::from_reader(told)?;
    let mut claims = Vec::new();
    for path in arguments {
        let directory = RunDirectory { path: path.into() };
        let claim = Home::runs_of(&directory).claim().map_err(io::Error::other)?;
        claims.push(claim.ok_or_else(|| io::Error::other("another run of the job has begun"))?);
    }
    rustix::io::write(stdin(), &[TAKEN])?;
    Ok((claims, handed))
}
