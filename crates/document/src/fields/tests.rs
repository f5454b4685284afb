//! What each question reports about a value that does not fit.

use super::*;
use crate::document::{Source, parse};
use crate::problem::FieldPath;

/// Reads `text` with `ask`, and gives what was told as `code path: message (hint)`.
fn told(text: &str, ask: impl FnOnce(&mut Fields<'_>)) -> Vec<String> {
    let source = Source::from_bytes("x.yaml", text.as_bytes()).unwrap();
    let (documents, _) = parse(&source);
    let problems = Problems::new(&source, 0);
    if let Some(mut fields) = Field::root(&documents[0].root, FieldPath::root(), &problems).fields() {
        ask(&mut fields);
        fields.finish();
    }
    let line = |problem: &Problem| {
        let hint = problem
            .hint
            .as_ref()
            .or(problem.allowed.as_ref())
            .map(|hint| format!(" ({hint})"));
        format!(
            "{} {}: {}{}",
            problem.code,
            problem.place.path,
            problem.message,
            hint.unwrap_or_default()
        )
    };
    problems.into_vec().iter().map(line).collect()
}

#[test]
fn values_of_the_right_type_are_given_without_a_word() {
    let text = "t: x\nb: no\ni: 5\nl: [1, 2]\nm: {a: 1}\nc: Never\nz: ~\n";
    let problems = told(text, |fields| {
        assert_eq!(fields.text("t").map(AsRef::as_ref), Some("x"));
        assert_eq!(fields.bool("b"), Some(false));
        assert_eq!(fields.int("i", 0..=5), Some(5));
        assert_eq!(fields.count("i"), Some(5));
        assert_eq!(fields.list("l").len(), 2);
        assert_eq!(fields.choice("c", &[("Always", 1), ("Never", 2)]), Some(2));
        assert_eq!(fields.choice_any_case("c", &[("never", 3)]), Some(3));
        assert!(fields.get("z").is_none() && fields.has("z"));
        let mut inner = fields.map("m").unwrap();
        assert_eq!(inner.int("a", 0..=9), Some(1));
        inner.finish();
    });
    assert_eq!(problems, Vec::<String>::new());
}

#[test]
fn values_of_the_wrong_type_are_reported_with_a_way_out() {
    let cases = [
        (
            "v: yes",
            "text",
            "TY021 v: expected text, found a boolean (unquoted `yes` is the boolean true: write \"yes\")",
        ),
        (
            "v: 017",
            "text",
            "TY021 v: expected text, found a whole number (put it in quotes: \"017\")",
        ),
        ("v: [a]", "text", "TY021 v: expected text, found a list (text)"),
        (
            "v: '5'",
            "int",
            "TY021 v: expected a whole number, found text (remove the quotes: 5)",
        ),
        (
            "v: 1.5",
            "int",
            "TY021 v: expected a whole number, found a number (a whole number)",
        ),
        (
            "v: -1",
            "int",
            "TY046 v: -1 is negative (a whole number from 0 to 9)",
        ),
        (
            "v: 10",
            "int",
            "TY026 v: 10 is out of range (a whole number from 0 to 9)",
        ),
        (
            "v: 'true'",
            "bool",
            "TY021 v: expected `true` or `false`, found text (remove the quotes: true)",
        ),
        (
            "v: {a: 1}",
            "list",
            "TY021 v: expected a list, found a map (begin each item with `- `)",
        ),
        (
            "v: [1]",
            "map",
            "TY021 v: expected a map, found a list (remove the `- ` in front of its fields)",
        ),
        (
            "v: never",
            "choice",
            "TY023 v: `never` is not a value of this field (did you mean `Never`?)",
        ),
        (
            "v: Maybe",
            "choice",
            "TY023 v: `Maybe` is not a value of this field (`Always`, `OnFailure` or `Never`)",
        ),
    ];
    for (text, asked, expected) in cases {
        let problems = told(text, |fields| match asked {
            "text" => assert!(fields.text("v").is_none()),
            "int" => assert!(fields.int("v", 0..=9).is_none()),
            "bool" => assert!(fields.bool("v").is_none()),
            "list" => assert!(fields.list("v").is_empty()),
            "map" => assert!(fields.map("v").is_none()),
            _ => assert!(
                fields
                    .choice("v", &[("Always", 1), ("OnFailure", 2), ("Never", 3)])
                    .is_none()
            ),
        });
        assert_eq!(problems, [expected], "{text}");
    }
}

#[test]
fn fields_that_nobody_asked_for_are_unknown() {
    let text = "replicas: 1\nreplica: 2\nbackofLimit: 3\nbackoffLimit: 4\nxyz: 5\n\"a.b\": 6\n";
    let problems = told(text, |fields| {
        fields.skip(&["replicas", "template"]);
        fields.elsewhere("backoffLimit", "spec.runPolicy.backoffLimit");
    });
    assert_eq!(
        problems,
        [
            "TY020 replica: unknown field `replica` (did you mean `replicas`?)",
            "TY020 backofLimit: unknown field `backofLimit` (`replicas` or `template`)",
            "TY020 backoffLimit: unknown field `backoffLimit` (it belongs in `spec.runPolicy.backoffLimit`)",
            "TY020 xyz: unknown field `xyz` (`replicas` or `template`)",
            "TY020 [a.b]: unknown field `a.b` (`replicas` or `template`)",
        ]
    );
}

#[test]
fn missing_moved_and_idle_fields_are_told() {
    let problems = told("old: 1\nidle: 2\n", |fields| {
        assert!(fields.require("name").is_none());
        assert!(fields.moved("old", "spec.new").is_some());
        assert!(fields.moved("older", "spec.new").is_none());
        fields.ignored("idle", "nothing reads it");
        fields.ignored("absent", "nothing reads it");
    });
    assert_eq!(
        problems,
        [
            "TY022 name: the field `name` is missing",
            "TY025 old: `old` now belongs in `spec.new` (move it to `spec.new`)",
            "TY027 idle: `idle` has no effect: nothing reads it",
        ]
    );
}

#[test]
fn a_map_of_the_user_s_own_keys_is_known_as_a_whole() {
    let problems = told("a: 1\nb: {}\n", |fields| {
        let keys: Vec<String> = fields.entries().iter().map(|(key, _)| key.to_string()).collect();
        assert_eq!(keys, ["a", "b"]);
    });
    assert_eq!(problems, Vec::<String>::new());
}
