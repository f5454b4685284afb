//! The directory of a cluster, and how it goes away again.
//!
//! It holds the kubeconfig and the logs. `state` in it is a file system in memory that only the cluster's own processes
//! see, so what etcd and containerd write goes with them. The cluster holds a lock on the directory while it runs.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::node::groups;
use super::{Trouble, doing};

/// What names of directories begin with.
const PREFIX: &str = "trainyard-cluster-";
/// A directory that is younger may not be locked yet.
const YOUNG: Duration = Duration::from_mins(1);

/// A cluster's directory, in use while this lives.
#[derive(Debug)]
pub struct Place {
    path: PathBuf,
    _lock: File,
}

impl Place {
    /// A fresh one among temporary files, after removing those that killed clusters have left.
    pub fn fresh() -> Result<Self, Trouble> {
        let temporary = std::env::temp_dir();
        sweep(&temporary);
        for attempt in 0_u32.. {
            let path = temporary.join(format!("{PREFIX}{}-{attempt}", std::process::id()));
            match fs::create_dir(&path) {
                Ok(()) => return Self::lock(path),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(doing(format!("make {}", path.display()))(error)),
            }
        }
        Err(Trouble("there is no free name for a directory".into()))
    }

    /// The directory at that path, made if it is not there; an error if a cluster uses it.
    pub fn at(path: PathBuf) -> Result<Self, Trouble> {
        fs::create_dir_all(&path).map_err(doing(format!("make {}", path.display())))?;
        Self::lock(path)
    }

    fn lock(path: PathBuf) -> Result<Self, Trouble> {
        let refused = |error| doing(format!("use {}", path.display()))(error);
        // The kubeconfig holds the administrator's token.
        fs::set_permissions(&path, Permissions::from_mode(0o700)).map_err(refused)?;
        let lock = File::create(path.join("lock")).map_err(refused)?;
        lock.try_lock()
            .map_err(|_| Trouble(format!("a cluster uses {} already", path.display())))?;
        for folder in ["logs", "state"] {
            fs::create_dir_all(path.join(folder)).map_err(refused)?;
        }
        Ok(Self { path, _lock: lock })
    }

    /// Whether a cluster uses the directory at that path.
    #[must_use]
    pub fn is_used(path: &Path) -> bool {
        let lock = File::options().write(true).open(path.join("lock"));
        lock.is_ok_and(|lock| lock.try_lock().is_err())
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it with everything in it.
    pub fn remove(self) {
        clear(&self.path);
    }
}

/// What a cluster leaves: control groups and its directory. If they cannot be removed, the next cluster's sweep tries again.
fn clear(path: &Path) {
    groups::clear(path);
    let _ = fs::remove_dir_all(path);
}

/// Removes the directories of clusters that are no more.
fn sweep(temporary: &Path) {
    let Ok(entries) = fs::read_dir(temporary) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| name.starts_with(PREFIX)) && is_left(&entry.path()) {
            clear(&entry.path());
        }
    }
}

/// Whether no cluster uses the directory. A directory of another user cannot be opened for writing and is left alone.
fn is_left(path: &Path) -> bool {
    let made = fs::metadata(path).and_then(|data| data.modified());
    let age = made
        .ok()
        .and_then(|made| SystemTime::now().duration_since(made).ok());
    if age.is_none_or(|age| age < YOUNG) {
        return false;
    }
    let lock = File::options().write(true).open(path.join("lock"));
    lock.is_ok_and(|lock| lock.try_lock().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_old_and_unused_directories_are_swept() {
        let temporary = std::env::temp_dir().join(format!("trainyard-sweep-{}", std::process::id()));
        let make = |name: &str| {
            let path = temporary.join(name);
            let place = Place::at(path.clone()).unwrap();
            let long_ago = SystemTime::now() - 2 * YOUNG;
            File::open(&path).unwrap().set_modified(long_ago).unwrap();
            place
        };
        let used = make("trainyard-cluster-used");
        drop(make("trainyard-cluster-left"));
        drop(make("something-else"));
        drop(Place::at(temporary.join("trainyard-cluster-young")).unwrap());
        sweep(&temporary);
        let mut left: Vec<String> = fs::read_dir(&temporary)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(
            left,
            [
                "something-else",
                "trainyard-cluster-used",
                "trainyard-cluster-young"
            ]
        );
        used.remove();
        fs::remove_dir_all(temporary).unwrap();
    }

    #[test]
    fn one_place_serves_one_cluster() {
        let path = std::env::temp_dir().join(format!("trainyard-place-{}", std::process::id()));
        let place = Place::at(path.clone()).unwrap();
        assert!(Place::is_used(&path) && Place::at(path.clone()).is_err());
        place.remove();
        assert!(!Place::is_used(&path));
        assert!(!path.exists());
    }
}
