//! Reading never panics, whatever the text, and every place it names is in the text.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must say so")]

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::{Map, Number, Value};
use trainyard_dialect::{Reading, read_value};
use trainyard_document::problem::{Problem, Span};
use trainyard_document::{Document, Kind, MOST_LEVELS, MOST_NODES, Node, Source, parse};

/// Every manifest of the project, to be spoilt.
static MANIFESTS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    for folder in ["examples", "tests/fixtures"] {
        gather(&root.join(folder), &mut found);
    }
    found.sort();
    let texts: Vec<String> = found
        .iter()
        .filter_map(|path| std::fs::read_to_string(path).ok())
        .collect();
    assert!(texts.len() > 30, "{} manifests found", texts.len());
    texts
});

fn gather(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            gather(&path, found);
        } else if path.extension().is_some_and(|end| end == "yaml" || end == "json") {
            found.push(path);
        }
    }
}

fn check_places(problems: &[Problem], text: &str) {
    for problem in problems {
        for span in problem
            .place
            .span
            .iter()
            .chain(problem.related.iter().map(|(span, _)| span))
        {
            check_span(*span, text);
        }
        let told = format!("{} {:?} {:?}", problem.message, problem.found, problem.hint);
        assert!(!told.contains(|c: char| c.is_control()), "{told:?}");
    }
}

/// A span lies inside the text, and its line and column say the same as its bytes.
fn check_span(span: Span, text: &str) {
    assert!(text.get(span.range()).is_some(), "{span:?} in {text:?}");
    let before = &text[..span.range().start];
    // A lone carriage return ends a line too, and a byte order mark has no width; neither is counted so here.
    if !text.contains(['\r', '\u{feff}']) {
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap().chars().count() + 1;
        assert_eq!(
            (span.line as usize, span.column as usize),
            (line, column),
            "{span:?} in {text:?}"
        );
    }
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
        _ => {}
    }
}

/// Reads as far as it goes, and checks what must hold for any text.
fn read_all(bytes: &[u8]) {
    let Ok(source) = Source::from_bytes("x.yaml", bytes) else {
        return;
    };
    let (documents, problems) = parse(&source);
    check_places(&problems, &source.text);
    for document in &documents {
        check_node(&document.root, &source.text);
        assert!(!document.root.to_json().is_null());
    }
    let reading = trainyard_dialect::read(&source);
    check_places(&reading.problems, &source.text);
}

/// What may be put into a manifest to spoil it.
const SPOILERS: &[&str] = &[
    "",
    " ",
    "  ",
    "\n",
    "\t",
    ":",
    ": ",
    "- ",
    "[",
    "]",
    "{",
    "}",
    "\"",
    "'",
    "#",
    " #",
    "&a ",
    "*a",
    "<<: *a",
    "!!int ",
    "|\n",
    ">\n",
    "---\n",
    "...\n",
    "\u{feff}",
    "é",
    "\u{0}",
    "\u{85}",
    "~",
    "yes",
    "-1",
    "1e400",
    ".inf",
    "99999999999",
    "null",
    "\r\n",
    "? ",
    "%YAML 1.1\n",
    "\\",
    ",",
    "0",
    "replicas: -1\n",
    "name: \n",
];

