//! Waiting until files change, for `trainyard logs -f`.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};

use crate::system::poll::wait_for;

/// Poll interval with inotify: some filesystems report nothing, and a run that is killed
/// changes no file.
const SELDOM: Duration = Duration::from_secs(1);

/// Poll interval without inotify.
const OFTEN: Duration = Duration::from_millis(200);

/// Changes that come close together are handled together.
const TOGETHER: Duration = Duration::from_millis(20);

/// Why waiting ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// Something may have changed.
    Look,
    /// The reader of the output has gone.
    ReaderGone,
}

/// Directories that are watched.
#[derive(Debug)]
pub struct Watch {
    changes: Option<OwnedFd>,
}

impl Watch {
    /// Watches what happens in these directories. Where the system cannot tell, it is looked for now and then.
    #[must_use]
    pub fn over(directories: &[&Path]) -> Self {
        let watch = || -> rustix::io::Result<OwnedFd> {
            let changes = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
            let flags = WatchFlags::CREATE | WatchFlags::MODIFY | WatchFlags::MOVED_TO;
            for directory in directories {
                inotify::add_watch(&changes, *directory, flags)?;
            }
            Ok(changes)
        };
        Self {
            changes: watch().ok(),
        }
    }

    /// Waits until something may have changed, or the reader of `output` has gone.
    pub fn wait(&self, output: impl AsFd) -> io::Result<Woken> {
        let limit = if self.changes.is_some() { SELDOM } else { OFTEN };
        let until = Instant::now() + limit;
        let mut awaited = vec![PollFd::new(&output, PollFlags::empty())];
        awaited.extend(
            self.changes
                .iter()
                .map(|changes| PollFd::new(changes, PollFlags::IN)),
        );
        wait_for(&mut awaited, Some(until))?;
        if awaited[0].revents().intersects(PollFlags::ERR | PollFlags::HUP) {
            return Ok(Woken::ReaderGone);
        }
        let changed = awaited
            .get(1)
            .is_some_and(|changes| !changes.revents().is_empty());
        if changed {
            thread::sleep(TOGETHER);
        }
        self.forget_changes();
        Ok(Woken::Look)
    }

    /// What changed does not matter: everything is looked at.
    fn forget_changes(&self) {
        let mut changes = [0; 4096];
        while let Some(descriptor) = &self.changes {
            match rustix::io::read(descriptor, &mut changes) {
                Ok(1..) => {}
                Ok(0) | Err(_) => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_change_wakes_and_so_does_a_reader_that_goes_away() {
        let directory = tempfile::tempdir().unwrap();
        let (reader, writer) = io::pipe().unwrap();
        let watch = Watch::over(&[directory.path()]);
        assert!(watch.changes.is_some(), "this system tells of changes");
        fs::write(directory.path().join("a"), "x").unwrap();
        assert_eq!(watch.wait(&writer).unwrap(), Woken::Look);
        drop(reader);
        assert_eq!(watch.wait(&writer).unwrap(), Woken::ReaderGone);
    }

    #[test]
    fn without_inotify_it_polls() {
        let (_reader, writer) = io::pipe().unwrap();
        let watch = Watch::over(&[Path::new("/no/such/directory")]);
        assert!(watch.changes.is_none());
        assert_eq!(watch.wait(&writer).unwrap(), Woken::Look);
    }
}
