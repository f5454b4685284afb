//! The inner process of a cluster: pid 1 of its namespaces.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Sender};
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::mount::{MountFlags, mount};
use rustix::stdio::{stderr, stdout};
use trainyard_local::supervisor::inner::{self, NewSupervisor};
use trainyard_local::system::signals::SignalKind;

use super::control_plane::{ControlPlane, PORT, SERVICE, SERVICE_PORT};
use super::forward::forward;
use super::node::Node;
use super::process::{Ending, Starter};
use super::{Trouble, doing, say};
use crate::parts::Parts;

/// What the inner process is told.
#[derive(Debug)]
pub struct Orders {
    /// The cluster's directory.
    pub place: PathBuf,
    /// What it consists of.
    pub parts: Parts,
    /// Whether the cluster outlives the process that started it.
    pub detached: bool,
}

/// The argument for a cluster that outlives the process that started it.
pub const DETACHED: &str = "--detached";

/// Runs the cluster until it is asked to end or cannot go on. The process must have one thread only.
pub fn supervise(inside: NewSupervisor, orders: Orders) -> Result<(), Trouble> {
    let inner = inner::prepare(inside).map_err(doing("prepare the supervisor"))?;
    let (ends, ending) = mpsc::channel();
    let asked = ends.clone();
    let signal_listener = inner.signal_listener(move |notice| {
        if matches!(notice, SignalKind::Interrupt | SignalKind::Terminate) {
            let _ = asked.send(Ending::Asked);
        }
    });
    signal_listener.spawn().map_err(doing("listen to signals"))?;
    // This thread must not start programs: what it has for children is taken for adopted.
    let starting = thread::Builder::new().name("start".into());
    let started = starting.spawn(move || {
        if let Err(trouble) = start(&orders, &ends) {
            let _ = ends.send(Ending::Broken(trouble));
        }
    });
    started.map_err(doing("start a thread"))?;
    match ending.recv() {
        Ok(Ending::Broken(trouble)) => Err(trouble),
        Ok(Ending::Asked | Ending::Alone) | Err(_) => Ok(()),
    }
}

fn start(orders: &Orders, ends: &Sender<Ending>) -> Result<(), Trouble> {
    if !orders.detached {
        watch_over_starter(ends.clone()).map_err(doing("start a thread"))?;
    }
    in_memory(&orders.place.join("state"))?;
    let listener = listener().map_err(doing("use the socket that was handed in"))?;
    let outside = listener
        .local_addr()
        .map_err(doing("ask a socket for its port"))?;
    let starter = Starter::new(orders.place.join("logs"), ends.clone());
    let control_plane = ControlPlane::at(&orders.place, orders.parts)?;
    if orders.parts.node {
        Node::prepare()?;
    }
    control_plane.start(&starter, outside.port())?;
    let inside = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
    if orders.parts.node {
        let node = Node {
            place: &orders.place,
            kubeconfig: control_plane.inside(),
            eager: orders.parts.impatient,
        };
        node.start(&starter)?;
        let service = TcpListener::bind((SERVICE, SERVICE_PORT)).map_err(doing("listen for pods"))?;
        forward(service, inside).map_err(doing("start a thread"))?;
    }
    forward(listener, inside).map_err(doing("start a thread"))?;
    say("ready");
    Ok(())
}

/// Only the cluster sees these files, and the kernel removes them with it.
fn in_memory(path: &Path) -> Result<(), Trouble> {
    mount("tmpfs", path, "tmpfs", MountFlags::NOSUID, Some(c"mode=0700"))
        .map_err(doing(format!("mount a tmpfs on {}", path.display())))
}

fn listener() -> io::Result<TcpListener> {
    stdout().try_clone_to_owned().map(TcpListener::from)
}

/// The process that started us reads our standard error; when the read end is closed for any reason, the cluster ends.
fn watch_over_starter(ends: Sender<Ending>) -> io::Result<()> {
    let watch = move || {
        let mut pipe = [PollFd::from_borrowed_fd(stderr(), PollFlags::empty())];
        while let Err(rustix::io::Errno::INTR) = poll(&mut pipe, None) {}
        let _ = ends.send(Ending::Alone);
    };
    let builder = thread::Builder::new().name("watch".into());
    builder.spawn(watch).map(drop)
}
