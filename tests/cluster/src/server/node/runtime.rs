//! containerd: its settings, its images, and what every container gets beside its own.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::super::process::Starter;
use super::super::{Trouble, doing};
use super::image::{self, PAUSE, Tensorflow};
use super::{Node, run};

/// Where it listens: in the `/run` of the cluster alone, where a path cannot be too long for a socket.
pub const SOCKET: &str = "/run/containerd.sock";
/// How long it may take to answer.
const PATIENCE: Duration = Duration::from_mins(1);

/// Starts it and gives it its images.
pub fn start(node: &Node<'_>, starter: &Starter, tensorflow: &Tensorflow) -> Result<(), Trouble> {
    node.write("cni/10-bridge.conflist", &network().to_string())?;
    let base = node.write("container.json", &every_container(tensorflow)?.to_string())?;
    let config = node.write("containerd.toml", &settings(node, &base))?;
    let arguments = ["--config".into(), config.display().to_string()];
    starter.spawn("containerd", Path::new("containerd"), &arguments)?;
    let archives = image::make(&node.state("images"), tensorflow)?;
    wait_until_it_answers()?;
    for archive in archives {
        let archive = archive.display().to_string();
        run(
            "ctr",
            &[
                "--address",
                SOCKET,
                "--namespace",
                "k8s.io",
                "images",
                "import",
                &archive,
            ],
        )?;
    }
    Ok(())
}

fn settings(node: &Node<'_>, base: &Path) -> String {
    let path = |name: &str| node.state(name).display().to_string();
    format!(
        r#"version = 2
root = "{root}"
state = "{state}"
[grpc]
  address = "{SOCKET}"
[plugins."io.containerd.internal.v1.opt"]
  path = "{opt}"
[plugins."io.containerd.grpc.v1.cri"]
  # Some machines do not let us make a process safer from the killer than we are ourselves.
  restrict_oom_score_adj = true
  sandbox_image = "{PAUSE}"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{network}"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    base_runtime_spec = "{base}"
"#,
        root = path("containerd"),
        state = path("containerd-state"),
        opt = path("containerd-opt"),
        network = path("cni"),
        base = base.display(),
    )
}

/// A bridge that all pods are on.
fn network() -> Value {
    json!({
        "cniVersion": "0.4.0", "name": "trainyard",
        "plugins": [{
            "type": "bridge", "bridge": "cni0", "isGateway": true, "hairpinMode": true,
            "ipam": {
                "type": "host-local", "ranges": [[{"subnet": "10.244.0.0/16"}]], "routes": [{"dst": "0.0.0.0/0"}],
            },
        }],
    })
}

/// containerd's own idea of a container, and the parts of this machine that stand for what is in images.
fn every_container(tensorflow: &Tensorflow) -> Result<Value, Trouble> {
    let usual = run("ctr", &["oci", "spec"])?;
    let mut container: Value =
        serde_json::from_str(&usual).map_err(doing("read what `ctr oci spec` says"))?;
    let mounts = container["mounts"].as_array_mut();
    let mounts = mounts.ok_or_else(|| Trouble("`ctr oci spec` names no mounts".into()))?;
    for path in tensorflow.mounts() {
        mounts.push(json!({
            "type": "bind", "source": path, "destination": path, "options": ["rbind", "ro"],
        }));
    }
    Ok(container)
}

fn wait_until_it_answers() -> Result<(), Trouble> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match run("ctr", &["--address", SOCKET, "version"]) {
            Ok(_) => return Ok(()),
            Err(trouble) if Instant::now() > deadline => return Err(trouble),
            Err(_) => thread::sleep(Duration::from_millis(50)),
        }
    }
}
