//! A network for each task, joined by a bridge: as pods have it, on one machine.
//!
//! For manifests whose tasks all listen on the same port (why no spelling of addresses mends that:
//! `pod::Network`). [`Bridge::make`] is called once per run by the supervisor; each task's thread
//! [enters](Bridge::enter) its network before it starts anything, and finds there loopback and one interface with the
//! task's address. A network stays when its task is restarted, so neighbour tables stay valid. Nothing of
//! this is seen from outside, and all of it goes with the supervisor.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd};
use std::thread;

use nix::sched::{CloneFlags, setns, unshare};
use trainyard_core::TaskId;

use crate::sandbox::netlink::{Attributes, Netlink, link};
use crate::system::error::{SystemError, step};

/// Numbers of interfaces, chosen by us: those of the kernel depend on what it has loaded.
const BRIDGE: u32 = 1_000;
const INTERFACE: u32 = 1_000;
const FIRST_PORT: u32 = 2_000;

/// Tasks' addresses share their first 16 bits.
const PREFIX: u8 = 16;

/// Where a thread finds the network it is in.
const OWN: &str = "/proc/thread-self/ns/net";

/// The networks of a run's tasks.
#[derive(Debug)]
pub struct Bridge {
    tasks: BTreeMap<TaskId, File>,
    /// The network that the bridge itself is in. No task enters it, but the kernel removes a network that no process
    /// holds, and every cable with it.
    _between: File,
}

impl Bridge {
    /// Makes a network for each task. Needs the right to make network namespaces and to set them up.
    pub fn make(addresses: &BTreeMap<TaskId, Ipv4Addr>) -> Result<Self, SystemError> {
        // A thread of its own, since it changes its network namespace.
        thread::scope(|scope| {
            let made = scope.spawn(|| wire(addresses)).join();
            made.unwrap_or_else(|_| Err(step("wire the tasks")(io::Error::other("the thread failed"))))
        })
    }

    /// Puts the calling thread, and what it starts from now on, into the network of a task.
    pub fn enter(&self, task: &TaskId) -> Result<(), SystemError> {
        let missing = || step("find the task's network")(io::Error::from(io::ErrorKind::NotFound));
        let network = self.tasks.get(task).ok_or_else(missing)?;
        setns(network, CloneFlags::CLONE_NEWNET).map_err(step("enter the task's network"))
    }
}

fn wire(addresses: &BTreeMap<TaskId, Ipv4Addr>) -> Result<Bridge, SystemError> {
    let (between, mut bridge) = network()?;
    bridge
        .create_bridge()
        .map_err(step("make a bridge between the tasks"))?;
    let mut tasks = BTreeMap::new();
    for ((task, address), port) in addresses.iter().zip(FIRST_PORT..) {
        let (network, mut own) = network()?;
        own.bring_up_loopback()
            .map_err(step("bring up a task's loopback interface"))?;
        own.create_pair(*address, port, &between)
            .map_err(step("join a task to the bridge"))?;
        own.add_address(*address)
            .map_err(step("give a task its address"))?;
        bridge
            .plug_in(port)
            .map_err(step("plug a task into the bridge"))?;
        tasks.insert(task.clone(), network);
    }
    Ok(Bridge {
        tasks,
        _between: between,
    })
}

/// A new network, which the calling thread is then in, and a socket to set it up with, wherever the thread is later.
fn network() -> Result<(File, Netlink), SystemError> {
    unshare(CloneFlags::CLONE_NEWNET).map_err(step("make a network namespace"))?;
    let network = File::open(OWN).map_err(step("open a network namespace"))?;
    let socket = Netlink::open().map_err(step("open a netlink socket"))?;
    Ok((network, socket))
}

impl Netlink {
    fn create_bridge(&mut self) -> io::Result<()> {
        let mut attributes = Attributes::default();
        attributes.text(IFLA_IFNAME, "bridge");
        attributes.nest(IFLA_LINKINFO, |info| info.text(IFLA_INFO_KIND, "bridge"));
        self.create(&link(BRIDGE, true), &attributes)
    }

