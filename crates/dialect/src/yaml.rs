//! JSON values as YAML that reads back the same, here and in kubectl.
//!
//! The opposite of [`document`](crate::document): block style, two spaces, text left plain wherever plain text means
//! that text and nothing else.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::scalar::{Scalar, resolve};

/// From so many numbers on, a list is written side by side.
const FEW_NUMBERS: usize = 4;
/// So many characters of them on a line.
const NUMBERS_WIDTH: usize = 88;

/// The value as a YAML document, ending in a line break.
#[must_use]
pub fn write(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(map) if !map.is_empty() => entries(&mut out, map, 0),
        Value::Array(list) if !list.is_empty() => items(&mut out, list, 0),
        leaf => {
            scalar(&mut out, leaf, 0);
            out.push('\n');
        }
    }
    out
}

fn entries(out: &mut String, map: &Map<String, Value>, depth: usize) {
    for (position, (key, value)) in map.iter().enumerate() {
        if position > 0 {
            indent(out, depth);
        }
        out.push_str(&text(key));
        out.push(':');
        below(out, value, depth);
    }
}

/// What stands after a key: on the same line, or below it.
fn below(out: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            out.push('\n');
            indent(out, depth + 1);
            entries(out, map, depth + 1);
        }
        Value::Array(list) if is_numbers(list) => numbers(out, list, depth + 1),
        Value::Array(list) if !list.is_empty() => {
            out.push('\n');
            indent(out, depth);
            items(out, list, depth);
        }
        leaf => {
            out.push(' ');
            scalar(out, leaf, depth + 1);
            out.push('\n');
        }
    }
}

/// Numbers are read side by side, not one below the other: a list of exit codes may have a hundred.
fn is_numbers(list: &[Value]) -> bool {
    list.len() >= FEW_NUMBERS && list.iter().all(Value::is_u64)
}

fn numbers(out: &mut String, list: &[Value], depth: usize) {
    out.push_str(" [");
    let mut length = 0;
    for (position, number) in list.iter().enumerate() {
        let text = number.to_string();
        if position > 0 {
            out.push(',');
        }
        if position > 0 && length + text.len() > NUMBERS_WIDTH {
            out.push('\n');
            indent(out, depth);
            length = 0;
        } else if position > 0 {
            out.push(' ');
        }
        length += text.len() + 2;
        out.push_str(&text);
    }
    out.push_str("]\n");
}

fn items(out: &mut String, list: &[Value], depth: usize) {
    for (position, value) in list.iter().enumerate() {
        if position > 0 {
            indent(out, depth);
        }
        out.push_str("- ");
        match value {
            Value::Object(map) if !map.is_empty() => entries(out, map, depth + 1),
            Value::Array(list) if !list.is_empty() => items(out, list, depth + 1),
            leaf => {
                scalar(out, leaf, depth + 1);
                out.push('\n');
            }
        }
    }
}

fn scalar(out: &mut String, value: &Value, depth: usize) {
    match value {
        Value::String(value) if is_block(value) => block(out, value, depth),
        Value::String(value) => out.push_str(&text(value)),
        // Numbers, booleans, null, `{}` and `[]` are written in YAML as in JSON.
        other => {
            // Writing to a String cannot fail.
            let _ = write!(out, "{other}");
        }
    }
}

/// Text over several lines is readable as a block, if a block can say it exactly.
fn is_block(value: &str) -> bool {
    let lines_are_plain = value.lines().all(|line| {
        !line.ends_with([' ', '\t', '\r'])
            && line
                .chars()
                .all(|letter| letter == '\t' || is_plain_letter(letter))
    });
    // A first line that is indented or empty would need an indentation mark.
    let starts_plainly = !value.starts_with([' ', '\t', '\n']);
    value.trim_end_matches('\n').contains('\n')
        && lines_are_plain
        && starts_plainly
        && !value.ends_with("\n\n")
}

fn block(out: &mut String, value: &str, depth: usize) {
    out.push_str(if value.ends_with('\n') { "|" } else { "|-" });
    for line in value.lines() {
        out.push('\n');
        if !line.is_empty() {
            indent(out, depth);
            out.push_str(line);
        }
    }
}

/// Text on one line: plain where that is certain, else in quotes.
fn text(value: &str) -> String {
    let plain = !value.is_empty()
        && value.chars().all(is_plain_letter)
        && !value.starts_with(|first: char| "-?:,[]{}#&*!|>'\"%@` =".contains(first))
        && !value.ends_with([' ', ':'])
        && !value.contains(": ")
        && !value.contains(" #")
        && value != "<<"
        && matches!(resolve(value), Scalar::Text(read) if read == value);
    if plain {
        value.to_owned()
    } else if value.contains('"') && !value.contains('\'') && value.chars().all(is_plain_letter) {
        // JSON within YAML stays readable.
        format!("'{value}'")
    } else {
        quoted(value)
    }
}

/// JSON's escapes are YAML's too, but for letters beyond the first plane, which stay as they are.
fn quoted(value: &str) -> String {
    let mut out = String::with_capacity(value.len() + 2);
    out.push('"');
    for letter in value.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if is_plain_letter(letter) => out.push(letter),
            _ => {
                let _ = write!(out, "\\U{:08X}", u32::from(letter));
            }
        }
    }
    out.push('"');
    out
}

/// Letters that every reader takes as they are.
fn is_plain_letter(letter: char) -> bool {
    matches!(letter, ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fdcf}' | '\u{fdf0}'..='\u{fffd}' | '\u{10000}'..)
        && !matches!(letter, '\u{2028}' | '\u{2029}' | '\u{feff}')
}

fn indent(out: &mut String, depth: usize) {
    for _ in 0..depth {
        out.push_str("  ");
    }
}

#[cfg(test)]
mod tests {
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

    fn values() -> impl Strategy<Value = Value> {
        let letters = prop_oneof![
            any::<String>(),
            "[-a-z0-9:#{}\\[\\]'\"\n |>&*!%@`,.?=<~]{0,12}",
            "(yes|no|on|null|~|1e3|0x1f|017|1_0|<<)"
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
                prop::collection::vec(("[a-z:# -]{1,8}|yes|017", inner), 0..5)
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
}
