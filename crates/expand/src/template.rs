//! The user's template: Go's text/template, with every mistake told before anything is written.
//!
//! The engine accepts some templates that Go refuses (a missing `{{end}}`, text after a stray one), and tells a name
//! that there is not only when it meets it, without its place. `check` looks for those before the template is used,
//! and `trace` finds the place in the template for what goes wrong when it is.

mod blocks;
mod check;
mod comments;
mod looks;
mod trace;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;

use gotmpl::{MissingKey, Template, TemplateError, Value};

use self::trace::{Texts, Traced};
use crate::functions;

/// What a template may refer to. The first four are simpletfjob's.
pub const VARIABLES: [&str; 11] = [
    "type",
    "index",
    "host",
    "TF_CONFIG",
    "TF_CONFIG_JSON",
    "hosts",
    "ps_hosts",
    "worker_hosts",
    "num",
    "port",
    "name",
];

/// How many of them simpletfjob had.
const ITS_OWN: usize = 4;

/// Where a mistake shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shows {
    /// In the template itself, or while it is filled in.
    #[default]
    Template,
    /// In what it makes, which is no YAML.
    Manifest,
}

/// A mistake in a template.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mistake {
    /// Where it shows.
    pub shows: Shows,
    /// The byte of the file where it is; none where it is unknown.
    pub at: Option<usize>,
    /// What is wrong.
    pub message: String,
    /// What may help.
    pub hint: Option<String>,
}

impl Mistake {
    fn nowhere(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            ..Self::default()
        }
    }
}

/// A template that can be filled in.
pub struct UserTemplate {
    template: Template,
    text: String,
    /// Where `text` begins in its file: simpletfjob trimmed what is before and after it, and so do we.
    start: usize,
    used: BTreeSet<String>,
}

impl fmt::Debug for UserTemplate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("UserTemplate").finish_non_exhaustive()
    }
}

impl UserTemplate {
    /// Reads a template; what is wrong with it is told all at once.
    pub fn parse(file: &str) -> Result<Self, Vec<Mistake>> {
        let text = comments::mended(file.trim());
        let text = text.as_ref();
        let start = file.len() - file.trim_start().len();
        let in_file = |mut mistake: Mistake| {
            mistake.at = mistake.at.map(|at| at + start);
            mistake
        };
        let template = engine()
            .parse(text)
            .map_err(|error| vec![in_file(mistake(&error, text))])?;
        let mut checked = check::names(&template);
        if checked.mistakes.is_empty() && !is_balanced(text) {
            checked.mistakes.push(Mistake {
                at: blocks::unpaired(text),
                hint: Some("every `if`, `range`, `with`, `block` and `define` needs one `{{end}}`".into()),
                ..Mistake::nowhere("a block of the template is not closed, or closed twice")
            });
        }
        if !checked.mistakes.is_empty() {
            return Err(checked.mistakes.into_iter().map(in_file).collect());
        }
        Ok(Self {
            template,
            text: text.to_owned(),
            start,
            used: checked.used,
        })
    }

    /// Whether a variable must be there: simpletfjob's own always are, so that `{{.}}` shows what it showed.
    #[must_use]
    pub fn uses(&self, variable: &str) -> bool {
        VARIABLES[..ITS_OWN].contains(&variable) || self.used.contains(variable)
    }

    /// Fills it in for one task.
    pub fn fill(&self, values: &Value) -> Result<String, Mistake> {
        let mut out = Limited::default();
        let filled = self.template.execute_fmt(&mut out, values);
        if out.over {
            let most = LONGEST >> 20;
            let message = format!("what the template makes for one task is longer than {most} MiB");
            return Err(Mistake::nowhere(message));
        }
        filled.map_err(|error| Mistake {
            at: self.trace(values).last().map(|at| at + self.start),
            ..mistake(&error, &self.text)
        })?;
        Ok(out.text)
    }

    /// The byte of the file that the byte `at` of what it makes comes from.
    #[must_use]
    pub fn origin(&self, values: &Value, at: usize) -> Option<usize> {
        self.trace(values).origin(at).map(|at| at + self.start)
    }

    fn trace(&self, values: &Value) -> Traced<'_> {
        let mut traced = Traced::new(Texts::of(&self.template, &self.text), &self.text);
        // How far it comes is what is asked for.
        let _ = self.template.execute_fmt(&mut traced, values);
        traced
    }
}

/// The name of the template: Go's messages had it.
const NAME: &str = "job";

/// What one task's manifest may be at most.
const LONGEST: usize = 16 << 20;

#[derive(Default)]
struct Limited {
    text: String,
    over: bool,
}

impl fmt::Write for Limited {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        if self.text.len() + part.len() > LONGEST {
            self.over = true;
            return Err(fmt::Error);
        }
        self.text.push_str(part);
        Ok(())
    }
}

fn engine() -> Template {
    functions::add(Template::new(NAME).missing_key(MissingKey::Error))
}

/// Whether every block is closed: behind `if false` nothing of a template may be left over, whatever it holds.
fn is_balanced(source: &str) -> bool {
    let guarded = format!("{{{{if false}}}}{source}\n{{{{end}}}}\u{1}");
    let parsed = engine().parse(&guarded);
    let filled = parsed.and_then(|template| template.execute_to_string(&Value::Nil));
    filled.is_ok_and(|text| text == "\u{1}")
}

fn mistake(error: &TemplateError, source: &str) -> Mistake {
    match error {
        TemplateError::Parse {
            line, col, message, ..
        }
        | TemplateError::Lex {
            line, col, message, ..
        } => Mistake {
            at: offset(source, *line, *col),
            ..Mistake::nowhere(message)
        },
        TemplateError::MissingKey { key } => Mistake {
            hint: Some(known()),
            ..Mistake::nowhere(format!("there is no `{key}` here"))
        },
        other => {
            let message = other.to_string();
            let message = message.strip_prefix("execution error: ").unwrap_or(&message);
            // What most users try first: `{{if eq .index 0}}`.
            let compared = message.contains("incompatible types");
            let hint = "`.index` is text, as it was in simpletfjob: compare it with `\"0\"`";
            Mistake {
                hint: (compared && source.contains(".index")).then(|| hint.to_owned()),
                ..Mistake::nowhere(message)
            }
        }
    }
}

/// The byte at a line and a column, both from 1.
fn offset(source: &str, line: usize, column: usize) -> Option<usize> {
    let mut start = 0;
    for (number, text) in source.split_inclusive('\n').enumerate() {
        if number + 1 == line {
            // The engine counts one past what it means.
            let inside = text.char_indices().nth(column.saturating_sub(1));
            return Some(start + inside.map_or_else(|| text.trim_end().len(), |(at, _)| at));
        }
        start += text.len();
    }
    Some(source.len()).filter(|_| line > 0)
}

fn known() -> String {
    let names: Vec<String> = VARIABLES.iter().map(|name| format!("`.{name}`")).collect();
    format!("there are {}", names.join(", "))
}
