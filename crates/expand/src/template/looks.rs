//! Which templates refer to what they are given: by the dot, where it is not one of `with` or `range`, or by `$`.

use std::collections::BTreeSet;

use gotmpl::Template;
use gotmpl::parse::{Expr, ListNode, Node, PipeNode};

/// Their names.
pub(super) fn templates(template: &Template) -> BTreeSet<String> {
    let names = template.templates().into_iter();
    let looks = names.filter(|name| template.lookup(name).is_some_and(|body| list(body, true)));
    looks.map(ToString::to_string).collect()
}

/// `given` is whether the dot is what the template was given.
fn list(body: &ListNode, given: bool) -> bool {
    body.nodes.iter().any(|part| node(part, given))
}

fn node(node: &Node, given: bool) -> bool {
    match node {
        Node::Action(action) => pipe(&action.pipe, given),
        Node::List(inner) => list(inner, given),
        Node::If(branch) | Node::Range(branch) | Node::With(branch) => {
            let inside = given && matches!(node, Node::If(_));
            let otherwise = branch.else_body.as_ref();
            pipe(&branch.pipe, given)
                || list(&branch.body, inside)
                || otherwise.is_some_and(|other| list(other, given))
        }
        // Without an argument it is looked at by itself.
        Node::Template(call) => call.pipe.as_ref().is_some_and(|argument| pipe(argument, given)),
        Node::Define(_) | Node::Text(_) | Node::Break(_) | Node::Continue(_) => false,
    }
}

fn pipe(pipe: &PipeNode, given: bool) -> bool {
    let mut expressions = pipe.commands.iter().flat_map(|command| &command.args);
    expressions.any(|part| expression(part, given))
}

fn expression(part: &Expr, given: bool) -> bool {
    match part {
        Expr::Field(..) | Expr::Dot(_) => given,
        Expr::Variable(_, name, _) => name == "$",
        Expr::Pipe(_, inner) => pipe(inner, given),
        Expr::Chain(_, inner, _) => expression(inner, given),
        Expr::Identifier(..) | Expr::String(..) | Expr::Number(..) | Expr::Bool(..) | Expr::Nil(_) => false,
    }
}
