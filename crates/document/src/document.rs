//! Bytes become documents: the first stage of reading, and the only one that sees text.
//!
//! [`Source`] takes bytes (with a limit, as UTF-8), [`parse`] makes [`Document`]s of them: trees of [`Node`]s whose
//! scalars mean what kubectl says they mean and whose every node and key knows its place in the text. What the
//! documents say is the business of the stages after it.

mod build;
mod json;
mod kubectl;
mod node;
mod source;
mod syntax;
mod value;
mod yaml;

use std::sync::Arc;

use self::build::Builder;
use self::json::Start;
pub use self::node::{Entry, Kind, Map, Node};
pub use self::source::Source;
use crate::problem::{Problem, tidy};

/// The largest source that is read, in bytes.
pub const MOST_BYTES: usize = 16 << 20;
/// How deep lists and maps may be nested.
pub const MOST_LEVELS: usize = 100;
/// How many values a source may hold, each alias counted with everything it stands for.
pub const MOST_NODES: usize = 1_000_000;
/// How many values of a source may be marked for aliases (`&name`).
pub const MOST_ANCHORS: usize = 10_000;
/// How many documents a source may hold.
pub const MOST_DOCUMENTS: usize = 10_000;

/// One document of a source. Documents that hold nothing at all are left out, as kubectl does.
#[derive(Clone, Debug)]
pub struct Document {
    /// The name of the source it comes from.
    pub source: Arc<str>,
    /// Which document of the source it is, from 0, empty ones not counted.
    pub index: usize,
    /// What it holds.
    pub root: Node,
}

impl Document {
    /// The objects inside: the items if it is a `kind: List` (or `TFJobList` and the like), otherwise itself.
    ///
    /// Each comes with its path from the root of the document, so that problems in an item are found.
    #[must_use]
    pub fn objects(&self) -> Vec<(crate::problem::FieldPath, &Node)> {
        let mut found = Vec::new();
        gather_objects(&self.root, &crate::problem::FieldPath::root(), &mut found);
        found
    }
}

fn gather_objects<'a>(
    node: &'a Node,
    path: &crate::problem::FieldPath,
    found: &mut Vec<(crate::problem::FieldPath, &'a Node)>,
) {
    let is_list = node
        .get("kind")
        .and_then(Node::as_text)
        .is_some_and(|kind| kind.ends_with("List"));
    match node.get("items").and_then(Node::as_list) {
        Some(items) if is_list => {
            for (index, item) in items.iter().enumerate() {
                gather_objects(item, &path.field("items").index(index), found);
            }
        }
        _ => found.push((path.clone(), node)),
    }
}

/// Every document of a source, and everything that is wrong with the text.
///
/// A document with a problem in it is there all the same if it could be read at all; one that could not is missing,
/// and does not hide the ones before and after it.
#[must_use]
pub fn parse(source: &Source) -> (Vec<Document>, Vec<Problem>) {
    let mut builder = Builder::new(source);
    let mut documents = Vec::new();
    let rest = if json::looks_like_json(&source.text) {
        json::parse(source, &mut builder, &mut documents)
    } else {
        Some(Start {
            line: 1,
            column: 1,
            byte: 0,
        })
    };
    if let Some(start) = rest {
        yaml::parse(source, start, &mut builder, &mut documents);
    }
    (documents, tidy(builder.problems))
}

#[cfg(test)]
mod tests;
