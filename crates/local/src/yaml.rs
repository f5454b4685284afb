//! JSON as YAML that people like to read, and that kubectl and [`trainyard_dialect`] read as the same JSON.

use std::fmt::Write;

use serde_json::Value;
use trainyard_dialect::scalar::{Scalar, resolve};

/// One document, without the line that begins it.
#[must_use]
pub fn to_yaml(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(map) if !map.is_empty() => mapping(&mut out, map, 0),
        Value::Array(list) if !list.is_empty() => sequence(&mut out, list, 0),
        other => {
            scalar(&mut out, other, 0);
            out.push('\n');
        }
    }
    out
}

fn mapping(out: &mut String, map: &serde_json::Map<String, Value>, depth: usize) {
    for (position, (key, value)) in map.iter().enumerate() {
        if position > 0 {
            indent(out, depth);
        }
        text(out, key);
        out.push(':');
        nested(out, value, depth);
    }
}

/// What follows a key: on the same line, or below it.
fn nested(out: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            out.push('\n');
            indent(out, depth + 1);
            mapping(out, map, depth + 1);
        }
        // A list stands under its key without being moved in, as people write it.
        Value::Array(list) if !list.is_empty() => {
            out.push('\n');
            indent(out, depth);
            sequence(out, list, depth);
        }
        other => {
            out.push(' ');
            scalar(out, other, depth + 1);
            out.push('\n');
        }
    }
}

fn sequence(out: &mut String, list: &[Value], depth: usize) {
    for (position, value) in list.iter().enumerate() {
        if position > 0 {
            indent(out, depth);
        }
        out.push_str("- ");
        match value {
            Value::Object(map) if !map.is_empty() => mapping(out, map, depth + 1),
            Value::Array(list) if !list.is_empty() => sequence(out, list, depth + 1),
            other => {
                scalar(out, other, depth + 1);
                out.push('\n');
            }
        }
    }
}

fn scalar(out: &mut String, value: &Value, depth: usize) {
    match value {
        Value::String(value) if is_block(value) => block(out, value, depth),
        Value::String(value) => text(out, value),
        // Empty ones, and what JSON writes as YAML does.
        other => out.push_str(&other.to_string()),
    }
}

/// Several lines can stand as they are if nothing in them could be mistaken.
fn is_block(value: &str) -> bool {
    let printable = |c: char| c == '\n' || is_printable(c);
    let first = value.chars().next();
    value.trim_end_matches('\n').contains('\n')
        && !value.ends_with("\n\n")
        && first.is_some_and(|c| !c.is_whitespace())
        && value.chars().all(printable)
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

/// Text without quotes if it is read back as the same text, else in double quotes.
fn text(out: &mut String, value: &str) {
    if is_plain(value) {
        out.push_str(value);
        return;
    }
    out.push('"');
    for c in value.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if is_printable(c) => out.push(c),
            c if u32::from(c) <= 0xff => drop(write!(out, "\\x{:02x}", u32::from(c))),
            c if u32::from(c) <= 0xffff => drop(write!(out, "\\u{:04x}", u32::from(c))),
            c => drop(write!(out, "\\U{:08x}", u32::from(c))),
        }
    }
    out.push('"');
}

fn is_plain(value: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || "_-./@%+=,:~ ()$^*".contains(c);
    let first = |c: char| c.is_ascii_alphanumeric() || "_/.".contains(c) || c == '-' && value.len() > 1;
    let is_text = matches!(resolve(value), Scalar::Text(same) if same == value);
    is_text
        && value.starts_with(first)
        && value.chars().all(inner)
        && !value.contains(": ")
        && !value.ends_with([':', ' '])
        && !value.starts_with("- ")
        && !value.starts_with("--- ")
        && !matches!(value, "---" | "..." | "-")
        && value.len() <= 120
}

/// What YAML lets stand; everything else is escaped.
fn is_printable(c: char) -> bool {
    matches!(c, ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
        && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

fn indent(out: &mut String, depth: usize) {
    out.extend(std::iter::repeat_n("  ", depth));
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use trainyard_dialect::document::{Source, parse};

    use super::*;

    fn read(text: &str) -> Value {
        let source = Source::from_bytes("x.yaml", text.as_bytes()).unwrap();
        let (documents, problems) = parse(&source);
        assert_eq!(problems, [], "{text}");
        assert_eq!(documents.len(), 1, "{text}");
        documents[0].root.to_json()
    }

    #[test]
    fn it_looks_as_people_write_it() {
        let value = json!({"a": {"b": [1, {"c": "x y", "d": [true]}, [2, 3], {}], "e": {}, "f": []},
            "g": "first\n  second\n", "h": ["sh", "-c", "x\ny"], "i": "yes", "j": null});
        let text = "\
a:
  b:
  - 1
  - c: x y
    d:
    - true
  - - 2
    - 3
  - {}
  e: {}
  f: []
g: |
  first
    second
h:
- sh
- -c
- |-
  x
  y
i: \"yes\"
j: null
";
        assert_eq!(to_yaml(&value), text);
        assert_eq!(read(text), value);
    }

    #[test]
    fn every_text_is_read_back_as_itself() {
        let pieces = [
            "", " ", "-", "--", ":", ": ", " #", "#", "a", "1", "0x1", "1e3", "y", "null", "~", ".", "...",
            "---", "'", "\"", "\\", "\n", "\n\n", "\t", "\r", "{", "[", ",", "&", "*", "!", "|", ">", "%",
            "@", "`", "é", "😀", "\u{7f}", "\u{85}", "\u{2028}", "\u{feff}", "\0", "?", "? ", "- ", "=",
            "<<", "$(A)", "key",
        ];
        for first in pieces {
            for second in pieces {
                for third in ["", "a", "\n", " "] {
                    let value = format!("{first}{second}{third}");
                    let whole = json!({"k": value, "l": [value, {"m": value}]});
                    let text = to_yaml(&whole);
                    assert_eq!(read(&text), whole, "{text}");
                }
            }
        }
    }

    #[test]
    fn every_key_is_read_back_as_itself() {
        for key in [
            "y",
            "1",
            "1.50",
            "a b",
            "a: b",
            "-",
            "",
            "<<",
            "trainyard.dev/x",
            "\n",
            "null",
            "~",
        ] {
            let value = json!({key: 1});
            assert_eq!(read(&to_yaml(&value)), value, "{key:?}");
        }
    }
}
