//! How every dialect asks for typed fields, so that each of them reports the same mistakes in the same words.
//!
//! [`Fields`] is a map that is being read: it is asked for each field it may have, and [`Fields::finish`] reports
//! every key that was not asked for. [`Field`] is one value with its place. A value that is null counts as absent, as
//! it does for Kubernetes.
//!
//! ```
//! use trainyard_document::{Source, parse};
//! use trainyard_document::fields::Field;
//! use trainyard_document::problem::{FieldPath, Problems};
//!
//! let source = Source::from_bytes("job.yaml", b"replicas: 2\nrestartpolicy: Never\n").unwrap();
//! let (documents, _) = parse(&source);
//! let problems = Problems::new(&source, 0);
//! let root = Field::root(&documents[0].root, FieldPath::root(), &problems);
//! let mut fields = root.fields().unwrap();
//! assert_eq!(fields.int("replicas", 0..=100), Some(2));
//! assert_eq!(fields.choice("restartPolicy", &[("Never", 0), ("Always", 1)]), None);
//! fields.finish();
//! let problem = &problems.into_vec()[0];
//! assert_eq!(problem.message, "unknown field `restartpolicy`");
//! assert_eq!(problem.hint.as_deref(), Some("did you mean `restartPolicy`?"));
//! ```

mod field;

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::sync::Arc;

pub use self::field::Field;
use crate::codes::Code;
use crate::document::{Map, Node};
use crate::problem::{Problem, Problems, closest, quoted, shown};

/// A map that is being read.
#[derive(Debug)]
#[must_use = "call `finish`, or unknown fields go unnoticed"]
pub struct Fields<'a> {
    map: &'a Map,
    place: Field<'a>,
    asked: Vec<Cow<'static, str>>,
    /// Fields that were asked for to be refused: they are never offered.
    refused: Vec<&'static str>,
    elsewhere: Vec<(&'static str, String)>,
}

impl<'a> Fields<'a> {
    fn new(map: &'a Map, place: Field<'a>) -> Self {
        Self {
            map,
            place,
            asked: Vec::new(),
            refused: Vec::new(),
            elsewhere: Vec::new(),
        }
    }

