//! JSON values as YAML that reads back the same: here, in kubectl, and in readers of YAML 1.1 and 1.2.
//!
//! The opposite of the document reader: block style, two spaces, text left plain wherever plain text means
//! that text and nothing else to any of them.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::scalar::{Scalar, resolve};

/// From so many numbers on, a list is written side by side.
const FEW_NUMBERS: usize = 4;
/// So many characters of them on a line.
const NUMBERS_WIDTH: usize = 88;
/// Readers give up on a key whose colon comes later than 1024 characters; such a key is announced by `?`.
const KEY_LENGTH: usize = 1000;

/// The value as a YAML document, ending in a line break.
#[must_use]
pub fn write(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(map) if !map.is_empty() => entries(&mut out, map, 0),
        Value::Array(list) if !list.is_empty() => items(&mut out, list, 0),
        leaf => {
            // Indented, so that no line of a text looks like the end of the document.
            scalar(&mut out, leaf, 1);
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
        let key = text(key);
        if key.chars().count() > KEY_LENGTH {
            out.push_str("? ");
            out.push_str(&key);
            out.push('\n');
            indent(out, depth);
        } else {
            out.push_str(&key);
        }
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
        Value::Number(number) if number.is_f64() => out.push_str(&float(&number.to_string())),
        // Whole numbers, booleans, null, `{}` and `[]` are written in YAML as in JSON.
        other => {
            // Writing to a String cannot fail.
            let _ = write!(out, "{other}");
        }
    }
}

/// YAML 1.1 knows no `1e300`: a number with an exponent has a point before it and a sign in it.
fn float(digits: &str) -> String {
    let Some((mantissa, exponent)) = digits.split_once(['e', 'E']) else {
        return digits.to_owned();
    };
    let point = if mantissa.contains('.') { "" } else { ".0" };
    let sign = if exponent.starts_with(['-', '+']) { "" } else { "+" };
    format!("{mantissa}{point}e{sign}{exponent}")
}

/// Text over several lines is readable as a block, if a block can say it exactly.
fn is_block(value: &str) -> bool {
    // Not `lines`, which takes the `\r` of `\r\n` for a part of the line break: a block has no place for it.
    let lines_are_plain = value.split('\n').all(|line| {
        !line.ends_with([' ', '\t'])
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
        && !value.starts_with("...")
        && value != "<<"
        && !looks_like_a_number(value)
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

/// Whether some reader may take it for a number or a time, though kubectl does not: `12:30:45` is 45045 and
/// `2001-01-01` a date in YAML 1.1, and readers differ over `0x_`, `1e400` and `1,000`.
fn looks_like_a_number(value: &str) -> bool {
    let unsigned = value.strip_prefix(['+', '-']).unwrap_or(value);
    let unsigned = unsigned.strip_prefix('.').unwrap_or(unsigned);
    if !unsigned.starts_with(|first: char| first.is_ascii_digit()) {
        return false;
    }
    let hexadecimal = unsigned.starts_with("0x") || unsigned.starts_with("0X");
    let fits = |letter: char| {
        letter.is_ascii_digit()
            || "_:.,+- eEtTzZoObB".contains(letter)
            || hexadecimal && (letter.is_ascii_hexdigit() || matches!(letter, 'x' | 'X'))
    };
    // A version or an address has more points than any number.
    let points = value.matches('.').count();
    value.chars().all(fits) && (points <= 1 || value.contains(':'))
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
#[path = "yaml/tests.rs"]
mod tests;
