//! The user's configuration: `~/.config/trainyard/config.yaml`, or what `TRAINYARD_CONFIG` names.
//!
//! ```yaml
//! images:
//!   mycompany/trainer:          # a name; `*` is anything, and without a tag every tag is meant
//!     python: "3.11"            # a version, or the path of an interpreter
//!     requirements: [tensorflow-cpu==2.15.1, pandas]
//!   volcanosh/dist-mnist-tf-example:
//!     like: tensorflow/tensorflow:2.15.0
//!     files:
//!       /var/tf_dist_mnist: ~/mnist   # what the image holds at a path, on this machine
//!   "*/cuda-*":
//!     path: /opt/conda/envs/train/bin # a list, or one: first on PATH
//!     command: [python, /app/main.py] # what the image starts by itself
//!     env: {MODE: train}
//!     workdir: /app
//! ```

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trainyard_document::codes::Code;
use trainyard_document::fields::{Field, Fields};
use trainyard_document::problem::{FieldPath, Problem, Problems, has_errors};
use trainyard_document::{Kind, Source, parse};

use crate::system::user_directory;

/// What the user has configured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// What stands for images, by pattern; the first that fits counts.
    pub images: Vec<(Arc<str>, ImageEntry)>,
}

/// What the configuration says of an image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageEntry {
    /// An interpreter: a version, or a path.
    pub python: Option<String>,
    /// What is to be installed, as pip takes it.
    pub requirements: Option<Vec<String>>,
    /// An official image that it is like.
    pub like: Option<String>,
    /// Directories that come first on the path.
    pub path: Vec<PathBuf>,
    /// What it starts by itself.
    pub command: Option<Vec<String>>,
    /// What it holds: a path in it, and where that is on this machine.
    pub files: BTreeMap<PathBuf, PathBuf>,
    /// Variables that it sets.
    pub env: BTreeMap<String, String>,
    /// Where its programs start.
    pub workdir: Option<String>,
}

/// Where the configuration is: the file that `TRAINYARD_CONFIG` names, else the user's own if there is one.
#[must_use]
pub fn place() -> Option<PathBuf> {
    if let Some(named) = env::var_os("TRAINYARD_CONFIG").filter(|named| !named.is_empty()) {
        return Some(named.into());
    }
    let file = user_directory("XDG_CONFIG_HOME", ".config")?.join("trainyard/config.yaml");
    file.exists().then_some(file)
}

impl Config {
    /// Reads a configuration. What is wrong is reported all at once, and then there is none. Relative paths are below
    /// `directory`, and `~` is `home`.
    pub fn read(source: &Source, directory: &Path, home: Option<&Path>) -> Result<Self, Vec<Problem>> {
        let (documents, mut problems) = parse(source);
        let mut config = Self::default();
        let reports = Problems::new(source, 0);
        let resolve = |text: &str| match (text.strip_prefix("~/"), home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => directory.join(text),
        };
        for document in documents.iter().filter(|document| !document.root.is_null()) {
            let root = Field::root(&document.root, FieldPath::root(), &reports);
            if let Some(mut fields) = root.fields() {
                if let Some(mut images) = fields.map("images") {
                    for (pattern, field) in images.entries() {
                        let entry = field.fields().map(|fields| entry(fields, &resolve));
                        config.images.extend(entry.map(|entry| (pattern.clone(), entry)));
                    }
                }
                fields.finish();
            }
        }
        problems.extend(reports.into_vec());
        if has_errors(&problems) {
            Err(problems)
        } else {
            Ok(config)
        }
    }

    /// What the configuration says of an image.
    #[must_use]
    pub fn image(&self, name: &str) -> Option<&ImageEntry> {
        let fits = |(pattern, _): &&(Arc<str>, ImageEntry)| super::reference::fits(pattern, name);
        self.images.iter().find(fits).map(|(_, entry)| entry)
    }
}

fn entry(mut fields: Fields<'_>, resolve: &dyn Fn(&str) -> PathBuf) -> ImageEntry {
    let texts = |list: Vec<Field<'_>>| -> Vec<String> {
        list.iter()
            .filter_map(|item| Some(item.text()?.to_string()))
            .collect()
    };
    let mut entry = ImageEntry {
        python: fields.get("python").and_then(|field| python(&field, resolve)),
        like: fields.text("like").map(ToString::to_string),
        workdir: fields.text("workdir").map(ToString::to_string),
        ..ImageEntry::default()
    };
    entry.requirements = fields.get("requirements").map(|field| texts(field.items()));
    entry.command = fields.get("command").map(|field| texts(field.items()));
    if let Some(field) = fields.get("path") {
        let list = match &field.node.kind {
            Kind::List(_) => texts(field.items()),
            _ => field.text().map(ToString::to_string).into_iter().collect(),
        };
        entry.path = list.iter().map(|text| resolve(text)).collect();
    }
    if let Some(mut files) = fields.map("files") {
        for (target, source) in files.entries() {
            if !target.starts_with('/') {
                let message = format!("`{target}` is a path in an image, and must begin with `/`");
                source.report(Code::BadFormat, message);
            }
            let source = source.text().map(|text| resolve(text));
            entry
                .files
                .extend(source.map(|source| (PathBuf::from(&**target), source)));
        }
    }
    if let Some(mut variables) = fields.map("env") {
        for (name, value) in variables.entries() {
            let value = value.text().map(ToString::to_string);
            entry.env.extend(value.map(|value| (name.to_string(), value)));
        }
    }
    if entry.like.is_some() && entry.requirements.is_some() {
        let message = "`like` and `requirements` both say what is installed";
        fields
            .problems()
            .report(fields.problem(Code::BadFormat, message).hint("say one of them"));
    }
    fields.finish();
    entry
}

