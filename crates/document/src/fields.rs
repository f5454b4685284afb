//! How every dialect asks for typed fields, so that each of them reports the same mistakes in the same words.
//!
//! [`Fields`] is a map that is being read: it is asked for each field it may have, and [`Fields::finish`] reports
//! every key that was not asked for. [`Field`] is one value with its place. A value that is null counts as absent, as
//! it does for Kubernetes.
//!
//! ```
//! use trainyard_document::{Source, parse};
//! use trainyard_document::fields::Fields;
//! use trainyard_document::problem::{FieldPath, Problems};
//!
//! let source = Source::from_bytes("job.yaml", b"replicas: 2\nrestartpolicy: Never\n").unwrap();
//! let (documents, _) = parse(&source);
//! let problems = Problems::new(&source, 0);
//! let mut fields = Fields::open(&documents[0].root, FieldPath::root(), &problems).unwrap();
//! assert_eq!(fields.int("replicas", 0..=100), Some(2));
//! assert_eq!(fields.choice("restartPolicy", &[("Never", 0), ("Always", 1)]), None);
//! fields.finish();
//! let problem = &problems.into_vec()[0];
//! assert_eq!(problem.message, "unknown field `restartpolicy`");
//! assert_eq!(problem.hint.as_deref(), Some("did you mean `restartPolicy`?"));
//! ```

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::codes::Code;
use crate::document::{Kind, Map, Node};
use crate::problem::{FieldPath, Problem, Problems, Span, closest, shown};

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

