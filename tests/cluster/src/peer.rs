//! Programs that tests run beside ours with `cargo xtask test --peers`: the last release of our own operator, and kube-batch.

use std::env;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use trainyard_tools::{LAST_RELEASE, Missing, PEERS, Program};

use crate::cluster::{Cluster, aloud};
use crate::faulty::{FaultyProxy, GoneApi};

/// The program of the last release, compiled if need be. None, with a line on standard error, unless `cargo xtask test
/// --peers` runs the test: the first time it takes minutes.
#[track_caller]
pub fn last_release() -> Option<&'static Path> {
    static BUILT: OnceLock<Result<PathBuf, Missing>> = OnceLock::new();
    if !are_asked_for("the last release") {
        return None;
    }
    match BUILT.get_or_init(|| LAST_RELEASE.program(&mut aloud)) {
        Ok(program) => Some(program),
        Err(missing) => panic!("{missing}"),
    }
}

/// Whether tests against peers are to run; otherwise says which do not.
pub(crate) fn are_asked_for(peer: &str) -> bool {
    let asked = env::var_os(PEERS).is_some_and(|value| !value.is_empty() && value != "0");
    if !asked {
        aloud(&format!(
            "SKIPPED: tests beside {peer} run with `cargo xtask test --peers`"
        ));
    }
    asked
}

/// kube-batch 0.5.0 asks for these, which Kubernetes has no more.
static GONE: &[GoneApi] = &[
    GoneApi {
        api_version: "policy/v1beta1",
        plural: "poddisruptionbudgets",
        list: "PodDisruptionBudgetList",
    },
    GoneApi {
        api_version: "scheduling.k8s.io/v1beta1",
        plural: "priorityclasses",
        list: "PriorityClassList",
    },
];

/// kube-batch on a cluster, until it is dropped.
pub struct KubeBatch {
    process: Child,
    _proxy: FaultyProxy,
}

impl KubeBatch {
    /// Whether tests with it are to run: `cargo xtask test --peers` runs them. Otherwise says so on standard error.
    #[must_use]
    pub fn is_asked_for() -> bool {
        are_asked_for("kube-batch")
    }

    /// Starts it.
    #[track_caller]
    #[must_use]
    pub fn start(cluster: &Cluster) -> Self {
        let program = trainyard_tools::find(Program::KubeBatch, &mut aloud);
        let program = program.unwrap_or_else(|missing| panic!("{missing}"));
        let place = cluster.place().join("kube-batch.kubeconfig");
        let proxy = FaultyProxy::for_old_program(&cluster.kubeconfig(), place, GONE);
        let log = File::create(cluster.place().join("logs").join("kube-batch.log"));
        let log = log.unwrap_or_else(|error| panic!("no log for kube-batch: {error}"));
        let process = Command::new(program)
            .arg(format!("--master=http://{}", proxy.address()))
            // Its metrics, at any port of this machine alone.
            .args([
                "--priority-class=false",
                "--logtostderr",
                "--listen-address=127.0.0.1:0",
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        Self {
            process: process.unwrap_or_else(|error| panic!("cannot start kube-batch: {error}")),
            _proxy: proxy,
        }
    }
}

impl Drop for KubeBatch {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
