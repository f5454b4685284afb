//! Reports mistakes of a template with their source lines.

use trainyard_document::Source;
use trainyard_document::codes::Code;
use trainyard_document::problem::{Place, Problem, Span};
use trainyard_expand::template::{Mistake, Shows};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::report;

/// Reports all mistakes, and ends the command. `task` is the task for which they occurred.
pub fn report(source: &Source, task: Option<&str>, mistakes: &[Mistake], printer: &mut Printer) -> Failure {
    let problems: Vec<Problem> = mistakes
        .iter()
        .map(|mistake| problem(source, task, mistake))
        .collect();
    let shown = report::show(&problems, Some(&source.text), printer);
    shown.err().unwrap_or(Failure::Reported(Exit::Unable))
}

fn problem(source: &Source, task: Option<&str>, mistake: &Mistake) -> Problem {
    let code = match mistake.shows {
        Shows::Template => Code::Template,
        Shows::Manifest => Code::TemplateNotYaml,
    };
    let place = Place {
        source: source.name.clone(),
        document: 0,
        span: mistake.at.map(|at| span(&source.text, at)),
        path: String::new(),
    };
    let problem = Problem::new(code, place, &mistake.message).maybe_hint(mistake.hint.clone());
    match task {
        Some(task) => problem.label(format!("expanded for {task}")),
        None => problem,
    }
}

/// The span from byte `at` to the end of the action or the word.
fn span(text: &str, at: usize) -> Span {
    let at = text.floor_char_boundary(at);
    let (before, behind) = text.split_at(at);
    let line = behind.lines().next().unwrap_or_default();
    let length = if line.starts_with("{{") {
        line.find("}}").map_or(line.len(), |end| end + 2)
    } else {
        let end = line.find(|c: char| c.is_whitespace() || "})|".contains(c));
        end.unwrap_or(line.len()).max(1)
    };
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Span {
        line: number(before.matches('\n').count() + 1),
        column: number(before[start..].chars().count() + 1),
        start: number(at),
        end: number((at + length).min(text.len())),
    }
}
