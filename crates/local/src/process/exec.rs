//! Becoming a task's program, where no pid namespace keeps it from outliving the supervisor.
//!
//! Only a process itself can ask to be killed when its parent dies, so this program is started first, asks for it, and
//! then becomes the task's program. Its standard input is a socket on which it tells why it could not.

use std::ffi::OsString;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal};
use rustix::stdio::stdin;

use crate::process::lookup::first_bytes;
use crate::supervisor::reexec::{START, ourselves};

/// Turns a command into one that starts `program` bound to the life of the thread that spawns it.
pub(crate) fn bound_to_us(program: &Path, argv: &[OsString]) -> Command {
    let mut command = Command::new(ourselves());
    command
        .arg0("trainyard")
        .arg(START)
        .arg(getpid().as_raw_nonzero().to_string())
        .arg(program)
        .args(argv);
    command
}

/// Spawns such a command and waits until it has become its program, or could not.
pub(crate) fn spawn(program: &Path, command: &mut Command) -> io::Result<Child> {
    if is_nameless_script(program) {
        // The exec that follows would hand it to a shell, which nothing else does.
        return Err(Errno::NOEXEC.into());
    }
    let (mut ours, theirs) = UnixStream::pair()?;
    let mut child = command.stdin(OwnedFd::from(theirs)).spawn()?;
    // The command keeps the other end until its input is replaced.
    command.stdin(Stdio::null());
    let mut number = [0; 4];
    if ours.read_exact(&mut number).is_err() {
        // It has become its program: that closed the socket.
        return Ok(child);
    }
    child.wait()?;
    Err(io::Error::from_raw_os_error(i32::from_ne_bytes(number)))
}

/// Whether a file is text without a first line that names its interpreter.
fn is_nameless_script(program: &Path) -> bool {
    first_bytes(program).is_ok_and(|start| !start.starts_with(b"#!") && !start.contains(&0))
}

/// The helper process: does not return if all goes well.
pub(crate) fn become_program(arguments: &[OsString]) -> Result<(), u8> {
    let channel = rustix::io::fcntl_dupfd_cloexec(stdin(), 3).map_err(|_| 1)?;
    let error = try_to_become(arguments);
    let number = error.raw_os_error().unwrap_or(Errno::INVAL.raw_os_error());
    let _ = rustix::io::write(&channel, &number.to_ne_bytes());
    Err(1)
}

/// Gives the reason if it comes back.
fn try_to_become(arguments: &[OsString]) -> io::Error {
    let [parent, program, argv0, rest @ ..] = arguments else {
        return Errno::INVAL.into();
    };
    let parent = parent.to_str().and_then(|text| text.parse().ok());
    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        return error.into();
    }
    if getppid() != parent.and_then(Pid::from_raw) {
        return Errno::SRCH.into();
    }
    Command::new(program)
        .arg0(argv0)
        .args(rest)
        .stdin(Stdio::null())
        .exec()
}
