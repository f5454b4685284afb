//! Writes one file per object into a directory, all or none.
//!
//! All files are written to a temporary directory first and then renamed. Files of an earlier rendering of the same job
//! that are no longer needed are removed: `kubectl apply -f DIR` would apply them too. Edited files, and files of other
//! jobs, are not touched.

mod present;

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use serde_json::Value;
use trainyard_document::problem::shown;

use self::present::{ExistingFile, FileState, Present};
use super::section::{MARK, Section};
use crate::failure::Failure;
use crate::fingerprint::fingerprint;
use crate::inputs::shown_path;
use crate::report::quoted;

/// Number of conflicting files that an error lists.
const MOST_TOLD: usize = 8;

/// A file to write.
pub struct New {
    name: String,
    owner: String,
    text: String,
}

/// The result.
pub struct Written {
    pub objects: usize,
    /// Other jobs with files in the directory.
    others: Vec<String>,
}

impl Written {
    /// A note about files of other jobs.
    pub fn others(&self) -> Option<String> {
        let jobs = quoted(&self.others);
        (!jobs.is_empty()).then(|| format!("files of other jobs were not changed: {jobs}"))
    }
}

/// Writes the files.
pub fn write(folder: &Path, sections: &[Section], force: bool) -> Result<Written, Failure> {
    let files = files(sections);
    let failed = |path: &Path| {
        let path = shown_path(path);
        move |cause: io::Error| Failure::file(&path, &cause)
    };
    if folder.exists() && !folder.is_dir() {
        let message = format!("`{}` is a file; expected a directory", shown_path(folder));
        return Err(Failure::usage(message, "`-o -` writes to standard output"));
    }
    if let Some(parent) = folder
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty() && !parent.exists())
    {
        let message = format!("the directory `{}` does not exist", shown_path(parent));
        return Err(Failure::usage(
            message,
            "create it first; it is not created here, in case the path is mistyped",
        ));
    }
    let present = Present::of(folder, &files).map_err(failed(folder))?;
    if let Some(name) = present.odd() {
        let message = format!("`{name}` in `{}` is not a file", shown_path(folder));
        return Err(Failure::usage(
            message,
            "remove it, or choose another directory with `-o`",
        ));
    }
    if !force {
        check(folder, &present)?;
    }
    let is_new = !folder.exists();
    if is_new {
        fs::create_dir(folder).map_err(failed(folder))?;
    }
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

/// Fails if files would be lost that were edited or not rendered from these jobs.
fn check(folder: &Path, present: &Present) -> Result<(), Failure> {
    let in_the_way = present.in_the_way();
    if in_the_way.is_empty() {
        return Ok(());
    }
    let told = |found: &&ExistingFile| {
        let path = &found.name;
        match &found.state {
            FileState::Changed => format!("`{path}` has been edited since it was written"),
            FileState::Of(job) => format!("`{path}` was rendered from another job, `{}`", shown(job)),
            FileState::Ours | FileState::Foreign | FileState::Odd => {
                format!("`{path}` exists and was not written by this command")
            }
        }
    };
    let mut lines: Vec<String> = in_the_way.iter().take(MOST_TOLD).map(told).collect();
    if let Some(more) = in_the_way.len().checked_sub(MOST_TOLD).filter(|more| *more > 0) {
        lines.push(format!("and {more} more"));
    }
    let them = if in_the_way.len() == 1 { "it" } else { "them" };
    let hint = format!("`--force` replaces {them}, or choose another directory with `-o`");
    let (folder, files) = (shown_path(folder), lines.join("\n  "));
    Err(Failure::usage(
        format!("files in `{folder}` would be lost:\n  {files}"),
        hint,
    ))
}

/// Writes all files to `stage`, then renames them.
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

/// Names that sort in the order to apply them, and content with a first line that identifies job and fingerprint.
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
        // The first line already names the program.
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

/// A name, as part of a file name.
fn word(value: &Value) -> String {
    let text = value.as_str().unwrap_or_default().to_lowercase();
    text.replace(
        |letter: char| !letter.is_ascii_alphanumeric() && letter != '.',
        "-",
    )
}
