//! One file an object in a folder, whole or not at all.
//!
//! Everything is written beside its place first; only when all of it is on the disk are files put there. Files of an earlier
//! rendering of the same job that have no successor are removed: `kubectl apply -f FOLDER` would apply them too. What
//! somebody has changed, and what was rendered for another job, is left alone.

mod present;

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use serde_json::Value;
use trainyard_document::problem::shown;

use self::present::{Found, Present, State};
use super::section::{MARK, Section};
use crate::failure::Failure;
use crate::fingerprint::fingerprint;
use crate::inputs::shown_path;

/// So many files in the way are told.
const MOST_TOLD: usize = 8;

/// A file to write.
pub struct New {
    name: String,
    owner: String,
    text: String,
}

/// What was done.
pub struct Written {
    pub objects: usize,
    /// Jobs that have files in the folder too.
    others: Vec<String>,
}

impl Written {
    /// Whose files were left alone.
    pub fn others(&self) -> Option<String> {
        let jobs: Vec<String> = self
            .others
            .iter()
            .map(|job| format!("`{}`", shown(job)))
            .collect();
        (!jobs.is_empty()).then(|| format!("left alone there: the files of {}", jobs.join(", ")))
    }
}

/// Writes the files.
pub fn write(folder: &Path, sections: &[Section], force: bool) -> Result<Written, Failure> {
    let files = files(sections);
    let failed = |path: &Path| {
        let path = shown_path(path);
        move |cause| Failure::File { path, cause }
    };
    if folder.exists() && !folder.is_dir() {
        let message = format!(
            "`{}` is a file, and one file an object needs a folder",
            shown_path(folder)
        );
        return Err(Failure::usage(
            message,
            Some("`-o -` writes everything to standard output".into()),
        ));
    }
    let present = Present::of(folder, &files).map_err(failed(folder))?;
    if let Some(name) = present.odd() {
        let message = format!(
            "`{name}` is in the way in `{}`, and is not a file",
            shown_path(folder)
        );
        let hint = "remove it, or choose another folder with `-o`";
        return Err(Failure::usage(message, Some(hint.into())));
    }
    if !force {
        check(folder, &present)?;
    }
    let is_new = !folder.exists();
    fs::create_dir_all(folder).map_err(failed(folder))?;
    let stage = folder.join(format!(".trainyard-{}", std::process::id()));
    if let Err(cause) = put(folder, &stage, &files) {
        let _ = fs::remove_dir_all(&stage);
        if is_new {
            let _ = fs::remove_dir(folder);
        }
        return Err(failed(folder)(cause));
    }
    for name in present.gone() {
        let path = folder.join(name);
        fs::remove_file(&path).map_err(failed(&path))?;
    }
    Ok(Written {
        objects: files.len(),
        others: present.others(),
    })
}

/// Whether nothing would be lost that is not ours to lose.
fn check(folder: &Path, present: &Present) -> Result<(), Failure> {
    let in_the_way = present.in_the_way();
    if in_the_way.is_empty() {
        return Ok(());
    }
    let told = |found: &&Found| {
        let path = &found.name;
        match &found.state {
            State::Changed => format!("`{path}` has been changed since it was written"),
            State::Of(job) => format!("`{path}` was rendered from another job, `{}`", shown(job)),
            State::Ours | State::Foreign | State::Odd => {
                format!("`{path}` is there already, and was not written by this command")
            }
        }
    };
    let mut lines: Vec<String> = in_the_way.iter().take(MOST_TOLD).map(told).collect();
    if let Some(more) = in_the_way.len().checked_sub(MOST_TOLD).filter(|more| *more > 0) {
        lines.push(format!("and {more} more"));
    }
    let them = if in_the_way.len() == 1 { "it" } else { "them" };
    let hint = format!("`--force` replaces {them}; another folder keeps both");
    let message = format!(
        "something in `{}` would be lost:\n  {}",
        shown_path(folder),
        lines.join("\n  ")
    );
    Err(Failure::usage(message, Some(hint)))
}

/// All on the disk, then all in their places.
fn put(folder: &Path, stage: &Path, files: &[New]) -> io::Result<()> {
    fs::create_dir(stage)?;
    for New { name, text, .. } in files {
        let mut file = fs::File::create(stage.join(name))?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
    }
    for New { name, .. } in files {
        fs::rename(stage.join(name), folder.join(name))?;
    }
    fs::remove_dir(stage)
}

/// Names that sort in the order to apply them, and texts that begin with whose they are and how they are known.
fn files(sections: &[Section]) -> Vec<New> {
    let documents: Vec<(&Section, &Value, String)> = sections
        .iter()
        .flat_map(|section| {
            let documents = section.objects.iter().zip(section.documents());
            documents.map(move |(object, text)| (section, object, text))
        })
        .collect();
    let digits = documents.len().to_string().len().max(2);
    let file = |(position, (section, object, text)): (usize, (&Section, &Value, String))| {
        let name = format!(
            "{:0digits$}-{}-{}.yaml",
            position + 1,
            word(&object["kind"]),
            word(&object["metadata"]["name"])
        );
        // The line above says by whom; the rest of the comment goes on.
        let text = match text.strip_prefix(&format!("{MARK}: ")) {
            Some(rest) => format!("# {rest}"),
            None => text,
        };
        let owner = section.owner.clone();
        let mark = format!("{MARK} from {owner} ({})\n", fingerprint(text.as_bytes()));
        New {
            name,
            owner,
            text: mark + &text,
        }
    };
    documents.into_iter().enumerate().map(file).collect()
}

/// A name as a part of a file's.
fn word(value: &Value) -> String {
    let text = value.as_str().unwrap_or_default().to_lowercase();
    let plain = |letter: char| {
        if letter.is_ascii_alphanumeric() || letter == '.' {
            letter
        } else {
            '-'
        }
    };
    text.chars().map(plain).collect()
}
