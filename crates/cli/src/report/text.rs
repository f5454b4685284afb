//! A problem as rustc would show it: title, place, the lines it is about, and what helps.

use std::ops::Range;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{Annotation, AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet};
use memchr::{memchr, memrchr};
use trainyard_document::problem::{Problem, Severity, Span, escaped};

use crate::visible;

/// Lines shown around what is pointed at, at most; places further apart than this get snippets of their own.
const FAR_LINES: u32 = 20;
/// A line longer than this is named, not shown: no terminal can show it and no reader would read it.
const LONG_LINE: usize = 400;

/// The problem as styled text, ending with a line break. `text` is what its spans point into, if it could be read.
pub fn render(problem: &Problem, text: Option<&str>, columns: usize) -> String {
    let level = match problem.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let mut group: Group = level
        .primary_title(visible::line(&problem.message))
        .id(problem.code.to_string())
        .elements(places(problem, text));
    if !problem.place.path.is_empty() {
        group = group.element(Level::NOTE.message(format!("at `{}`", problem.place.path)));
    }
    if let Some(allowed) = problem.allowed_unsaid() {
        group = group.element(Level::NOTE.message(format!("allowed: {allowed}")));
    }
    if let Some(hint) = &problem.hint {
        group = group.element(Level::HELP.message(visible::line(hint)));
    }
    let renderer = Renderer::styled()
        .decor_style(DecorStyle::Ascii)
        .term_width(columns.max(60));
    let mut rendered = renderer.render(&[group]);
    rendered.push('\n');
    rendered
}

/// One piece of text to point at, with its few words.
struct Mark<'a> {
    span: Span,
    kind: AnnotationKind,
    label: Option<&'a str>,
}

/// The snippets of a problem: one for each run of places that are close together, the problem's own first.
fn places<'a>(problem: &'a Problem, text: Option<&'a str>) -> Vec<Element<'a>> {
    let path = &*problem.place.source;
    let (Some(span), Some(text)) = (problem.place.span, text) else {
        return vec![Origin::path(escaped(path)).into()];
    };
    let mut marks = vec![Mark {
        span,
        kind: AnnotationKind::Primary,
        label: problem.label.as_deref(),
    }];
    marks.extend(problem.related.iter().map(|(span, words)| Mark {
        span: *span,
        kind: AnnotationKind::Context,
        label: Some(words),
    }));
    let mut groups: Vec<Vec<Mark>> = Vec::new();
    for mark in marks {
        let near = |other: &Mark| other.span.line.abs_diff(mark.span.line) <= FAR_LINES;
        match groups.iter_mut().find(|group| group.iter().any(near)) {
            Some(group) => group.push(mark),
            None => groups.push(vec![mark]),
        }
    }
    groups.iter().map(|group| snippet(path, text, group)).collect()
}

fn snippet<'a>(path: &'a str, text: &'a str, marks: &[Mark<'a>]) -> Element<'a> {
    let starts = marks.iter().map(|mark| mark.span.start as usize);
    let (first, last) = (starts.clone().min().unwrap_or(0), starts.max().unwrap_or(0));
    let line = marks.iter().map(|mark| mark.span.line as usize).min();
    let line = line.unwrap_or(1);
    let window = line_start(text, first)..line_end(text, last);
    let shown = text.get(window.clone()).unwrap_or_default();
    if shown.lines().any(|line| line.len() > LONG_LINE) {
        let column = marks.first().map_or(1, |mark| mark.span.column as usize);
        return Origin::path(escaped(path)).line(line).char_column(column).into();
    }
    let annotation = |mark: &Mark<'a>| -> Annotation<'a> {
        let Range { start, end } = one_line(text, mark.span);
        mark.kind
            .span(start.saturating_sub(window.start)..end.saturating_sub(window.start))
            .label(mark.label)
    };
    Snippet::source(shown)
        .line_start(line)
        .path(escaped(path))
        .annotations(marks.iter().map(annotation))
        .into()
}

/// The part of a span on its first line; underlining a whole map does not help.
fn one_line(text: &str, span: Span) -> Range<usize> {
    let start = span.start as usize;
    let end = (span.end as usize).min(line_end(text, start)).max(start);
    let trimmed = text
        .get(start..end)
        .map_or(end, |part| start + part.trim_end().len());
    start..trimmed
}

fn line_start(text: &str, at: usize) -> usize {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    memrchr(b'\n', before).map_or(0, |at| at + 1)
}

fn line_end(text: &str, at: usize) -> usize {
    let after = text.as_bytes().get(at..).unwrap_or_default();
    memchr(b'\n', after).map_or(text.len(), |length| at + length)
}
