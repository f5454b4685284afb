//! Which parts of a cluster are started. The words here are also what the process of a cluster is told.

use std::ffi::OsString;

use trainyard_tools::{NODE, Program};

use crate::server::Trouble;

/// The parts of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each part is there or not")]
pub struct Parts {
    /// kube-controller-manager: Jobs get their pods, owners' objects are collected, namespaces end.
    pub controllers: bool,
    /// kube-scheduler: pods get nodes.
    pub scheduler: bool,
    /// A real node: kubelet, containerd, a network between pods, names for Services. Needs root.
    pub node: bool,
    /// Volcano: its scheduler places groups on nodes that tests play.
    pub volcano: bool,
    /// A scheduler with the coscheduling plugin, likewise.
    pub coscheduling: bool,
    /// Kubernetes' own groups: the feature gate `GenericWorkload` on the API server and its API.
    pub groups: bool,
    /// The same gate on scheduler and controllers, without which they ignore groups.
    pub places_groups: bool,
    /// A node that is silent for some seconds is declared dead, and its pods are evicted; otherwise after most of a minute, or
    /// never where tests play the nodes.
    pub impatient: bool,
}

/// One of the parts.
type Part = fn(&mut Parts) -> &mut bool;

impl Parts {
    /// etcd and kube-apiserver: only the tests write. Pods are admitted without a service account.
    pub const API: Self = Self {
        controllers: false,
        scheduler: false,
        node: false,
        volcano: false,
        coscheduling: false,
        impatient: false,
        groups: false,
        places_groups: false,
    };
    /// That and the controllers; the tests play scheduler and kubelet.
    pub const CONTROL_PLANE: Self = Self {
        controllers: true,
        ..Self::API
    };
    /// An API server and the scheduler; tests play nodes and kubelets.
    pub const SCHEDULER: Self = Self {
        scheduler: true,
        ..Self::API
    };
    /// Everything: pods run.
    pub const NODE: Self = Self {
        controllers: true,
        scheduler: true,
        node: true,
        ..Self::API
    };
    /// The same, with a node that is soon declared dead.
    pub const MORTAL_NODE: Self = Self {
        impatient: true,
        ..Self::NODE
    };
    /// An API server and Volcano.
    pub const VOLCANO: Self = Self {
        volcano: true,
        ..Self::API
    };
    /// An API server and a scheduler with the coscheduling plugin.
    pub const COSCHEDULING: Self = Self {
        coscheduling: true,
        ..Self::API
    };

    /// An API server, controllers and a scheduler that know Kubernetes' own groups.
    pub const NATIVE: Self = Self {
        controllers: true,
        scheduler: true,
        groups: true,
        places_groups: true,
        ..Self::API
    };
    /// The same with a scheduler that ignores groups.
    pub const IGNORED_GROUPS: Self = Self {
        places_groups: false,
        ..Self::NATIVE
    };

    /// The programs that are built from Go modules.
    #[must_use]
    pub fn programs(self) -> Vec<Program> {
        let mut programs = vec![Program::Etcd, Program::Apiserver, Program::Kubectl];
        programs.extend(self.controllers.then_some(Program::ControllerManager));
        programs.extend(self.scheduler.then_some(Program::Scheduler));
        if self.node {
            programs.extend(NODE);
        }
        if self.volcano {
            programs.extend([Program::VolcanoScheduler, Program::VolcanoControllers]);
        }
        programs.extend(self.coscheduling.then_some(Program::Coscheduler));
        programs
    }

    const WORDS: [(&'static str, Part); 8] = [
        ("--controllers", |parts| &mut parts.controllers),
        ("--scheduler", |parts| &mut parts.scheduler),
        ("--kubelet", |parts| &mut parts.node),
        ("--volcano", |parts| &mut parts.volcano),
        ("--coscheduling", |parts| &mut parts.coscheduling),
        ("--impatient", |parts| &mut parts.impatient),
        ("--groups", |parts| &mut parts.groups),
        ("--places-groups", |parts| &mut parts.places_groups),
    ];

    /// The parts as arguments.
    #[must_use]
    pub fn words(mut self) -> Vec<OsString> {
        let set = Self::WORDS.into_iter().filter(|(_, part)| *part(&mut self));
        set.map(|(word, _)| word.into()).collect()
    }

    /// The parts that arguments name.
    pub fn read(words: &[OsString]) -> Result<Self, Trouble> {
        let mut parts = Self::API;
        for given in words {
            let known = Self::WORDS.into_iter().find(|(word, _)| given == word);
            let unknown = || Trouble::new(format!("a cluster has no part `{}`", given.display()));
            let (_, part) = known.ok_or_else(unknown)?;
            *part(&mut parts) = true;
        }
        Ok(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_read_back_from_their_words() {
        for parts in [
            Parts::API,
            Parts::CONTROL_PLANE,
            Parts::SCHEDULER,
            Parts::NODE,
            Parts::MORTAL_NODE,
            Parts::VOLCANO,
            Parts::COSCHEDULING,
            Parts::NATIVE,
            Parts::IGNORED_GROUPS,
        ] {
            assert_eq!(Parts::read(&parts.words()).unwrap(), parts);
        }
        assert!(Parts::read(&["--kublet".into()]).is_err());
    }
}
