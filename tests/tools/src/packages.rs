//! What a real node needs of the distribution: Debian's packages, installed where we may.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::Missing;
use crate::cache::run;

/// A file of each package, and the package.
const NEEDED: [(&str, &str); 5] = [
    ("/usr/bin/containerd", "containerd"),
    ("/usr/sbin/runc", "runc"),
    ("/usr/lib/cni/bridge", "containernetworking-plugins"),
    ("/sbin/ip", "iproute2"),
    ("/bin/busybox", "busybox-static"),
];

/// The packages that are not there.
#[must_use]
pub fn missing() -> Vec<&'static str> {
    let gone = NEEDED.into_iter().filter(|(file, _)| !Path::new(file).exists());
    gone.map(|(_, package)| package).collect()
}

/// Installs those that are missing; needs root and apt.
pub fn install(tell: &mut dyn FnMut(&str)) -> Result<(), Missing> {
    let wanted = missing();
    if wanted.is_empty() {
        return Ok(());
    }
    tell(&format!("installing {} with apt", wanted.join(", ")));
    let refused = |why: String| Missing::new(wanted.join(", "), why);
    if run(apt(&wanted)).is_err() {
        // The list of packages may be old, or there may be none.
        let mut update = Command::new("apt-get");
        update.args(["-qq", "update"]).stdin(Stdio::null());
        run(update).map_err(refused)?;
        run(apt(&wanted)).map_err(refused)?;
    }
    Ok(())
}

fn apt(packages: &[&str]) -> Command {
    let mut apt = Command::new("apt-get");
    apt.args(["-qq", "install", "--yes", "--no-install-recommends"])
        .args(packages)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null());
    apt
}
