//! One file an object in a folder, whole or not at all.
//!
//! Everything is written beside its place first; only when all of it is on the disk are files put there. Files of an earlier
//! rendering that have no successor are removed: `kubectl apply -f FOLDER` would apply them too.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::section::{MARK, Section};
use crate::failure::Failure;
use crate::inputs::shown_path;

/// Writes the files; how many there are.
pub fn write(folder: &Path, sections: &[Section], force: bool) -> Result<usize, Failure> {
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
    let Present { ours, foreign, odd } = present(folder, &files).map_err(failed(folder))?;
    if let Some(name) = odd.first() {
        let path = shown_path(&folder.join(name));
        let message = format!("`{path}` is in the way, and is not a file");
        let hint = "remove it, or choose another folder with `-o`";
        return Err(Failure::usage(message, Some(hint.into())));
    }
    if let Some(name) = foreign.first().filter(|_| !force) {
        let path = shown_path(&folder.join(name));
        let message = format!("`{path}` is there already, and was not written by this command");
        return Err(Failure::usage(message, Some("`--force` replaces it".into())));
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
    for name in ours
        .iter()
        .filter(|name| files.iter().all(|(new, _)| new != *name))
    {
        let path = folder.join(name);
        fs::remove_file(&path).map_err(failed(&path))?;
    }
    Ok(files.len())
}

/// All on the disk, then all in their places.
fn put(folder: &Path, stage: &Path, files: &[(String, String)]) -> io::Result<()> {
    fs::create_dir(stage)?;
    for (name, text) in files {
        let mut file = fs::File::create(stage.join(name))?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
    }
    for (name, _) in files {
        fs::rename(stage.join(name), folder.join(name))?;
    }
    fs::remove_dir(stage)
}

/// Names that sort in the order to apply them, and texts that begin with our mark.
fn files(sections: &[Section]) -> Vec<(String, String)> {
    let documents: Vec<(&Value, String)> = sections
        .iter()
        .flat_map(|section| section.objects.iter().zip(section.documents()))
        .collect();
    let digits = documents.len().to_string().len().max(2);
    let file = |(position, (object, text)): (usize, (&Value, String))| {
        let word = |value: &Value| {
            let text = value.as_str().unwrap_or_default().to_lowercase();
            let plain = |letter: char| {
                if letter.is_ascii_alphanumeric() || letter == '.' {
                    letter
                } else {
                    '-'
                }
            };
            text.chars().map(plain).collect::<String>()
        };
        let name = format!(
            "{:0digits$}-{}-{}.yaml",
            position + 1,
            word(&object["kind"]),
            word(&object["metadata"]["name"])
        );
        let text = if text.starts_with(MARK) {
            text
        } else {
            format!("{MARK}.\n{text}")
        };
        (name, text)
    };
    documents.into_iter().enumerate().map(file).collect()
}

/// What is in the folder already.
#[derive(Default)]
struct Present {
    /// Our own files.
    ours: Vec<String>,
    /// Files in the way that are not ours.
    foreign: Vec<String>,
    /// What is in the way and no file: it could not be replaced when others already were.
    odd: Vec<String>,
}

fn present(folder: &Path, files: &[(String, String)]) -> io::Result<Present> {
    let mut found = Present::default();
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let path: PathBuf = entry.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            continue;
        };
        let is_file = entry.file_type()?.is_file();
        let in_the_way = files.iter().any(|(new, _)| new == name);
        if is_file && is_ours(&path) {
            found.ours.push(name.to_owned());
        } else if in_the_way && is_file {
            found.foreign.push(name.to_owned());
        } else if in_the_way {
            found.odd.push(name.to_owned());
        }
    }
    found.foreign.sort_unstable();
    found.odd.sort_unstable();
    Ok(found)
}

/// Whether a file begins with our mark. What cannot be read is not ours.
fn is_ours(path: &Path) -> bool {
    let mut start = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(MARK.len() as u64).read_to_end(&mut start));
    let is_manifest = path.extension().is_some_and(|extension| extension == "yaml");
    is_manifest && read.is_ok() && start == MARK.as_bytes()
}
