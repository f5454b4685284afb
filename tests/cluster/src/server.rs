//! The process of a cluster: `test-cluster serve`.
//!
//! ```text
//! a test ─▶ outer: directory, namespaces ─▶ inner, pid 1: etcd, kube-apiserver, …
//!            │ stdout: the listener           │ forwards its connections to the API server
//!            │ stderr: a pipe                 │ says "ready"; ends when the read end is closed
//! ```
//!
//! Everything runs in a pid, a mount and a network namespace of its own, put up by the machinery of `trainyard run`. So
//! ports are always free, and nothing is left when the first process dies, whatever it dies of: processes, mounts and
//! network go by a rule of the kernel. The outer process removes what the kernel does not: a directory and control groups; if it
//! is killed too, the next cluster to start removes them.

pub mod control_plane;
mod forward;
pub mod node;
mod place;
mod process;
mod supervise;

use std::fmt;

pub use place::Place;
pub use supervise::DETACHED;
use supervise::{Orders, supervise};
use trainyard_local::sandbox::probe::probe;
use trainyard_local::supervisor::outer::{self, Split, SupervisorEnd};

use crate::parts::Parts;

/// Why a cluster cannot be, in words for people.
#[derive(Debug)]
pub struct Trouble(String);

impl Trouble {
    /// These words.
    pub fn new(words: impl Into<String>) -> Self {
        Self(words.into())
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Trouble {}

/// What was being done when something went wrong.
pub(crate) fn doing<E: std::error::Error>(what: impl fmt::Display) -> impl FnOnce(E) -> Trouble {
    move |error| Trouble(format!("cannot {what}: {}", trainyard_local::error_chain(&error)))
}

/// How long a cluster lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// Until the read end of its standard error is closed: as long as the process that started it lives.
    Bound,
    /// Until it is asked to end.
    Detached,
}

/// The outer process: it makes a place, starts the cluster in its own namespaces, waits for its end and cleans up.
///
/// Standard output must be a socket that listens: what comes there is passed on to the API server. On standard error
/// it says where the place is (`at DIRECTORY`), then `ready`.
pub fn serve(place: Place, parts: Parts, life: Life) -> Result<(), Trouble> {
    if life == Life::Detached {
        // The terminal it was started from may close; without a session of its own it lives on as well as it can.
        let _ = rustix::process::setsid();
    }
    let isolation = probe(true).map_err(|error| {
        Trouble(format!(
            "a test cluster needs namespaces for processes, mounts and network: {error}"
        ))
    })?;
    say(&format!("at {}", place.path().display()));
    let ended = match outer::fork_supervisor(&format!("cluster-{}", std::process::id()), isolation.isolation)
    {
        Ok(Split::Supervisor(inside)) => {
            let orders = Orders {
                // The outer process holds its lock.
                place: place.path().to_owned(),
                parts,
                detached: life == Life::Detached,
            };
            drop(place);
            return supervise(inside, orders);
        }
        Ok(Split::Outer(outside)) => outside.wait(),
        Err(error) => Err(error),
    };
    place.remove();
    match ended {
        Ok(SupervisorEnd::Code(0)) => Ok(()),
        Ok(end) => Err(Trouble(format!("the cluster has ended: {end:?}"))),
        Err(error) => Err(Trouble(trainyard_local::error_chain(&error))),
    }
}

/// Tells the process that started us. A closed pipe is noticed elsewhere (`watch_over_starter`).
pub(crate) fn say(line: &str) {
    let _ = rustix::io::write(rustix::stdio::stderr(), format!("{line}\n").as_bytes());
}
