//! What is wrong with a manifest, and where: the one thing every stage of reading can say.
//!
//! A problem never stops the reading of the rest. The command line turns it into a snippet; nothing here prints.

mod path;
mod tidy;
mod words;

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;

pub use self::path::FieldPath;
pub use self::tidy::{MOST_PROBLEMS, tidy};
pub use self::words::{closest, did_you_mean, escaped, is_hidden, quoted, shown};
use crate::codes::Code;
use crate::document::{Node, Source};

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

    /// Whether it points into text: a document made from a value has none.
    #[must_use]
    pub fn is_in_text(self) -> bool {
        self.line > 0
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
    /// Which line of ours gave the hint: every hint is tried by a test.
    #[cfg(feature = "hinted-by")]
    #[serde(skip)]
    pub hinted_by: Option<&'static std::panic::Location<'static>>,
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
            #[cfg(feature = "hinted-by")]
            hinted_by: None,
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

    /// Says how to mend it. Following it ends the problem: the table in `helps` tries each.
    #[must_use]
    #[cfg_attr(feature = "hinted-by", track_caller)]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        #[cfg(feature = "hinted-by")]
        {
            self.hinted_by = Some(std::panic::Location::caller());
        }
        self
    }

    /// The same, where there may be nothing to say.
    #[must_use]
    #[cfg_attr(feature = "hinted-by", track_caller)]
    pub fn maybe_hint(self, hint: Option<String>) -> Self {
        match hint {
            Some(hint) => self.hint(hint),
            None => self,
        }
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

    /// What would be right, unless the message says it: once is enough.
    #[must_use]
    pub fn allowed_unsaid(&self) -> Option<&str> {
        let allowed = self.allowed.as_deref();
        allowed.filter(|allowed| !self.message.contains(allowed))
    }

    /// Where, what and how to mend it in one line, for places that show no snippet: the operator's log, events and statuses.
    /// A value of the wrong type is not repeated there, since other people read them: an unquoted password is such a value.
    #[must_use]
    pub fn in_a_line(&self) -> String {
        let (message, hint) = self.without_value();
        let allowed = self.allowed.as_deref();
        let allowed = allowed.filter(|allowed| !message.contains(allowed));
        let allowed = allowed.map(|allowed| format!("allowed: {allowed}"));
        let rest: Vec<String> = allowed.into_iter().chain(hint.map(str::to_owned)).collect();
        let mut line = message.to_owned();
        if !self.place.path.is_empty() {
            line = format!("{}: {line}", self.place.path);
        }
        if !rest.is_empty() {
            line = format!("{line} ({})", rest.join("; "));
        }
        line
    }

    /// The message and the hint without the value of a variable, an argument or another field that should be text.
    fn without_value(&self) -> (&str, Option<&str>) {
        let hint = self.hint.as_deref();
        match self.code {
            Code::EnvNotText => ("the value of a variable is text", Some("put it in quotes")),
            // What follows the colon is the value, mended.
            Code::WrongType => (
                &self.message,
                hint.map(|hint| hint.split(": ").next().unwrap_or(hint)),
            ),
            _ => (&self.message, hint),
        }
    }
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

    /// The value as it was written, or would be in JSON, fit to be shown.
    #[must_use]
    pub fn written(&self, node: &Node) -> String {
        if node.span.is_in_text() {
            shown(self.text.get(node.span.range()).unwrap_or_default())
        } else {
            shown(&node.to_json().to_string())
        }
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

/// `, on lines 3 and 7`; empty where there is no text.
#[must_use]
pub fn on_lines(first: Span, second: Span) -> String {
    if first.is_in_text() {
        format!(", on lines {} and {}", first.line, second.line)
    } else {
        String::new()
    }
}

/// Whether any of them is an error.
#[must_use]
pub fn has_errors(problems: &[Problem]) -> bool {
    problems.iter().any(|problem| problem.severity == Severity::Error)
}
