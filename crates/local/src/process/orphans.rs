//! Processes whose parents have died: they become the supervisor's children.
//!
//! A program's end is the end of everything it started, as in a container. What left its process group is found among
//! the supervisor's adopted children, by the mark in its environment or by a namespace of its own (a program may wipe the
//! one but not leave the other). The kernel gives orphans to the supervisor's first thread, and that thread starts no
//! programs: so its children are the orphans, and reading one file tells whether there are any.

use std::fs;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, unshare};
use rustix::event::{PollFd, PollFlags};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, getpid, pidfd_open, pidfd_send_signal, waitid,
};
use rustix::thread::gettid;

use crate::system::poll::wait_for;
use crate::system::proc_file;

/// The variable that every process of a program carries.
pub const TASK_MARK: &str = "TRAINYARD_TASK";

/// How long a killed process may take to die before we look again.
const DYING: Duration = Duration::from_secs(1);

/// More rounds of killing than this are a program that forks faster than it can be killed.
const ROUNDS: usize = 1000;

/// By what the processes of one program are known.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    variable: Vec<u8>,
    namespace: Option<Arc<Namespace>>,
}

/// A namespace that a thread of ours has taken for itself: it lives as long as the program.
#[derive(Debug)]
struct Namespace {
    thread: Pid,
    /// Its name under `/proc`, read on first use: most programs leave no orphan to compare.
    link: OnceLock<Option<PathBuf>>,
}

impl Namespace {
    fn link(&self) -> Option<&PathBuf> {
        let read = || {
            let thread = self.thread.as_raw_nonzero();
            fs::read_link(format!("/proc/self/task/{thread}/ns/uts")).ok()
        };
        self.link.get_or_init(read).as_ref()
    }
}

impl Mark {
    /// The mark of processes whose environment says `name=value`.
    pub(crate) fn new(name: &str, value: &str) -> Self {
        Self {
            variable: format!("{name}={value}").into_bytes(),
            namespace: None,
        }
    }

    /// Also by a namespace that the calling thread takes for itself and for the program it starts. That of the host's
    /// name costs next to nothing, and a copy of it looks like the original; where it is refused, the variable must do.
    pub(crate) fn and_own_namespace(self) -> Self {
        let own = unshare(CloneFlags::CLONE_NEWUTS).is_ok();
        let namespace = own.then(|| Namespace {
            thread: gettid(),
            link: OnceLock::new(),
        });
        Self {
            namespace: namespace.map(Arc::new),
            ..self
        }
    }

    /// Whether the process carries the mark. A zombie carries none.
    fn is_on(&self, process: Pid) -> bool {
        let directory = format!("/proc/{}", process.as_raw_nonzero());
        let in_it = |namespace: &Arc<Namespace>| {
            let link = fs::read_link(format!("{directory}/ns/uts")).ok();
            link.is_some() && link.as_ref() == namespace.link()
        };
        let variables = fs::read(format!("{directory}/environ")).unwrap_or_default();
        variables
            .split(|byte| *byte == 0)
            .any(|variable| variable == self.variable)
            || self.namespace.as_ref().is_some_and(in_it)
    }
}

/// Where to look for marked processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Among {
    /// Those whose parents have died.
    Adopted,
    /// Every process that can be seen.
    All,
}

/// Kills every marked process, and those that they leave behind, until there is none; tells how many.
pub(crate) fn end(mark: &Mark, among: Among) -> usize {
    let mut ended = 0;
    for _ in 0..ROUNDS {
        let found = find(mark, among);
        if found.is_empty() {
            break;
        }
        ended += found.len();
        for process in &found {
            // It may have died meanwhile, which is all that is wanted.
            let _ = pidfd_send_signal(process, Signal::KILL);
        }
        for process in &found {
            let _ = wait_for(
                &mut [PollFd::new(process, PollFlags::IN)],
                Some(Instant::now() + DYING),
            );
        }
        reap();
    }
    ended
}

/// Asks every marked process that was adopted to end.
pub(crate) fn ask_to_end(mark: &Mark) {
    for process in find(mark, Among::Adopted) {
        let _ = pidfd_send_signal(process, Signal::TERM);
    }
}

/// Reaps the adopted processes that have died: no other thread waits for them.
pub(crate) fn reap() {
    for process in adopted().unwrap_or_default() {
        let _ = waitid(
            WaitId::Pid(process),
            WaitIdOptions::EXITED | WaitIdOptions::NOHANG,
        );
    }
}

fn find(mark: &Mark, among: Among) -> Vec<OwnedFd> {
    let seen = match among {
        Among::Adopted => adopted().unwrap_or_else(all),
        Among::All => all(),
    };
    let own = getpid();
    let holds = |process: &Pid| *process != own && mark.is_on(*process);
    seen.into_iter()
        .filter(holds)
        .filter_map(|process| {
            // Its number may belong to another process by now: what is held is looked at again.
            let held = pidfd_open(process, PidfdFlags::empty()).ok()?;
            mark.is_on(process).then_some(held)
        })
        .collect()
}

/// The children of our first thread; none if this kernel does not tell.
fn adopted() -> Option<Vec<Pid>> {
    let path = format!("/proc/self/task/{}/children", getpid().as_raw_nonzero());
    let text = proc_file::try_read(&path).ok()?;
    Some(text.split_ascii_whitespace().filter_map(pid).collect())
}

fn all() -> Vec<Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| pid(entry.file_name().to_str()?))
        .collect()
}

fn pid(text: &str) -> Option<Pid> {
    text.parse().ok().and_then(Pid::from_raw)
}
