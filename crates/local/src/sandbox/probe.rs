//! Which namespaces this machine allows, found by making them in a process that is thrown away.
//!
//! Settings do not tell: a kernel may allow a namespace and then refuse every mount in it. The command line asks once
//! per run, before [`outer`](crate::supervisor::outer).

mod cache;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::mount::{MountFlags, mount};
use rustix::process::{WaitOptions, getuid, waitpid};

pub(crate) use self::cache::forget;
use crate::error_chain;
use crate::sandbox::isolation::{Isolation, Namespace, unshare_before_fork, unshare_in_supervisor};
use crate::supervisor::reexec::{PROBE, ourselves};
use crate::system::error::step;
use crate::system::fork::{Forked, fork};

/// What this machine allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probed {
    /// The best set of namespaces that could be made.
    pub isolation: Isolation,
    /// The better ones that could not, and why.
    pub refused: Vec<(Isolation, String)>,
}

impl Probed {
    /// What this isolation leaves open, in a sentence for people; none if nothing survives a run.
    #[must_use]
    pub fn not_covered(&self) -> Option<String> {
        if self.isolation.has(Namespace::Processes) {
            return None;
        }
        let why = self.refused.first().map_or("not tried", |(_, why)| why.as_str());
        Some(format!(
            "process namespaces are not allowed here ({why}): a watchdog process ends what a killed run leaves behind, but \
             not if trainyard, its supervisor and the watchdog are killed at the same moment, and not a process that wiped \
             its environment"
        ))
    }
}

/// `--isolate` was asked for, and no network namespace could be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this machine allows no network namespace ({why}): run without --isolate, or as root")]
pub struct NoNetwork {
    /// What the kernel said.
    pub why: String,
}

/// The same as [`probe`], but takes the best result from the cache if it was found under the same circumstances.
pub fn probe_once(own_network: bool, kept: &Path) -> Result<Probed, NoNetwork> {
    if let Some(isolation) = cache::recall(kept, own_network) {
        return Ok(Probed {
            isolation,
            refused: Vec::new(),
        });
    }
    let probed = probe(own_network)?;
    cache::keep(kept, own_network, probed.isolation);
    Ok(probed)
}

/// Finds the best set of namespaces, with a network namespace if the job is to have a network of its own.
pub fn probe(own_network: bool) -> Result<Probed, NoNetwork> {
    let mut refused = Vec::new();
    for isolation in candidates(getuid().is_root(), own_network) {
        match attempt(isolation) {
            Ok(()) => return Ok(Probed { isolation, refused }),
            Err(why) => refused.push((isolation, why)),
        }
    }
    if own_network {
        let why = refused.into_iter().map(|(_, why)| why).next().unwrap_or_default();
        return Err(NoNetwork { why });
    }
    let isolation = Isolation::NONE;
    Ok(Probed { isolation, refused })
}

/// Best first. Root needs no user namespace, but a root without the rights of one may get them from it.
fn candidates(root: bool, own_network: bool) -> Vec<Isolation> {
    let full = Isolation::of(&[Namespace::Processes, Namespace::Mounts]);
    let mounts = Isolation::of(&[Namespace::Mounts]);
    let mut sets = Vec::new();
    for set in [full, mounts] {
        if root {
            sets.push(set);
        }
        sets.push(set.with(Namespace::Users));
    }
    if own_network {
        sets = sets.into_iter().map(|set| set.with(Namespace::Network)).collect();
    }
    sets
}

fn attempt(isolation: Isolation) -> Result<(), String> {
    let output = Command::new(ourselves())
        .arg0("trainyard")
        .arg(PROBE)
        .arg(isolation.to_string())
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .map_err(|error| format!("cannot start ourselves: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    Err(if why.is_empty() {
        format!("the attempt ended with {}", output.status)
    } else {
        why
    })
}

/// The thrown-away process: makes the namespaces and forks into them.
pub(crate) fn put_up(isolation: &OsString) -> Result<(), u8> {
    let isolation = isolation.to_str().and_then(Isolation::parse).ok_or(2)?;
    unshare_before_fork(isolation).map_err(|error| tell(&error))?;
    let inside = match fork().map_err(|error| tell(&error))? {
        Forked::Child => return move_in(isolation),
        Forked::Parent(inside) => inside,
    };
    let status = waitpid(Some(inside), WaitOptions::empty()).map_err(|error| tell(&error))?;
    let succeeded = status.is_some_and(|(_, status)| status.exit_status() == Some(0));
    if succeeded { Ok(()) } else { Err(1) }
}

/// The forked process: does what a supervisor and its tasks will have to do.
fn move_in(isolation: Isolation) -> Result<(), u8> {
    unshare_in_supervisor(isolation).map_err(|error| tell(&error))?;
    mount("tmpfs", "/tmp", "tmpfs", MountFlags::empty(), None)
        .map_err(step("mount a tmpfs"))
        .map_err(|error| tell(&error))
}

/// Says on standard output, which the asking process reads, what went wrong.
fn tell(error: &dyn std::error::Error) -> u8 {
    let _ = writeln!(io::stdout(), "{}", error_chain(error));
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_isolation_is_tried_first() {
        let names = |root, network| -> Vec<String> {
            candidates(root, network)
                .iter()
                .map(Isolation::to_string)
                .collect()
        };
        assert_eq!(
            names(true, false),
            [
                "processes+mounts",
                "users+processes+mounts",
                "mounts",
                "users+mounts"
            ]
        );
        assert_eq!(
            names(false, true),
            ["users+processes+mounts+network", "users+mounts+network"]
        );
    }

    #[test]
    fn only_a_run_without_a_process_namespace_is_not_covered() {
        let probed = |isolation| Probed {
            isolation,
            refused: vec![(Isolation::NONE, "EPERM".into())],
        };
        assert_eq!(probed(Isolation::of(&[Namespace::Processes])).not_covered(), None);
        let sentence = probed(Isolation::NONE).not_covered().unwrap();
        assert!(sentence.contains("EPERM"), "{sentence}");
    }
}
