//! The supervisor: its first steps, before it starts a task.
//!
//! It is the first process behind the walls. From here on the runner decides what happens; what this module leaves
//! running is one thread that turns signals into calls and takes note of adopted processes that have died.

use std::ffi::OsString;
use std::io;
use std::thread;

use rustix::event::{PollFd, PollFlags};
use rustix::mount::{MountFlags, mount};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, getrlimit, set_child_subreaper, set_parent_process_death_signal, setrlimit,
};
use rustix::stdio::stdin;
use rustix::thread::{CapabilitySet, capabilities, clear_ambient_capability_set, set_capabilities};

use crate::guard::Guard;
use crate::namespace::{Wall, WallError, Walls, step};
use crate::signals::{Notice, Signals};
use crate::stage::text;
use crate::strays;

/// With fewer descriptors than this a run of a few hundred tasks would fail.
const DESCRIPTORS: u64 = 16_384;

/// What the outer process told the supervisor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The walls it stands behind.
    pub walls: Walls,
    /// The run's id.
    pub run: String,
    /// The arguments meant for the runner.
    pub arguments: Vec<OsString>,
}

impl Entry {
    pub(crate) fn read(arguments: &[OsString]) -> Option<Self> {
        Some(Self {
            walls: text(arguments.first())?.parse().ok()?,
            run: text(arguments.get(1))?.to_owned(),
            arguments: arguments.get(2..)?.to_vec(),
        })
    }
}

/// Why a supervisor cannot supervise.
#[derive(Debug, thiserror::Error)]
pub enum InnerError {
    /// It was not started by the outer process, or that one has died.
    #[error("this is started by `trainyard run` only, and that has gone")]
    Alone,
    /// It could not move in.
    #[error("cannot prepare the supervisor")]
    Walls(#[from] WallError),
}

/// A supervisor that is ready to start tasks. The run is guarded from [`Inner::listen`] on.
#[derive(Debug)]
pub struct Inner {
    /// The walls it stands behind.
    pub walls: Walls,
    /// The run's id.
    pub run: String,
    signals: Signals,
    guard: Option<Guard>,
}

/// Makes this process a supervisor. It must have one thread only.
///
/// The calling thread must not start programs by itself, now or later: its children are taken for strays.
pub fn prepare(entry: &Entry) -> Result<Inner, InnerError> {
    let signals = Signals::catch().map_err(step("catch signals"))?;
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(step("bind our life to the outer process"))?;
    if !outer_lives() {
        return Err(InnerError::Alone);
    }
    if entry.walls.has(Wall::Processes) {
        mount_proc()?;
    }
    if entry.walls.has(Wall::Users) {
        keep_rights()?;
    }
    let guard = if entry.walls.has(Wall::Processes) {
        None
    } else {
        // Any number but 0 means yes.
        set_child_subreaper(Some(Pid::INIT)).map_err(step("adopt what tasks leave behind"))?;
        Some(Guard::post(&entry.run).map_err(step("start the guard"))?)
    };
    make_room();
    rustix::io::write(stdin(), b"r").map_err(|_| InnerError::Alone)?;
    Ok(Inner {
        walls: entry.walls,
        run: entry.run.clone(),
        signals,
        guard,
    })
}

impl Inner {
    /// Calls `tell` for every signal that concerns the run, from a thread of its own.
    pub fn listen(self, tell: impl Fn(Notice) + Send + 'static) -> io::Result<()> {
        let Self {
            mut signals, guard, ..
        } = self;
        let run = move || {
            // The guard acts when this is dropped: it lives as long as the thread, and that as long as we do.
            let _guard = guard;
            loop {
                for notice in signals.wait() {
                    match notice {
                        Notice::Child => strays::reap(),
                        notice => tell(notice),
                    }
                }
            }
        };
        let builder = thread::Builder::new().name("signals".into());
        builder.stack_size(256 * 1024).spawn(run).map(drop)
    }
}

/// The parent's death signal comes only if the parent dies after it was asked for; the socket tells of a death before.
fn outer_lives() -> bool {
    let mut descriptors = [PollFd::from_borrowed_fd(stdin(), PollFlags::IN)];
    match rustix::event::poll(&mut descriptors, Some(&rustix::event::Timespec::default())) {
        Ok(_) => descriptors[0].revents().is_empty(),
        Err(_) => false,
    }
}

/// The namespace's rights stay with us; what we start does not get them.
fn keep_rights() -> Result<(), WallError> {
    let refused = "keep the namespace's rights to ourselves";
    clear_ambient_capability_set().map_err(step(refused))?;
    let mut sets = capabilities(None).map_err(step(refused))?;
    sets.inheritable = CapabilitySet::empty();
    set_capabilities(None, sets).map_err(step(refused))
}

/// Shows the processes of this pid namespace, and no others, under `/proc`.
pub(crate) fn mount_proc() -> Result<(), WallError> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", flags, None).map_err(step("mount /proc"))
}

/// A task costs half a dozen descriptors, and the usual limit is 1,024. What we start has the raised limit as well,
/// as programs in containers do.
fn make_room() {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(DESCRIPTORS, |most| most.min(DESCRIPTORS));
    if limit.current.is_some_and(|current| current < wanted) {
        let raised = Rlimit {
            current: Some(wanted),
            ..limit
        };
        let _ = setrlimit(Resource::Nofile, raised);
    }
}
