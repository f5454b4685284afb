//! Kueue's manager, for tests with the real one.

use std::fs::{self, File};
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use trainyard_tools::Program;

use crate::cluster::{Cluster, aloud};
use crate::peer::are_asked_for;

/// The manager mounts its certificates over `/etc`, where it insists on finding some, in a mount namespace of its own.
const SCRIPT: &str = r#"
mount -t tmpfs tmpfs "$1" && mkdir "$1/upper" "$1/work" &&
mount -t overlay overlay -o "lowerdir=/etc,upperdir=$1/upper,workdir=$1/work" /etc &&
mkdir -p /etc/kueue/metrics/certs && cp "$2/tls.crt" "$2/tls.key" /etc/kueue/metrics/certs/ && shift 2 && exec "$@"
"#;

/// Kueue's manager, without its webhooks: only the rules of its definitions guard what is written. Ends when this is dropped.
pub struct Kueue {
    process: Child,
    log: PathBuf,
}

impl Kueue {
    /// Whether tests with it are to run: `cargo xtask test --peers` runs them, since it takes minutes to build, and mounts take root. Otherwise
    /// says so on standard error.
    #[must_use]
    pub fn is_asked_for() -> bool {
        if !are_asked_for("Kueue") {
            return false;
        }
        let is_root = rustix::process::geteuid().is_root();
        if !is_root {
            aloud("SKIPPED: tests beside Kueue need root");
        }
        is_root
    }

    /// Starts one that integrates these kinds itself.
    #[track_caller]
    #[must_use]
    pub fn start(cluster: &Cluster, frameworks: &[&str]) -> Self {
        let built = trainyard_tools::find(Program::Kueue, &mut aloud);
        let program = built.unwrap_or_else(|missing| panic!("{missing}"));
        let place = cluster.place().join("kueue");
        must("make a directory", fs::create_dir_all(place.join("over")));
        certificate(&place);
        let config = place.join("config.yaml");
        must(
            "write a configuration",
            fs::write(&config, configuration(&place, frameworks)),
        );
        let log = cluster.place().join("logs").join("kueue.log");
        let output = must("make a log", File::create(&log));
        let errors = must("make a log", output.try_clone());
        let started = Command::new("unshare")
            .args(["--mount", "sh", "-c", SCRIPT, "sh"])
            .args([&place.join("over"), &place, &program])
            .arg(format!("--config={}", config.display()))
            .env("KUBECONFIG", cluster.kubeconfig())
            .env("NO_PROXY", "*")
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .spawn();
        let process = started.unwrap_or_else(|error| panic!("cannot start Kueue: {error}"));
        Self { process, log }
    }
}

/// A certificate that no client asks for, by the program that Go ships.
fn certificate(place: &Path) {
    let root = must("start Go", Command::new("go").args(["env", "GOROOT"]).output());
    let root = String::from_utf8_lossy(&root.stdout).trim().to_owned();
    let made = Command::new("go")
        .args(["run", &format!("{root}/src/crypto/tls/generate_cert.go")])
        .args(["--host", "localhost", "--ecdsa-curve", "P256"])
        .current_dir(place)
        .output();
    let made = must("start Go", made);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    for (from, to) in [("cert.pem", "tls.crt"), ("key.pem", "tls.key")] {
        must("name a certificate", fs::rename(place.join(from), place.join(to)));
    }
}

#[track_caller]
fn must<T>(what: &str, done: io::Result<T>) -> T {
    done.unwrap_or_else(|error| panic!("cannot {what} for Kueue: {error}"))
}

fn configuration(place: &Path, frameworks: &[&str]) -> String {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
    let port = must("find a port", port).port();
    let frameworks: Vec<String> = frameworks.iter().map(|name| format!("\"{name}\"")).collect();
    format!(
        "apiVersion: config.kueue.x-k8s.io/v1beta2\n\
         kind: Configuration\n\
         health: {{healthProbeBindAddress: \"0\"}}\n\
         metrics: {{bindAddress: \"0\"}}\n\
         webhook: {{port: {port}, certDir: {}}}\n\
         leaderElection: {{leaderElect: false}}\n\
         internalCertManagement: {{enable: false}}\n\
         clientConnection: {{qps: 300, burst: 500}}\n\
         featureGates: {{VisibilityOnDemand: false}}\n\
         integrations: {{frameworks: [{}]}}\n",
        place.display(),
        frameworks.join(", ")
    )
}

impl Drop for Kueue {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
        if std::thread::panicking() {
            let said = fs::read_to_string(&self.log).unwrap_or_default();
            let last: Vec<&str> = said.lines().rev().take(30).collect();
            for line in last.iter().rev() {
                aloud(line);
            }
        }
    }
}