#[derive(Clone, Debug)]
enum Spoiling {
    Insert(prop::sample::Index, &'static str),
    Remove(prop::sample::Index, usize),
    SwapLines(prop::sample::Index, prop::sample::Index),
    RepeatLine(prop::sample::Index),
}

fn spoiling() -> impl Strategy<Value = Spoiling> {
    let index = any::<prop::sample::Index>();
    prop_oneof![
        (index.clone(), prop::sample::select(SPOILERS)).prop_map(|(at, what)| Spoiling::Insert(at, what)),
        (any::<prop::sample::Index>(), 1usize..40).prop_map(|(at, count)| Spoiling::Remove(at, count)),
        (any::<prop::sample::Index>(), any::<prop::sample::Index>())
            .prop_map(|(a, b)| Spoiling::SwapLines(a, b)),
        any::<prop::sample::Index>().prop_map(Spoiling::RepeatLine),
    ]
}

fn spoil(text: &str, how: &Spoiling) -> String {
    let characters: Vec<char> = text.chars().collect();
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    match how {
        _ if characters.is_empty() => String::new(),
        Spoiling::Insert(at, what) => {
            let (before, after) = characters.split_at(at.index(characters.len()));
            before
                .iter()
                .chain(&what.chars().collect::<Vec<_>>())
                .chain(after)
                .collect()
        }
        Spoiling::Remove(at, count) => {
            let at = at.index(characters.len());
            let kept = characters
                .iter()
                .enumerate()
                .filter(|(number, _)| !(at..at + count).contains(number));
            kept.map(|(_, character)| character).collect()
        }
        Spoiling::SwapLines(a, b) => {
            let (a, b) = (a.index(lines.len()), b.index(lines.len()));
            lines.swap(a, b);
            lines.concat()
        }
        Spoiling::RepeatLine(at) => {
            let at = at.index(lines.len());
            lines.insert(at, lines[at]);
            lines.concat()
        }
    }
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter_map("a finite number", |value| Number::from_f64(value)
            .map(Value::Number)),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        let entries = prop::collection::vec((any::<String>(), inner.clone()), 0..6);
        prop_oneof![
            prop::collection::vec(inner, 0..6).prop_map(Value::from),
            entries.prop_map(|entries| Value::Object(entries.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Numbers as they come out of kubectl: whole ones are whole, and beyond 64 bits they are floats.
fn normal(value: &Value) -> Value {
    match value {
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Value::from(whole),
            (None, Some(float)) => match format!("{float}").parse::<i64>() {
                Ok(whole) => Value::from(whole),
                Err(_) => Value::from(float),
            },
            (None, None) => value.clone(),
        },
        Value::Array(items) => items.iter().map(normal).collect(),
        Value::Object(map) => Value::Object(
            map.iter()
                .map(|(key, value)| (key.clone(), normal(value)))
                .collect(),
        ),
        other => other.clone(),
    }
}

proptest! {
    // A failure is replayed by its seed, which proptest prints; no files are left behind.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        read_all(&bytes);
    }

    #[test]
    fn arbitrary_text_is_read_or_refused(text in "\\PC{0,200}") {
        read_all(text.as_bytes());
    }

    #[test]
    fn text_of_yaml_s_own_characters_is_read_or_refused(
        pieces in prop::collection::vec(prop::sample::select(SPOILERS), 0..60),
    ) {
        read_all(pieces.concat().as_bytes());
    }

    #[test]
    fn spoilt_manifests_are_read_or_refused(
        which in any::<prop::sample::Index>(),
        how in prop::collection::vec(spoiling(), 1..4),
    ) {
        let text = which.get(&MANIFESTS).clone();
        let text = how.iter().fold(text, |text, how| spoil(&text, how));
        read_all(text.as_bytes());
    }

    #[test]
    fn json_is_read_as_json(value in json(), pretty in any::<bool>()) {
        let value = Value::Object(Map::from_iter([("root".to_owned(), value)]));
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let source = Source::from_bytes("x.json", text.as_bytes()).unwrap();
        let (documents, problems) = parse(&source);
        prop_assert_eq!(problems, vec![]);
        prop_assert_eq!(documents.len(), 1);
        check_node(&documents[0].root, &source.text);
        prop_assert_eq!(documents[0].root.to_json(), normal(&value));
        let (made, problems) = Document::from_value(&source, &value);
        prop_assert_eq!(problems, vec![]);
        prop_assert_eq!(without_positions(&made.unwrap().root), without_positions(&documents[0].root));
    }
}

fn without_positions(node: &Node) -> String {
    let text = format!("{node:?}");
    let (first, rest) = text.split_once("Span {").unwrap_or((&text, ""));
    let rest = rest.split("Span {").filter_map(|part| part.split_once('}'));
    rest.fold(first.to_owned(), |out, (_, after)| out + "Span" + after)
}

#[test]
fn a_value_is_read_as_its_printed_text_is() {
    let line = |problem: &Problem| {
        let Problem {
            code,
            message,
            found,
            hint,
            ..
        } = problem;
        let message = match message.split_once(", on lines ") {
            Some((before, after)) => {
                before.to_owned()
                    + after.trim_start_matches(|c: char| c.is_ascii_digit() || " and".contains(c))
            }
            None => message.clone(),
        };
        format!("{code} {} {message} {found:?} {hint:?}", problem.place.path)
    };
    let lines = |reading: &Reading| reading.problems.iter().map(line).collect::<Vec<_>>();
    let mut compared = 0;
    for text in MANIFESTS.iter() {
        let (documents, _) = parse(&Source::from_bytes("x.yaml", text.as_bytes()).unwrap());
        for value in documents.iter().map(|document| document.root.to_json()) {
            let printed = serde_json::to_string_pretty(&value).unwrap();
            if !printed.starts_with('{') {
                continue;
            }
            let source = Source::from_bytes("x.json", printed.as_bytes()).unwrap();
            let (read, made) = (trainyard_dialect::read(&source), read_value("x.json", &value));
            assert_eq!(lines(&made), lines(&read), "{printed}");
            let jobs = |reading: &Reading| -> Vec<_> {
                let jobs = reading.jobs();
                jobs.map(|read| (read.job.clone(), read.objects.clone()))
                    .collect()
            };
            assert_eq!(jobs(&made), jobs(&read));
            compared += 1;
        }
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn a_value_is_held_to_the_limits_of_text() {
    let nested = |levels: usize| (0..levels).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
    let codes = |value: &Value| -> Vec<String> {
        let problems = read_value("x", value).problems;
        problems.iter().map(|problem| problem.code.to_string()).collect()
    };
    assert_eq!(codes(&nested(MOST_LEVELS + 1)), ["TY007"]);
    assert_eq!(codes(&nested(MOST_LEVELS)), ["TY029"]);
    let wide = Value::Array(vec![Value::Null; MOST_NODES]);
    assert_eq!(codes(&wide), ["TY008"]);
    assert_eq!(codes(&Value::Null), Vec::<String>::new());
}

#[test]
fn every_manifest_of_the_project_names_only_places_that_exist() {
    for text in MANIFESTS.iter() {
        read_all(text.as_bytes());
    }
}

/// The end of a path is what tells it from others.
#[test]
fn paths_in_messages_are_whole() {
    let path = format!("/{}", "somewhere/".repeat(20));
    let missing = Source::read(&path).unwrap_err();
    assert!(missing.message.contains(&path), "{}", missing.message);
    let mounts = format!("[{{name: a, mountPath: {path}}}, {{name: a, mountPath: {path}}}]");
    let tfjob = format!(
        "apiVersion: kubeflow.org/v1\nkind: TFJob\nmetadata: {{name: a}}\nspec:\n  tfReplicaSpecs:\n    Worker:\n      \
         template: {{spec: {{volumes: [{{name: a, emptyDir: {{}}}}], containers: [{{name: tensorflow, image: x, volumeMounts: {mounts}}}]}}}}\n"
    );
    let volcano = |path: &str| {
        format!(
            "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {{name: a}}\nspec:\n  volumes:\n  - mountPath: {path}\n    \
             volumeClaimName: a\n  - mountPath: {path}\n    volumeClaimName: b\n  tasks: []\n"
        )
    };
    for text in [tfjob, volcano(&path), volcano(&format!("{path}:x"))] {
        let source = Source::from_bytes("a", text.as_bytes()).unwrap();
        let problems = trainyard_dialect::read(&source).problems;
        assert!(
            problems.iter().any(|problem| problem.message.contains(&path)),
            "{problems:#?}"
        );
    }
}
