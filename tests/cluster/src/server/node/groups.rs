//! The control group of a cluster's pods: made when the node starts, removed with the cluster's directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::super::{Trouble, doing};

/// Where the kernel shows control groups.
const ROOT: &str = "/sys/fs/cgroup";
/// The file of a cluster's directory that names its group.
const NOTE: &str = "control-group";
/// A group whose processes have just been killed may be busy for a moment.
const ATTEMPTS: u32 = 50;

/// A group in every hierarchy.
#[derive(Clone, Debug)]
pub struct Group {
    name: String,
}

impl Group {
    /// Makes it, and notes in the cluster's directory what it is called.
    pub fn make(place: &Path) -> Result<Self, Trouble> {
        let note = place.join(NOTE);
        let number = rustix::fs::stat(place).map(|stat| stat.st_ino);
        let number = number.map_err(doing(format!("look at {}", place.display())))?;
        let group = Self {
            name: format!("trainyard-cluster-{number}"),
        };
        fs::write(&note, &group.name).map_err(doing(format!("write {}", note.display())))?;
        for hierarchy in hierarchies() {
            let path = hierarchy.join(&group.name);
            fs::create_dir_all(&path).map_err(doing(format!("make {}", path.display())))?;
            for setting in ["cpuset.cpus", "cpuset.mems"] {
                inherit(&hierarchy, &path, setting)?;
            }
        }
        Ok(group)
    }

    /// As kubelet is told.
    pub fn path(&self) -> String {
        format!("/{}", self.name)
    }
}

/// In the first version of control groups nothing runs in a group that does not say where.
fn inherit(above: &Path, group: &Path, setting: &str) -> Result<(), Trouble> {
    // In the second version it is inherited, and the root does not have the file.
    let Ok(value) = fs::read_to_string(above.join(setting)) else {
        return Ok(());
    };
    fs::write(group.join(setting), value.trim()).map_err(doing(format!("set {setting}")))
}

/// One for each controller, or one for all.
fn hierarchies() -> Vec<PathBuf> {
    let root = Path::new(ROOT);
    if root.join("cgroup.controllers").exists() {
        return vec![root.to_path_buf()];
    }
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders
        .map(|entry| entry.path())
        .filter(|path| path.join("cgroup.procs").exists())
        .collect()
}

/// Removes the group that a cluster's directory names.
pub fn clear(place: &Path) {
    let Ok(name) = fs::read_to_string(place.join(NOTE)) else {
        return;
    };
    for hierarchy in hierarchies() {
        remove(&hierarchy.join(&name));
    }
}

/// Groups are removed from below; the files in them are the kernel's.
fn remove(group: &Path) {
    let Ok(entries) = fs::read_dir(group) else { return };
    for entry in entries.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove(&entry.path());
        }
    }
    for _ in 0..ATTEMPTS {
        match fs::remove_dir(group) {
            Err(error) if error.kind() == std::io::ErrorKind::ResourceBusy => {
                thread::sleep(Duration::from_millis(20));
            }
            // Gone, or it cannot be removed now: the next cluster's sweep tries again.
            _ => return,
        }
    }
}