    /// Where problems go.
    #[must_use]
    pub fn problems(&self) -> &'a Problems {
        self.place.problems
    }

    /// Whether the map has the field, null or not. Does not count as asking for it.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.peek(name).is_some()
    }

    /// The value of a field, null or not. Does not count as asking for it.
    #[must_use]
    pub fn peek(&self, name: &str) -> Option<&'a Node> {
        self.map.get(name)
    }

    /// A problem about the map as a whole.
    #[must_use]
    pub fn problem(&self, code: Code, message: impl Into<String>) -> Problem {
        self.place.key_problem(code, message)
    }

    /// The field, if it is there and not null. Every other question is put through this one.
    pub fn get(&mut self, name: impl Into<Cow<'static, str>>) -> Option<Field<'a>> {
        let name = name.into();
        let found = self.place.get(&name);
        self.asked.push(name);
        found
    }

    /// A field that has no place here, for the caller to say why. It is not among those that are allowed.
    pub fn refused(&mut self, name: &'static str) -> Option<Field<'a>> {
        let found = self.get(name);
        self.asked.pop();
        self.refused.push(name);
        found
    }

    /// The field, which must be there.
    pub fn require(&mut self, name: &'static str) -> Option<Field<'a>> {
        let found = self.get(name);
        if found.is_none() {
            let message = format!("the field `{name}` is missing");
            self.place.missing(name, Code::MissingField, message);
        }
        found
    }

    /// The field as text.
    pub fn text(&mut self, name: &'static str) -> Option<&'a Arc<str>> {
        self.get(name)?.text()
    }

    /// The field as a boolean.
    pub fn bool(&mut self, name: &'static str) -> Option<bool> {
        self.get(name)?.bool()
    }

    /// The field as a whole number in `range`.
    pub fn int(&mut self, name: &'static str, range: RangeInclusive<i64>) -> Option<i64> {
        self.get(name)?.int(range)
    }

    /// The field as a count of something: what Kubernetes keeps in an `int32` that is not negative.
    pub fn count(&mut self, name: &'static str) -> Option<u32> {
        self.get(name)?.count()
    }

    /// The field as one of a fixed set of words, written exactly so.
    pub fn choice<T: Clone>(&mut self, name: &'static str, allowed: &[(&'static str, T)]) -> Option<T> {
        self.get(name)?.choice(allowed)
    }

    /// The same in any letter case.
    pub fn choice_any_case<T: Clone>(
        &mut self,
        name: &'static str,
        allowed: &[(&'static str, T)],
    ) -> Option<T> {
        self.get(name)?.choice_any_case(allowed)
    }

    /// The items of the field; nothing if it is absent or no list.
    pub fn list(&mut self, name: &'static str) -> Vec<Field<'a>> {
        self.get(name).map(|field| field.items()).unwrap_or_default()
    }

    /// The fields of the field.
    pub fn map(&mut self, name: &'static str) -> Option<Self> {
        self.get(name)?.fields()
    }

    /// Everything in the map, each entry as a field that has been asked for; for maps with keys of the user's choice.
    pub fn entries(&mut self) -> Vec<(&'a Arc<str>, Field<'a>)> {
        let entries = self.map.entries().iter();
        let all: Vec<_> = entries
            .map(|entry| (&entry.key, self.place.entry(entry)))
            .collect();
        self.asked
            .extend(all.iter().map(|(key, _)| Cow::Owned(key.to_string())));
        all
    }

    /// A field that older versions had here: it is read, with a word about its new place.
    pub fn moved(&mut self, old: &'static str, new_place: &str) -> Option<Field<'a>> {
        let found = self.get(old)?;
        let message = format!("`{old}` now belongs in `{new_place}`");
        let problem = found.key_problem(Code::MovedField, message);
        found.tell(problem.hint(format!("move it to `{new_place}`")));
        Some(found)
    }

    /// A field that is known but does nothing here.
    pub fn ignored(&mut self, name: &'static str, why: &str) {
        if let Some(found) = self.get(name) {
            let message = format!("`{name}` has no effect: {why}");
            found.tell(found.key_problem(Code::FieldIgnored, message));
        }
    }

    /// Fields that may be there and need no word.
    pub fn skip(&mut self, names: &[&'static str]) {
        self.asked.extend(names.iter().map(|name| Cow::Borrowed(*name)));
    }

    /// If `name` is found here, where it is not known, the hint names `place`.
    pub fn elsewhere(&mut self, name: &'static str, place: impl Into<String>) {
        self.elsewhere.push((name, place.into()));
    }

    /// Reports every key that was not asked for.
    pub fn finish(self) {
        for entry in self.map.entries() {
            if self.asked.iter().any(|name| *name == *entry.key) || self.refused.contains(&&*entry.key) {
                continue;
            }
            let name = shown(&entry.key);
            let field = self.place.entry(entry);
            let message = format!("unknown field `{name}`");
            let mut problem = field.key_problem(Code::UnknownField, message).found(&entry.key);
            let elsewhere = self.elsewhere.iter().find(|(known, _)| *known == &*entry.key);
            let asked = || self.asked.iter().map(AsRef::as_ref);
            if let Some((_, place)) = elsewhere {
                problem = problem.hint(format!("it belongs in `{place}`"));
            } else if let Some(meant) = closest(&entry.key, asked()) {
                problem = problem.hint(format!("did you mean `{meant}`?"));
            } else if !self.asked.is_empty() {
                problem = problem.allowed(listed(asked()));
            }
            field.tell(problem);
        }
    }
}

/// `a, b or c`, sorted as given and without repetitions.
fn listed<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let mut seen: Vec<&str> = Vec::new();
    for word in words {
        if !seen.contains(&word) {
            seen.push(word);
        }
    }
    match seen.split_last() {
        None => String::new(),
        Some((last, [])) => format!("`{last}`"),
        Some((last, rest)) => format!("{} or `{last}`", quoted(rest)),
    }
}

#[cfg(test)]
mod tests;
