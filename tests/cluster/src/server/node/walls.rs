//! What the cluster sees at places of the machine that a node writes to, and the node's own network.

use std::fs;
use std::path::Path;

use rustix::mount::{MountFlags, mount, mount_bind};

use super::super::control_plane::{ADDRESS, SERVICE};
use super::super::{Trouble, doing};
use super::run;

/// Where kubelet, containerd and the network plugins write, whatever they are told.
const PLACES: [&str; 4] = ["/run", "/var/log", "/var/lib/cni", "/var/lib/kubelet"];

/// What a kubelet wants of the kernel, or sets by itself. The kernel is the whole machine's.
const SETTINGS: [(&str, &str); 6] = [
    ("vm/overcommit_memory", "1"),
    ("vm/panic_on_oom", "0"),
    ("kernel/panic", "10"),
    ("kernel/panic_on_oops", "1"),
    ("kernel/keys/root_maxkeys", "1000000"),
    ("kernel/keys/root_maxbytes", "25000000"),
];

/// Mounts memory over the places that a node writes to.
pub fn private_places() -> Result<(), Trouble> {
    for place in PLACES {
        // Two of them are made by every container runtime; as empty directories they may stay.
        fs::create_dir_all(place).map_err(doing(format!("make {place}")))?;
        mount("tmpfs", place, "tmpfs", MountFlags::NOSUID, Some(c"mode=0755"))
            .map_err(doing(format!("mount a tmpfs on {place}")))?;
    }
    Ok(())
}

/// Shows the kubelet the settings that it wants, so that it changes none.
pub fn kernel_settings() -> Result<(), Trouble> {
    for (name, value) in SETTINGS {
        let setting = Path::new("/proc/sys").join(name);
        if !setting.exists() {
            continue;
        }
        let shown = Path::new("/run").join(name.replace('/', "-"));
        fs::write(&shown, format!("{value}\n")).map_err(doing(format!("write {}", shown.display())))?;
        mount_bind(&shown, &setting).map_err(doing(format!("mount over {}", setting.display())))?;
    }
    Ok(())
}

/// The node's interface. A bridge without ports: not every kernel has a device that does nothing.
pub fn network() -> Result<(), Trouble> {
    let address = format!("{ADDRESS}/24");
    let service = format!("{SERVICE}/32");
    let commands: [&[&str]; 5] = [
        &["link", "add", "node0", "type", "bridge"],
        &["address", "add", &address, "dev", "node0"],
        &["address", "add", &service, "dev", "node0"],
        &["link", "set", "node0", "up"],
        // It leads nowhere, but the API server looks for one.
        &["route", "add", "default", "via", "10.99.0.254", "dev", "node0"],
    ];
    for command in commands {
        run("ip", command)?;
    }
    let forward = "/proc/sys/net/ipv4/ip_forward";
    fs::write(forward, "1").map_err(doing(format!("write {forward}")))
}
