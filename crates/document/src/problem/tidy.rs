//! Problems in the order of the text, each once, and not too many of them.

use std::sync::Arc;

use super::{Place, Problem, Severity, Span};
use crate::codes::Code;

/// How many problems of one document are kept; the rest are only counted.
pub const MOST_PROBLEMS: usize = 100;

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
        kept.extend(cap_document(group));
    }
    kept
}

fn cap_document(group: Vec<Problem>) -> Vec<Problem> {
    // What was cut off before is counted on.
    let (notes, mut group): (Vec<_>, Vec<_>) = group
        .into_iter()
        .partition(|problem| problem.code == Code::MoreProblems);
    let mut hidden: usize = notes
        .iter()
        .filter_map(|note| note.found.as_ref()?.parse::<usize>().ok())
        .sum();
    let mut severity = notes.iter().map(|note| note.severity).min();
    if group.len() > MOST_PROBLEMS {
        group.sort_by_key(|problem| problem.severity);
        let more = group.split_off(MOST_PROBLEMS);
        group.sort_by(|a, b| order(a).cmp(&order(b)));
        hidden += more.len();
        severity = severity
            .into_iter()
            .chain(more.iter().map(|problem| problem.severity))
            .min();
    }
    let place = group.first().map(|problem| Place {
        span: None,
        path: String::new(),
        ..problem.place.clone()
    });
    if let (Some(place), Some(severity)) = (place, severity) {
        let mut note = Problem::new(Code::MoreProblems, place, format!("and {hidden} more problems"));
        note.severity = severity;
        group.push(note.found(hidden.to_string()));
    }
    group
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
    fn tidying_twice_changes_nothing() {
        let flood: Vec<Problem> = (0..300).map(|i| problem(i, Code::UnknownField)).collect();
        let once = tidy(flood);
        assert_eq!(once[MOST_PROBLEMS].message, "and 200 more problems");
        assert_eq!(tidy(once.clone()), once);
        let mut more = once.clone();
        more.push(problem(5000, Code::WrongType));
        assert_eq!(tidy(more)[MOST_PROBLEMS].message, "and 201 more problems");
    }
}
