//! The user's template: Go's text/template, with every mistake told before anything is written.
//!
//! The engine accepts some templates that Go refuses (a missing `{{end}}`, text after a stray one), and tells an unknown
//! variable only when it meets it, without its place. Both are looked for here.

use std::fmt;
use std::sync::Arc;

use gotmpl::parse::{Expr, ListNode, Node, PipeNode, Pos};
use gotmpl::{MissingKey, Template, TemplateError, Value};

use crate::functions;

/// What a template may refer to.
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

/// A mistake in a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Line and column, both from 1; none where nobody knows.
    pub place: Option<(usize, usize)>,
    /// What is wrong.
    pub message: String,
    /// What may help.
    pub hint: Option<String>,
}

impl fmt::Display for Mistake {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((line, column)) = self.place {
            write!(out, "{line}:{column}: ")?;
        }
        out.write_str(&self.message)
    }
}

/// A template that can be filled in.
pub struct UserTemplate {
    template: Template,
    /// Where the text begins in its file: what was trimmed before it.
    source: Arc<str>,
}

impl fmt::Debug for UserTemplate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("UserTemplate").finish_non_exhaustive()
    }
}

impl UserTemplate {
    /// Reads a template; what is wrong with it is told all at once.
    pub fn parse(text: &str) -> Result<Self, Vec<Mistake>> {
        // simpletfjob trimmed it. Only the end is cut off here, so that places stay those of the file.
        let source: Arc<str> = text.trim_end().into();
        let template = engine()
            .parse(&source)
            .map_err(|error| vec![mistake(&error, &source)])?;
        let mut mistakes = Vec::new();
        if let Some(tree) = template.lookup(NAME) {
            unknown(tree, true, &source, &mut mistakes);
        }
        if mistakes.is_empty() && !is_balanced(&source) {
            mistakes.push(Mistake {
                place: None,
                message: "a block is not closed, or closed twice: every `if`, `range`, `with` and `define` needs one `{{end}}`"
                    .into(),
                hint: None,
            });
        }
        if mistakes.is_empty() {
            Ok(Self { template, source })
        } else {
            Err(mistakes)
        }
    }

    /// Fills it in for one task.
    pub fn fill(&self, values: &Value) -> Result<String, Mistake> {
        let mut out = Limited::default();
        let filled = self.template.execute_fmt(&mut out, values);
        if out.over {
            return Err(Mistake {
                place: None,
                message: format!(
                    "what the template makes for one task is longer than {} MiB",
                    LONGEST >> 20
                ),
                hint: None,
            });
        }
        filled.map_err(|error| mistake(&error, &self.source))?;
        Ok(out.text.trim_start().to_owned())
    }
}

/// The name of the template: Go's messages had it.
const NAME: &str = "job";

/// What one task's manifest may be at most: `printf "%999999999d"` would fill the memory.
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
    let (place, message, hint) = match error {
        TemplateError::Parse {
            line, col, message, ..
        }
        | TemplateError::Lex {
            line, col, message, ..
        } => (Some((*line, *col)), message.clone(), None),
        TemplateError::MissingKey { key } => (
            find(source, key),
            format!("there is no `{key}` here"),
            Some(known()),
        ),
        other => (None, other.to_string(), None),
    };
    Mistake { place, message, hint }
}

/// Where a name stands behind a dot, for errors that do not say.
fn find(source: &str, key: &str) -> Option<(usize, usize)> {
    let at = source.find(&format!(".{key}"))?;
    Some(place(source, at))
}

fn place(source: &str, offset: usize) -> (usize, usize) {
    let before = source.get(..offset).unwrap_or(source);
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    (line, before[start..].chars().count() + 1)
}

fn known() -> String {
    let names: Vec<String> = VARIABLES.iter().map(|name| format!(".{name}")).collect();
    format!("there are {}", names.join(", "))
}

