//! What is wrong with a manifest, and where: the one thing every stage of reading can say.
//!
//! A problem never stops the reading of the rest. The command line turns it into a snippet; nothing here prints.

use std::cell::RefCell;
use std::fmt::{self, Write as _};
use std::sync::Arc;

use serde::Serialize;

use crate::codes::Code;
use crate::document::Source;

/// How many problems of one document are kept; the rest are only counted.
pub const MOST_PROBLEMS: usize = 100;

/// How many characters of the user's own text a message repeats.
const SHOWN_CHARACTERS: usize = 60;

/// A piece of the source text.
///
/// Sixteen bytes, because every node and every key has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Span {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// First byte, counted from the beginning of the source text.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

impl Span {
    /// The byte range, as renderers want it.
    #[must_use]
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// Whether a manifest can be used in spite of the problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The manifest cannot be used.
    Error,
    /// The manifest can be used, but probably does not mean what its author thinks.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
        })
    }
}

/// The way from the root of a document to a field: `spec.tasks[0].policies[1].event`.
///
/// Cloning and adding a step are cheap; the text is only made when there is something to report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldPath(Option<Arc<PathStep>>);

#[derive(Debug, PartialEq, Eq)]
struct PathStep {
    before: FieldPath,
    step: Step,
}

#[derive(Debug, PartialEq, Eq)]
enum Step {
    Field(Arc<str>),
    Index(usize),
}

impl FieldPath {
    /// The document itself.
    #[must_use]
    pub fn root() -> Self {
        Self(None)
    }

    /// The field `name` of this place.
    #[must_use]
    pub fn field(&self, name: impl Into<Arc<str>>) -> Self {
        self.step(Step::Field(name.into()))
    }

    /// The item `index` of this place, counted from 0.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        self.step(Step::Index(index))
    }

    fn step(&self, step: Step) -> Self {
        Self(Some(Arc::new(PathStep {
            before: self.clone(),
            step,
        })))
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(last) = &self.0 else { return Ok(()) };
        write!(f, "{}", last.before)?;
        match &last.step {
            Step::Index(index) => write!(f, "[{index}]"),
            // A key such as `nvidia.com/gpu` would read as two fields without the brackets.
            Step::Field(name) if name.contains(['.', '/', ' ', '[']) || name.is_empty() => {
                write!(f, "[{}]", shown(name))
            }
            Step::Field(name) if last.before.0.is_none() => f.write_str(&shown(name)),
            Step::Field(name) => write!(f, ".{}", shown(name)),
        }
    }
}

/// Where a problem is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The name of the source: a file's path, or `-` for standard input.
    pub source: Arc<str>,
    /// Which document of the source, from 0.
    pub document: usize,
    /// The piece of text, if there is one to point at.
    pub span: Option<Span>,
    /// The field, as `spec.tasks[0].name`; empty where it is about no field.
    pub path: String,
}

/// One thing that is wrong with a manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// What sort of problem it is; stable.
    pub code: Code,
    /// Whether the manifest can be used in spite of it.
    pub severity: Severity,
    /// Where it is.
    pub place: Place,
    /// What was found there, in the user's own words.
    pub found: Option<String>,
    /// What is wrong, as one sentence without a full stop.
    pub message: String,
    /// What would be right.
    pub allowed: Option<String>,
    /// How to mend it.
    pub hint: Option<String>,
    /// The few words under the snippet.
    pub label: Option<String>,
    /// Other places that belong to it, each with a few words.
    pub related: Vec<(Span, String)>,
}

impl Problem {
    /// A problem of the code's own severity. `message` is taken as it is: show user text through [`shown`].
    #[must_use]
    pub fn new(code: Code, place: Place, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: code.severity(),
            place,
            found: None,
            message: message.into(),
            allowed: None,
            hint: None,
            label: None,
            related: Vec::new(),
        }
    }

    /// Says what was found.
    #[must_use]
    pub fn found(mut self, found: impl AsRef<str>) -> Self {
        self.found = Some(shown(found.as_ref()));
        self
    }

    /// Says what would be right.
    #[must_use]
    pub fn allowed(mut self, allowed: impl Into<String>) -> Self {
        self.allowed = Some(allowed.into());
        self
    }

    /// Says how to mend it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same, where there may be nothing to say.
    #[must_use]
    pub fn maybe_hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint.or(self.hint);
        self
    }

    /// Gives the few words under the snippet.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Points at another place of the same source.
    #[must_use]
    pub fn related(mut self, span: Span, words: impl Into<String>) -> Self {
        self.related.push((span, words.into()));
        self
    }
}

