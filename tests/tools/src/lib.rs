//! The programs that our tests need: found on this machine, else built from Go modules, or installed from `PyPI`, once.
//!
//! `cargo xtask` and the cluster tests both ask here, so there is one place that builds them. A program is looked for in
//! `$KUBEBUILDER_ASSETS`, then in a cache outside the tree whose name is made from what is built (`go.mod`, `go.sum`
//! beside this file), and is built into that cache if Go is there. Two processes that build at once share one result: the
//! second waits for a lock. A program is linked under another name and renamed when it is complete, so a half-made one is never
//! used.
//!
//! This crate prints nothing: it reports long builds through the callback of its caller.

mod cache;
mod module;
mod ours;
pub mod packages;
pub mod python;
mod release;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub use cache::Cache;
pub use module::{JOBSET, KUBEFLOW, KUEUE, Module, PLUGINS, VOLCANO};
pub use ours::{root, trainyard, without_package};
pub use release::{LAST_RELEASE, PEERS, Release};

/// The version of Kubernetes that `go.mod` names.
pub const KUBERNETES: &str = "1.37.1";

/// A program that is built from a Go module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// The store of the API server.
    Etcd,
    /// The API server.
    Apiserver,
    /// The command line client.
    Kubectl,
    /// The controllers of Jobs, Services, namespaces and the garbage collector.
    ControllerManager,
    /// Assigns pods to nodes.
    Scheduler,
    /// Runs pods on a node.
    Kubelet,
    /// The names of Services and pods.
    Coredns,
    /// Holds a pod's namespaces open.
    Pause,
    /// Kubeflow's operator, to measure ours against.
    TrainingOperator,
    /// Volcano's scheduler, which places groups.
    VolcanoScheduler,
    /// Volcano's controllers, without which its queues stay closed.
    VolcanoControllers,
    /// A scheduler with the coscheduling plugin.
    Coscheduler,
    /// Kueue's manager.
    Kueue,
    /// kube-batch, which places groups in tests against peers.
    KubeBatch,
}

impl Program {
    /// What its file is called.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::Apiserver => "kube-apiserver",
            Self::Kubectl => "kubectl",
            Self::ControllerManager => "kube-controller-manager",
            Self::Scheduler => "kube-scheduler",
            Self::Kubelet => "kubelet",
            Self::Coredns => "coredns",
            Self::Pause => "pause",
            Self::TrainingOperator => "training-operator",
            Self::VolcanoScheduler => "vc-scheduler",
            Self::VolcanoControllers => "vc-controller-manager",
            Self::Coscheduler => "coscheduler",
            Self::Kueue => "kueue",
            Self::KubeBatch => "kube-batch",
        }
    }

    /// The package that is its `main`.
    const fn package(self) -> &'static str {
        match self {
            Self::Etcd => "go.etcd.io/etcd/server/v3",
            Self::Apiserver => "k8s.io/kubernetes/cmd/kube-apiserver",
            Self::Kubectl => "k8s.io/kubernetes/cmd/kubectl",
            Self::ControllerManager => "k8s.io/kubernetes/cmd/kube-controller-manager",
            Self::Scheduler => "k8s.io/kubernetes/cmd/kube-scheduler",
            Self::Kubelet => "k8s.io/kubernetes/cmd/kubelet",
            Self::Coredns => "./coredns",
            Self::Pause => "./pause",
            Self::TrainingOperator => "github.com/kubeflow/training-operator/cmd/training-operator.v1",
            Self::VolcanoScheduler => "volcano.sh/volcano/cmd/scheduler",
            Self::VolcanoControllers => "volcano.sh/volcano/cmd/controller-manager",
            Self::Coscheduler => "sigs.k8s.io/scheduler-plugins/cmd/scheduler",
            Self::Kueue => "sigs.k8s.io/kueue/cmd/kueue",
            Self::KubeBatch => "github.com/kubernetes-sigs/kube-batch/cmd/kube-batch",
        }
    }

    /// The Go module that it is built in.
    const fn home(self) -> Home {
        match self {
            Self::TrainingOperator => Home::KUBEFLOW,
            Self::VolcanoScheduler | Self::VolcanoControllers => Home::VOLCANO,
            Self::Coscheduler => Home::COSCHEDULING,
            Self::Kueue => Home::KUEUE,
            Self::KubeBatch => Home::KUBE_BATCH,
            _ => Home::KUBERNETES,
        }
    }
}

/// A Go module of ours, in this crate's folder or below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Home {
    /// Its folder, from this crate's.
    folder: &'static str,
    /// What its folder in the cache is called, with the version of what is built.
    name: &'static str,
    version: &'static str,
    /// What is built depends on these files of it.
    files: &'static [&'static str],
}