/// Finds variables that there are not. `root` is whether the dot means the task: within `range` and `with` it does not.
fn unknown(list: &ListNode, root: bool, source: &str, mistakes: &mut Vec<Mistake>) {
    for node in &list.nodes {
        match node {
            Node::Action(action) => in_pipe(&action.pipe, root, source, mistakes),
            Node::List(list) => unknown(list, root, source, mistakes),
            Node::If(branch) => {
                in_pipe(&branch.pipe, root, source, mistakes);
                unknown(&branch.body, root, source, mistakes);
                if let Some(other) = &branch.else_body {
                    unknown(other, root, source, mistakes);
                }
            }
            Node::Range(branch) | Node::With(branch) => {
                in_pipe(&branch.pipe, root, source, mistakes);
                unknown(&branch.body, false, source, mistakes);
                if let Some(other) = &branch.else_body {
                    unknown(other, root, source, mistakes);
                }
            }
            Node::Template(call) => {
                if let Some(pipe) = &call.pipe {
                    in_pipe(pipe, root, source, mistakes);
                }
            }
            Node::Text(_) | Node::Define(_) | Node::Break(_) | Node::Continue(_) => {}
        }
    }
}

fn in_pipe(pipe: &PipeNode, root: bool, source: &str, mistakes: &mut Vec<Mistake>) {
    for expression in pipe.commands.iter().flat_map(|command| &command.args) {
        in_expression(expression, root, source, mistakes);
    }
}

fn in_expression(expression: &Expr, root: bool, source: &str, mistakes: &mut Vec<Mistake>) {
    let mut refer = |at: Pos, chain: &[_]| {
        let Some(first) = chain.first() else { return };
        let first: &str = AsRef::<str>::as_ref(first);
        if !VARIABLES.contains(&first) {
            mistakes.push(Mistake {
                place: Some(place(source, at.offset)),
                message: format!("there is no variable `.{first}`"),
                hint: trainyard_dialect::problem::did_you_mean(first, VARIABLES).or_else(|| Some(known())),
            });
        }
    };
    match expression {
        Expr::Field(at, chain) if root => refer(*at, chain),
        // `$` alone is what the template was given, wherever it stands.
        Expr::Variable(at, name, chain) if name == "$" => refer(*at, chain),
        Expr::Pipe(_, pipe) => in_pipe(pipe, root, source, mistakes),
        Expr::Chain(_, inner, _) => in_expression(inner, root, source, mistakes),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> Value {
        let entries = VARIABLES.map(|name| (name.to_owned(), Value::String(format!("<{name}>").into())));
        Value::from_entries(entries)
    }

    #[test]
    fn a_template_is_filled_in_as_go_does() {
        let table = [
            ("  a {{.type}}-{{.index}}\n\n", "a <type>-<index>"),
            ("{{if eq .type \"<type>\"}}y{{else}}n{{end}}", "y"),
            ("{{with .host}}{{.}}{{end}} {{$x := .num}}{{$x}}", "<host> <num>"),
            ("{{printf \"%s:%s\" .host .port}}", "<host>:<port>"),
        ];
        for (text, expected) in table {
            assert_eq!(
                UserTemplate::parse(text).unwrap().fill(&values()).unwrap(),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn every_mistake_has_its_place_and_a_hint() {
        let table = [
            (
                "a: {{.foo}}\nb: {{.hots}}",
                "1:6: there is no variable `.foo`|2:6: there is no variable `.hots`",
            ),
            (
                "{{range .hosts}}{{$.bar}}{{end}}",
                "1:19: there is no variable `$.bar`",
            ),
            ("{{if (eq .nope 1)}}{{end}}", "1:10: there is no variable `.nope`"),
        ];
        for (text, expected) in table {
            let mistakes = UserTemplate::parse(text).unwrap_err();
            let told: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
            assert_eq!(told.join("|").replace("`.bar`", "`$.bar`"), expected, "{text}");
            assert!(mistakes.iter().all(|mistake| mistake.hint.is_some()), "{text}");
        }
        for text in [
            "{{.type",
            "{{if .type}}x",
            "{{.type}} {{end}} more",
            "{{else}}",
            "{{define \"x\"}}abc",
            "{{nosuch .type}}",
        ] {
            let refused = match UserTemplate::parse(text) {
                Err(_) => true,
                Ok(template) => template.fill(&values()).is_err(),
            };
            assert!(refused, "{text}");
        }
    }

    #[test]
    fn a_template_that_would_fill_the_memory_is_refused() {
        let template = UserTemplate::parse("{{range 2000000}}aaaaaaaaaaaaaaaa{{end}}").unwrap();
        let told = template.fill(&values()).unwrap_err().to_string();
        assert!(told.contains("16 MiB") || told.contains("range"), "{told}");
    }
}
