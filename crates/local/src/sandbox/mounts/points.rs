//! Mount points on this machine itself: made by a run, used by any number of them, removed by the last.
//!
//! [`Tree`](super::Tree) asks for them where the user's own directories lack one. Removing a directory takes away
//! every mount on it, those of other runs too. So each run holds a shared lock on what it mounts over, and removes only
//! what it can lock for itself alone. What a run makes carries the sticky bit, which no other program gives to such a
//! directory: by it the last run knows that it may remove it, though another run made it, and was perhaps killed.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::fs::{Mode, OFlags, mkdir, open};

use super::failed;
use crate::system::is_at;

/// Another run that removes a mount point takes a moment.
const GLANCE: Duration = Duration::from_millis(5);
/// Longer than that is not waited for it.
const GLANCES: usize = 400;

const STICKY: u32 = 0o1000;
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// The mount points of one run, or of one job of it.
#[derive(Debug, Default)]
pub(super) struct Points(BTreeMap<PathBuf, Point>);

#[derive(Debug, Default)]
struct Point {
    /// Locked for all who mount over it; none for the directories around a mount point.
    held: Option<File>,
    /// A run has made it.
    made: bool,
}

impl Points {
    /// Finds or makes the mount point for a target and holds it. Where nothing may be made: the nearest directory that
    /// there is, and what is missing below it.
    pub(super) fn take(
        &mut self,
        target: &Path,
        directory: bool,
        may_make_in: impl Fn(&Path) -> bool,
    ) -> Result<Option<(PathBuf, PathBuf)>, String> {
        for _ in 0..GLANCES {
            let (nearest, rest) = nearest(target).map_err(failed("its directory cannot be found"))?;
            let missing = !rest.as_os_str().is_empty();
            if missing && !may_make_in(&nearest) {
                return Ok(Some((nearest, rest)));
            }
            let made = self.make(&nearest, &rest, directory);
            match made.and_then(|()| self.hold(&joined(&nearest, &rest))) {
                Ok(true) => return fits(&joined(&nearest, &rest), directory).map(|()| None),
                Ok(false) => {}
                // Another run has removed what we had just found.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(failed("the mount point could not be made")(error)),
            }
            thread::sleep(GLANCE);
        }
        Err(failed("its mount point is just being removed")(
            ErrorKind::ResourceBusy,
        ))
    }

