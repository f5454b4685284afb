//! A template and a list of hosts become one manifest per task: what simpletfjob did, without its surprises.
//!
//! ```text
//! hosts, what was asked for ─▶ hosts::cast ─▶ who plays which part
//!                                                  │
//! template ─▶ template::UserTemplate ──────────────┴─▶ expand ─▶ documents, joined
//! ```
//!
//! Pure: no file, no cluster. For input that simpletfjob handled, the bytes are the same.

mod functions;
pub mod hosts;
pub mod template;
pub mod tf_config;
mod values;

use std::collections::BTreeSet;

use gotmpl::Value;
use trainyard_document::problem::{Problem, Severity, shown};
use trainyard_document::{Document, Source, parse};

use self::hosts::{Cast, Wanted, cast};
use self::template::{Mistake, Shows, UserTemplate};
use self::values::Values;

/// Why there is no manifest: what is wrong with the template, seen when it was filled in for a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unexpanded {
    /// Which: `worker-1`.
    pub task: String,
    /// What is wrong; at least one.
    pub mistakes: Vec<Mistake>,
}

/// Fills the template in for every task and joins the documents. `name` is what `{{.name}}` means.
pub fn expand(template: &UserTemplate, cast: &Cast, name: &str) -> Result<String, Unexpanded> {
    let values = Values::of(template, cast, name);
    let mut text = String::new();
    let mut holds_something = false;
    let mut first = None;
    for (kind, index, host) in cast.tasks() {
        let values = values.for_task(kind, index, host);
        let made = filled(template, &values).map_err(|mistakes| Unexpanded {
            task: format!("{kind}-{index}"),
            mistakes,
        })?;
        holds_something |= made.holds_something;
        if first.is_some() {
            text.push_str("\n---\n");
        }
        first.get_or_insert_with(|| format!("{kind}-{index}"));
        text.push_str(without_last_separator(&made.text));
    }
    if holds_something {
        return Ok(text);
    }
    Err(Unexpanded {
        task: first.unwrap_or_default(),
        mistakes: vec![Mistake {
            message: "the template makes no object for any task".into(),
            hint: Some("it should hold at least one object: `apiVersion: batch/v1`, `kind: Job` …".into()),
            ..Mistake::default()
        }],
    })
}

/// What the template makes for one task of each role, on hosts that there are not; nothing if it cannot be known
/// before the hosts are.
#[must_use]
pub fn stand_ins(template: &UserTemplate, wanted: &Wanted) -> Vec<Document> {
    let others = usize::from(wanted.chief) + usize::from(wanted.evaluator) + 1;
    let servers = wanted.ps_hosts.as_ref().map_or(wanted.psn, Vec::len);
    let number = wanted.num.unwrap_or(0).max(servers.saturating_add(others));
    // There are never so many hosts: what was asked for is refused later, with the number that there are.
    if number > MOST_STAND_INS {
        return Vec::new();
    }
    let hosts: Vec<String> = (0..number).map(|at| format!("host-{at}")).collect();
    let wanted = Wanted {
        num: None,
        exclude: Vec::new(),
        psn: servers,
        ps_hosts: None,
        ..wanted.clone()
    };
    let Ok(cast) = cast(&hosts, &wanted) else {
        return Vec::new();
    };
    let values = Values::of(template, &cast, "stand-in");
    let mut seen = BTreeSet::new();
    let firsts = cast.tasks().filter(|(kind, ..)| seen.insert(*kind));
    let made = firsts.filter_map(|(kind, index, host)| {
        let text = template.fill(&values.for_task(kind, index, host)).ok()?;
        let source = Source::from_bytes("a stand-in", text.as_bytes()).ok()?;
        Some(parse(&source).0)
    });
    made.flatten().collect()
}

const MOST_STAND_INS: usize = 100_000;

/// What the template makes for one task.
struct Made {
    text: String,
    holds_something: bool,
}

fn filled(template: &UserTemplate, values: &Value) -> Result<Made, Vec<Mistake>> {
    let text = template.fill(values).map_err(|mistake| vec![mistake])?;
    let (documents, problems) = match Source::from_bytes("the manifest", text.as_bytes()) {
        Ok(source) => parse(&source),
        Err(problem) => (Vec::new(), vec![*problem]),
    };
    let errors = problems
        .iter()
        .filter(|problem| problem.severity == Severity::Error);
    let mistakes: Vec<Mistake> = errors
        .map(|problem| not_yaml(template, values, &text, problem))
        .collect();
    if !mistakes.is_empty() {
        return Err(mistakes);
    }
    Ok(Made {
        text,
        holds_something: !documents.is_empty(),
    })
}

/// What is wrong in the manifest, told at the place of the template that made it.
fn not_yaml(template: &UserTemplate, values: &Value, text: &str, problem: &Problem) -> Mistake {
    let span = problem.place.span;
    let line = span.and_then(|span| text.lines().nth(span.line.saturating_sub(1) as usize));
    let made = line.map(|line| format!("the line it makes is `{}`", shown(line.trim_end())));
    let hints: Vec<String> = made.into_iter().chain(problem.hint.clone()).collect();
    Mistake {
        shows: Shows::Manifest,
        at: span.and_then(|span| template.origin(values, span.start as usize)),
        message: format!("what the template makes is no YAML: {}", problem.message),
        hint: (!hints.is_empty()).then(|| hints.join("; ")),
    }
}

/// A template that ends with `---` would leave an empty document between two tasks.
fn without_last_separator(text: &str) -> &str {
    let end = text
        .trim_end()
        .strip_suffix("---")
        .filter(|rest| rest.is_empty() || rest.ends_with('\n'));
    end.map_or(text, str::trim_end)
}

#[cfg(test)]
mod tests;