    /// A cable: one end is the task's interface, the other is in the bridge.
    fn create_pair(&mut self, address: Ipv4Addr, port: u32, bridge: &File) -> io::Result<()> {
        let bridge = u32::try_from(bridge.as_fd().as_raw_fd()).map_err(io::Error::other)?;
        let mut attributes = Attributes::default();
        attributes.text(IFLA_IFNAME, "eth0");
        // A locally administered address, made from the task's.
        let [a, b, c, d] = address.octets();
        attributes.bytes(IFLA_ADDRESS, &[0x02, 0, a, b, c, d]);
        attributes.nest(IFLA_LINKINFO, |info| {
            info.text(IFLA_INFO_KIND, "veth");
            info.nest(IFLA_INFO_DATA, |data| {
                data.nest(VETH_INFO_PEER, |peer| {
                    // It can come up only once the other end is there.
                    peer.raw(&link(port, false));
                    peer.text(IFLA_IFNAME, &format!("port{port}"));
                    peer.number(IFLA_NET_NS_FD, bridge);
                });
            });
        });
        self.create(&link(INTERFACE, true), &attributes)
    }

    fn add_address(&mut self, address: Ipv4Addr) -> io::Result<()> {
        let mut attributes = Attributes::default();
        attributes.bytes(IFA_LOCAL, &address.octets());
        attributes.bytes(IFA_ADDRESS, &address.octets());
        self.create_address(INTERFACE, PREFIX, &attributes)
    }

    fn plug_in(&mut self, port: u32) -> io::Result<()> {
        let mut attributes = Attributes::default();
        attributes.number(IFLA_MASTER, BRIDGE);
        self.change(&link(port, true), &attributes)
    }
}

// Names of attributes, as the kernel's headers number them.
const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MASTER: u16 = 10;
const IFLA_LINKINFO: u16 = 18;
const IFLA_NET_NS_FD: u16 = 28;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn tasks_with_a_network_each_listen_on_the_same_port_and_reach_each_other() {
        let (ps, worker) = (TaskId::new("ps", 0), TaskId::new("worker", 0));
        let addresses = BTreeMap::from([
            (ps.clone(), Ipv4Addr::new(10, 77, 0, 2)),
            (worker.clone(), Ipv4Addr::new(10, 77, 0, 3)),
        ]);
        let bridge = match Bridge::make(&addresses) {
            // An ordinary user has the right only within a user namespace, which a test's process cannot enter.
            Err(error) if error.source.kind() == io::ErrorKind::PermissionDenied => return,
            other => other.unwrap(),
        };
        let (ready, is_ready) = mpsc::channel();
        thread::scope(|scope| {
            for (task, greeting) in [(&ps, "ps"), (&worker, "worker")] {
                let (bridge, ready) = (&bridge, ready.clone());
                scope.spawn(move || {
                    bridge.enter(task).unwrap();
                    let listener = TcpListener::bind(("0.0.0.0", 2222)).unwrap();
                    ready.send(()).unwrap();
                    let (mut peer, _) = listener.accept().unwrap();
                    peer.write_all(greeting.as_bytes()).unwrap();
                });
            }
            is_ready.recv().unwrap();
            is_ready.recv().unwrap();
            for (from, to, greeting) in [(&ps, &worker, "worker"), (&worker, &ps, "ps")] {
                let (bridge, address) = (&bridge, addresses[to]);
                scope.spawn(move || {
                    // A second life of the task finds the same network.
                    bridge.enter(from).unwrap();
                    let mut heard = String::new();
                    let mut stream = TcpStream::connect((address, 2222)).unwrap();
                    stream.read_to_string(&mut heard).unwrap();
                    assert_eq!(heard, greeting);
                    assert!(TcpStream::connect(("127.0.0.1", 2223)).is_err());
                });
            }
        });
        assert!(bridge.enter(&TaskId::new("unknown", 0)).is_err());
    }
}
