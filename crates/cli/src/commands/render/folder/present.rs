//! The existing files of the directory, and what happens to them.
//!
//! The first line of a rendered file names its job and the fingerprint of the rest, so files are recognised even if the
//! directory is moved, copied or checked out elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use super::New;
use crate::commands::render::section::MARK;
use crate::fingerprint::fingerprint;

/// How an existing file relates to the new ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileState {
    /// Rendered from one of these jobs, and unchanged.
    Ours,
    /// Rendered from one of these jobs, and edited since.
    Changed,
    /// Rendered from another job.
    Of(String),
    /// Not rendered.
    Foreign,
    /// Not a file; cannot be replaced.
    Odd,
}

/// An existing file.
pub struct ExistingFile {
    pub name: String,
    pub state: FileState,
    /// A new file has its name, or an object of the same kind and name.
    meets: bool,
    /// A new file has its name.
    replaced: bool,
}

/// The existing files of the directory.
#[derive(Default)]
pub struct Present(Vec<ExistingFile>);

impl Present {
    /// Reads the directory.
    pub fn of(folder: &Path, files: &[New]) -> io::Result<Self> {
        let mut found = Vec::new();
        let names: BTreeMap<&str, &New> = files.iter().map(|new| (new.name.as_str(), new)).collect();
        let objects: BTreeSet<&str> = names.keys().map(|name| object_of(name)).collect();
        let owners: BTreeSet<&str> = files.iter().map(|new| new.owner.as_str()).collect();
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(error),
        };
        for entry in entries {
            let path = entry?.path();
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
                continue;
            };
            let new = names.get(name).copied();
            let is_file = path.symlink_metadata()?.is_file();
            let state = match is_file.then(|| rendered(&path)).flatten() {
                _ if !is_file => FileState::Odd,
                // It equals the new file.
                Some(text) if new.is_some_and(|new| new.text == text) => FileState::Ours,
                Some(text) => state(&text, &owners),
                None => FileState::Foreign,
            };
            let rendered = !matches!(state, FileState::Foreign | FileState::Odd);
            found.push(ExistingFile {
                name: name.to_owned(),
                meets: new.is_some() || rendered && objects.contains(object_of(name)),
                replaced: new.is_some(),
                state,
            });
        }
        found.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(Self(found))
    }

    /// Files that would be lost although they were edited or not rendered from these jobs.
    pub fn in_the_way(&self) -> Vec<&ExistingFile> {
        let lost = |found: &&ExistingFile| match found.state {
            FileState::Ours => false,
            FileState::Changed => true,
            FileState::Of(_) | FileState::Foreign | FileState::Odd => found.meets,
        };
        self.0.iter().filter(lost).collect()
    }

    /// A conflicting entry that is not a file.
    pub fn odd(&self) -> Option<&str> {
        let mut found = self.0.iter();
        let odd = found.find(|found| found.state == FileState::Odd && found.meets);
        odd.map(|found| found.name.as_str())
    }

    /// Files to remove after the new ones have been written.
    pub fn gone(&self) -> impl Iterator<Item = &str> {
        let goes = |found: &&ExistingFile| match found.state {
            FileState::Ours | FileState::Changed => true,
            FileState::Of(_) => found.meets,
            FileState::Foreign | FileState::Odd => false,
        };
        let gone = self.0.iter().filter(goes).filter(|found| !found.replaced);
        gone.map(|found| found.name.as_str())
    }

    /// Other jobs whose files stay.
    pub fn others(&self) -> Vec<String> {
        let stays = self.0.iter().filter(|found| !found.meets);
        let jobs: BTreeSet<&String> = stays
            .filter_map(|found| match &found.state {
                FileState::Of(job) => Some(job),
                _ => None,
            })
            .collect();
        jobs.into_iter().cloned().collect()
    }
}

/// The text of a file that starts with our mark; `None` for others and unreadable ones.
fn rendered(path: &Path) -> Option<String> {
    path.extension().filter(|extension| *extension == "yaml")?;
    let mut file = fs::File::open(path).ok()?;
    let mut bytes = Vec::new();
    let start = io::Read::by_ref(&mut file).take(MARK.len() as u64);
    { start }.read_to_end(&mut bytes).ok()?;
    if bytes != MARK.as_bytes() {
        return None;
    }
    file.read_to_end(&mut bytes).ok()?;
    String::from_utf8(bytes).ok()
}

/// Evaluates the first line.
fn state(text: &str, owners: &BTreeSet<&str>) -> FileState {
    let (mark, content) = text.split_once('\n').unwrap_or((text, ""));
    let known = mark
        .strip_prefix(MARK)
        .and_then(|rest| rest.strip_prefix(" from "))
        .and_then(|rest| rest.strip_suffix(')')?.rsplit_once(" ("));
    match known {
        None => FileState::Foreign,
        Some((job, _)) if !owners.contains(job) => FileState::Of(job.to_owned()),
        Some((_, kept)) if kept == fingerprint(content.as_bytes()) => FileState::Ours,
        Some(_) => FileState::Changed,
    }
}

/// The kind and name in a file's name, without its number.
fn object_of(name: &str) -> &str {
    name.trim_start_matches(|letter: char| letter.is_ascii_digit())
}
