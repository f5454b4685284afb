//! Looks through a template before it is used: every name in it must mean something.
//!
//! Go tells unknown functions and variables when it reads a template; the engine does when it meets them, and without
//! the place. A field that the task does not have Go writes as `<no value>`.

use std::collections::BTreeSet;

use gotmpl::Template;
use gotmpl::parse::{BranchNode, Expr, ListNode, Node, PipeNode, Pos};
use trainyard_document::problem::{did_you_mean, shown};

use super::{Mistake, NAME, VARIABLES, known, looks};

/// Go's own functions, and ours.
const FUNCTIONS: [&str; 23] = [
    "and", "call", "eq", "ge", "gt", "html", "index", "js", "le", "len", "lt", "ne", "not", "or", "print",
    "printf", "println", "slice", "urlquery", "indent", "nindent", "quote", "toJson",
];

/// Go refuses to make a number wider than this, and the engine does not.
const WIDEST: usize = 1_000_000;

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Checked {
    /// Names that mean nothing, in the order of the text.
    pub(super) mistakes: Vec<Mistake>,
    /// The names of variables that it refers to, or may refer to.
    pub(super) used: BTreeSet<String>,
}

/// Looks at every name in the template and in those that it defines.
pub(super) fn names(template: &Template) -> Checked {
    let mut check = Check {
        templates: template.templates().iter().map(ToString::to_string).collect(),
        looks: looks::templates(template),
        variables: Vec::new(),
        found: Checked::default(),
    };
    for name in template.templates() {
        if let Some(body) = template.lookup(name) {
            check.list(body, name == NAME);
        }
    }
    if !check.templates.contains(NAME)
        && let Some(body) = template.lookup(NAME)
    {
        check.list(body, true);
    }
    check.found.mistakes.sort_by_key(|mistake| mistake.at);
    check.found.mistakes.dedup();
    check.found
}

struct Check {
    templates: BTreeSet<String>,
    /// Those that refer to what they are given.
    looks: BTreeSet<String>,
    /// Those declared so far that can be seen.
    variables: Vec<String>,
    found: Checked,
}

impl Check {
    fn wrong(&mut self, at: Pos, message: String, hint: Option<String>) {
        self.found.mistakes.push(Mistake {
            at: Some(at.offset),
            message,
            hint,
            ..Mistake::default()
        });
    }

    /// `root` is whether the dot means the task: within `range`, `with` and `define` it does not.
    fn list(&mut self, list: &ListNode, root: bool) {
        let seen = self.variables.len();
        for node in &list.nodes {
            self.node(node, root);
        }
        self.variables.truncate(seen);
    }

    fn node(&mut self, node: &Node, root: bool) {
        match node {
            Node::Action(action) => self.pipe(&action.pipe, root),
            Node::List(list) => self.list(list, root),
            Node::If(branch) => self.branch(branch, root, root),
            Node::Range(branch) | Node::With(branch) => self.branch(branch, root, false),
            Node::Template(call) => {
                if !self.templates.contains(call.name.as_str()) {
                    let name = shown(call.name.as_str());
                    self.wrong(call.pos, format!("there is no template `{name}`"), None);
                }
                match &call.pipe {
                    Some(pipe) => self.pipe(pipe, root),
                    None => self.called_with_nothing(call.pos, call.name.as_str()),
                }
            }
            Node::Define(define) => self.list(&define.body, false),
            Node::Text(_) | Node::Break(_) | Node::Continue(_) => {}
        }
    }

    fn branch(&mut self, branch: &BranchNode, root: bool, inside: bool) {
        let seen = self.variables.len();
        self.pipe(&branch.pipe, root);
        self.list(&branch.body, inside);
        if let Some(other) = &branch.else_body {
            self.list(other, root);
        }
        self.variables.truncate(seen);
    }

    fn pipe(&mut self, pipe: &PipeNode, root: bool) {
        for expression in pipe.commands.iter().flat_map(|command| &command.args) {
            self.expression(expression, root);
        }
        for name in &pipe.decl {
            if pipe.is_assign {
                self.known(pipe.pos, name.as_str());
            } else {
                self.variables.push(name.to_string());
            }
        }
    }

    fn expression(&mut self, expression: &Expr, root: bool) {
        match expression {
            Expr::Field(at, chain) => {
                let name = chain.first().map(ToString::to_string).unwrap_or_default();
                self.field(*at, name, root);
            }
            // `$` alone is what the template was given, wherever it stands.
            Expr::Variable(at, name, chain) if name == "$" => {
                if let Some(first) = chain.first() {
                    self.field(*at, first.to_string(), true);
                }
            }
            Expr::Variable(at, name, _) => self.known(*at, name.as_str()),
            Expr::Identifier(at, name) => {
                if !FUNCTIONS.contains(&name.as_str()) {
                    let ours = "there are Go's own, `indent`, `nindent`, `toJson` and `quote`";
                    let hint = did_you_mean(name.as_str(), FUNCTIONS).unwrap_or_else(|| ours.to_owned());
                    let message = format!("there is no function `{}`", shown(name.as_str()));
                    self.wrong(*at, message, Some(hint));
                }
            }
            Expr::String(at, text) => {
                // `index . "hosts"` refers to it as well.
                self.found.used.insert(text.to_string());
                if let Some(width) = widest(text).filter(|width| *width > WIDEST) {
                    let message = format!("a width of {width} is too much; the most is {WIDEST}");
                    self.wrong(*at, message, None);
                }
            }
            Expr::Pipe(_, pipe) => self.pipe(pipe, root),
            Expr::Chain(_, inner, _) => self.expression(inner, root),
            Expr::Dot(_) | Expr::Number(..) | Expr::Bool(..) | Expr::Nil(_) => {}
        }
    }

    fn field(&mut self, at: Pos, name: String, root: bool) {
        if root && !VARIABLES.contains(&name.as_str()) {
            let hint = did_you_mean(&name, VARIABLES).or_else(|| Some(known()));
            self.wrong(at, format!("there is no variable `.{}`", shown(&name)), hint);
        }
        self.found.used.insert(name);
    }

    /// Go gives such a template nothing, and the engine the dot of its caller. Only where it never looks is that the same.
    fn called_with_nothing(&mut self, at: Pos, name: &str) {
        if self.looks.contains(name) {
            let name = shown(name);
            let message = format!("template `{name}` is given nothing here, and refers to what it is given");
            let hint = format!("give it the dot: `{{{{template \"{name}\" .}}}}`");
            self.wrong(at, message, Some(hint));
        }
    }

    /// A variable must have been declared.
    fn known(&mut self, at: Pos, name: &str) {
        if !self.variables.iter().any(|known| known == name) {
            let hint = format!("declare it first: `{{{{{name} := .host}}}}`");
            self.wrong(at, format!("there is no variable `{name}` here"), Some(hint));
        }
    }
}

/// The largest number behind a `%`: a width or a precision.
fn widest(format: &str) -> Option<usize> {
    let behind = format.split('%').skip(1);
    behind
        .flat_map(|part| {
            let end = part.find(|c: char| !c.is_ascii_digit() && !"+-# .[]*".contains(c));
            part[..end.unwrap_or(part.len())].split(|c: char| !c.is_ascii_digit())
        })
        .filter(|digits| !digits.is_empty())
        .map(|digits| digits.parse().unwrap_or(usize::MAX))
        .max()
}
