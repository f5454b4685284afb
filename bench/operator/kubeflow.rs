//! Kubeflow's operator, the one that people have today: built from its Go module, started outside a cluster.
//!
//! It requires certificates for a webhook that is not called here. It creates them itself, stores them in a Secret and waits
//! until a kubelet has brought them to a fixed folder: so it is started once before anything is measured, and what it has
//! made is brought there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trainyard_tools::{KUBEFLOW, Program};

use crate::process::Running;
use crate::rig::Rig;
use crate::trouble::Trouble;

/// Where it looks for its certificates; it cannot be told otherwise.
const CERTIFICATES: &str = "/tmp/k8s-webhook-server/serving-certs";
const SECRET: &str = "/api/v1/namespaces/kubeflow/secrets";
const NAME: &str = "training-operator-webhook-cert";
const PATIENCE: Duration = Duration::from_mins(1);

/// How it is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    /// As it is shipped: 20 requests a second, one thread.
    Shipped,
    /// Settings for many jobs.
    Tuned,
}

/// Kubeflow's operator on one API server.
#[derive(Debug)]
pub struct Kubeflow {
    program: PathBuf,
    definition: String,
}

impl Kubeflow {
    /// Gets it, which takes minutes the first time, and prepares the API server for it.
    pub fn prepare(rig: &Rig) -> Result<Self, Trouble> {
        let program = trainyard_tools::find(Program::TrainingOperator, &mut |line| println!("{line}"))?;
        let file = KUBEFLOW
            .folder()?
            .join("manifests/base/crds/kubeflow.org_tfjobs.yaml");
        let peer = Self {
            program,
            definition: fs::read_to_string(file)?,
        };
        let api = rig.cluster.api();
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kubeflow"}});
        api.create("/api/v1/namespaces", &namespace)?;
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": NAME}});
        api.create(SECRET, &secret)?;
        let webhook = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "validator.training-operator.kubeflow.org"},
        });
        let webhooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
        api.create(webhooks, &webhook)?;
        rig.install(&peer.definition)?;
        peer.make_certificates(rig)?;
        Ok(peer)
    }

    /// Its definition of `TFJob`.
    pub fn definition(&self) -> &str {
        &self.definition
    }

    /// Starts it.
    pub fn start(&self, rig: &Rig, set: Set) -> Result<Running, Trouble> {
        Running::start(&mut self.command(rig, set)?)
    }

    fn command(&self, rig: &Rig, set: Set) -> Result<Command, Trouble> {
        let mut command = rig.command(&self.program)?;
        command
            .arg("--enable-scheme=tfjob")
            .arg("--kubeconfig")
            .arg(rig.inside());
        if set == Set::Tuned {
            command.args([
                "--kube-api-qps=10000",
                "--kube-api-burst=10000",
                "--controller-threads=16",
            ]);
        }
        Ok(command)
    }

    fn make_certificates(&self, rig: &Rig) -> Result<(), Trouble> {
        let _running = self.start(rig, Set::Tuned)?;
        let until = Instant::now() + PATIENCE;
        let path = format!("{SECRET}/{NAME}");
        let data = loop {
            let secret = rig.cluster.api().get(&path)?;
            if let Value::Object(data) = &secret["data"] {
                break data.clone();
            }
            if Instant::now() > until {
                return Err(Trouble::new("Kubeflow's operator has made no certificates"));
            }
            std::thread::sleep(Duration::from_millis(100));
        };
        let folder = Path::new(CERTIFICATES);
        fs::create_dir_all(folder)?;
        for (name, value) in data {
            fs::write(folder.join(name), decoded(value.as_str().unwrap_or_default()))?;
        }
        Ok(())
    }
}

impl Drop for Kubeflow {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(CERTIFICATES);
    }
}

/// Base64, as Secrets hold it.
fn decoded(text: &str) -> Vec<u8> {
    let value = |sign: u8| match sign {
        b'A'..=b'Z' => Some(sign - b'A'),
        b'a'..=b'z' => Some(sign - b'a' + 26),
        b'0'..=b'9' => Some(sign - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let signs: Vec<u8> = text.bytes().filter_map(value).collect();
    let mut bytes = Vec::new();
    for four in signs.chunks(4) {
        let bits = four
            .iter()
            .enumerate()
            .fold(0_u32, |bits, (at, sign)| bits | u32::from(*sign) << (18 - 6 * at));
        let [_, three @ ..] = bits.to_be_bytes();
        bytes.extend(three.iter().take(four.len().saturating_sub(1)));
    }
    bytes
}