/// A map that is being read.
#[derive(Debug)]
#[must_use = "call `finish`, or unknown fields go unnoticed"]
pub struct Fields<'a> {
    map: &'a Map,
    path: FieldPath,
    at: Span,
    problems: &'a Problems,
    asked: Vec<Cow<'static, str>>,
    /// Fields that were asked for to be refused: they are never offered.
    refused: Vec<&'static str>,
    elsewhere: Vec<(&'static str, String)>,
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

    /// A problem at this value; add to it and hand it to [`Problems::report`].
    #[must_use]
    pub fn problem(&self, code: Code, message: impl Into<String>) -> Problem {
        Problem::new(code, self.problems.place(Some(self.span()), &self.path), message)
    }

    /// A problem at the key that introduces this value.
    #[must_use]
    pub fn key_problem(&self, code: Code, message: impl Into<String>) -> Problem {
        Problem::new(code, self.problems.place(Some(self.at), &self.path), message)
    }

    /// Reports a problem.
    pub fn tell(&self, problem: Problem) {
        self.problems.report(problem);
    }

    /// Reports a problem at this value that needs no more words.
    pub fn report(&self, code: Code, message: impl Into<String>) {
        self.problems.report(self.problem(code, message));
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

    /// The fields, if it is a map.
    #[must_use]
    pub fn fields(&self) -> Option<Fields<'a>> {
        let Kind::Map(map) = &self.node.kind else {
            self.wrong_type("a map");
            return None;
        };
        Some(Fields {
            map,
            path: self.path.clone(),
            at: self.at,
            problems: self.problems,
            asked: Vec::new(),
            refused: Vec::new(),
            elsewhere: Vec::new(),
        })
    }

    /// The items, if it is a list; nothing after a problem.
    #[must_use]
    pub fn items(&self) -> Vec<Self> {
        let Kind::List(items) = &self.node.kind else {
            self.wrong_type("a list");
            return Vec::new();
        };
        let item = |(index, node): (usize, &'a Node)| Self {
            node,
            path: self.path.index(index),
            at: head(node),
            problems: self.problems,
        };
        items.iter().enumerate().map(item).collect()
    }

    /// The text, if it is text.
    #[must_use]
    pub fn text(&self) -> Option<&'a Arc<str>> {
        if let Kind::Text(text) = &self.node.kind {
            return Some(text);
        }
        self.wrong_type("text");
        None
    }

    /// The boolean, if it is one.
    #[must_use]
    pub fn bool(&self) -> Option<bool> {
        if let Kind::Bool(value) = self.node.kind {
            return Some(value);
        }
        self.wrong_type("`true` or `false`");
        None
    }

    /// The whole number, if it is one and lies in `range`.
    #[must_use]
    pub fn int(&self, range: RangeInclusive<i64>) -> Option<i64> {
        let Kind::Int(value) = self.node.kind else {
            self.wrong_type("a whole number");
            return None;
        };
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
            .maybe_hint(crate::problem::did_you_mean(text, words()));
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

impl<'a> Fields<'a> {
    /// Opens a map; anything else is reported.
    pub fn open(node: &'a Node, path: FieldPath, problems: &'a Problems) -> Option<Self> {
        Field::root(node, path, problems).fields()
    }

    /// The place of the map.
    #[must_use]
    pub fn path(&self) -> &FieldPath {
        &self.path
    }

    /// Where problems go.
    #[must_use]
    pub fn problems(&self) -> &'a Problems {
        self.problems
    }

    /// Whether the map has the field, null or not. Does not count as asking for it.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.map.get(name).is_some()
    }

    /// The value of a field, null or not. Does not count as asking for it.
    #[must_use]
    pub fn peek(&self, name: &str) -> Option<&'a Node> {
        self.map.get(name)
    }

    /// A problem about the map as a whole.
    #[must_use]
    pub fn problem(&self, code: Code, message: impl Into<String>) -> Problem {
        Problem::new(code, self.problems.place(Some(self.at), &self.path), message)
    }

    /// The field, if it is there and not null. Every other question is put through this one.
    pub fn get(&mut self, name: impl Into<Cow<'static, str>>) -> Option<Field<'a>> {
        let name = name.into();
        let found = self
            .map
            .entry(&name)
            .filter(|entry| !entry.value.is_null())
            .map(|entry| Field {
                node: &entry.value,
                path: self.path.field(Arc::clone(&entry.key)),
                at: entry.key_span,
                problems: self.problems,
            });
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
            let place = self.problems.place(Some(self.at), &self.path.field(name));
            let message = format!("the field `{name}` is missing");
            self.problems
                .report(Problem::new(Code::MissingField, place, message).label(format!("needs `{name}`")));
        }
        found
    }

    /// The field's node.
    pub fn node(&mut self, name: &'static str) -> Option<&'a Node> {
        self.get(name).map(|field| field.node)
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
        self.int(name, 0..=i64::from(i32::MAX))
            .and_then(|value| u32::try_from(value).ok())
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
        let entry = |entry: &'a crate::document::Entry| {
            let path = self.path.field(Arc::clone(&entry.key));
            (
                &entry.key,
                Field {
                    node: &entry.value,
                    path,
                    at: entry.key_span,
                    problems: self.problems,
                },
            )
        };
        let all: Vec<_> = self.map.entries().iter().map(entry).collect();
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
            let place = self
                .problems
                .place(Some(entry.key_span), &self.path.field(Arc::clone(&entry.key)));
            let mut problem =
                Problem::new(Code::UnknownField, place, format!("unknown field `{name}`")).found(&entry.key);
            let elsewhere = self.elsewhere.iter().find(|(known, _)| *known == &*entry.key);
            let asked = || self.asked.iter().map(AsRef::as_ref);
            if let Some((_, place)) = elsewhere {
                problem = problem.hint(format!("it belongs in `{place}`"));
            } else if let Some(meant) = closest(&entry.key, asked()) {
                problem = problem.hint(format!("did you mean `{meant}`?"));
            } else if !self.asked.is_empty() {
                problem = problem.allowed(listed(asked()));
            }
            self.problems.report(problem);
        }
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
        Some((last, rest)) => {
            let rest: Vec<String> = rest.iter().map(|word| format!("`{word}`")).collect();
            format!("{} or `{last}`", rest.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Source, parse};

    /// Reads `text` with `ask`, and gives what was told as `code path: message (hint)`.
    fn told(text: &str, ask: impl FnOnce(&mut Fields<'_>)) -> Vec<String> {
        let source = Source::from_bytes("x.yaml", text.as_bytes()).unwrap();
        let (documents, _) = parse(&source);
        let problems = Problems::new(&source, 0);
        if let Some(mut fields) = Fields::open(&documents[0].root, FieldPath::root(), &problems) {
            ask(&mut fields);
            fields.finish();
        }
        let line = |problem: &Problem| {
            let hint = problem
                .hint
                .as_ref()
                .or(problem.allowed.as_ref())
                .map(|hint| format!(" ({hint})"));
            format!(
                "{} {}: {}{}",
                problem.code,
                problem.place.path,
                problem.message,
                hint.unwrap_or_default()
            )
        };
        problems.into_vec().iter().map(line).collect()
    }

    #[test]
    fn values_of_the_right_type_are_given_without_a_word() {
        let text = "t: x\nb: no\ni: 5\nl: [1, 2]\nm: {a: 1}\nc: Never\nz: ~\n";
        let problems = told(text, |fields| {
            assert_eq!(fields.text("t").map(AsRef::as_ref), Some("x"));
            assert_eq!(fields.bool("b"), Some(false));
            assert_eq!(fields.int("i", 0..=5), Some(5));
            assert_eq!(fields.count("i"), Some(5));
            assert_eq!(fields.list("l").len(), 2);
            assert_eq!(fields.choice("c", &[("Always", 1), ("Never", 2)]), Some(2));
            assert_eq!(fields.choice_any_case("c", &[("never", 3)]), Some(3));
            assert!(fields.get("z").is_none() && fields.has("z"));
            let mut inner = fields.map("m").unwrap();
            assert_eq!(inner.int("a", 0..=9), Some(1));
            inner.finish();
        });
        assert_eq!(problems, Vec::<String>::new());
    }

    #[test]
    fn values_of_the_wrong_type_are_reported_with_a_way_out() {
        let cases = [
            (
                "v: yes",
                "text",
                "TY021 v: expected text, found a boolean (unquoted `yes` is the boolean true: write \"yes\")",
            ),
            (
                "v: 017",
                "text",
                "TY021 v: expected text, found a whole number (put it in quotes: \"017\")",
            ),
            ("v: [a]", "text", "TY021 v: expected text, found a list (text)"),
            (
                "v: '5'",
                "int",
                "TY021 v: expected a whole number, found text (remove the quotes: 5)",
            ),
            (
                "v: 1.5",
                "int",
                "TY021 v: expected a whole number, found a number (a whole number)",
            ),
            (
                "v: -1",
                "int",
                "TY046 v: -1 is negative (a whole number from 0 to 9)",
            ),
            (
                "v: 10",
                "int",
                "TY026 v: 10 is out of range (a whole number from 0 to 9)",
            ),
            (
                "v: 'true'",
                "bool",
                "TY021 v: expected `true` or `false`, found text (remove the quotes: true)",
            ),
            (
                "v: {a: 1}",
                "list",
                "TY021 v: expected a list, found a map (begin each item with `- `)",
            ),
            (
                "v: [1]",
                "map",
                "TY021 v: expected a map, found a list (remove the `- ` in front of its fields)",
            ),
            (
                "v: never",
                "choice",
                "TY023 v: `never` is not a value of this field (did you mean `Never`?)",
            ),
            (
                "v: Maybe",
                "choice",
                "TY023 v: `Maybe` is not a value of this field (`Always`, `OnFailure` or `Never`)",
            ),
        ];
        for (text, asked, expected) in cases {
            let problems = told(text, |fields| match asked {
                "text" => assert!(fields.text("v").is_none()),
                "int" => assert!(fields.int("v", 0..=9).is_none()),
                "bool" => assert!(fields.bool("v").is_none()),
                "list" => assert!(fields.list("v").is_empty()),
                "map" => assert!(fields.map("v").is_none()),
                _ => assert!(
                    fields
                        .choice("v", &[("Always", 1), ("OnFailure", 2), ("Never", 3)])
                        .is_none()
                ),
            });
            assert_eq!(problems, [expected], "{text}");
        }
    }

    #[test]
    fn fields_that_nobody_asked_for_are_unknown() {
        let text = "replicas: 1\nreplica: 2\nbackofLimit: 3\nbackoffLimit: 4\nxyz: 5\n\"a.b\": 6\n";
        let problems = told(text, |fields| {
            fields.skip(&["replicas", "template"]);
            fields.elsewhere("backoffLimit", "spec.runPolicy.backoffLimit");
        });
        assert_eq!(
            problems,
            [
                "TY020 replica: unknown field `replica` (did you mean `replicas`?)",
                "TY020 backofLimit: unknown field `backofLimit` (`replicas` or `template`)",
                "TY020 backoffLimit: unknown field `backoffLimit` (it belongs in `spec.runPolicy.backoffLimit`)",
                "TY020 xyz: unknown field `xyz` (`replicas` or `template`)",
                "TY020 [a.b]: unknown field `a.b` (`replicas` or `template`)",
            ]
        );
    }

    #[test]
    fn missing_moved_and_idle_fields_are_told() {
        let problems = told("old: 1\nidle: 2\n", |fields| {
            assert!(fields.require("name").is_none());
            assert!(fields.moved("old", "spec.new").is_some());
            assert!(fields.moved("older", "spec.new").is_none());
            fields.ignored("idle", "nothing reads it");
            fields.ignored("absent", "nothing reads it");
        });
        assert_eq!(
            problems,
            [
                "TY022 name: the field `name` is missing",
                "TY025 old: `old` now belongs in `spec.new` (move it to `spec.new`)",
                "TY027 idle: `idle` has no effect: nothing reads it",
            ]
        );
    }

    #[test]
    fn a_map_of_the_user_s_own_keys_is_known_as_a_whole() {
        let problems = told("a: 1\nb: {}\n", |fields| {
            let keys: Vec<String> = fields.entries().iter().map(|(key, _)| key.to_string()).collect();
            assert_eq!(keys, ["a", "b"]);
        });
        assert_eq!(problems, Vec::<String>::new());
    }
}
