//! The door: a source becomes jobs, other objects and problems.
//!
//! Which dialect reads an object is decided here, by group and kind, and nowhere else.

mod kinds;
mod objects;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use trainyard_document::codes::Code;
use trainyard_document::fields::Field;
use trainyard_document::problem::{Problem, Problems, Severity, Span, shown, tidy};
use trainyard_document::{Document, Node, Source, parse};

use self::kinds::{Guess, NearMiss};
use crate::dialect::Dialect;
use crate::manifest::{Item, Object, OtherObject, ReadJob, Reading};

/// Reads everything in a source. Whatever is wrong with one object, the others are read.
#[must_use]
pub fn read(source: &Source) -> Reading {
    let (documents, problems) = parse(source);
    read_documents(source, &documents, problems)
}

/// Reads an object that an API server has parsed, with the same checks. Problems have no position in a text; `name` is
/// the name of their source.
#[must_use]
pub fn read_value(name: &str, value: &Value) -> Reading {
    let source = Source {
        name: name.into(),
        text: "".into(),
    };
    let (document, problems) = Document::from_value(&source, value);
    read_documents(&source, document.as_slice(), problems)
}

fn read_documents(source: &Source, documents: &[Document], mut problems: Vec<Problem>) -> Reading {
    let mut seen = Seen::default();
    let mut items = Vec::new();
    // Where the text itself is wrong, its meaning is unknown: `replicas` twice is no number of replicas.
    let unclear: BTreeSet<usize> = problems
        .iter()
        .filter(|problem| problem.severity == Severity::Error)
        .map(|problem| problem.place.document)
        .collect();
    for document in documents {
        for (path, node) in document.objects() {
            let reports = Problems::new(source, document.index);
            let root = Field::root(node, path, &reports);
            let item = object(document, root, &mut seen);
            let failed = unclear.contains(&document.index) || reports.has_errors();
            problems.extend(reports.into_vec());
            items.extend(item.filter(|item| !failed || matches!(item, Item::Other(_))));
        }
    }
    Reading {
        items,
        problems: tidy(problems),
    }
}

/// What has been met in a source so far.
#[derive(Default)]
struct Seen {
    /// Jobs by kind, namespace and name, each with where its name stands.
    jobs: BTreeMap<(Dialect, Arc<str>, Arc<str>), Span>,
    /// Kinds that a word has been said about.
    kinds: BTreeSet<(Arc<str>, Arc<str>)>,
}

fn object(document: &Document, root: Field<'_>, seen: &mut Seen) -> Option<Item> {
    let node = root.node;
    let text = |name: &str| node.get(name).and_then(Node::as_text).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if node.as_map().is_none() || api_version.is_empty() || kind.is_empty() {
        no_object(&root);
        return None;
    }
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    match kinds::guess(group, version, kind, node) {
        Guess::Ours(dialect) => {
            let object = Object {
                root,
                api_version: api_version.into(),
                version,
                document: document.index,
            };
            let job = (dialect.describe().read)(&object)?;
            check_twice(&job, &object.root, seen);
            Some(Item::Job(Box::new(job)))
        }
        Guess::Nearly(miss) => {
            nearly(&root, miss);
            None
        }
        Guess::Known => {
            objects::check(&root, api_version, kind);
            Some(Item::Other(other(node, document.index)))
        }
        Guess::Unknown => {
            let other = other(node, document.index);
            unknown(&root, &other, seen);
            Some(Item::Other(other))
        }
    }
}

fn no_object(root: &Field<'_>) {
    if root.node.as_map().is_none() {
        let found = root.node.describe();
        let message = format!("expected an object with `apiVersion` and `kind`, found {found}");
        let problem = root.problem(Code::NotAnObject, message);
        let several = root.node.as_list().is_some();
        let hint = several.then(|| "separate objects by lines of `---`, or use `kind: List`".to_owned());
        root.tell(problem.maybe_hint(hint));
        return;
    }
    for name in ["apiVersion", "kind"] {
        let text = root.node.get(name).and_then(Node::as_text).unwrap_or_default();
        if text.is_empty() {
            let message = format!("every object has `{name}`, and this one has none");
            root.tell(root.problem_in(name, Code::NotAnObject, message));
        }
    }
}

/// A kind or group or version that is close to one of ours: as it stands it would be no job at all.
fn nearly(root: &Field<'_>, miss: NearMiss) {
    let problem = root
        .problem_in(miss.field, miss.code, miss.message)
        .hint(miss.hint);
    root.tell(Problem {
        allowed: miss.allowed,
        ..problem
    });
}

/// Says once that a kind is not known.
fn unknown(root: &Field<'_>, other: &OtherObject, seen: &mut Seen) {
    let kind = (other.api_version.clone(), other.kind.clone());
    if !seen.kinds.insert(kind) {
        return;
    }
    let (kind, api_version) = (shown(&other.kind), shown(&other.api_version));
    let message =
        format!("`{kind}` of `{api_version}` is not a kind that Trainyard runs; it is kept as it is");
    let problem = root.problem_in("kind", Code::UnknownKind, message);
    root.tell(problem.found(&other.kind));
}

/// Two jobs of one kind, namespace and name: the second would replace the first.
fn check_twice(read: &ReadJob, root: &Field<'_>, seen: &mut Seen) {
    if read.generate_name || read.job.name.is_empty() {
        return;
    }
    let named = root.get("metadata").and_then(|metadata| metadata.get("name"));
    let Some(named) = named else { return };
    let job = (read.dialect, read.job.namespace.clone(), read.job.name.clone());
    if let Some(first) = seen.jobs.get(&job) {
        let (name, namespace) = (shown(&read.job.name), shown(&read.job.namespace));
        let kind = read.dialect.kind();
        let message = format!("there is already a {kind} `{name}` in namespace `{namespace}`");
        let problem = named.problem(Code::SameJobTwice, message);
        root.tell(
            problem
                .related(*first, "the first one")
                .hint("rename one of them"),
        );
    } else {
        seen.jobs.insert(job, named.span());
    }
}

fn other(node: &Node, document: usize) -> OtherObject {
    let text = |node: Option<&Node>| node.and_then(Node::as_text).map(Arc::<str>::from);
    let metadata = node.get("metadata");
    OtherObject {
        api_version: text(node.get("apiVersion")).unwrap_or_default(),
        kind: text(node.get("kind")).unwrap_or_default(),
        name: text(metadata.and_then(|metadata| metadata.get("name"))).unwrap_or_default(),
        namespace: text(metadata.and_then(|metadata| metadata.get("namespace"))),
        node: node.clone(),
        document,
    }
}

#[cfg(test)]
#[path = "read/tests.rs"]
mod tests;
