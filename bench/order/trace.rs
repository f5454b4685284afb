//! A program, executed step by step, with every process and thread that it splits off.

use std::collections::BTreeSet;
use std::io;
use std::ops::Range;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use nix::libc;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// The hidden first argument that makes this program one that is traced and becomes another.
pub const STAGE: &str = "__traced";

/// Asks to be traced and becomes the program. Gives the reason if it comes back.
pub fn become_traced(program: &str, arguments: &[&str]) -> io::Error {
    match ptrace::traceme() {
        Ok(()) => Command::new(program).args(arguments).exec(),
        Err(error) => error.into(),
    }
}

/// The addresses within that range, in the order in which they are first executed.
pub fn addresses(
    program: &Path,
    range: Range<u64>,
    prepare: impl FnOnce(&mut Command),
) -> io::Result<Vec<u64>> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(STAGE).arg(program);
    prepare(&mut command);
    let child = command.spawn()?;
    let first = Pid::from_raw(i32::try_from(child.id()).map_err(io::Error::other)?);
    // It stops where it has become the program.
    waitpid(first, None)?;
    let all = Options::PTRACE_O_TRACEFORK
        | Options::PTRACE_O_TRACEVFORK
        | Options::PTRACE_O_TRACECLONE
        | Options::PTRACE_O_TRACEEXEC
        | Options::PTRACE_O_EXITKILL;
    ptrace::setoptions(first, all)?;
    ptrace::step(first, None)?;
    let mut seen = BTreeSet::new();
    let mut order = Vec::new();
    loop {
        let (process, signal) = match waitpid(None, Some(WaitPidFlag::__WALL))? {
            WaitStatus::Exited(process, _) | WaitStatus::Signaled(process, ..) if process == first => {
                return Ok(order);
            }
            // A task has become its own program.
            WaitStatus::PtraceEvent(process, _, libc::PTRACE_EVENT_EXEC) => {
                let _ = ptrace::detach(process, None);
                continue;
            }
            WaitStatus::PtraceEvent(process, ..)
            | WaitStatus::Stopped(process, Signal::SIGTRAP | Signal::SIGSTOP) => (process, None),
            WaitStatus::Stopped(process, signal) => (process, Some(signal)),
            _ => continue,
        };
        if let Some(at) = at(process).filter(|at| range.contains(at))
            && seen.insert(at)
        {
            order.push(at);
        }
        // It may have been killed meanwhile.
        let _ = ptrace::step(process, signal);
    }
}

/// The address of the next instruction.
fn at(process: Pid) -> Option<u64> {
    let registers = ptrace::getregs(process).ok()?;
    #[cfg(target_arch = "x86_64")]
    return Some(registers.rip);
    #[cfg(target_arch = "aarch64")]
    return Some(registers.pc);
}