/// User text as it may be repeated in a message: control characters escaped, long text shortened.
#[must_use]
pub fn shown(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(4 * SHOWN_CHARACTERS));
    for (count, character) in text.chars().enumerate() {
        if count == SHOWN_CHARACTERS {
            out.push('…');
            break;
        }
        if character.is_control() || is_direction_mark(character) {
            // Writing to a String cannot fail.
            let _ = write!(out, "{}", character.escape_default());
        } else {
            out.push(character);
        }
    }
    out
}

/// Characters that change how the rest of a line is displayed, or are line breaks to some terminals.
fn is_direction_mark(character: char) -> bool {
    matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// Gathers the problems of one document while it is read.
///
/// It is handed about as `&Problems`, so that a reader of nested fields needs no exclusive borrow.
#[derive(Debug)]
pub struct Problems {
    source: Arc<str>,
    text: Arc<str>,
    document: usize,
    list: RefCell<Vec<Problem>>,
}

impl Problems {
    /// An empty collection for document `document` (from 0) of `source`.
    #[must_use]
    pub fn new(source: &Source, document: usize) -> Self {
        Self {
            source: source.name.clone(),
            text: source.text.clone(),
            document,
            list: RefCell::new(Vec::new()),
        }
    }

    /// The text as it was written there, fit to be shown.
    #[must_use]
    pub fn written(&self, span: Span) -> String {
        shown(self.text.get(span.range()).unwrap_or_default())
    }

    /// A place in this document.
    #[must_use]
    pub fn place(&self, span: Option<Span>, path: &FieldPath) -> Place {
        Place {
            source: Arc::clone(&self.source),
            document: self.document,
            span,
            path: path.to_string(),
        }
    }

    /// Takes a problem.
    pub fn report(&self, problem: Problem) {
        self.list.borrow_mut().push(problem);
    }

    /// Takes a problem at `span` and `path`, given by code and message.
    pub fn report_at(&self, code: Code, span: Option<Span>, path: &FieldPath, message: impl Into<String>) {
        self.report(Problem::new(code, self.place(span, path), message));
    }

    /// Whether anything gathered so far is an error.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        has_errors(&self.list.borrow())
    }

    /// How many there are so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.borrow().len()
    }

    /// Whether there are none so far.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.borrow().is_empty()
    }

    /// Everything gathered, tidied as [`tidy`] says.
    #[must_use]
    pub fn into_vec(self) -> Vec<Problem> {
        tidy(self.list.into_inner())
    }
}

/// Whether any of them is an error.
#[must_use]
pub fn has_errors(problems: &[Problem]) -> bool {
    problems.iter().any(|problem| problem.severity == Severity::Error)
}

/// Sorts by place, drops repetitions, and keeps at most [`MOST_PROBLEMS`] of one document.
///
/// Where the text itself could not be read (`.inf`, a bad tag), what a later stage says about the same piece of
/// text is a consequence and is dropped.
#[must_use]
pub fn tidy(mut problems: Vec<Problem>) -> Vec<Problem> {
    problems.sort_by(|a, b| order(a).cmp(&order(b)));
    problems.dedup();
    let unread: Vec<(usize, Span)> = problems
        .iter()
        .filter(|problem| problem.code.is_about_text() && problem.severity == Severity::Error)
        .filter_map(|problem| Some((problem.place.document, problem.place.span?)))
        .collect();
    problems.retain(|problem| {
        problem.code.is_about_text()
            || problem
                .place
                .span
                .is_none_or(|span| unread.binary_search(&(problem.place.document, span)).is_err())
    });
    cap(problems)
}

fn order(problem: &Problem) -> impl Ord + use<'_> {
    let span = problem.place.span.unwrap_or_default();
    (
        &problem.place.source,
        problem.place.document,
        span.start,
        span,
        problem.code,
        &problem.place.path,
        &problem.message,
    )
}

/// Keeps the first problems of each document, errors before warnings, and says how many more there are.
fn cap(problems: Vec<Problem>) -> Vec<Problem> {
    let mut kept = Vec::with_capacity(problems.len().min(2 * MOST_PROBLEMS));
    let mut rest = problems.into_iter().peekable();
    while let Some(first) = rest.next() {
        let (source, document) = (Arc::clone(&first.place.source), first.place.document);
        let mut group = vec![first];
        while let Some(next) =
            rest.next_if(|problem| problem.place.document == document && problem.place.source == source)
        {
            group.push(next);
        }
        if group.len() > MOST_PROBLEMS {
            group.sort_by_key(|problem| problem.severity);
            let more = group.split_off(MOST_PROBLEMS);
            group.sort_by(|a, b| order(a).cmp(&order(b)));
            let severity = more
                .iter()
                .map(|problem| problem.severity)
                .min()
                .unwrap_or(Severity::Warning);
            let place = Place {
                source,
                document,
                span: None,
                path: String::new(),
            };
            let mut note = Problem::new(
                Code::MoreProblems,
                place,
                format!("and {} more problems", more.len()),
            );
            note.severity = severity;
            group.push(note);
        }
        kept.extend(group);
    }
    kept
}

