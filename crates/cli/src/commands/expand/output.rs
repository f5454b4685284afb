//! Writes the manifest to standard output, or atomically to a file.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::ours::{self, Known};
use crate::failure::Failure;
use crate::inputs::shown_path;
use crate::printer::CAREFUL;

/// The destination of the manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Standard output.
    Standard,
    /// A file; `shown` is its name as typed.
    File { path: PathBuf, shown: String },
}

/// What happens to the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It does not exist and is created.
    Make,
    /// It is replaced.
    Replace,
    /// It has this content already.
    Leave,
    /// It is a device or a pipe, and is written to.
    Fill,
}

impl Target {
    /// The name for messages.
    fn shown(&self) -> &str {
        match self {
            Self::Standard => "to standard output",
            Self::File { shown, .. } => shown,
        }
    }

    /// `would …`, for a dry run.
    pub fn would(&self, change: Change) -> String {
        let shown = self.shown();
        match change {
            Change::Make | Change::Fill => format!("would write {shown}"),
            Change::Replace => format!("would replace {shown}"),
            Change::Leave => format!("would keep {shown}, which is up to date"),
        }
    }

    /// What was done.
    pub fn did(&self, change: Change) -> String {
        let shown = self.shown();
        match change {
            Change::Make | Change::Fill => format!("wrote {shown}"),
            Change::Replace => format!("replaced {shown}"),
            Change::Leave => format!("{shown} is up to date"),
        }
    }

    /// The given file, or simpletfjob's default: `mnist_tfjob.yaml` beside `mnist.yaml`.
    pub fn of(output: Option<&Path>, template: &Path) -> Result<Self, Failure> {
        let standard = Path::new("-");
        let path = match output {
            Some(path) if path == standard => return Ok(Self::Standard),
            None if template == standard => return Ok(Self::Standard),
            Some(path) => path.to_owned(),
            None => beside(template),
        };
        let shown = shown_path(&path);
        // Links are followed, as for any write.
        let real = fs::canonicalize(&path);
        if real
            .as_ref()
            .is_ok_and(|real| fs::canonicalize(template).is_ok_and(|other| other == *real))
        {
            let message = format!("`{shown}` is the template itself");
            return Err(Failure::usage(message, "choose another file with `-o`"));
        }
        if real.as_ref().is_ok_and(|real| real.is_dir()) {
            let message = format!("`{shown}` is a directory");
            return Err(Failure::usage(message, "choose a file in it with `-o`"));
        }
        let path = real
            .or_else(|_| std::path::absolute(pointed(path)))
            .map_err(|cause| Failure::file(&shown, &cause))?;
        Ok(Self::File { path, shown })
    }

    /// What would happen to the file; an error if it was not written by `expand`.
    pub fn change(&self, text: &str, force: bool) -> Result<Change, Failure> {
        let Self::File { path, shown } = self else {
            return Ok(Change::Fill);
        };
        match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Change::Make),
            Ok(about) if !about.is_file() => Ok(Change::Fill),
            Ok(about) => replaced(path, shown, about.len(), text, force),
            Err(cause) => Err(Failure::file(shown, &cause)),
        }
    }

    /// Writes the manifest: after an error the file is unchanged. Returns a warning.
    pub fn write(&self, text: &str, change: Change) -> Result<Option<String>, Failure> {
        let Self::File { path, shown } = self else {
            return Ok(None);
        };
        let bytes = text.as_bytes();
        let failed = |cause: io::Error| Failure::file(shown, &cause);
        match change {
            Change::Leave => {}
            Change::Fill => {
                let file = File::options().write(true).open(path);
                file.and_then(|mut file| file.write_all(bytes)).map_err(failed)?;
                return Ok(None);
            }
            Change::Make | Change::Replace => whole(path, bytes).map_err(failed)?,
        }
        let remembered = ours::remember(path, bytes);
        Ok(remembered.err().map(|error| {
            let told = format!(
                "cannot record that `{shown}` was written: {error}; replacing it will need `--force`"
            );
            format!("{CAREFUL}warning{CAREFUL:#}: {told}")
        }))
    }
}

/// The target of a dangling link: the file is created there, and the link stays.
fn pointed(path: PathBuf) -> PathBuf {
    match (fs::read_link(&path), path.parent()) {
        (Ok(end), Some(folder)) => folder.join(end),
        _ => path,
    }
}

/// `mnist.yaml` becomes `mnist_tfjob.yaml`; other names get `_tfjob.yaml` appended.
fn beside(template: &Path) -> PathBuf {
    let name = template.as_os_str();
    let stem = name.to_str().and_then(|name| name.strip_suffix(".yaml"));
    let mut result = stem.map_or(name, OsStr::new).to_owned();
    result.push("_tfjob.yaml");
    result.into()
}

/// Whether an existing file may be replaced.
fn replaced(path: &Path, shown: &str, length: u64, text: &str, force: bool) -> Result<Change, Failure> {
    let same_length = length == text.len() as u64;
    let content = fs::read(path);
    if same_length && content.as_ref().is_ok_and(|content| content == text.as_bytes()) {
        return Ok(Change::Leave);
    }
    if force {
        return Ok(Change::Replace);
    }
    let content = content.map_err(|cause| Failure::file(shown, &cause))?;
    let why = match ours::look(path, &content) {
        Known::Ours => return Ok(Change::Replace),
        Known::Changed => "has been changed since `trainyard expand` wrote it",
        Known::Foreign => "exists, and `trainyard expand` did not write it",
    };
    let hint = "`--force` replaces it, `-o FILE` writes another file, `-o -` prints the manifest";
    Err(Failure::usage(format!("`{shown}` {why}"), hint))
}

/// Writes a temporary file and renames it, so that no reader sees a partial file.
fn whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.new", std::process::id()));
    let scratch = path.with_file_name(name);
    let attempt = || -> io::Result<()> {
        let mut file = File::options()
            .write(true)
            .create_new(true)
            .mode(0o644)
            .open(&scratch)?;
        if let Ok(before) = fs::metadata(path) {
            file.set_permissions(before.permissions())?;
        }
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&scratch, path)
    };
    attempt().inspect_err(|_| {
        // Do not leave a partial file.
        let _ = fs::remove_file(&scratch);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_simpletfjobs() {
        let table = [
            ("mnist.yaml", "mnist_tfjob.yaml"),
            ("a/b.yaml", "a/b_tfjob.yaml"),
            ("x.yml", "x.yml_tfjob.yaml"),
            ("plain", "plain_tfjob.yaml"),
            ("a.yaml.yaml", "a.yaml_tfjob.yaml"),
            (".yaml", "_tfjob.yaml"),
        ];
        for (template, expected) in table {
            assert_eq!(beside(Path::new(template)), Path::new(expected));
        }
    }
}
