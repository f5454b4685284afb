//! What tasks learn about this machine: looked at once, before the first of them is prepared.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::thread;

use trainyard_dialect::quantity::Quantity;

/// This machine, as far as tasks are told about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// How many processors may be used.
    pub cpus: u32,
    /// How many bytes of memory it has.
    pub memory: u64,
    /// The environment that we were started with.
    pub environment: BTreeMap<OsString, OsString>,
    /// The text of `/etc/hosts`.
    pub hosts: String,
}

impl Machine {
    /// Looks at the machine and at our own environment.
    #[must_use]
    pub fn look() -> Self {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let info = rustix::system::sysinfo();
        let cpus = thread::available_parallelism().map_or(1, usize::from);
        Self {
            name: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            cpus: u32::try_from(cpus).unwrap_or(u32::MAX),
            memory: info.totalram.saturating_mul(info.mem_unit.into()),
            environment: env::vars_os().collect(),
            hosts: read("/etc/hosts"),
        }
    }

    /// A variable of our own environment.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        self.environment.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// How much of a resource the machine has; what it does not count it has none of.
    pub(super) fn capacity(&self, resource: &str) -> Quantity {
        match resource {
            "cpu" => Quantity::from_milli(1000).times(self.cpus),
            "memory" => {
                let bytes = i64::try_from(self.memory).unwrap_or(i64::MAX);
                Quantity::from_milli(bytes.saturating_mul(1000))
            }
            _ => Quantity::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_has_a_name_processors_and_memory() {
        let machine = Machine::look();
        assert!(machine.cpus > 0 && machine.memory > 0 && !machine.name.is_empty());
        assert!(machine.variable("PATH").is_some());
    }
}
