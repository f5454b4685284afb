//! One value with its place, and how it is taken as text, as a number, as a list.

use std::ops::RangeInclusive;
use std::sync::Arc;

use super::{Fields, listed};
use crate::codes::Code;
use crate::document::{Entry, Kind, Node};
use crate::problem::{FieldPath, Problem, Problems, Span, did_you_mean, shown};

/// One value and its place: what a field holds, or an item of a list.
#[derive(Clone, Debug)]
pub struct Field<'a> {
    /// The value.
    pub node: &'a Node,
    /// Its place in the document.
    pub path: FieldPath,
    /// Where to point when something in it is missing: the key that introduces it.
    pub at: Span,
    /// Where problems go.
    pub problems: &'a Problems,
}

impl<'a> Field<'a> {
    /// The root of a document, or of one object in a list.
    #[must_use]
    pub fn root(node: &'a Node, path: FieldPath, problems: &'a Problems) -> Self {
        Self {
            node,
            path,
            at: head(node),
            problems,
        }
    }

    /// An entry of this map.
    pub(super) fn entry(&self, entry: &'a Entry) -> Self {
        Self {
            node: &entry.value,
            path: self.path.field(Arc::clone(&entry.key)),
            at: entry.key_span,
            problems: self.problems,
        }
    }

    /// A field of this map, if it is there and not null. Nothing is reported where this is no map.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Self> {
        let entry = self.node.as_map()?.entry(name)?;
        (!entry.value.is_null()).then(|| self.entry(entry))
    }

    /// A problem at this value; add to it and hand it to [`Self::tell`].
    #[must_use]
    pub fn problem(&self, code: Code, message: impl Into<String>) -> Problem {
        Problem::new(code, self.problems.place(Some(self.span()), &self.path), message)
    }

    /// A problem at the key that introduces this value.
    #[must_use]
    pub fn key_problem(&self, code: Code, message: impl Into<String>) -> Problem {
        Problem::new(code, self.problems.place(Some(self.at), &self.path), message)
    }

    /// A problem at the value of a field of this map; at the key of the map where the field is missing.
    #[must_use]
    pub fn problem_in(&self, name: &str, code: Code, message: impl Into<String>) -> Problem {
        let span = self.node.get(name).map_or(self.at, |node| node.span);
        Problem::new(
            code,
            self.problems.place(Some(span), &self.path.field(name)),
            message,
        )
    }

    /// Reports a problem.
    pub fn tell(&self, problem: Problem) {
        self.problems.report(problem);
    }

    /// Reports a problem at this value that needs no more words.
    pub fn report(&self, code: Code, message: impl Into<String>) {
        self.problems.report(self.problem(code, message));
    }

    /// Reports a field that this map must have and has not.
    pub fn missing(&self, name: &str, code: Code, message: impl Into<String>) {
        let place = self.problems.place(Some(self.at), &self.path.field(name));
        self.tell(Problem::new(code, place, message).label(format!("needs `{name}`")));
    }

    /// The text to underline: the value, or the key if the value goes over several lines.
    #[must_use]
    pub fn span(&self) -> Span {
        if matches!(self.node.kind, Kind::List(_) | Kind::Map(_)) {
            self.at
        } else {
            self.node.span
        }
    }

    /// What was found, or a report that the value is not of the type `expected`.
    fn of_type<T>(&self, expected: &str, found: Option<T>) -> Option<T> {
        if found.is_none() {
            self.wrong_type(expected);
        }
        found
    }

    /// The fields, if it is a map.
    #[must_use]
    pub fn fields(&self) -> Option<Fields<'a>> {
        let map = self.of_type("a map", self.node.as_map())?;
        Some(Fields::new(map, self.clone()))
    }

    /// The items, if it is a list; nothing after a problem.
    #[must_use]
    pub fn items(&self) -> Vec<Self> {
        let items = self.of_type("a list", self.node.as_list()).unwrap_or_default();
        let item = |(index, node)| Self::root(node, self.path.index(index), self.problems);
        items.iter().enumerate().map(item).collect()
    }

    /// The text, if it is text.
    #[must_use]
    pub fn text(&self) -> Option<&'a Arc<str>> {
        let text = match &self.node.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        };
        self.of_type("text", text)
    }

    /// The boolean, if it is one.
    #[must_use]
    pub fn bool(&self) -> Option<bool> {
        self.of_type("`true` or `false`", self.node.as_bool())
    }

    /// The whole number, if it is one and lies in `range`.
    #[must_use]
    pub fn int(&self, range: RangeInclusive<i64>) -> Option<i64> {
        let value = self.of_type("a whole number", self.node.as_int())?;
        if range.contains(&value) {
            return Some(value);
        }
        let (least, most) = (*range.start(), *range.end());
        let (code, message) = if value < 0 && least >= 0 {
            (Code::NegativeLimit, format!("{value} is negative"))
        } else {
            (Code::OutOfRange, format!("{value} is out of range"))
        };
        let allowed = match most {
            i64::MAX => format!("a whole number from {least}"),
            _ => format!("a whole number from {least} to {most}"),
        };
        self.problems.report(
            self.problem(code, message)
                .found(value.to_string())
                .allowed(allowed),
        );
        None
    }

    /// The whole number as a count: what Kubernetes keeps in an `int32` that is not negative.
    #[must_use]
    pub fn count(&self) -> Option<u32> {
        self.count_from(0)
    }

    /// The whole number as a count that is `least` at the least.
    #[must_use]
    pub fn count_from(&self, least: u32) -> Option<u32> {
        let value = self.int(i64::from(least)..=i64::from(i32::MAX))?;
        u32::try_from(value).ok()
    }

    /// The meaning of one of a fixed set of words, written exactly so.
    #[must_use]
    pub fn choice<T: Clone>(&self, allowed: &[(&'static str, T)]) -> Option<T> {
        self.pick(allowed, |word, text| word == text)
    }

    /// The same in any letter case.
    #[must_use]
    pub fn choice_any_case<T: Clone>(&self, allowed: &[(&'static str, T)]) -> Option<T> {
        self.pick(allowed, str::eq_ignore_ascii_case)
    }

    fn pick<T: Clone>(&self, allowed: &[(&'static str, T)], same: impl Fn(&str, &str) -> bool) -> Option<T> {
        let text = self.text()?;
        if let Some((_, meaning)) = allowed.iter().find(|(word, _)| same(word, text)) {
            return Some(meaning.clone());
        }
        let words = || allowed.iter().map(|(word, _)| *word);
        let problem = self
            .problem(
                Code::UnknownValue,
                format!("`{}` is not a value of this field", shown(text)),
            )
            .found(text)
            .allowed(listed(words()))
            .maybe_hint(did_you_mean(text, words()));
        self.problems.report(problem);
        None
    }

    /// Reports that the value is not what the field takes.
    pub fn wrong_type(&self, expected: &str) {
        let node = self.node;
        let written = || self.problems.written(node);
        let hint = match &node.kind {
            Kind::Bool(value) if expected == "text" => Some(format!(
                "unquoted `{}` is the boolean {value}: write \"{}\"",
                written(),
                written()
            )),
            Kind::Int(_) | Kind::Float(_) if expected == "text" => {
                Some(format!("put it in quotes: \"{}\"", written()))
            }
            Kind::Text(text) if expected == "a whole number" && text.trim().parse::<i64>().is_ok() => {
                Some(format!("remove the quotes: {}", text.trim()))
            }
            Kind::Text(text) if expected.starts_with("`true`") && matches!(&**text, "true" | "false") => {
                Some(format!("remove the quotes: {text}"))
            }
            Kind::Map(_) if expected == "a list" => Some("begin each item with `- `".to_owned()),
            Kind::List(_) if expected == "a map" => Some("remove the `- ` in front of its fields".to_owned()),
            _ => None,
        };
        let found = match &node.kind {
            Kind::List(_) | Kind::Map(_) | Kind::Null => node.describe().to_owned(),
            _ => written(),
        };
        let message = format!("expected {expected}, found {}", node.describe());
        let problem = self
            .problem(Code::WrongType, message)
            .found(found)
            .allowed(expected)
            .maybe_hint(hint);
        self.problems.report(problem);
    }
}

/// Where to point for a whole map or list: its first key or character, not all of its lines.
fn head(node: &Node) -> Span {
    match &node.kind {
        Kind::Map(map) => map.entries().first().map_or(node.span, |entry| entry.key_span),
        Kind::List(items) => items.first().map_or(node.span, |item| Span {
            end: item.span.start.max(node.span.start + 1),
            ..node.span
        }),
        _ => node.span,
    }
}
