//! Any bytes are read or refused: every position is inside the text, and what was read can be written and read again as
//! JSON.

#![no_main]

use libfuzzer_sys::fuzz_target;
use trainyard_document::{Document, Kind, Node, Source, parse};
use trainyard_document::problem::{Problem, Span};

fuzz_target!(|bytes: &[u8]| {
    let Ok(source) = Source::from_bytes("fuzz.yaml", bytes) else {
        return;
    };
    let (documents, problems) = parse(&source);
    check_problems(&problems, &source.text);
    for document in &documents {
        check_node(&document.root, &source.text);
        check_json(document);
    }
    check_problems(&trainyard_dialect::read(&source).problems, &source.text);
});

fn check_problems(problems: &[Problem], text: &str) {
    for problem in problems {
        for span in problem.place.span.iter().chain(problem.related.iter().map(|(span, _)| span)) {
            check_span(*span, text);
        }
        assert!(!problem.message.contains(|c: char| c.is_control()), "{problem:?}");
    }
}

fn check_span(span: Span, text: &str) {
    assert!(text.get(span.range()).is_some(), "{span:?}");
}

fn check_node(node: &Node, text: &str) {
    check_span(node.span, text);
    match &node.kind {
        Kind::List(items) => items.iter().for_each(|item| check_node(item, text)),
        Kind::Map(map) => {
            for entry in map.entries() {
                check_span(entry.key_span, text);
                check_node(&entry.value, text);
            }
        }
        Kind::Null | Kind::Bool(_) | Kind::Int(_) | Kind::Float(_) | Kind::Text(_) => {}
    }
}

/// Only maps: a source that begins with anything else is not taken for JSON.
fn check_json(document: &Document) {
    if document.root.as_map().is_none() {
        return;
    }
    let json = document.root.to_json();
    let text = json.to_string();
    // Escapes make text longer, and the limit is the same.
    let Ok(again) = Source::from_bytes("fuzz.json", text.as_bytes()) else {
        return;
    };
    let (documents, problems) = parse(&again);
    assert!(problems.is_empty(), "{problems:?}");
    assert_eq!(documents.len(), 1);
    assert_eq!(documents[0].root.to_json(), json);
}
