//! `trainyard operator`, the program as it is shipped, beside a cluster.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use trainyard_manifest::install::Install;
use trainyard_manifest::kinds::Kinds;

use crate::account::Account;
use crate::crds::Crds;
use crate::namespace::Namespace;

/// How long a test waits for what it says.
const PATIENCE: Duration = Duration::from_mins(1);

/// An operator for one namespace, with exactly the rights that `trainyard install` gives it; ends when this is dropped. If
/// a test fails, its log is shown; if the API server denied it a request, the test fails.
pub struct Operator {
    program: PathBuf,
    account: Account,
    /// How it reaches the API server: as its account, or through a proxy.
    kubeconfig: PathBuf,
    namespace: String,
    /// Options beside the usual ones.
    more: Vec<String>,
    log: PathBuf,
    process: Option<Child>,
    /// Whether the test expects denied requests.
    in_vain: bool,
}

impl Operator {
    /// Starts one, and installs our definitions of its kinds first.
    #[track_caller]
    #[must_use]
    pub fn of(namespace: &Namespace<'_>) -> Self {
        Self::with(namespace, &[])
    }

    /// Starts one with these options beside the usual.
    #[track_caller]
    #[must_use]
    pub fn with(namespace: &Namespace<'_>, more: &[&str]) -> Self {
        Self::of_program(namespace, this_version(), more)
    }

    /// Starts the operator of another version, with the definition and the rights of this one.
    #[track_caller]
    #[must_use]
    pub fn of_program(namespace: &Namespace<'_>, program: &Path, more: &[&str]) -> Self {
        let mut operator = Self::new(namespace, program, more);
        operator.start();
        operator
    }

    /// Starts one that reaches the API server through a proxy.
    #[track_caller]
    #[must_use]
    pub fn through(namespace: &Namespace<'_>, kubeconfig: &Path, more: &[&str]) -> Self {
        let mut operator = Self::new(namespace, this_version(), more);
        kubeconfig.clone_into(&mut operator.kubeconfig);
        operator.start();
        operator
    }

    #[track_caller]
    fn new(namespace: &Namespace<'_>, program: &Path, more: &[&str]) -> Self {
        let cluster = namespace.cluster();
        let kinds: Kinds = flag(more, "--kinds");
        for api in kinds.apis() {
            cluster.install(Crds::of(api));
        }
        let install = Install {
            gang: flag(more, "--gang-scheduler-name"),
            kinds,
            tensorboard: more.contains(&"--tensorboard"),
            network_policies: more.contains(&"--network-policies"),
            kueue: more.contains(&"--kueue"),
            ..Install::default()
        };
        let account = Account::of_install(namespace, install);
        Self {
            program: program.to_owned(),
            kubeconfig: account.kubeconfig().to_owned(),
            account,
            namespace: namespace.name().to_owned(),
            more: more.iter().map(|option| (*option).to_owned()).collect(),
            log: cluster
                .place()
                .join("logs")
                .join(format!("operator-{}-{}.log", namespace.name(), count())),
            process: None,
            in_vain: false,
        }
    }

    /// Takes another version of the program from its next start on.
    pub fn use_program(&mut self, program: &Path) {
        program.clone_into(&mut self.program);
    }

    /// Starts it, again if it was killed.
    #[track_caller]
    pub fn start(&mut self) {
        let log = File::options().create(true).append(true).open(&self.log);
        let logs = log.and_then(|log| Ok((log.try_clone()?, log)));
        let (output, errors) =
            logs.unwrap_or_else(|error| panic!("cannot write {}: {error}", self.log.display()));
        let chosen = self.more.iter().any(|option| option.starts_with("--log-format"));
        let format = if chosen { &[][..] } else { &["--log-format=json"] };
        let started = Command::new(&self.program)
            .args(["operator", "--namespace", &self.namespace])
            .args(format)
            .args(&self.more)
            .env("KUBECONFIG", &self.kubeconfig)
            .env("NO_PROXY", "*")
            .stdout(output)
            .stderr(errors)
            .spawn();
        self.process = Some(started.unwrap_or_else(|error| panic!("cannot start the operator: {error}")));
    }

    /// Expects that the API server denies it a request.
    #[must_use]
    pub fn in_vain(mut self) -> Self {
        self.in_vain = true;
        self
    }

    /// Kills it with 9.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            // It may have ended by itself.
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// Tells it to stop, and waits until it has; true if it ended well.
    #[track_caller]
    pub fn stop(&mut self) -> bool {
        let asked = Command::new("kill").arg(self.id().to_string()).status();
        assert!(
            asked.is_ok_and(|asked| asked.success()),
            "cannot stop the operator"
        );
        self.wait() == Some(0)
    }

    /// Waits until it ends by itself; gives its exit code.
    pub fn wait(&mut self) -> Option<i32> {
        self.process.take()?.wait().ok()?.code()
    }

    /// Its service account.
    #[must_use]
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// The number of its process; 0 where there is none.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.as_ref().map_or(0, Child::id)
    }

    /// Waits until it has said something; gives the line.
    #[track_caller]
    pub fn says(&self, words: &str) -> String {
        let begun = Instant::now();
        loop {
            if let Some(line) = self.said().lines().find(|line| line.contains(words)) {
                return line.to_owned();
            }
            assert!(begun.elapsed() < PATIENCE, "the operator never said `{words}`");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// What it has said so far, on either stream: one JSON object per line unless it was told otherwise.
    #[must_use]
    pub fn said(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

#[track_caller]
fn this_version() -> &'static Path {
    trainyard_tools::trainyard().unwrap_or_else(|missing| panic!("{missing}"))
}

/// What its options say about this one.
fn flag<T: FromStr + Default>(more: &[&str], name: &str) -> T {
    let told = |words: &[&str]| (words[0] == name).then(|| words[1].parse().ok());
    more.windows(2).find_map(told).flatten().unwrap_or_default()
}

/// A number that is unique among the operators of this process.
fn count() -> usize {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    COUNT.fetch_add(1, Ordering::Relaxed)
}

impl Drop for Operator {
    fn drop(&mut self) {
        self.kill();
        if thread::panicking() {
            let _ = writeln!(std::io::stderr(), "the operator said:\n{}", self.said());
            return;
        }
        let refused = self.account.refused();
        assert!(
            refused.is_empty() != self.in_vain,
            "the operator asked for what it may not have: {refused:#?}"
        );
    }
}
