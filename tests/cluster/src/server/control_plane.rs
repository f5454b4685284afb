//! etcd, kube-apiserver, kube-controller-manager, kube-scheduler: with which arguments, in which order.

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use trainyard_tools::Program;

use super::process::Starter;
use super::{Trouble, doing};
use crate::api::Api;
use crate::parts::Parts;

/// Where the API server listens, inside the cluster's network.
pub const PORT: u16 = 6443;
/// Where pods find it.
pub const ADDRESS: &str = "10.99.0.1";
/// Where pods are told to look for it, and on which port. There is no proxy for Services, so this one is served here.
pub const SERVICE: &str = "10.96.0.1";
/// That port.
pub const SERVICE_PORT: u16 = 443;
/// Where etcd listens.
const ETCD: &str = "http://127.0.0.1:2379";
/// How long the API server may take until it is ready; it takes four seconds on a calm machine.
const PATIENCE: Duration = Duration::from_mins(2);

/// The log of what service accounts have asked for.
pub const AUDIT_LOG: &str = "audit.log";
/// What is in it: who asked for what, of those that tests have made.
const AUDIT: &str = "\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: None, userGroups: ['system:serviceaccounts:kube-system']}
- {level: Metadata, userGroups: ['system:serviceaccounts']}
- {level: None}
";

/// How soon a silent node is declared dead: the kubelet of such a cluster renews its Lease every second. Nodes that a test plays
/// need a Lease too (`Player::renew`).
const MORTAL: [&str; 3] = [
    "--node-monitor-period=1s",
    "--node-monitor-grace-period=12s",
    "--node-eviction-rate=10",
];

/// The feature gate of Kubernetes' own groups.
const GROUPS: &str = "--feature-gates=GenericWorkload=true";

/// How the scheduler with the plugin is told to use it.
const COSCHEDULING: &str = "\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: KUBECONFIG}
profiles:
- schedulerName: coscheduler
  plugins:
    multiPoint: {enabled: [{name: Coscheduling}]}
    queueSort: {enabled: [{name: Coscheduling}], disabled: [{name: '*'}]}
";

/// The files of a control plane.
#[derive(Clone, Debug)]
pub struct ControlPlane<'a> {
    place: &'a Path,
    parts: Parts,
    /// The administrator's. Every user of this machine can reach the port, so the token is secret.
    token: String,
}

impl<'a> ControlPlane<'a> {
    /// One in that directory, of which `state` is the file system in memory.
    pub fn at(place: &'a Path, parts: Parts) -> Result<Self, Trouble> {
        Ok(Self {
            place,
            parts,
            token: token()?,
        })
    }

    /// Starts it and waits until it answers. `outside` is the port by which it is reached from the machine.
    pub fn start(&self, starter: &Starter, outside: u16) -> Result<(), Trouble> {
        let tokens = self.state("tokens.csv");
        Self::write(
            &tokens,
            &format!("{},admin,admin,\"system:masters\"\n", self.token),
        )?;
        Self::write(&self.state("audit.yaml"), AUDIT)?;
        starter.start(Program::Etcd, &self.etcd())?;
        starter.start(Program::Apiserver, &self.apiserver(&tokens))?;
        self.wait_until_ready()?;
        if self.parts.controllers {
            starter.start(Program::ControllerManager, &self.controller_manager())?;
        }
        if self.parts.scheduler {
            starter.start(Program::Scheduler, &self.scheduler())?;
        }
        if self.parts.volcano {
            // They wait for their CRDs, which the test installs.
            starter.start(
                Program::VolcanoScheduler,
                &self.volcano(&["--cache-dumper=false"]),
            )?;
            starter.start(Program::VolcanoControllers, &self.volcano(&[]))?;
        }
        if self.parts.coscheduling {
            let kubeconfig = self.inside();
            let text = COSCHEDULING.replace("KUBECONFIG", &kubeconfig.display().to_string());
            Self::write(&self.state("coscheduling.yaml"), &text)?;
            let arguments = [self.file("config", "coscheduling.yaml"), "--secure-port=0".into()];
            starter.start(Program::Coscheduler, &arguments)?;
        }
        self.write_kubeconfig(&self.place.join("kubeconfig"), outside)
    }

    /// The kubeconfig for what runs inside the cluster's network.
    pub fn inside(&self) -> PathBuf {
        self.state("kubeconfig")
    }

    fn state(&self, name: &str) -> PathBuf {
        self.place.join("state").join(name)
    }

    /// An argument that names a file of the state.
    fn file(&self, flag: &str, name: &str) -> String {
        format!("--{flag}={}", self.state(name).display())
    }

    fn etcd(&self) -> Vec<String> {
        vec![
            self.file("data-dir", "etcd"),
            format!("--listen-client-urls={ETCD}"),
            format!("--advertise-client-urls={ETCD}"),
            "--listen-peer-urls=http://127.0.0.1:2380".into(),
            // It lives in memory and dies with the cluster: there is nothing to be safe from.
            "--unsafe-no-fsync".into(),
            "--log-level=warn".into(),
        ]
    }

