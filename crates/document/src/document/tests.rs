//! Places, documents and the recovery after an error; what scalars mean is tested beside them and against kubectl.

use super::*;
use crate::codes::Code;
use crate::problem::{FieldPath, Span};

fn read(text: &str) -> (Vec<Document>, Vec<Problem>) {
    parse(&Source::from_bytes("x.yaml", text.as_bytes()).unwrap())
}

fn codes(problems: &[Problem]) -> Vec<Code> {
    problems.iter().map(|problem| problem.code).collect()
}

fn at(problem: &Problem) -> (u32, u32) {
    problem.place.span.map(|span| (span.line, span.column)).unwrap()
}

#[test]
fn every_value_and_key_knows_its_place() {
    let text = "a:\n  - é: \"x y\"\n    c: 5\nd: {e: [1,\n  22]}\n";
    let (documents, problems) = read(text);
    assert_eq!(problems, []);
    let root = &documents[0].root;
    let cases: &[(&[&str], &str, (u32, u32))] = &[
        (&["a", "0", "é"], "\"x y\"", (2, 8)),
        (&["a", "0", "c"], "5", (3, 8)),
        (&["d"], "{e: [1,\n  22]}", (4, 4)),
        (&["d", "e", "1"], "22", (5, 3)),
        (&["a", "0"], "é: \"x y\"\n    c: 5", (2, 5)),
    ];
    for (path, written, place) in cases {
        let span = root.at(path.iter().copied()).unwrap().span;
        assert_eq!(
            (&text[span.range()], (span.line, span.column)),
            (*written, *place),
            "{path:?}"
        );
    }
    let key = root
        .at(["a", "0"])
        .unwrap()
        .as_map()
        .unwrap()
        .entry("c")
        .unwrap()
        .key_span;
    assert_eq!((&text[key.range()], key.line, key.column), ("c", 3, 5));
    assert!(root.at(["a", "7"]).is_none());
}

/// Every piece of text that a value or key of the tree was read from, with its line and column.
fn places(node: &Node, text: &str, found: &mut Vec<(String, u32, u32)>) {
    let mut note = |span: Span| found.push((text[span.range()].to_owned(), span.line, span.column));
    note(node.span);
    for entry in node.as_map().map(Map::entries).unwrap_or_default() {
        note(entry.key_span);
    }
    let values = node
        .as_map()
        .map(Map::entries)
        .unwrap_or_default()
        .iter()
        .map(|entry| &entry.value);
    for inner in node.as_list().unwrap_or_default().iter().chain(values) {
        places(inner, text, found);
    }
}

#[test]
fn json_has_the_same_places_as_yaml() {
    let text = "{\"é\": [1, {\"b\": \"\\u00e9x\"}],\n \"c\" : null}\n";
    let (as_json, problems) = read(text);
    assert_eq!(problems, []);
    // A separator in front makes it YAML, one line further down.
    let below = format!("---\n{text}");
    let (as_yaml, _) = read(&below);
    let (mut json, mut yaml) = (Vec::new(), Vec::new());
    places(&as_json[0].root, text, &mut json);
    places(&as_yaml[0].root, &below, &mut yaml);
    for (_, line, _) in &mut yaml {
        *line -= 1;
    }
    assert_eq!(json, yaml);
    assert_eq!(json.len(), 9);
    let (two, _) = read("{}\n  {\"d\": true}");
    assert_eq!(
        two[1].root.get("d").unwrap().span,
        Span {
            line: 2,
            column: 9,
            start: 11,
            end: 15
        }
    );
}