/// The one of `candidates` that `word` was probably meant to be.
///
/// Letter case, dashes and underscores weigh nothing; otherwise about one slip in three letters is forgiven.
#[must_use]
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| -> String {
        text.chars()
            .filter(|c| !matches!(c, '-' | '_' | ' '))
            .flat_map(char::to_lowercase)
            .take(64)
            .collect()
    };
    let wanted = plain(word);
    let forgiven = (wanted.chars().count() / 3).clamp(1, 4);
    candidates
        .into_iter()
        .filter(|candidate| *candidate != word)
        .map(|candidate| (strsim::damerau_levenshtein(&wanted, &plain(candidate)), candidate))
        .filter(|(distance, candidate)| *distance <= forgiven && *distance < candidate.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// `did you mean `x`?`, if something is close enough.
#[must_use]
pub fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    closest(word, candidates).map(|candidate| format!("did you mean `{candidate}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(start: u32, code: Code) -> Problem {
        let span = Span {
            line: 1,
            column: start + 1,
            start,
            end: start + 1,
        };
        let place = Place {
            source: "x".into(),
            document: 0,
            span: Some(span),
            path: String::new(),
        };
        Problem::new(code, place, format!("at {start}"))
    }

    #[test]
    fn paths_read_like_kubernetes_paths() {
        let tasks = FieldPath::root().field("spec").field("tasks").index(0);
        assert_eq!(
            tasks.field("policies").index(1).field("event").to_string(),
            "spec.tasks[0].policies[1].event"
        );
        assert_eq!(
            FieldPath::root()
                .field("limits")
                .field("nvidia.com/gpu")
                .to_string(),
            "limits[nvidia.com/gpu]"
        );
        assert_eq!(FieldPath::root().to_string(), "");
    }

    #[test]
    fn user_text_is_escaped_and_shortened() {
        assert_eq!(shown("a\u{1b}[31m\n"), "a\\u{1b}[31m\\n");
        assert_eq!(shown("\u{202e}x"), "\\u{202e}x");
        assert_eq!(shown(&"é".repeat(100)).chars().count(), SHOWN_CHARACTERS + 1);
    }

    #[test]
    fn problems_come_in_the_order_of_the_text_and_once() {
        let out = tidy(vec![
            problem(9, Code::UnknownField),
            problem(2, Code::WrongType),
            problem(9, Code::UnknownField),
        ]);
        assert_eq!(
            out.iter().map(|p| p.message.as_str()).collect::<Vec<_>>(),
            ["at 2", "at 9"]
        );
    }

    #[test]
    fn what_could_not_be_read_is_not_reported_twice() {
        let out = tidy(vec![problem(4, Code::WrongType), problem(4, Code::NotFinite)]);
        assert_eq!(out.len(), 1);
        assert_eq!(out[0].code, Code::NotFinite);
    }

    #[test]
    fn a_flood_is_capped_and_errors_stay() {
        let mut flood: Vec<Problem> = (0..300).map(|i| problem(i, Code::MergedOverOwn)).collect();
        flood.push(problem(1000, Code::UnknownField));
        let out = tidy(flood);
        assert_eq!(out.len(), MOST_PROBLEMS + 1);
        assert!(out.iter().any(|p| p.code == Code::UnknownField));
        assert_eq!(out[MOST_PROBLEMS].message, "and 201 more problems");
        assert_eq!(out[MOST_PROBLEMS].severity, Severity::Warning);
    }

    #[test]
    fn slips_are_recognised_and_strangers_are_not() {
        let roles = ["Worker", "PS", "Chief", "Evaluator"];
        for (word, meant) in [
            ("Wroker", "Worker"),
            ("worker", "Worker"),
            ("ps", "PS"),
            ("evalutor", "Evaluator"),
        ] {
            assert_eq!(closest(word, roles), Some(meant), "{word}");
        }
        assert_eq!(closest("Launcher", roles), None);
        assert_eq!(closest("x", ["y"]), None);
    }
}
