//! The door: a source becomes jobs, other objects and problems.
//!
//! Which dialect reads an object is decided here, by group and kind, and nowhere else.

use std::sync::Arc;

use crate::codes::Code;
use crate::document::{Document, Node, Source, parse};
use crate::fields::Field;
use crate::manifest::{Dialect, Item, Object, OtherObject, ReadJob, Reading};
use crate::problem::{FieldPath, Problem, Problems, closest, shown, tidy};
use crate::tfjob;

/// The dialects, each with the function that reads its objects.
const DIALECTS: &[(Dialect, fn(&Object<'_>) -> Option<ReadJob>)] = &[(Dialect::TfJob, tfjob::read)];

/// Kinds of the same groups as our dialects', or beside which jobs are written: no word is said about them.
const KNOWN_KINDS: &[&str] = &[
    "ConfigMap",
    "Namespace",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "PodGroup",
    "PriorityClass",
    "Queue",
    "Secret",
    "Service",
    "ServiceAccount",
];

/// Reads everything in a source. Whatever is wrong with one object, the others are read.
#[must_use]
pub fn read(source: &Source) -> Reading {
    let (documents, mut problems) = parse(source);
    let mut items = Vec::new();
    for document in &documents {
        for (path, node) in document.objects() {
            let reports = Problems::new(source, document.index);
            let item = object(document, node, path, &reports);
            let failed = reports.has_errors();
            problems.extend(reports.into_vec());
            items.extend(item.filter(|item| !failed || matches!(item, Item::Other(_))));
        }
    }
    Reading {
        items,
        problems: tidy(problems),
    }
}

fn object(document: &Document, node: &Node, path: FieldPath, problems: &Problems) -> Option<Item> {
    let root = Field::root(node, path, problems);
    let text = |name: &str| node.get(name).and_then(Node::as_text).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if node.as_map().is_none() || kind.is_empty() || api_version.is_empty() {
        root.report(
            Code::NotAnObject,
            "expected an object with `apiVersion` and `kind`",
        );
        return None;
    }
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    let reader = DIALECTS
        .iter()
        .find(|(dialect, _)| dialect.group() == group && dialect.kind() == kind);
    if let Some((_, read)) = reader {
        let object = Object {
            root,
            api_version: api_version.into(),
            version,
            document: document.index,
        };
        return read(&object).map(|job| Item::Job(Box::new(job)));
    }
    Some(Item::Other(other(node, document.index)))
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