/// A version, which people like to write without quotes, or a path.
fn python(field: &Field<'_>, resolve: &dyn Fn(&str) -> PathBuf) -> Option<String> {
    if let Kind::Float(_) | Kind::Int(_) = field.node.kind {
        let written = field.problems.written(field.node);
        let problem = field.problem(Code::WrongType, "a version of Python must be text");
        let hint = format!("put quotes around it: `\"{written}\"`, or `3.10` would be 3.1");
        field.problems.report(problem.hint(hint));
        return None;
    }
    let text = field.text()?;
    Some(if text.contains('/') {
        resolve(text).display().to_string()
    } else {
        text.to_string()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Config, Vec<String>> {
        let source = Source::from_bytes("config.yaml", text.as_bytes()).unwrap();
        let read = Config::read(&source, Path::new("/etc/ty"), Some(Path::new("/home/me")));
        read.map_err(|problems| {
            let line = |problem: Problem| {
                format!(
                    "{}{}",
                    problem.message,
                    problem.hint.map_or(String::new(), |hint| format!(" ({hint})"))
                )
            };
            problems.into_iter().map(line).collect()
        })
    }

    #[test]
    fn a_configuration_says_what_stands_for_images() {
        let text = r#"
images:
  mine/app:
    python: "3.10"
    requirements: [tensorflow-cpu==2.15.1, pandas]
    command: [python, /app/main.py]
    files: {/app: ./app, /data: ~/data, /abs: /srv}
    env: {MODE: train}
    workdir: /app
  "*/cuda-*": {path: /opt/conda/bin}
  other: {path: [~/bin, rel], like: "tensorflow/tensorflow:2.15.0", python: ../venv/bin/python}
"#;
        let config = read(text).unwrap();
        let mine = config.image("mine/app:7").unwrap();
        assert_eq!(mine.python.as_deref(), Some("3.10"));
        assert_eq!(
            mine.requirements.as_deref().unwrap(),
            ["tensorflow-cpu==2.15.1", "pandas"]
        );
        assert_eq!(mine.command.as_deref().unwrap(), ["python", "/app/main.py"]);
        let files: Vec<(&str, &str)> = mine
            .files
            .iter()
            .map(|(target, source)| (target.to_str().unwrap(), source.to_str().unwrap()))
            .collect();
        assert_eq!(
            files,
            [
                ("/abs", "/srv"),
                ("/app", "/etc/ty/./app"),
                ("/data", "/home/me/data")
            ]
        );
        assert_eq!(mine.env["MODE"], "train");
        assert_eq!(
            config.image("x/cuda-12").unwrap().path,
            [PathBuf::from("/opt/conda/bin")]
        );
        let other = config.image("other").unwrap();
        assert_eq!(
            other.path,
            [PathBuf::from("/home/me/bin"), PathBuf::from("/etc/ty/rel")]
        );
        assert_eq!(other.python.as_deref(), Some("/etc/ty/../venv/bin/python"));
        assert_eq!(config.image("unknown"), None);
    }

    #[test]
    fn nothing_is_a_configuration_too() {
        for text in ["", "# nothing\n", "images: {}\n", "images:\n"] {
            assert_eq!(read(text), Ok(Config::default()), "{text}");
        }
    }

    #[test]
    fn everything_that_is_wrong_is_said() {
        let text = "imges: {}\nimages:\n  a: {pyton: x, python: 3.10, files: {rel: /x}}\n  b: {like: x, requirements: [y], env: {A: 1}}\n  c: 1\n";
        let said = read(text).unwrap_err().join("\n");
        for part in [
            "unknown field `imges` (did you mean `images`?)",
            "unknown field `pyton`",
            "put quotes around it: `\"3.10\"`",
            "`rel` is a path in an image",
            "`like` and `requirements` both say",
        ] {
            assert!(said.contains(part), "{part}\n{said}");
        }
    }
}
