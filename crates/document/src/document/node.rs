//! The tree that a document becomes.

use std::sync::Arc;

use serde_json::Value;

use crate::problem::Span;

/// One value and its place in the text. Cloning is cheap: what is inside is shared.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The piece of text it was read from; for a value that came by an alias, where it was written.
    pub span: Span,
    /// What it is.
    pub kind: Kind,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Nothing.
    Null,
    /// A boolean.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Any other number; always finite.
    Float(f64),
    /// Text.
    Text(Arc<str>),
    /// A list.
    List(Arc<[Node]>),
    /// A map.
    Map(Arc<Map>),
}

/// A map, in the order of the text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Map {
    entries: Vec<Entry>,
}

/// One entry of a map.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key, as text.
    pub key: Arc<str>,
    /// Where the key stands.
    pub key_span: Span,
    /// The value.
    pub value: Node,
}

/// Up to this many entries, maps in different order are compared key by key.
const SEARCHED: usize = 64;

impl Map {
    pub(super) fn new(entries: Vec<Entry>) -> Self {
        Self { entries }
    }

    /// The entries, in the order of the text.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry with this key.
    #[must_use]
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| &*entry.key == key)
    }

    /// The value with this key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value)
    }
}

impl Node {
    /// The value of a field, if this is a map and has it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_map()?.get(key)
    }

    /// The node at the end of a path, items of a list by their number from 0: `node.at(["spec", "tasks", "0"])`.
    #[must_use]
    pub fn at<'p>(&self, path: impl IntoIterator<Item = &'p str>) -> Option<&Self> {
        path.into_iter()
            .try_fold(self, |node, step| match node.as_list() {
                Some(items) => items.get(step.parse::<usize>().ok()?),
                None => node.get(step),
            })
    }

    /// The text, if it is text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        let Kind::Text(text) = &self.kind else { return None };
        Some(text)
    }

    /// The whole number, if it is one.
    #[must_use]
    pub fn as_int(&self) -> Option<i64> {
        let Kind::Int(value) = self.kind else { return None };
        Some(value)
    }

    /// The boolean, if it is one.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        let Kind::Bool(value) = self.kind else { return None };
        Some(value)
    }

    /// The items, if it is a list.
    #[must_use]
    pub fn as_list(&self) -> Option<&[Self]> {
        let Kind::List(items) = &self.kind else {
            return None;
        };
        Some(items)
    }

    /// The map, if it is one.
    #[must_use]
    pub fn as_map(&self) -> Option<&Map> {
        let Kind::Map(map) = &self.kind else { return None };
        Some(map)
    }

    /// Whether it is nothing.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.kind == Kind::Null
    }

    /// What it is, for a message: `text`, `a whole number`.
    #[must_use]
    pub fn describe(&self) -> &'static str {
        match self.kind {
            Kind::Null => "nothing",
            Kind::Bool(_) => "a boolean",
            Kind::Int(_) => "a whole number",
            Kind::Float(_) => "a number",
            Kind::Text(_) => "text",
            Kind::List(_) => "a list",
            Kind::Map(_) => "a map",
        }
    }

    /// Whether it is the same value, wherever it is written. Large maps count as different if their order is.
    #[must_use]
    pub fn same_value(&self, other: &Self) -> bool {
        match (&self.kind, &other.kind) {
            (Kind::List(a), Kind::List(b)) => {
                a.len() == b.len() && a.iter().zip(&**b).all(|(a, b)| a.same_value(b))
            }
            (Kind::Map(a), Kind::Map(b)) => {
                let in_order = a.entries.iter().zip(&b.entries).all(|(a, b)| a.key == b.key);
                let of = |key: &str, at: usize| {
                    if in_order {
                        Some(&b.entries[at].value)
                    } else {
                        b.get(key)
                    }
                };
                let same = |(at, a): (usize, &Entry)| of(&a.key, at).is_some_and(|b| a.value.same_value(b));
                a.entries.len() == b.entries.len()
                    && (in_order || a.entries.len() <= SEARCHED)
                    && a.entries.iter().enumerate().all(same)
            }
            (a, b) => a == b,
        }
    }

    /// The same value as JSON, in the order of the text.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(value) => Value::Bool(*value),
            Kind::Int(value) => Value::from(*value),
            Kind::Float(value) => Value::from(*value),
            Kind::Text(text) => Value::String(text.as_ref().to_owned()),
            Kind::List(items) => Value::Array(items.iter().map(Self::to_json).collect()),
            Kind::Map(map) => Value::Object(
                map.entries()
                    .iter()
                    .map(|entry| (entry.key.as_ref().to_owned(), entry.value.to_json()))
                    .collect(),
            ),
        }
    }
}
