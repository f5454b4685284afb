//! The walls around a run, and how they are put up.
//!
//! [`probe`](crate::sandbox::probe) chooses them, [`outer`](crate::supervisor::outer) puts them up around everything it starts from then on,
//! and [`inner`](crate::supervisor::inner) moves in. A wall that stands cannot be taken down again by the process that put it up.

use std::fmt;
use std::fs;
use std::io;
use std::str::FromStr;

use nix::sched::{CloneFlags, unshare};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{getgid, getuid};

use crate::sandbox::netlink::Netlink;

/// One wall between a run and the rest of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wall {
    /// A user namespace: the right to put up the others, for whoever is not root.
    Users,
    /// A pid namespace: when its first process dies, the kernel kills all the others.
    Processes,
    /// A mount namespace: programs find files at other paths, and the machine does not.
    Mounts,
    /// A network namespace with nothing in it but loopback.
    Network,
}

const ALL: [(Wall, &str); 4] = [
    (Wall::Users, "users"),
    (Wall::Processes, "processes"),
    (Wall::Mounts, "mounts"),
    (Wall::Network, "network"),
];

impl Wall {
    fn bit(self) -> u8 {
        1 << self as u8
    }

    fn flag(self) -> CloneFlags {
        match self {
            Self::Users => CloneFlags::CLONE_NEWUSER,
            Self::Processes => CloneFlags::CLONE_NEWPID,
            Self::Mounts => CloneFlags::CLONE_NEWNS,
            Self::Network => CloneFlags::CLONE_NEWNET,
        }
    }
}

/// A set of walls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Walls(u8);

impl Walls {
    /// No wall at all.
    pub const NONE: Self = Self(0);

    /// These walls.
    #[must_use]
    pub fn of(walls: &[Wall]) -> Self {
        Self(walls.iter().fold(0, |set, wall| set | wall.bit()))
    }

    /// These walls and one more.
    #[must_use]
    pub fn with(self, wall: Wall) -> Self {
        Self(self.0 | wall.bit())
    }

    /// Whether the wall is among them.
    #[must_use]
    pub fn has(self, wall: Wall) -> bool {
        self.0 & wall.bit() != 0
    }

    fn each(self) -> impl Iterator<Item = (Wall, &'static str)> {
        ALL.into_iter().filter(move |(wall, _)| self.has(*wall))
    }
}

impl fmt::Display for Walls {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.each().map(|(_, name)| name).collect();
        if names.is_empty() {
            out.write_str("none")
        } else {
            out.write_str(&names.join("+"))
        }
    }
}

/// Text that names no set of walls.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` names no set of namespaces")]
pub struct BadWalls(String);

impl FromStr for Walls {
    type Err = BadWalls;

    fn from_str(text: &str) -> Result<Self, BadWalls> {
        if text == "none" {
            return Ok(Self::NONE);
        }
        text.split('+').try_fold(Self::NONE, |set, part| {
            let wall = ALL.iter().find(|(_, name)| *name == part);
            wall.map(|(wall, _)| set.with(*wall))
                .ok_or_else(|| BadWalls(text.into()))
        })
    }
}

/// A wall that could not be put up.
#[derive(Debug, thiserror::Error)]
#[error("cannot {step}")]
pub struct WallError {
    /// What was being done: "mount /proc".
    pub step: &'static str,
    /// What the kernel said.
    #[source]
    pub source: io::Error,
}

/// Names the step at which an error happened.
pub(crate) fn step<E: Into<io::Error>>(step: &'static str) -> impl FnOnce(E) -> WallError {
    move |source| WallError {
        step,
        source: source.into(),
    }
}

/// Puts up the walls that must stand before the first process behind them is there: those around users and processes.
///
/// The process must have one thread only. It cannot start another one afterwards if [`Wall::Processes`] is among
/// them, and what it starts first is the first process of the new pid namespace.
pub(crate) fn put_up_around(walls: Walls) -> Result<(), WallError> {
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    make(walls, &[Wall::Users, Wall::Processes])?;
    if walls.has(Wall::Users) {
        keep_identity(user, group)?;
    }
    Ok(())
}

/// Puts up the others. The first process does that itself, so that nobody else stands behind them: whoever is the last
/// to leave takes them down, and that takes a while.
pub(crate) fn put_up_inside(walls: Walls) -> Result<(), WallError> {
    make(walls, &[Wall::Mounts, Wall::Network])?;
    if walls.has(Wall::Mounts) {
        mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)
            .map_err(step("make mounts private"))?;
    }
    if walls.has(Wall::Processes) {
        mount_proc()?;
    }
    if walls.has(Wall::Network) {
        let loopback = Netlink::open().and_then(|mut network| network.bring_up_loopback());
        loopback.map_err(step("bring up the loopback interface"))?;
    }
    Ok(())
}

/// Makes those of the namespaces that are among the walls.
fn make(walls: Walls, which: &[Wall]) -> Result<(), WallError> {
    let wanted = which.iter().filter(|wall| walls.has(**wall));
    let flags = wanted.fold(CloneFlags::empty(), |flags, wall| flags | wall.flag());
    if flags.is_empty() {
        return Ok(());
    }
    unshare(flags).map_err(step("make namespaces"))
}

/// Shows the processes of this pid namespace, and no others, under `/proc`.
fn mount_proc() -> Result<(), WallError> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", flags, None).map_err(step("mount /proc"))
}

/// Users and groups keep their numbers: `id` says the same as outside, and new files belong to the real user.
fn keep_identity(user: u32, group: u32) -> Result<(), WallError> {
    let write = |file: &'static str, text: String| fs::write(file, text);
    write("/proc/self/setgroups", "deny".into()).map_err(step("write /proc/self/setgroups"))?;
    write("/proc/self/uid_map", format!("{user} {user} 1")).map_err(step("write /proc/self/uid_map"))?;
    write("/proc/self/gid_map", format!("{group} {group} 1")).map_err(step("write /proc/self/gid_map"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walls_read_back_from_their_names() {
        for (walls, text) in [
            (Walls::NONE, "none"),
            (Walls::of(&[Wall::Mounts]), "mounts"),
            (
                Walls::of(&[Wall::Network, Wall::Users, Wall::Processes, Wall::Mounts]),
                "users+processes+mounts+network",
            ),
        ] {
            assert_eq!(walls.to_string(), text);
            assert_eq!(text.parse::<Walls>().unwrap(), walls);
        }
        for bad in ["", "mounts+", "walls"] {
            assert!(bad.parse::<Walls>().is_err(), "{bad}");
        }
    }
}