    fn apiserver(&self, tokens: &Path) -> Vec<String> {
        let mut arguments = vec![
            format!("--etcd-servers={ETCD}"),
            format!("--secure-port={PORT}"),
            "--bind-address=0.0.0.0".into(),
            // The address of the node, if there is one; it may not be loopback.
            format!("--advertise-address={ADDRESS}"),
            self.file("cert-dir", "pki"),
            // It makes its own certificate before it reads this key, which is the certificate's.
            self.file("service-account-key-file", "pki/apiserver.key"),
            self.file("service-account-signing-key-file", "pki/apiserver.key"),
            "--service-account-issuer=https://kubernetes.default.svc".into(),
            format!("--token-auth-file={}", tokens.display()),
            "--authorization-mode=Node,RBAC".into(),
            // As on OpenShift: setting blockOwnerDeletion needs a right on the owner.
            "--enable-admission-plugins=OwnerReferencesPermissionEnforcement".into(),
            self.file("audit-policy-file", "audit.yaml"),
            format!(
                "--audit-log-path={}",
                self.place.join("logs").join(AUDIT_LOG).display()
            ),
            "--audit-log-maxsize=64".into(),
            "--audit-log-maxbackup=1".into(),
            "--service-cluster-ip-range=10.96.0.0/16".into(),
            "--allow-privileged=true".into(),
            "--kubelet-preferred-address-types=InternalIP".into(),
        ];
        if !self.parts.controllers {
            // Without controllers there are no service accounts for it to require.
            arguments.push("--disable-admission-plugins=ServiceAccount".into());
        }
        if self.parts.groups {
            arguments.push(GROUPS.into());
            arguments.push("--runtime-config=scheduling.k8s.io/v1beta1=true".into());
        }
        arguments
    }

    fn controller_manager(&self) -> Vec<String> {
        let mut arguments = vec![
            self.file("kubeconfig", "kubeconfig"),
            self.file("service-account-private-key-file", "pki/apiserver.key"),
            self.file("root-ca-file", "pki/apiserver.crt"),
            "--use-service-account-credentials=true".into(),
            // What is to be done about a thousand objects is done at once, not for a minute: 20 a second is its default.
            "--kube-api-qps=1000".into(),
            "--kube-api-burst=2000".into(),
            // It would make a folder below /usr.
            self.file("flex-volume-plugin-dir", "flex-volumes"),
            "--leader-elect=false".into(),
            "--secure-port=0".into(),
        ];
        if self.parts.impatient {
            arguments.extend(MORTAL.map(Into::into));
        } else if !self.parts.node {
            // No kubelet renews the leases of nodes that tests play: they would be declared dead after a while.
            arguments.push("--controllers=*,-node-lifecycle-controller".into());
        }
        arguments.extend(self.parts.places_groups.then(|| GROUPS.into()));
        arguments
    }

    fn scheduler(&self) -> Vec<String> {
        let mut arguments = vec![
            self.file("kubeconfig", "kubeconfig"),
            "--leader-elect=false".into(),
            "--secure-port=0".into(),
        ];
        arguments.extend(self.parts.places_groups.then(|| GROUPS.into()));
        arguments
    }

    fn volcano(&self, more: &[&str]) -> Vec<String> {
        let mut arguments = vec![
            self.file("kubeconfig", "kubeconfig"),
            "--leader-elect=false".into(),
        ];
        arguments.extend(more.iter().map(|argument| (*argument).to_owned()));
        arguments
    }

    /// Waits for the certificate that the API server makes, then for its word that it is ready.
    fn wait_until_ready(&self) -> Result<(), Trouble> {
        let deadline = Instant::now() + PATIENCE;
        let mut last = String::from("it has not made its certificate");
        let kubeconfig = self.inside();
        let mut api = None;
        while Instant::now() < deadline {
            // The key is written after it.
            if api.is_none() && self.state("pki/apiserver.key").exists() {
                let authority = self.place.join("ca.crt");
                fs::copy(self.state("pki/apiserver.crt"), &authority).map_err(doing("copy a certificate"))?;
                self.write_kubeconfig(&kubeconfig, PORT)?;
                api = Api::of(&kubeconfig)
                    .map_err(|error| last = error.to_string())
                    .ok();
            }
            if let Some(api) = &api {
                match api.text("/readyz") {
                    Ok(_) => return Ok(()),
                    Err(error) => last = error.to_string(),
                }
            }
            // Its own end is told by the thread that waits for it; there is nothing here but to ask again.
            thread::sleep(Duration::from_millis(20));
        }
        let seconds = PATIENCE.as_secs();
        Err(Trouble(format!(
            "kube-apiserver is not ready after {seconds} s: {last}"
        )))
    }

    /// The certificate is for `localhost`, whatever the port; it is its own authority.
    fn write_kubeconfig(&self, path: &Path, port: u16) -> Result<(), Trouble> {
        let authority = self.place.join("ca.crt");
        let text = format!(
            "apiVersion: v1\n\
             kind: Config\n\
             clusters:\n\
             - name: test\n  cluster:\n    server: https://127.0.0.1:{port}\n    tls-server-name: localhost\n    \
             certificate-authority: {}\n\
             users:\n\
             - name: admin\n  user:\n    token: {}\n\
             contexts:\n\
             - name: test\n  context:\n    cluster: test\n    user: admin\n\
             current-context: test\n",
            authority.display(),
            self.token
        );
        Self::write(path, &text)
    }

    /// Written under another name and renamed, so that a reader sees the whole file or none.
    fn write(path: &Path, text: &str) -> Result<(), Trouble> {
        let part = path.with_extension("part");
        let doing = || doing(format!("write {}", path.display()));
        // Created with mode 0600, so that no other user can read it at any time; a leftover may have another mode.
        let _ = fs::remove_file(&part);
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&part)
            .map_err(doing())?;
        file.write_all(text.as_bytes()).map_err(doing())?;
        fs::rename(&part, path).map_err(doing())
    }
}

/// A random token.
fn token() -> Result<String, Trouble> {
    let mut bytes = [0_u8; 16];
    File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .map_err(doing("read /dev/urandom"))?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}
