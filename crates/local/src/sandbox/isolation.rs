//! The namespaces around a run, and how they are made.
//!
//! [`probe`](crate::sandbox::probe) chooses them, [`outer`](crate::supervisor::outer) puts them up around everything it starts from then on,
//! and [`inner`](crate::supervisor::inner) moves in. A process cannot leave a namespace that it has made.

use std::fmt;
use std::fs;

use nix::sched::{CloneFlags, unshare};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{getgid, getuid};

use crate::sandbox::netlink::Netlink;
use crate::system::error::{SystemError, step};
use crate::system::sockets::keep_outside_in_view;

/// A kind of namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Namespace {
    /// A user namespace: gives users other than root the right to make the others.
    Users,
    /// A pid namespace: when its first process dies, the kernel kills all the others.
    Processes,
    /// A mount namespace: programs find files at other paths, and the machine does not.
    Mounts,
    /// A network namespace with nothing in it but loopback.
    Network,
}

/// Every kind, with its name in texts and its flag for the kernel.
const ALL: [(Namespace, &str, CloneFlags); 4] = [
    (Namespace::Users, "users", CloneFlags::CLONE_NEWUSER),
    (Namespace::Processes, "processes", CloneFlags::CLONE_NEWPID),
    (Namespace::Mounts, "mounts", CloneFlags::CLONE_NEWNS),
    (Namespace::Network, "network", CloneFlags::CLONE_NEWNET),
];

impl Namespace {
    fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// The set of namespaces around a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Isolation(u8);

impl Isolation {
    /// No namespace.
    pub const NONE: Self = Self(0);

    /// These namespaces.
    #[must_use]
    pub fn of(namespaces: &[Namespace]) -> Self {
        Self(namespaces.iter().fold(0, |set, namespace| set | namespace.bit()))
    }

    /// These namespaces and one more.
    #[must_use]
    pub fn with(self, namespace: Namespace) -> Self {
        Self(self.0 | namespace.bit())
    }

    /// Whether the namespace is in the set.
    #[must_use]
    pub fn has(self, namespace: Namespace) -> bool {
        self.0 & namespace.bit() != 0
    }

    /// Reads what [`Display`](fmt::Display) writes; none if the text names no set of namespaces.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text == "none" {
            return Some(Self::NONE);
        }
        let named = |part: &str| ALL.iter().find(|(_, name, _)| *name == part);
        text.split('+')
            .try_fold(Self::NONE, |set, part| Some(set.with(named(part)?.0)))
    }

    fn each(self) -> impl Iterator<Item = (Namespace, &'static str, CloneFlags)> {
        ALL.into_iter()
            .filter(move |(namespace, ..)| self.has(*namespace))
    }
}

impl fmt::Display for Isolation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.each().map(|(_, name, _)| name).collect();
        if names.is_empty() {
            out.write_str("none")
        } else {
            out.write_str(&names.join("+"))
        }
    }
}

/// Makes the namespaces that must exist before the supervisor is forked: user and pid.
///
/// The process must have one thread only. It cannot start another one afterwards if [`Namespace::Processes`] is among
/// them, and what it starts first is the first process of the new pid namespace.
pub(crate) fn unshare_before_fork(isolation: Isolation) -> Result<(), SystemError> {
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    make(isolation, &[Namespace::Users, Namespace::Processes])?;
    if isolation.has(Namespace::Users) {
        keep_identity(user, group)?;
    }
    Ok(())
}

/// Makes the others. The supervisor does this itself, so that no other process is in them: the last process
/// to leave tears them down, which takes a while.
pub(crate) fn unshare_in_supervisor(isolation: Isolation) -> Result<(), SystemError> {
    make(isolation, &[Namespace::Mounts, Namespace::Network])?;
    if isolation.has(Namespace::Mounts) {
        mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)
            .map_err(step("make mounts private"))?;
    }
    if isolation.has(Namespace::Processes) {
        // In a user namespace it would show nothing: what processes outside of it have open cannot be read there.
        if !isolation.has(Namespace::Users) {
            keep_outside_in_view();
        }
        mount_proc()?;
    }
    if isolation.has(Namespace::Network) {
        let loopback = Netlink::open().and_then(|mut network| network.bring_up_loopback());
        loopback.map_err(step("bring up the loopback interface"))?;
    }
    Ok(())
}

/// Unshares those of `which` that are in the set.
fn make(isolation: Isolation, which: &[Namespace]) -> Result<(), SystemError> {
    let wanted = isolation
        .each()
        .filter(|(namespace, ..)| which.contains(namespace));
    let flags = wanted.fold(CloneFlags::empty(), |flags, (.., flag)| flags | flag);
    if flags.is_empty() {
        return Ok(());
    }
    unshare(flags).map_err(step("make namespaces"))
}

/// Shows the processes of this pid namespace, and no others, under `/proc`.
fn mount_proc() -> Result<(), SystemError> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", flags, None).map_err(step("mount /proc"))
}

/// Users and groups keep their numbers: `id` says the same as outside, and new files belong to the real user.
fn keep_identity(user: u32, group: u32) -> Result<(), SystemError> {
    fs::write("/proc/self/setgroups", "deny").map_err(step("write /proc/self/setgroups"))?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1")).map_err(step("write /proc/self/uid_map"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1")).map_err(step("write /proc/self/gid_map"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn isolation_reads_back_from_their_names() {
        for (isolation, text) in [
            (Isolation::NONE, "none"),
            (Isolation::of(&[Namespace::Mounts]), "mounts"),
            (
                Isolation::of(&[
                    Namespace::Network,
                    Namespace::Users,
                    Namespace::Processes,
                    Namespace::Mounts,
                ]),
                "users+processes+mounts+network",
            ),
        ] {
            assert_eq!(isolation.to_string(), text);
            assert_eq!(Isolation::parse(text).unwrap(), isolation);
        }
        for bad in ["", "mounts+", "isolation"] {
            assert!(Isolation::parse(bad).is_none(), "{bad}");
        }
    }
}
