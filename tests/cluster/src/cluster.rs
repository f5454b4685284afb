//! A cluster as tests use it: how it is started, reached and ended.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::OnceLock;

use rustix::process::{Pid, Signal, kill_process};
use trainyard_tools::packages;

use crate::account::Account;
use crate::api::Api;
use crate::crds::Crds;
use crate::kubectl::Kubectl;
use crate::namespace::Namespace;
use crate::parts::Parts;
use crate::player::Player;
use crate::server::node::image::Tensorflow;
use crate::server::{Trouble, doing};

/// The command by which the process of a cluster is started.
pub const SERVE: &str = "serve";

/// A cluster of its own, which ends when this is dropped or this process ends.
pub struct Cluster {
    parts: Parts,
    process: Child,
    /// The cluster lives as long as this end of the pipe is open.
    lifeline: Option<BufReader<ChildStderr>>,
    place: PathBuf,
    kubectl: Kubectl,
    api: Api,
}

/// The control plane that all tests of this process share; each takes a [`Namespace`] of its own. Tests play scheduler
/// and kubelet by a [`Player`].
#[track_caller]
pub fn shared() -> &'static Cluster {
    static SHARED: OnceLock<Result<Cluster, Trouble>> = OnceLock::new();
    unwrap(SHARED.get_or_init(|| Cluster::try_start(Parts::CONTROL_PLANE)))
}

/// A cluster with a real node that all tests of this process share; pods run. None on a machine that cannot run
/// one, with a line on standard error.
#[track_caller]
pub fn with_node() -> Option<&'static Cluster> {
    static WITH_NODE: OnceLock<Result<Cluster, Trouble>> = OnceLock::new();
    if !rustix::process::getuid().is_root() {
        aloud("SKIPPED: tests with a real node need root, for containers and control groups");
        return None;
    }
    Some(unwrap(WITH_NODE.get_or_init(|| Cluster::try_start(Parts::NODE))))
}

/// A cluster of one test's own with a real node that is soon declared dead when its kubelet is stopped. None where this
/// machine cannot have one.
#[track_caller]
#[must_use]
pub fn with_mortal_node() -> Option<Cluster> {
    if !rustix::process::getuid().is_root() {
        aloud("SKIPPED: tests with a real node need root, for containers and control groups");
        return None;
    }
    Some(Cluster::start(Parts::MORTAL_NODE))
}

/// An API server without controllers that all tests of this process share: nothing but the test changes its objects.
#[track_caller]
pub fn bare() -> &'static Cluster {
    static BARE: OnceLock<Result<Cluster, Trouble>> = OnceLock::new();
    unwrap(BARE.get_or_init(|| Cluster::try_start(Parts::API)))
}

#[track_caller]
fn unwrap(started: &Result<Cluster, Trouble>) -> &Cluster {
    match started {
        Ok(cluster) => cluster,
        Err(trouble) => panic!("there is no cluster to test with: {trouble}"),
    }
}

impl Cluster {
    /// Starts one, or stops the test and says why.
    #[track_caller]
    #[must_use]
    pub fn start(parts: Parts) -> Self {
        match Self::try_start(parts) {
            Ok(cluster) => cluster,
            Err(trouble) => panic!("there is no cluster to test with: {trouble}"),
        }
    }

    /// Starts one and waits until it is ready. Programs that are missing are built first, which can take minutes.
    pub fn try_start(parts: Parts) -> Result<Self, Trouble> {
        prepare(parts)?;
        let mut command = Command::new(program()?);
        command.arg(SERVE).args(parts.words());
        if parts.node {
            command.env(PROGRAM, ours()?);
        }
        let (process, mut lifeline) = spawn(&mut command)?;
        let place = until_ready(&mut lifeline)?;
        let kubeconfig = place.join("kubeconfig");
        let kubectl = trainyard_tools::find(trainyard_tools::Program::Kubectl, &mut aloud);
        Ok(Self {
            parts,
            process,
            lifeline: Some(lifeline),
            kubectl: Kubectl::new(kubectl.map_err(doing("start a cluster"))?, kubeconfig.clone()),
            api: Api::of(&kubeconfig)?,
            place,
        })
    }

    /// The components that it runs.
    #[must_use]
    pub fn parts(&self) -> Parts {
        self.parts
    }

