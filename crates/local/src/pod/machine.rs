//! What tasks learn about this machine: looked at once, before the first of them is prepared. What few tasks ask for is looked
//! at when the first one does.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;
use std::thread;

use rustix::thread::sched_getaffinity;
use trainyard_document::quantity::Quantity;

/// This machine, as far as tasks are told about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// How many processors there are, as TensorFlow counts them.
    pub cpus: u32,
    /// How many may be used, read on first use: a control group may allow fewer.
    pub allowed_cpus: OnceLock<u32>,
    /// How many bytes of memory it has.
    pub memory: u64,
    /// The environment that we were started with.
    pub environment: BTreeMap<OsString, OsString>,
    /// The text of `/etc/hosts`, read on first use.
    pub hosts: OnceLock<String>,
}

impl Machine {
    /// Looks at the machine and at our own environment.
    pub fn look() -> Self {
        let info = rustix::system::sysinfo();
        Self {
            name: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            cpus: cpus(),
            allowed_cpus: OnceLock::new(),
            memory: info.totalram.saturating_mul(info.mem_unit.into()),
            environment: env::vars_os().collect(),
            hosts: OnceLock::new(),
        }
    }

    /// The text of `/etc/hosts`.
    pub(super) fn hosts(&self) -> &str {
        self.hosts
            .get_or_init(|| fs::read_to_string("/etc/hosts").unwrap_or_default())
    }

    /// A variable of our own environment.
    pub fn variable(&self, name: &str) -> Option<&[u8]> {
        self.environment
            .get(OsStr::new(name))
            .map(|value| value.as_bytes())
    }

    /// How much of a resource the machine has; what it does not count it has none of.
    pub(super) fn capacity(&self, resource: &str) -> Quantity {
        match resource {
            "cpu" => Quantity::from_milli(1000).times(*self.allowed_cpus.get_or_init(allowed_cpus)),
            "memory" => {
                let bytes = i64::try_from(self.memory).unwrap_or(i64::MAX);
                Quantity::from_milli(bytes.saturating_mul(1000))
            }
            _ => Quantity::default(),
        }
    }
}

/// One question to the kernel; what a control group allows is half a dozen files, and TensorFlow does not ask for it.
fn cpus() -> u32 {
    // It fails where there are more than the set has room for.
    sched_getaffinity(None).map_or_else(|_| allowed_cpus(), |set| set.count().max(1))
}

fn allowed_cpus() -> u32 {
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    u32::try_from(cpus).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_has_a_name_processors_and_memory() {
        let machine = Machine::look();
        assert!(machine.cpus > 0 && machine.memory > 0 && !machine.name.is_empty());
        assert!(machine.variable("PATH").is_some());
        assert_eq!(
            machine.hosts(),
            fs::read_to_string("/etc/hosts").unwrap_or_default()
        );
    }
}