#[test]
fn an_error_hides_neither_what_is_before_it_nor_what_is_after() {
    let text = "a: 1\n---\nb: [1\n---\nc: 3\n---\nd: 'x\n---\n---\ne: 5\n";
    let (documents, problems) = read(text);
    let read: Vec<(usize, String)> = documents
        .iter()
        .map(|d| (d.index, d.root.to_json().to_string()))
        .collect();
    assert_eq!(
        read,
        [
            (0, r#"{"a":1}"#.into()),
            (2, r#"{"c":3}"#.into()),
            (4, r#"{"e":5}"#.into())
        ]
    );
    assert_eq!(codes(&problems), [Code::Syntax, Code::Syntax]);
    assert_eq!(
        problems.iter().map(|p| p.place.document).collect::<Vec<_>>(),
        [1, 3]
    );
}

#[test]
fn problems_inside_a_document_leave_the_rest_of_it() {
    let (documents, problems) = read("a: .inf\nb: {~: x, w: 2}\nc: *z\nd: 1\nd: 2\ne: !!int x\n");
    assert_eq!(
        codes(&problems),
        [
            Code::NotFinite,
            Code::BadKey,
            Code::BadAlias,
            Code::DuplicateKey,
            Code::BadTag
        ]
    );
    assert_eq!(
        documents[0].root.to_json().to_string(),
        r#"{"a":null,"b":{"w":2},"c":null,"d":2,"e":null}"#
    );
    let paths: Vec<&str> = problems
        .iter()
        .map(|problem| problem.place.path.as_str())
        .collect();
    assert_eq!(paths, ["a", "b", "c", "d", "e"]);
}

#[test]
fn a_duplicate_names_both_lines() {
    for (text, message) in [
        (
            "a: 1\nb: 2\na: 3\n",
            "the key `a` is used twice, on lines 1 and 3",
        ),
        (
            "{\"a\": 1,\n\"a\": 2}",
            "the key `a` is used twice, on lines 1 and 2",
        ),
        (
            "yes: 1\n'true': 2\n",
            "the key `true` is used twice, on lines 1 and 2",
        ),
        ("{1: a, \"1\": b}", "the key `1` is used twice, on lines 1 and 1"),
    ] {
        let (_, problems) = read(text);
        assert_eq!(problems[0].message, message);
        assert_eq!(problems[0].related.len(), 1);
    }
    let many: String = (0..40)
        .map(|key| format!("k{key}: x\n"))
        .collect::<Vec<_>>()
        .concat();
    let (_, problems) = read(&format!("{many}k3: y\n"));
    assert_eq!(
        problems[0].message,
        "the key `k3` is used twice, on lines 4 and 41"
    );
}

#[test]
fn a_merged_value_that_wins_is_worth_a_word() {
    let (documents, problems) = read("a: &x {k: 1, l: {m: 1}}\nb:\n  k: 5\n  l: {m: 1}\n  <<: *x\n");
    assert_eq!(
        documents[0].root.get("b").unwrap().get("k").unwrap().as_int(),
        Some(1)
    );
    assert_eq!(codes(&problems), [Code::MergedOverOwn]);
    assert_eq!((at(&problems[0]), problems[0].related[0].0.line), ((5, 3), 3));
}

#[test]
fn errors_stand_where_a_user_looks() {
    let cases = [
        ("a: b\n\tc: d\n", Code::Syntax, (2, 1)),
        ("a: [1, 2\nb: 3\n", Code::Syntax, (2, 2)),
        ("a: b: c\n", Code::Syntax, (1, 5)),
        ("é: x\u{7}y\n", Code::ControlCharacter, (1, 5)),
        ("a: |\n  x\n  y\u{0}\n", Code::ControlCharacter, (3, 4)),
        ("{\"a\": 1}\n{\"b\": ]}\n", Code::Syntax, (2, 1)),
        ("a: @x\n", Code::Syntax, (1, 4)),
    ];
    for (text, code, place) in cases {
        let (_, problems) = read(text);
        assert_eq!(
            (codes(&problems), at(&problems[0])),
            (vec![code], place),
            "{text:?} {problems:?}"
        );
    }
}

#[test]
fn sources_that_begin_with_a_bracket_may_still_be_yaml() {
    let cases = [
        ("{a: b}", r#"[{"a":"b"}]"#),
        ("{\"a\": 1,}", r#"[{"a":1}]"#),
        ("{\"a\": 017}", r#"[{"a":15}]"#),
        ("{\"a\": 1} # c\n", r#"[{"a":1}]"#),
        ("{\"a\": 1}\n---\nb: 2\n", r#"[{"a":1},{"b":2}]"#),
        (
            "\n {\"a\": 1}\n\n{\"b\": [2, {}, []]}",
            r#"[{"a":1},{"b":[2,{},[]]}]"#,
        ),
        ("{}", "[{}]"),
        ("[1]", "[[1]]"),
    ];
    for (text, expected) in cases {
        let (documents, problems) = read(text);
        assert_eq!(problems, [], "{text:?}");
        let json: Vec<_> = documents.iter().map(|document| document.root.to_json()).collect();
        assert_eq!(serde_json::Value::from(json).to_string(), expected, "{text:?}");
    }
}

#[test]
fn documents_that_hold_nothing_are_not_counted() {
    for text in ["", "\n", "# c\n", "---\n", "---\n---\n...\n", "null\n", "~"] {
        let (documents, problems) = read(text);
        assert!(documents.is_empty() && problems.is_empty(), "{text:?}");
    }
}

#[test]
fn lists_of_objects_are_laid_out() {
    let text = "kind: List\nitems:\n- {kind: A}\n- kind: List\n  items: [{kind: B}]\n- {kind: TFJobList, items: []}\n";
    let (documents, _) = read(text);
    let objects: Vec<(String, String)> = documents[0]
        .objects()
        .iter()
        .map(|(path, node)| {
            (
                path.to_string(),
                node.get("kind")
                    .and_then(Node::as_text)
                    .unwrap_or_default()
                    .to_owned(),
            )
        })
        .collect();
    assert_eq!(
        objects,
        [
            ("items[0]".into(), "A".into()),
            ("items[1].items[0]".into(), "B".into())
        ]
    );
    let (single, _) = read("kind: A\nitems: [1]\n");
    assert_eq!(single[0].objects()[0].0, FieldPath::root());
}