    /// The administrator's kubeconfig. It holds for every process of this machine.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        self.place.join("kubeconfig")
    }

    /// kubectl, as the administrator.
    #[must_use]
    pub fn kubectl(&self) -> &Kubectl {
        &self.kubectl
    }

    /// The API server, as the administrator.
    #[must_use]
    pub fn api(&self) -> &Api {
        &self.api
    }

    /// Writes what scheduler and kubelet would write.
    #[must_use]
    pub fn player(&self) -> Player<'_> {
        Player::new(&self.api)
    }

    /// A new namespace whose name begins so.
    #[track_caller]
    #[must_use]
    pub fn namespace(&self, beginning: &str) -> Namespace<'_> {
        Namespace::create(self, beginning)
    }

    /// Installs CRDs, once per cluster, and waits until they are served.
    #[track_caller]
    pub fn install(&self, crds: Crds) {
        crds.install(self);
    }

    /// What a part of the cluster has logged: `kube-apiserver`, `etcd`.
    #[must_use]
    pub fn log(&self, program: &str) -> String {
        let log = self.place.join("logs").join(format!("{program}.log"));
        fs::read_to_string(log).unwrap_or_default()
    }

    /// A service account that is there.
    #[track_caller]
    #[must_use]
    pub fn account(&self, namespace: &str, name: &str) -> Account {
        Account::of(self, namespace, name)
    }

    /// Where the kubeconfig and the logs are.
    #[must_use]
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// The cluster's outer process.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.process.id()
    }

    /// Sends a signal to one of its programs: a stopped kubelet is a silent node.
    #[track_caller]
    pub fn signal(&self, program: &str, signal: Signal) {
        let found = self.find(program).and_then(Pid::from_raw);
        let Some(found) = found else {
            panic!("the cluster runs no {program}")
        };
        if let Err(error) = kill_process(found, signal) {
            panic!("cannot signal {program}: {error}");
        }
    }

    /// The process of one of its programs, which names the cluster's directory among its arguments.
    fn find(&self, program: &str) -> Option<i32> {
        let place = self.place.display().to_string();
        let ours = |process: &fs::DirEntry| {
            let arguments = fs::read(process.path().join("cmdline")).unwrap_or_default();
            let arguments = String::from_utf8_lossy(&arguments).into_owned();
            let first = arguments.split('\0').next().map(Path::new);
            let name = first.and_then(Path::file_name);
            name.is_some_and(|name| name == program) && arguments.contains(&place)
        };
        let mut processes = fs::read_dir("/proc").ok()?.flatten();
        let found = processes.find(ours)?;
        found.file_name().to_str()?.parse().ok()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.lifeline = None;
        // Its exit code does not matter here, only that it has ended.
        let _ = self.process.wait();
    }
}

/// The environment variable that names our program to the processes inside the cluster's namespaces, which cannot build it.
pub(crate) const PROGRAM: &str = "TRAINYARD_PROGRAM";

/// Our program, for the image of the operator.
pub(crate) fn ours() -> Result<&'static Path, Trouble> {
    trainyard_tools::trainyard().map_err(doing("start a cluster"))
}

/// Gets what a cluster of these parts is made of. What is not there is built or installed, which can take minutes.
pub(crate) fn prepare(parts: Parts) -> Result<(), Trouble> {
    trainyard_tools::programs(&parts.programs(), &mut aloud).map_err(doing("start a cluster"))?;
    if !parts.node {
        return Ok(());
    }
    if !rustix::process::getuid().is_root() {
        return Err(Trouble::new("a node runs as root only"));
    }
    let missing = packages::missing();
    if !missing.is_empty() {
        let packages = missing.join(" ");
        return Err(Trouble::new(format!(
            "a node needs more of the distribution: apt install {packages} (`cargo xtask test` does it)"
        )));
    }
    Tensorflow::ensure(&mut aloud)
}

/// Starts the process of a cluster on a listening socket of ours, so that no other process can take the port in between.
pub(crate) fn spawn(command: &mut Command) -> Result<(Child, BufReader<ChildStderr>), Trouble> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(doing("listen on a port"))?;
    let mut process = command
        .stdin(Stdio::null())
        .stdout(OwnedFd::from(listener))
        .stderr(Stdio::piped())
        .spawn()
        .map_err(doing(format!("start {}", command.get_program().display())))?;
    let lifeline = process.stderr.take().map(BufReader::new);
    lifeline
        .map(|lifeline| (process, lifeline))
        .ok_or_else(|| Trouble::new("the cluster has no standard error"))
}

/// Reads until the cluster says that it is ready; where it is.
pub(crate) fn until_ready(lifeline: &mut impl io::BufRead) -> Result<PathBuf, Trouble> {
    let (mut place, mut said) = (None, String::new());
    for line in lifeline.lines() {
        let line = line.map_err(doing("hear of the cluster"))?;
        match (line.strip_prefix("at "), line.as_str(), &place) {
            (Some(path), _, None) => place = Some(PathBuf::from(path)),
            (_, "ready", Some(place)) => return Ok(place.clone()),
            _ => said = said + &line + "\n",
        }
    }
    Err(Trouble::new(said))
}

/// The program of a cluster: beside the tests, where cargo puts it.
pub(crate) fn program() -> Result<PathBuf, Trouble> {
    let ourselves = std::env::current_exe().map_err(doing("find this program"))?;
    let beside = ourselves
        .ancestors()
        .skip(1)
        .take(2)
        .map(|folder| folder.join("test-cluster"));
    let found = beside.into_iter().find(|file| file.is_file());
    found.ok_or_else(|| {
        Trouble::new("test-cluster is not built: run `cargo build --package trainyard-cluster-tests` first")
    })
}

/// Writes to standard error past the capture of the test framework: a build that takes minutes must not look like a hang.
pub(crate) fn aloud(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}
