//! Free ports below the ephemeral range that no other run takes.
//!
//! A task listens only seconds after its port was chosen, so a port is not held by listening on it. Instead a run
//! holds a token for each: an abstract socket named after the port. The kernel frees it however the run dies, and its
//! scope is the network namespace, as that of ports. The supervisor takes the ports, in its own namespaces.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV6, TcpListener};
use std::ops::Range;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::OnceLock;

use rustix::io::Errno;
use rustix::net::sockopt::{set_ipv6_v6only, set_socket_reuseaddr};
use rustix::net::{self, AddressFamily, SocketFlags, SocketType};

use crate::system::proc_file;

const LOWEST: u16 = 20_000;
/// Linux' own default, where `/proc` does not tell.
const EPHEMERAL: u16 = 32_768;

/// Why there is no port.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// Every one is taken.
    #[error("no free port from {} to {}", range.start, range.end.saturating_sub(1))]
    AllTaken {
        /// Where was looked.
        range: Range<u16>,
    },
    /// No token could be taken.
    #[error("cannot take the token of port {port}; a run needs one descriptor per port, see `ulimit -n`")]
    Token {
        /// Of this port.
        port: u16,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// The ports of one run; they stay its own until this is dropped.
#[derive(Debug)]
pub struct Ports {
    allowed: &'static Allowed,
    next: u16,
    tokens: BTreeMap<u16, UnixListener>,
}

impl Ports {
    /// No port yet; where the search begins depends on the run, so that runs seldom meet.
    #[must_use]
    pub fn new(run: &str) -> Self {
        let allowed = allowed();
        let range = &allowed.range;
        let mut hash = DefaultHasher::new();
        run.hash(&mut hash);
        let offset = hash.finish() % u64::from(range.end - range.start);
        Self {
            next: range.start + u16::try_from(offset).unwrap_or_default(),
            allowed,
            tokens: BTreeMap::new(),
        }
    }

    /// A port on which no program listens and that no other run has taken.
    pub fn take(&mut self) -> Result<u16, PortError> {
        let Allowed { range, reserved } = self.allowed;
        for _ in range.clone() {
            let port = self.next;
            self.next = if port + 1 == range.end {
                range.start
            } else {
                port + 1
            };
            if reserved.iter().any(|range| range.contains(&port)) || self.tokens.contains_key(&port) {
                continue;
            }
            let token = token(port).map_err(|source| PortError::Token { port, source })?;
            if let Some(token) = token
                && is_free(port)
            {
                self.tokens.insert(port, token);
                return Ok(port);
            }
        }
        let range = range.clone();
        Err(PortError::AllTaken { range })
    }

    /// Gives a port back that another program turned out to use.
    pub fn give_back(&mut self, port: u16) {
        self.tokens.remove(&port);
    }
}

/// The ports to choose from: below the ephemeral range, without those that are reserved.
#[derive(Debug)]
pub(crate) struct Allowed {
    range: Range<u16>,
    reserved: Vec<Range<u16>>,
}

/// Read once, before the namespaces are made: that takes half the time, since a new `/proc` has nothing cached
/// yet.
pub(crate) fn allowed() -> &'static Allowed {
    static ALLOWED: OnceLock<Allowed> = OnceLock::new();
    ALLOWED.get_or_init(|| {
        let file = |name: &str| proc_file::read(&format!("/proc/sys/net/ipv4/{name}"));
        Allowed {
            range: below(&file("ip_local_port_range")),
            reserved: reserved(&file("ip_local_reserved_ports")),
        }
    })
}

/// The token; none if another run holds it.
fn token(port: u16) -> io::Result<Option<UnixListener>> {
    let name = SocketAddr::from_abstract_name(format!("trainyard-port-{port}"))?;
    match UnixListener::bind_addr(&name) {
        Ok(token) => Ok(Some(token)),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether a task could listen on it now, on every interface as TensorFlow does. One socket asks for both families; a
/// machine without IPv6 is asked for the other one alone.
pub(crate) fn is_free(port: u16) -> bool {
    match listen_everywhere(port) {
        Ok(()) => true,
        Err(Errno::ADDRINUSE | Errno::ACCESS) => false,
        Err(_) => match TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)) {
            Ok(_) => true,
            Err(error) => {
                error.kind() != io::ErrorKind::AddrInUse && error.kind() != io::ErrorKind::PermissionDenied
            }
        },
    }
}

fn listen_everywhere(port: u16) -> Result<(), Errno> {
    let socket = net::socket_with(
        AddressFamily::INET6,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    set_ipv6_v6only(&socket, false)?;
    // As servers do: connections that are just closing do not count.
    set_socket_reuseaddr(&socket, true)?;
    net::bind(&socket, &SocketAddrV6::new(Ipv6Addr::UNSPECIFIED, port, 0, 0))?;
    net::listen(&socket, 1)
}

/// From 20000 to the first ephemeral port; where the ephemeral range begins lower, whatever is free there must do.
fn below(text: &str) -> Range<u16> {
    let first = text
        .split_ascii_whitespace()
        .next()
        .and_then(|word| word.parse().ok());
    match first.unwrap_or(EPHEMERAL) {
        end if end > LOWEST + 1000 => LOWEST..end,
        _ => LOWEST..EPHEMERAL,
    }
}

fn reserved(text: &str) -> Vec<Range<u16>> {
    let one = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse().ok()?..last.parse::<u16>().ok()?.checked_add(1)?)
    };
    text.trim().split(',').filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr as InternetAddress;

    use super::*;

    #[test]
    fn the_range_ends_where_the_ephemeral_one_begins() {
        for (text, expected) in [
            ("32768\t60999\n", 20_000..32_768),
            ("40000 50000", 20_000..40_000),
            ("1024 65535", 20_000..32_768),
            ("", 20_000..32_768),
        ] {
            assert_eq!(below(text), expected, "{text}");
        }
        assert_eq!(reserved("8080,9148-9150\n"), [8080..8081, 9148..9151]);
        assert_eq!(reserved("\n"), []);
    }

    #[test]
    fn a_port_is_free_if_nobody_listens_on_any_address_of_either_family() {
        let mut ports = Ports::new("families");
        let port = ports.take().unwrap();
        assert!(is_free(port));
        let addresses: [InternetAddress; 4] = [
            (Ipv4Addr::LOCALHOST, port).into(),
            (Ipv4Addr::UNSPECIFIED, port).into(),
            (Ipv6Addr::LOCALHOST, port).into(),
            (Ipv6Addr::UNSPECIFIED, port).into(),
        ];
        for address in addresses {
            // A machine may have no IPv6.
            if let Ok(listener) = TcpListener::bind(address) {
                assert!(!is_free(port), "{address}");
                drop(listener);
            }
        }
        assert!(is_free(port));
    }

    #[test]
    fn a_port_somebody_listens_on_is_not_taken_and_a_token_is_kept() {
        let mut ours = Ports::new("a-run");
        let first = ours.take().unwrap();
        let mut same = Ports::new("a-run");
        let second = same.take().unwrap();
        assert_ne!(first, second, "the token of the first run was ignored");
        same.give_back(second);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, second)).unwrap();
        let mut third = Ports::new("a-run");
        let taken = third.take().unwrap();
        assert!(taken != first && taken != second, "{taken}");
        drop((ours, listener));
        let mut again = Ports::new("a-run");
        assert_eq!(again.take().unwrap(), first, "a dropped token is free again");
    }
}
