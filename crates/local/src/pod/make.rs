//! Files and directories that a task needs before it starts: described here, made by [`make`].
//!
//! Preparing a task only writes these lists; [`make`] is the one place that touches the disk, and doing it twice
//! changes nothing: a task that is restarted in place finds its directories as it left them.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::FileType;

use crate::system::private;

/// One thing that must be there before a task starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Make {
    /// A directory, with everything above it; left alone if it is there.
    Directory(PathBuf),
    /// A volume in a directory of ours: every user may write to it, as to a pod's volumes, since a program may become
    /// another user in its namespaces; and none but us reaches it, since the directories above it are closed. It is
    /// left alone if it is there, and they are closed even then.
    Volume {
        /// Its absolute path.
        path: PathBuf,
        /// The directory of ours that it is in, or in one below it.
        within: PathBuf,
    },
    /// A file with exactly this content.
    File {
        /// Its absolute path.
        path: PathBuf,
        /// What it holds.
        content: Arc<[u8]>,
        /// Who may do what with it.
        mode: u32,
    },
    /// An empty file, left alone if it is there.
    EmptyFile(PathBuf),
    /// Something of the machine's own: it must be there already.
    Expect {
        /// Its absolute path.
        path: PathBuf,
        /// What it must be, if that matters.
        what: Option<FileType>,
        /// The volume that needs it.
        volume: Arc<str>,
    },
}

impl Make {
    /// A volume somewhere below a directory of ours.
    pub(super) fn volume(path: &Path, within: &Path) -> Self {
        Self::Volume {
            path: path.to_owned(),
            within: within.to_owned(),
        }
    }
}

/// What is expected at a path, in words.
fn words(what: Option<FileType>) -> &'static str {
    match what {
        Some(FileType::Directory) => "a directory",
        Some(FileType::RegularFile) => "a file",
        Some(FileType::Socket) => "a socket",
        Some(FileType::CharacterDevice) => "a character device",
        Some(FileType::BlockDevice) => "a block device",
        _ => "anything",
    }
}

/// Why something could not be made.
#[derive(Debug, thiserror::Error)]
pub enum CannotMake {
    /// The disk would not have it.
    #[error("cannot make `{path}`")]
    Write {
        /// What was to be made.
        path: PathBuf,
        /// The error of the system call.
        source: io::Error,
    },
    /// It should have been there.
    #[error("volume `{volume}` needs {what} at `{path}`, and there is none; another place: `--volume {volume}=DIR`",
        what = words(*what))]
    Missing {
        /// Where it should be.
        path: PathBuf,
        /// What was expected there.
        what: Option<FileType>,
        /// The volume that needs it.
        volume: Arc<str>,
    },
}

/// Makes what is not there yet, in order.
pub fn make(list: &[Make]) -> Result<(), CannotMake> {
    for one in list {
        let (path, result) = match one {
            Make::Directory(path) => (path, directory(path, 0o755)),
            Make::Volume { path, within } => (path, volume(path, within)),
            Make::File { path, content, mode } => (path, file(path, content, *mode)),
            Make::EmptyFile(path) => (path, empty_file(path)),
            Make::Expect { path, what, volume } => {
                expect(path, *what, volume)?;
                continue;
            }
        };
        result.map_err(|source| CannotMake::Write {
            path: path.clone(),
            source,
        })?;
    }
    Ok(())
}

fn volume(path: &Path, within: &Path) -> io::Result<()> {
    let above: Vec<&Path> = path
        .ancestors()
        .skip(1)
        .take_while(|above| above.starts_with(within))
        .collect();
    for directory in above.into_iter().rev() {
        private::directory(directory)?;
        private::close(directory)?;
    }
    directory(path, 0o777)
}

fn directory(path: &Path, mode: u32) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(above) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o755).create(above)?;
    }
    match fs::create_dir(path) {
        // Another task may have made it in the meantime.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => return Ok(()),
        other => other?,
    }
    fs::set_permissions(path, Permissions::from_mode(mode))
}

