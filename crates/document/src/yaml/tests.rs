use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::document::{Source, parse};

fn read_back(text: &str) -> Value {
    let source = Source::from_bytes("t", text.as_bytes()).unwrap();
    let (documents, problems) = parse(&source);
    assert!(problems.is_empty(), "{text}\n{problems:?}");
    documents[0].root.to_json()
}

#[test]
fn manifests_look_as_people_write_them() {
    let value = json!({"kind": "TFJob", "spec": {"list": [{"a": 1, "b": []}, "x"], "none": {}, "yes": "yes",
        "script": "set -e\npython train.py\n", "empty": "", "number": "017", "json": "{\"a\":1}"}});
    let expected = "kind: TFJob\nspec:\n  list:\n  - a: 1\n    b: []\n  - x\n  none: {}\n  \"yes\": \"yes\"\n  \
        script: |\n    set -e\n    python train.py\n  empty: \"\"\n  number: \"017\"\n  json: '{\"a\":1}'\n";
    assert_eq!(write(&value), expected);
    assert_eq!(read_back(&write(&value)), value);
}

#[test]
fn many_numbers_stand_side_by_side() {
    let few = json!({"codes": [1, 2, 3], "mixed": [1, 2, 3, "4"]});
    assert!(write(&few).starts_with("codes:\n- 1\n"), "{}", write(&few));
    let many = json!({"a": {"codes": (1..=127).collect::<Vec<u8>>()}});
    let text = write(&many);
    assert!(
        text.lines().count() < 9 && text.lines().all(|line| line.len() <= 100),
        "{text}"
    );
    assert_eq!(read_back(&text), many);
}

/// What some reader of YAML takes for something else than text; `tests/pyyaml.rs` asks one.
#[test]
fn text_that_another_reader_may_take_for_something_else_is_quoted() {
    let words = "12:30:45 1:30 190:20:30.15 2001-01-01 2001-12-14t21:59:43.10-05:00 2001-12-14T21:59:43Z 017 0o17 08 \
        0x1F 0x_ 0xFFFFFFFFFFFFFFFFFF 0b11 0b_ 0_ 1_000 1._ 1,000 1e3 1e400 .5 +.5 -1 +1 .inf -.INF .NaN ~ null NULL = << \
        yes No ON off y N true ... ...a";
    for word in words.split(' ').chain(["", "2001-12-14 21:59:43.10 -5", "... a"]) {
        let text = write(&json!({ "a": word }));
        assert_eq!(text, format!("a: \"{word}\"\n"));
        assert!(write(&json!({ word: "a" })).starts_with(&format!("\"{word}\":")));
    }
    // And what no reader misunderstands stays as people write it.
    for word in [
        "2.21.0",
        "10.0.0.1",
        "500m",
        "16Gi",
        "3d-unet",
        "a:b",
        "tensorflow/tensorflow:2.21.0",
        "1.9.0-rc.1",
        "é",
    ] {
        assert_eq!(write(&json!({ "a": word })), format!("a: {word}\n"));
    }
}

#[test]
fn carriage_returns_stay() {
    for text in [
        "a\r\nb\r\n",
        "a\rb",
        "a\r",
        "\r",
        "a\nb\r\n",
        "#!/bin/sh\r\nexit 0\r\n",
    ] {
        let value = json!({ "a": text });
        assert_eq!(read_back(&write(&value)), value, "{text:?}");
    }
}

#[test]
fn numbers_with_exponents_are_numbers_everywhere() {
    for (value, expected) in [
        (1e300, "1.0e+300"),
        (1.5e-9, "1.5e-9"),
        (0.5, "0.5"),
        (-2e21, "-2.0e+21"),
    ] {
        assert_eq!(write(&json!({ "a": value })), format!("a: {expected}\n"));
        assert_eq!(read_back(&write(&json!({ "a": value }))), json!({ "a": value }));
    }
}

#[test]
fn a_text_alone_and_a_long_key_read_back() {
    for text in ["a\n---\nb", "---", "...", "a\n...\nb\n", "%YAML 1.2\na"] {
        assert_eq!(read_back(&write(&json!(text))), json!(text));
    }
    let long = "k".repeat(3000);
    for value in [
        json!({ &long: { &long: [{ &long: "x", "y": 1 }] } }),
        json!([{ &long: [] }]),
    ] {
        assert_eq!(read_back(&write(&value)), value);
    }
}

fn values() -> impl Strategy<Value = Value> {
    let letters = prop_oneof![
        any::<String>(),
        prop::collection::vec(any::<char>(), 0..12).prop_map(|letters| letters.into_iter().collect()),
        "[-a-z0-9:#{}\\[\\]'\"\n |>&*!%@`,.?=<~\r\t\u{85}\u{2028}\u{feff}]{0,12}",
        "[-+.0-9:_eExobtTzZ ]{1,8}",
        "(yes|no|on|null|~|1e3|0x1f|017|1_0|<<|12:30:45|2001-01-01)"
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        letters.prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec(("[a-z:# -]{1,8}|yes|017|1:30|\\PC{1,6}", inner), 0..5)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_is_written_reads_back(value in values()) {
        let document = json!({ "value": value });
        prop_assert_eq!(read_back(&write(&document)), document);
    }
}
