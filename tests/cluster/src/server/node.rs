//! A real node: kubelet, containerd, a network between pods, names for Services.
//!
//! All of it is behind the walls of the cluster, and what it writes outside its own directory (`/run`, `/var/log`, …) goes
//! to file systems in memory that are mounted over those places for the cluster alone. Control groups are the one thing
//! without a wall: they lie below one group, which is removed with the cluster's directory.

pub mod groups;
pub mod image;
mod runtime;
mod walls;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trainyard_tools::Program;

use self::image::Tensorflow;
use super::control_plane::{ADDRESS, PORT};
use super::process::Starter;
use super::{Trouble, doing};
use crate::api::Api;

/// The node's name.
pub const NAME: &str = "node-1";
/// How long it may take to be ready; ten seconds on a busy machine.
const PATIENCE: Duration = Duration::from_mins(2);

/// A node's files.
#[derive(Clone, Debug)]
pub struct Node<'a> {
    /// The cluster's directory.
    pub place: &'a Path,
    /// The kubeconfig for what runs inside the cluster's network.
    pub kubeconfig: PathBuf,
    /// It renews its Lease every second, since it is soon declared dead otherwise.
    pub eager: bool,
}

impl Node<'_> {
    /// Puts up what must be there before the API server starts: it listens on the node's address.
    pub fn prepare() -> Result<(), Trouble> {
        walls::private_places()?;
        walls::kernel_settings()?;
        walls::network()
    }

    /// Starts it and waits until it takes pods.
    pub fn start(&self, starter: &Starter) -> Result<(), Trouble> {
        let group = groups::Group::make(self.place)?;
        let tensorflow = Tensorflow::look()?;
        runtime::start(self, starter, &tensorflow)?;
        self.start_names(starter)?;
        self.start_kubelet(starter, &group)?;
        self.wait_until_ready()
    }

    /// A file of the state, made with its folder.
    fn state(&self, name: &str) -> PathBuf {
        self.place.join("state").join(name)
    }

    fn write(&self, name: &str, text: &str) -> Result<PathBuf, Trouble> {
        let path = self.state(name);
        let written = path
            .parent()
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| fs::write(&path, text));
        written.map_err(doing(format!("write {}", path.display())))?;
        Ok(path)
    }

    fn start_kubelet(&self, starter: &Starter, group: &groups::Group) -> Result<(), Trouble> {
        let config = self.write("kubelet.yaml", &self.kubelet(group).to_string())?;
        let arguments = [
            format!("--config={}", config.display()),
            format!("--kubeconfig={}", self.kubeconfig.display()),
            format!("--hostname-override={NAME}"),
            format!("--node-ip={ADDRESS}"),
            format!("--root-dir={}", self.state("kubelet").display()),
            format!("--cert-dir={}", self.state("kubelet-pki").display()),
        ];
        starter.start(Program::Kubelet, &arguments)
    }

    fn kubelet(&self, group: &groups::Group) -> Value {
        json!({
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "authentication": {"anonymous": {"enabled": true}, "webhook": {"enabled": false}},
            "authorization": {"mode": "AlwaysAllow"},
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": group.path(),
            "clusterDNS": [ADDRESS],
            "clusterDomain": "cluster.local",
            "containerRuntimeEndpoint": format!("unix://{}", runtime::SOCKET),
            "enforceNodeAllocatable": [],
            // Tests fill no disk, and the default thresholds refuse pods on full developers' machines.
            "evictionHard": {"memory.available": "100Mi"},
            "failCgroupV1": false,
            "failSwapOn": false,
            "imageGCHighThresholdPercent": 100,
            "localStorageCapacityIsolation": false,
            // It is renewed when a quarter of it is over.
            "nodeLeaseDurationSeconds": if self.eager { 4 } else { 40 },
            "podLogsDir": "/var/log/pods",
            "resolvConf": "",
            "volumePluginDir": self.state("volume-plugins"),
        })
    }

    /// Names of Services and of pods. A name that is not there yet is asked for again after a second.
    fn start_names(&self, starter: &Starter) -> Result<(), Trouble> {
        let config = self.write(
            "Corefile",
            &format!(
                ".:53 {{\n  bind {ADDRESS}\n  errors\n  cache 1\n  kubernetes cluster.local in-addr.arpa {{\n    \
                 endpoint https://127.0.0.1:{PORT}\n    kubeconfig {} test\n  }}\n}}\n",
                self.kubeconfig.display()
            ),
        )?;
        starter.start(Program::Coredns, &["-conf".into(), config.display().to_string()])
    }

    /// Ready, and without the taint that new nodes have.
    fn wait_until_ready(&self) -> Result<(), Trouble> {
        let api = Api::of(&self.kubeconfig)?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            let seen = api.get(&format!("/api/v1/nodes/{NAME}"));
            if seen.as_ref().is_ok_and(takes_pods) {
                return Ok(());
            }
            if Instant::now() > deadline {
                let seen = seen.map_or_else(|error| error.to_string(), |node| format!("{node:#}"));
                let seconds = PATIENCE.as_secs();
                return Err(Trouble(format!(
                    "the node is not ready after {seconds} s: {seen}"
                )));
            }
            thread::sleep(Duration::from_millis(100));
        }
    }
}

fn takes_pods(node: &Value) -> bool {
    let conditions = node["status"]["conditions"].as_array();
    let ready = |condition: &Value| condition["type"] == "Ready" && condition["status"] == "True";
    conditions.is_some_and(|conditions| conditions.iter().any(ready)) && node["spec"]["taints"].is_null()
}

/// Runs a program that ends by itself; what it printed.
fn run(program: &str, arguments: &[&str]) -> Result<String, Trouble> {
    let line = format!("{program} {}", arguments.join(" "));
    let ended = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output();
    let ended = ended.map_err(doing(format!("run `{line}`")))?;
    if ended.status.success() {
        return Ok(String::from_utf8_lossy(&ended.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&ended.stderr);
    Err(Trouble(format!("`{line}` failed ({}): {said}", ended.status)))
}