fn file(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    if let Some(above) = path.parent() {
        directory(above, 0o755)?;
    }
    // A file without permission to write could not be written a second time.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(content)?;
    file.set_permissions(Permissions::from_mode(mode & 0o777))
}

fn empty_file(path: &Path) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    file(path, b"", 0o644)
}

fn expect(path: &Path, what: Option<FileType>, volume: &Arc<str>) -> Result<(), CannotMake> {
    let found = fs::metadata(path).map(|found| FileType::from_raw_mode(found.mode()));
    if found.is_ok_and(|found| what.is_none_or(|what| what == found)) {
        return Ok(());
    }
    Err(CannotMake::Missing {
        path: path.to_owned(),
        what,
        volume: volume.clone(),
    })
}

/// Removes the directory of one life of a task, with everything in it. What cannot be removed is removed with the run.
pub fn forget(life: &Path) {
    let _ = fs::remove_dir_all(life);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod::testing::Scratch;

    fn file(path: PathBuf, content: &[u8], mode: u32) -> Make {
        Make::File {
            path,
            content: content.into(),
            mode,
        }
    }

    #[test]
    fn making_twice_changes_only_what_files_hold() {
        let scratch = Scratch::new();
        let volume = scratch.path().join("a/b/volume");
        let list = [
            Make::volume(&volume, &scratch.path().join("a")),
            file(volume.join("sub/read-only"), b"1", 0o400),
            Make::EmptyFile(volume.join("empty")),
            Make::Expect {
                path: volume.clone(),
                what: Some(FileType::Directory),
                volume: "v".into(),
            },
        ];
        make(&list).unwrap();
        fs::write(volume.join("left-by-the-task"), "x").unwrap();
        fs::write(volume.join("empty"), "written").unwrap();
        let mut again = list.clone();
        again[1] = file(volume.join("sub/read-only"), b"2", 0o440);
        make(&again).unwrap();
        assert_eq!(fs::read_to_string(volume.join("sub/read-only")).unwrap(), "2");
        assert_eq!(fs::read_to_string(volume.join("empty")).unwrap(), "written");
        assert!(volume.join("left-by-the-task").exists());
        let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(volume.clone()), 0o777);
        assert_eq!(mode(volume.join("sub/read-only")), 0o440);
        forget(&scratch.path().join("a"));
        forget(&scratch.path().join("a"));
        assert!(!scratch.path().join("a").exists());
    }

    #[test]
    fn a_volume_is_open_within_directories_that_are_closed() {
        let scratch = Scratch::new();
        let kept = scratch.path().join("volumes");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let (namespace, volume) = (kept.join("default"), kept.join("default/data"));
        make(&[Make::volume(&volume, &kept)]).unwrap();
        assert_eq!(mode(&volume), 0o777);
        assert_eq!((mode(&kept), mode(&namespace)), (0o700, 0o700));
        // As older releases have left them.
        for directory in [&kept, &namespace] {
            fs::set_permissions(directory, Permissions::from_mode(0o755)).unwrap();
        }
        make(&[Make::volume(&volume, &kept)]).unwrap();
        assert_eq!((mode(&kept), mode(&namespace)), (0o700, 0o700));
    }

    #[test]
    fn what_must_be_there_and_is_not_is_named_with_the_way_out() {
        let scratch = Scratch::new();
        let path = scratch.path().join("data");
        fs::write(&path, "").unwrap();
        let expect = |what| Make::Expect {
            path: path.clone(),
            what,
            volume: "v".into(),
        };
        make(&[expect(None), expect(Some(FileType::RegularFile))]).unwrap();
        let error = make(&[expect(Some(FileType::Directory))])
            .unwrap_err()
            .to_string();
        assert!(error.contains("`v` needs a directory at"), "{error}");
        assert!(error.ends_with("`--volume v=DIR`"), "{error}");
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_an_error() {
        let scratch = Scratch::new();
        fs::write(scratch.path().join("file"), "").unwrap();
        let path = scratch.path().join("file/below");
        let error = make(&[Make::volume(&path, scratch.path())]).unwrap_err();
        assert_eq!(error.to_string(), format!("cannot make `{}`", path.display()));
    }
}