    fn make(&mut self, existing: &Path, rest: &Path, directory: bool) -> io::Result<()> {
        let mut path = existing.to_owned();
        let mut parts = rest.components().peekable();
        while let Some(part) = parts.next() {
            path.push(part);
            match make_marked(&path, directory || parts.peek().is_some()) {
                Ok(()) => self.0.entry(path.clone()).or_default().made = true,
                // Another run was faster. A link that leads nowhere stays what it is.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    if fs::symlink_metadata(&path)?.is_symlink() {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Whether the mount point is held, or need not be.
    fn hold(&mut self, path: &Path) -> io::Result<bool> {
        if self.0.get(path).is_some_and(|point| point.held.is_some()) {
            return Ok(true);
        }
        let found = fs::symlink_metadata(path)?;
        let ours = self.0.get(path).is_some_and(|point| point.made) || is_marked(&found);
        if !ours && !is_empty(path, &found) {
            // No run will remove it.
            return Ok(true);
        }
        let Some(file) = open_same(path)? else {
            return Ok(true);
        };
        match file.try_lock_shared() {
            // A stranger may hold its own directory for as long as it likes.
            Err(TryLockError::WouldBlock) => return Ok(!ours),
            Ok(()) if !is_at(&file, path) => return Ok(false),
            // Where there are no locks, nothing is removed either.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        self.0.entry(path.to_owned()).or_default().held = Some(file);
        for around in path.ancestors() {
            if !fs::symlink_metadata(around).is_ok_and(|found| is_marked(&found)) {
                break;
            }
            self.0.entry(around.to_owned()).or_default().made = true;
        }
        Ok(true)
    }

    /// Lets all of them go, and removes what runs have made if it is empty and no other run uses it.
    pub(super) fn remove(&mut self) {
        // Inner ones first.
        for (path, point) in std::mem::take(&mut self.0).into_iter().rev() {
            let Some(file) = point.held.or_else(|| open_same(&path).ok().flatten()) else {
                continue;
            };
            if !point.made || file.try_lock().is_err() || !is_at(&file, &path) {
                continue;
            }
            let empty_file = file
                .metadata()
                .is_ok_and(|found| found.is_file() && found.len() == 0);
            // A directory that is not empty stays, by the system's own rule.
            let _ = if empty_file {
                fs::remove_file(&path)
            } else {
                fs::remove_dir(&path)
            };
        }
    }
}

/// The nearest ancestor that exists, without symbolic links, and what is missing below it.
fn nearest(target: &Path) -> io::Result<(PathBuf, PathBuf)> {
    for ancestor in target.ancestors() {
        match fs::canonicalize(ancestor) {
            Ok(real) => {
                let rest = target.strip_prefix(ancestor).unwrap_or_else(|_| Path::new(""));
                return Ok((real, rest.to_owned()));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Err(ErrorKind::NotFound.into())
}

/// Without the slash that joining nothing leaves at the end.
fn joined(directory: &Path, rest: &Path) -> PathBuf {
    directory.components().chain(rest.components()).collect()
}

fn fits(point: &Path, directory: bool) -> Result<(), String> {
    let found = fs::metadata(point).map_err(failed("its directory cannot be found"))?;
    match (directory, found.is_dir()) {
        (true, false) => {
            let why = failed("a directory cannot be mounted over a file");
            Err(why(ErrorKind::NotADirectory))
        }
        (false, true) => {
            let why = failed("a file cannot be mounted over a directory");
            Err(why(ErrorKind::IsADirectory))
        }
        _ => Ok(()),
    }
}

fn make_marked(path: &Path, directory: bool) -> io::Result<()> {
    if directory {
        mkdir(path, Mode::from_raw_mode(STICKY | 0o755))?;
    } else {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        open(path, flags, Mode::from_raw_mode(STICKY | 0o644))?;
    }
    Ok(())
}

/// Whether a run has made it.
fn is_marked(found: &Metadata) -> bool {
    found.mode() & (STICKY | WRITABLE_BY_OTHERS) == STICKY
}

fn is_empty(path: &Path, found: &Metadata) -> bool {
    if found.is_dir() {
        fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
    } else {
        found.is_file() && found.len() == 0
    }
}

/// Opens a directory or a file to lock it; none if it is something else, or may not be read.
fn open_same(path: &Path) -> io::Result<Option<File>> {
    let found = fs::symlink_metadata(path)?;
    if !found.is_dir() && !found.is_file() {
        return Ok(None);
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match open(path, flags, Mode::empty()).map_err(io::Error::from) {
        Ok(file) => Ok(Some(file.into())),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn the_nearest_ancestor_is_found_through_links() {
        let directory = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(directory.path()).unwrap();
        fs::create_dir(base.join("real")).unwrap();
        std::os::unix::fs::symlink("real", base.join("link")).unwrap();
        std::os::unix::fs::symlink("nowhere", base.join("dangling")).unwrap();
        for (target, real, rest) in [
            ("link/a/b", "real", "a/b"),
            ("real", "real", ""),
            ("dangling/x", "", "dangling/x"),
        ] {
            let found = nearest(&base.join(target)).unwrap();
            assert_eq!(found, (base.join(real), rest.into()), "{target}");
        }
    }

    fn take(points: &mut Points, target: &Path, directory: bool) {
        let missing = points.take(target, directory, |_| true).unwrap();
        assert_eq!(missing, None, "{}", target.display());
    }

    #[test]
    fn what_another_run_uses_is_left_to_it_and_the_last_removes_it() {
        let temporary = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(temporary.path()).unwrap();
        for (target, directory) in [("around/point", true), ("around/file", false)] {
            let target = base.join(target);
            let (mut first, mut second, mut third) =
                (Points::default(), Points::default(), Points::default());
            take(&mut first, &target, directory);
            take(&mut second, &target, directory);
            first.remove();
            assert!(target.exists(), "the second uses {}", target.display());
            take(&mut third, &target, directory);
            second.remove();
            assert!(target.exists(), "the third uses {}", target.display());
            third.remove();
            assert!(!base.join("around").exists(), "{}", target.display());
        }
    }

    #[test]
    fn what_no_run_has_made_is_never_removed() {
        let temporary = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(temporary.path()).unwrap();
        fs::create_dir(base.join("users")).unwrap();
        File::create_new(base.join("file")).unwrap();
        // As the directory for temporary files is.
        fs::create_dir(base.join("shared")).unwrap();
        fs::set_permissions(base.join("shared"), fs::Permissions::from_mode(0o1777)).unwrap();
        let mut points = Points::default();
        for (name, directory) in [("users", true), ("file", false), ("shared", true)] {
            take(&mut points, &base.join(name), directory);
        }
        points.remove();
        for name in ["users", "file", "shared"] {
            assert!(base.join(name).exists(), "{name}");
        }
    }

    #[test]
    fn runs_that_come_and_go_at_once_always_have_what_they_hold() {
        const RUNS: usize = 4;
        let temporary = tempfile::tempdir().unwrap();
        let target = fs::canonicalize(temporary.path()).unwrap().join("a/b");
        let together = Barrier::new(RUNS);
        thread::scope(|scope| {
            for _ in 0..RUNS {
                scope.spawn(|| {
                    together.wait();
                    for _ in 0..100 {
                        let mut points = Points::default();
                        take(&mut points, &target, true);
                        let held = points.0[&target].held.as_ref().unwrap();
                        assert!(is_at(held, &target));
                        points.remove();
                    }
                });
            }
        });
        assert!(!target.exists());
    }
}
