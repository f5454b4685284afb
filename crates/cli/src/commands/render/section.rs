//! The documents of one job, or one other object, with a comment above them.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value;
use trainyard_dialect::{Item, OtherObject, ReadJob, Reading};
use trainyard_document::problem::shown;
use trainyard_document::yaml;
use trainyard_manifest::Rendered;
use trainyard_manifest::notes::Note;

use crate::args::As;
use crate::printer::{CAREFUL, QUIET, STRONG};
use crate::wrap::wrap;

/// Width of comments.
const WIDTH: usize = 100;
/// The start of every rendered file.
pub const MARK: &str = "# Rendered by trainyard";

/// Namespaced kinds that are often in the file of a job.
const NAMESPACED: &[&str] = &[
    "ConfigMap",
    "Secret",
    "PersistentVolumeClaim",
    "Service",
    "ServiceAccount",
    "Role",
    "RoleBinding",
    "NetworkPolicy",
    "Deployment",
    "Job",
];

/// One job's objects, or one other object.
pub struct Section {
    /// Job and form; empty for other objects.
    title: String,
    notes: Vec<Note>,
    /// The job that its files belong to.
    pub owner: String,
    pub objects: Vec<Value>,
}

impl Section {
    pub fn of_job(read: &ReadJob, form: As, rendered: Rendered) -> Self {
        let jobset = form == As::Jobset;
        let form = if jobset { "a JobSet" } else { "plain Jobs" };
        Self {
            title: format!("{} `{}` as {form}", read.dialect.kind(), read.job.name),
            notes: rendered.notes,
            owner: owner(read),
            objects: rendered.objects,
        }
    }

    pub fn of_other(owner: String, mut object: Value, namespace: Option<&str>) -> Self {
        if let (Some(namespace), Some(metadata)) = (namespace, object["metadata"].as_object_mut())
            && metadata.get("namespace").is_none_or(Value::is_null)
        {
            metadata.insert("namespace".into(), namespace.into());
        }
        Self {
            title: String::new(),
            notes: Vec::new(),
            owner,
            objects: vec![object],
        }
    }

    /// Each object as text, with the comment above the first.
    pub fn documents(&self) -> Vec<String> {
        let mut documents: Vec<String> = self.objects.iter().map(yaml::write).collect();
        if let Some(first) = documents.first_mut().filter(|_| !self.title.is_empty()) {
            first.insert_str(0, &self.comment());
        }
        documents
    }

    fn comment(&self) -> String {
        let mut text = format!("{MARK}: {}.\n", self.title);
        if !self.notes.is_empty() {
            text.push_str("#\n# Not supported by these objects:\n");
        }
        for note in &self.notes {
            text.push_str("#\n");
            for line in bullet(&note.what, WIDTH - 4) {
                // Writing to a String cannot fail.
                let _ = writeln!(text, "# {line}");
            }
            for command in &note.commands {
                let _ = writeln!(text, "#       {command}");
            }
        }
        text
    }

    /// The notes for the terminal, if there are any.
    pub fn told(&self, columns: usize) -> Option<String> {
        if self.notes.is_empty() {
            return None;
        }
        let mut text = format!(
            "{CAREFUL}note{CAREFUL:#}{STRONG}: these objects cannot do the following for {}:{STRONG:#}",
            self.title
        );
        for note in &self.notes {
            for line in bullet(&note.what, columns.saturating_sub(4)) {
                let _ = write!(text, "\n  {line}");
            }
            for command in &note.commands {
                let _ = write!(text, "\n      {QUIET}{command}{QUIET:#}");
            }
        }
        Some(text)
    }
}

/// A text as an item of a list.
fn bullet(text: &str, width: usize) -> Vec<String> {
    let lines = wrap(text, width).join("\n  ");
    format!("- {lines}").lines().map(str::to_owned).collect()
}

/// Kind, namespace and name of a job in its manifest, whatever namespace it is rendered for.
pub fn owner(read: &ReadJob) -> String {
    let (kind, name) = (read.dialect.kind(), &read.job.name);
    match read.own_namespace() {
        Some(namespace) => format!("{kind} {namespace}/{name}"),
        None => format!("{kind} {name}"),
    }
}

/// All documents, one after the other.
pub fn text(sections: &[Section]) -> String {
    let documents: Vec<String> = sections.iter().flat_map(Section::documents).collect();
    documents.join("---\n")
}

/// The namespace for other objects without one: that of the jobs, which refer to them. `None` if kubectl chooses:
/// the jobs have none either, or are in several.
pub fn home<'a>(reading: &'a Reading, typed: Option<&'a str>, plain: bool) -> Option<&'a str> {
    let written: BTreeSet<Option<&str>> = reading.jobs().map(ReadJob::own_namespace).collect();
    let written: Vec<Option<&str>> = written.into_iter().collect();
    match (typed, written.as_slice()) {
        (Some(typed), _) => Some(typed),
        // kubectl would put both into one namespace, and these jobs now have `default`.
        (None, [None, ..]) => plain.then_some("default"),
        (None, [one]) => *one,
        (None, _) => None,
    }
}

/// Whether its kind is namespaced.
pub fn has_namespace(other: &OtherObject) -> bool {
    NAMESPACED.contains(&&*other.kind)
}

/// The namespaced other objects without a namespace, for messages.
pub fn homeless(reading: &Reading) -> Vec<String> {
    let others = reading.items.iter().filter_map(|item| match item {
        Item::Other(other) if has_namespace(other) => Some(other),
        _ => None,
    });
    let text = |other: &OtherObject, field: &str| {
        let metadata = other.node.get("metadata")?;
        metadata.get(field)?.as_text().map(str::to_owned)
    };
    others
        .filter(|other| text(other, "namespace").is_none_or(|name| name.is_empty()))
        .map(|other| {
            let name = text(other, "name").unwrap_or_default();
            format!("{} `{}`", other.kind, shown(&name))
        })
        .collect()
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Two objects of one kind and name; the second would replace the first.
pub fn twice(sections: &[Section]) -> Option<(&str, &str)> {
    let mut seen = BTreeSet::new();
    for object in sections.iter().flat_map(|section| &section.objects) {
        let metadata = &object["metadata"];
        let (kind, name) = (text_of(&object["kind"]), text_of(&metadata["name"]));
        let key = (
            text_of(&object["apiVersion"]),
            kind,
            text_of(&metadata["namespace"]),
            name,
        );
        if !name.is_empty() && !seen.insert(key) {
            return Some((kind, name));
        }
    }
    None
}