impl Home {
    /// A cluster.
    const KUBERNETES: Self = Self {
        folder: ".",
        name: "kubernetes",
        version: KUBERNETES,
        files: &["go.mod", "go.sum", "coredns/main.go", "pause/main.go"],
    };
    /// Kubeflow's operator. It wants other versions of Kubernetes' libraries.
    const KUBEFLOW: Self = Self {
        folder: "kubeflow",
        name: "kubeflow",
        version: "1.9.3",
        files: &["go.mod", "go.sum"],
    };
    /// Volcano. It wants other versions of them again.
    const VOLCANO: Self = Self {
        folder: "volcano",
        name: "volcano",
        version: "1.10.0",
        files: &["go.mod", "go.sum"],
    };
    /// Kueue, likewise.
    const KUEUE: Self = Self {
        folder: "kueue",
        name: "kueue",
        version: "0.19.2",
        files: &["go.mod", "go.sum"],
    };
    /// The coscheduling plugin, likewise.
    const COSCHEDULING: Self = Self {
        folder: "coscheduling",
        name: "coscheduling",
        version: "0.33.5",
        files: &["go.mod", "go.sum"],
    };
    /// kube-batch, with libraries of 2019.
    const KUBE_BATCH: Self = Self {
        folder: "kube-batch",
        name: "kube-batch",
        version: "0.5.0",
        files: &["go.mod", "go.sum"],
    };
}

/// A cluster without nodes of its own.
pub const CONTROL_PLANE: [Program; 5] = [
    Program::Etcd,
    Program::Apiserver,
    Program::Kubectl,
    Program::ControllerManager,
    Program::Scheduler,
];

/// What a real node needs beside that.
pub const NODE: [Program; 3] = [Program::Kubelet, Program::Coredns, Program::Pause];

/// What places groups.
pub const GANG: [Program; 3] = [
    Program::VolcanoScheduler,
    Program::VolcanoControllers,
    Program::Coscheduler,
];

/// A program or package that is missing.
#[derive(Debug)]
pub struct Missing {
    /// What was looked for.
    pub what: String,
    /// Why it is not there, and what to do.
    pub why: String,
}

impl fmt::Display for Missing {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} is missing: {}", self.what, self.why)
    }
}

impl std::error::Error for Missing {}

impl Missing {
    fn new(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            why: why.into(),
        }
    }
}

/// Finds the programs, building those that are not there. `tell` gets a line for each that takes long.
pub fn programs(wanted: &[Program], tell: &mut dyn FnMut(&str)) -> Result<Vec<PathBuf>, Missing> {
    wanted.iter().map(|program| find(*program, tell)).collect()
}

/// Finds one program, or builds it.
pub fn find(program: Program, tell: &mut dyn FnMut(&str)) -> Result<PathBuf, Missing> {
    if let Some(given) = given(program) {
        return Ok(given);
    }
    let cache = Cache::of_user(program.home())?;
    if let Some(built) = cache.built(program) {
        return Ok(built);
    }
    if !has_go() {
        return Err(Missing::new(
            program.name(),
            "it is neither in the folder that KUBEBUILDER_ASSETS names nor in the cache, and there is no Go to build \
             it: install Go 1.26 or later, or set KUBEBUILDER_ASSETS",
        ));
    }
    cache.build(program, tell)
}

/// Programs of the user, if `KUBEBUILDER_ASSETS` names their folder; a program that is not there is built all the same.
fn given(program: Program) -> Option<PathBuf> {
    let folder = PathBuf::from(std::env::var_os("KUBEBUILDER_ASSETS")?);
    let file = folder.join(program.name());
    file.is_file().then_some(file)
}

/// Whether Go can be started.
#[must_use]
pub fn has_go() -> bool {
    let mut go = Command::new("go");
    let asked = go
        .arg("version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    asked.is_ok_and(|status| status.success())
}

/// The Go module that names everything built here: this crate's own folder.
fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Go, in that folder or one below it, as everything here starts it.
fn go(below: &str) -> Command {
    let mut go = Command::new("go");
    go.current_dir(folder().join(below))
        .env("CGO_ENABLED", "0")
        // Override the user's flags: the versions are those of go.sum.
        .env("GOFLAGS", "-mod=readonly -buildvcs=false")
        .env("GOWORK", "off")
        .stdin(Stdio::null());
    go
}

/// A file of that folder; part of what the cache's name is made from.
fn read(name: &str) -> Result<Vec<u8>, Missing> {
    let path = folder().join(name);
    fs::read(&path).map_err(|error| Missing::new(path.display().to_string(), error.to_string()))
}
