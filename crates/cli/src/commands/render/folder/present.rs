//! What is in the folder already, and what becomes of it.
//!
//! The first line of each of our files says for which job it was rendered, and the fingerprint of what is below it. So it is
//! known again wherever the folder is moved, copied or checked out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use super::New;
use crate::commands::render::section::MARK;
use crate::fingerprint::fingerprint;

/// How a file of the folder stands to what is to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Rendered from a job that is rendered again, and as it was.
    Ours,
    /// The same, but somebody has changed it since.
    Changed,
    /// Rendered from another job.
    Of(String),
    /// Somebody else's.
    Foreign,
    /// No file: it could not be replaced when others already were.
    Odd,
}

/// A file of the folder.
pub struct Found {
    pub name: String,
    pub state: State,
    /// A new file has its name, or holds an object of the same kind and name.
    meets: bool,
    /// A new file has its very name.
    replaced: bool,
}

/// The files of the folder that matter.
#[derive(Default)]
pub struct Present(Vec<Found>);

impl Present {
    /// Looks at every file.
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
                _ if !is_file => State::Odd,
                // It is what would be written.
                Some(text) if new.is_some_and(|new| new.text == text) => State::Ours,
                Some(text) => state(&text, &owners),
                None => State::Foreign,
            };
            let rendered = !matches!(state, State::Foreign | State::Odd);
            found.push(Found {
                name: name.to_owned(),
                meets: new.is_some() || rendered && objects.contains(object_of(name)),
                replaced: new.is_some(),
                state,
            });
        }
        found.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(Self(found))
    }

    /// What would be lost although it is not ours, or no longer.
    pub fn in_the_way(&self) -> Vec<&Found> {
        let lost = |found: &&Found| match found.state {
            State::Ours => false,
            State::Changed => true,
            State::Of(_) | State::Foreign | State::Odd => found.meets,
        };
        self.0.iter().filter(lost).collect()
    }

    /// What is in the way and cannot be replaced at all.
    pub fn odd(&self) -> Option<&str> {
        let mut odd = self
            .0
            .iter()
            .filter(|found| found.state == State::Odd && found.meets);
        odd.next().map(|found| found.name.as_str())
    }

    /// The files that go once the new ones are there.
    pub fn gone(&self) -> impl Iterator<Item = &str> {
        let goes = |found: &&Found| match found.state {
            State::Ours | State::Changed => true,
            State::Of(_) => found.meets,
            State::Foreign | State::Odd => false,
        };
        let gone = self.0.iter().filter(goes).filter(|found| !found.replaced);
        gone.map(|found| found.name.as_str())
    }

    /// The other jobs whose files stay.
    pub fn others(&self) -> Vec<String> {
        let stays = self.0.iter().filter(|found| !found.meets);
        let jobs: BTreeSet<&String> = stays
            .filter_map(|found| match &found.state {
                State::Of(job) => Some(job),
                _ => None,
            })
            .collect();
        jobs.into_iter().cloned().collect()
    }
}

/// The text of a file that begins with our mark. What cannot be read is not ours.
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

/// Reads the first line.
fn state(text: &str, owners: &BTreeSet<&str>) -> State {
    let (mark, content) = text.split_once('\n').unwrap_or((text, ""));
    let known = mark
        .strip_prefix(MARK)
        .and_then(|rest| rest.strip_prefix(" from "))
        .and_then(|rest| rest.strip_suffix(')')?.rsplit_once(" ("));
    match known {
        None => State::Foreign,
        Some((job, _)) if !owners.contains(job) => State::Of(job.to_owned()),
        Some((_, kept)) if kept == fingerprint(content.as_bytes()) => State::Ours,
        Some(_) => State::Changed,
    }
}

/// The kind and name in a file's name: what is behind its number.
fn object_of(name: &str) -> &str {
    name.trim_start_matches(|letter: char| letter.is_ascii_digit())
}
