//! What a scalar means: exactly what kubectl's reader (yaml.v2, then JSON) makes of it.
//!
//! [`resolve`] and [`tagged`] say what the text is, [`Scalar::into_value`] what becomes of it as a value, and
//! [`Scalar::into_key`] as a key of a map. Nothing here knows of positions.

use std::borrow::Cow;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};

/// The meaning of one scalar.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar<'a> {
    /// Nothing: empty, `~`, `null`.
    Null,
    /// `true`, `yes`, `on` and their opposites.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A whole number from 2⁶³ on. A value becomes the nearest float; kubectl refuses it as a key.
    Large(u64),
    /// Any other number, also `1e3` and `1.0`. It may be infinite or not a number; JSON has no such values.
    Float(f64),
    /// Everything else.
    Text(Cow<'a, str>),
}

/// The tags that change what a scalar means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// `!!str`
    Str,
    /// `!!int`
    Int,
    /// `!!float`
    Float,
    /// `!!bool`
    Bool,
    /// `!!null`
    Null,
    /// `!!timestamp`; the value stays text.
    Timestamp,
    /// `!!binary`; base64 of text.
    Binary,
}

impl Tag {
    /// The tag with this name in YAML's own namespace.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "str" => Self::Str,
            "int" => Self::Int,
            "float" => Self::Float,
            "bool" => Self::Bool,
            "null" => Self::Null,
            "timestamp" => Self::Timestamp,
            "binary" => Self::Binary,
            _ => return None,
        })
    }
}

impl<'a> Scalar<'a> {
    /// What becomes of it as a value: it passes through JSON, where `1e3` and `1.0` are whole numbers and a number
    /// beyond 64 bits is a float. `None` for what JSON cannot hold.
    #[must_use]
    pub fn into_value(self) -> Option<Self> {
        #[expect(clippy::cast_precision_loss, reason = "the loss is what kubectl does")]
        let value = match self {
            Self::Large(large) => large as f64,
            Self::Float(value) => value,
            other => return Some(other),
        };
        if !value.is_finite() {
            return None;
        }
        // The shortest digits, filled up with zeros, are what Go writes and then reads as an integer.
        let digits = (value.fract() == 0.0 && value.abs() < 1e19)
            .then(|| format!("{value}").parse().ok())
            .flatten();
        Some(digits.map_or(Self::Float(value), Self::Int))
    }

    /// What becomes of it as a key: text, whatever it was. `None` for what kubectl does not take as a key.
    #[must_use]
    pub fn into_key(self) -> Option<Cow<'a, str>> {
        Some(match self {
            Self::Text(text) => text,
            Self::Bool(true) => Cow::Borrowed("true"),
            Self::Bool(false) => Cow::Borrowed("false"),
            Self::Int(value) => Cow::Owned(value.to_string()),
            Self::Float(value) => Cow::Owned(float_key(value)),
            Self::Null | Self::Large(_) => return None,
        })
    }
}

/// A plain scalar without a tag.
#[must_use]
pub fn resolve(text: &str) -> Scalar<'_> {
    match text.as_bytes().first() {
        None => Scalar::Null,
        Some(b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~') => word(text),
        Some(b'.') => dotted(text),
        Some(b'0'..=b'9' | b'+' | b'-') => number(text),
        Some(_) => Scalar::Text(Cow::Borrowed(text)),
    }
}

fn word(text: &str) -> Scalar<'_> {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Scalar::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Scalar::Bool(false)
        }
        "~" | "null" | "Null" | "NULL" => Scalar::Null,
        _ => Scalar::Text(Cow::Borrowed(text)),
    }
}

fn dotted(text: &str) -> Scalar<'_> {
    match text {
        ".inf" | ".Inf" | ".INF" => Scalar::Float(f64::INFINITY),
        ".nan" | ".NaN" | ".NAN" => Scalar::Float(f64::NAN),
        _ => between_digits(text)
            .and_then(|plain| float(&plain))
            .map_or(Scalar::Text(Cow::Borrowed(text)), Scalar::Float),
    }
}

fn number(text: &str) -> Scalar<'_> {
    match text {
        "+.inf" | "+.Inf" | "+.INF" => return Scalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return Scalar::Float(f64::NEG_INFINITY),
        _ => {}
    }
    let plain: Cow<'_, str> = if text.contains('_') {
        Cow::Owned(text.replace('_', ""))
    } else {
        Cow::Borrowed(text)
    };
    whole(&plain)
        .or_else(|| float(&plain).map(Scalar::Float))
        .or_else(|| odd_binary(&plain))
        .unwrap_or(Scalar::Text(Cow::Borrowed(text)))
}

/// The text without underscores, if each stands between two digits: Go allows no others.
fn between_digits(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('_') {
        return Some(Cow::Borrowed(text));
    }
    let digit = |at: Option<&u8>| at.is_some_and(u8::is_ascii_digit);
    let bytes = text.as_bytes();
    let fits =
        |at: usize| bytes[at] != b'_' || digit(bytes.get(at.wrapping_sub(1))) && digit(bytes.get(at + 1));
    (0..bytes.len())
        .all(fits)
        .then(|| Cow::Owned(text.replace('_', "")))
}

/// Go's `ParseInt` and then `ParseUint` with base 0: a prefix or a leading zero chooses the base.
fn whole(text: &str) -> Option<Scalar<'static>> {
    let (negative, signed, digits) = match text.as_bytes().first()? {
        b'-' => (true, true, &text[1..]),
        b'+' => (false, true, &text[1..]),
        _ => (false, false, text),
    };
    let (base, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    if !digits.bytes().next()?.is_ascii_alphanumeric() {
        return None;
    }
    let magnitude = u64::from_str_radix(digits, base).ok()?;
    if negative {
        return 0i64.checked_sub_unsigned(magnitude).map(Scalar::Int);
    }
    match i64::try_from(magnitude) {
        Ok(value) => Some(Scalar::Int(value)),
        // `ParseUint` takes no sign, so `+9223372036854775808` goes on to be a float.
        Err(_) => (!signed).then_some(Scalar::Large(magnitude)),
    }
}

/// yaml.v2 looks at `0b` once more by itself, and there a sign may stand behind the prefix.
fn odd_binary(text: &str) -> Option<Scalar<'static>> {
    let digits = text
        .strip_prefix("0b")
        .filter(|digits| digits.starts_with(['+', '-']))?;
    i64::from_str_radix(digits, 2).ok().map(Scalar::Int)
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`, if it is finite.
fn float(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mantissa_fits = digits(before) && digits(after) && !(before.is_empty() && after.is_empty());
    let exponent_fits = exponent.is_none_or(|exponent| {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !exponent.is_empty() && digits(exponent)
    });
    if !(mantissa_fits && exponent_fits) {
        return None;
    }
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

/// Go's `FormatFloat(value, 'g', -1, 32)`: the shortest digits that a 32-bit float needs, with an exponent from 1e6
/// on and below 1e-4.
fn float_key(value: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "kubectl writes such a key with 32 bits"
    )]
    let value = value as f32;
    if value.is_nan() {
        return ".nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    match exponent.parse::<i32>().unwrap_or(0) {
        -4..=5 => format!("{value}"),
        exponent => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
        }
    }
}

/// A scalar with one of YAML's own tags. `None` if the text is not what the tag says.
#[must_use]
pub fn tagged(tag: Tag, text: &str) -> Option<Scalar<'_>> {
    if tag == Tag::Binary {
        return String::from_utf8(base64(text)?)
            .ok()
            .map(|text| Scalar::Text(Cow::Owned(text)));
    }
    match (tag, resolve(text)) {
        (Tag::Str, _) => Some(Scalar::Text(Cow::Borrowed(text))),
        #[expect(clippy::cast_precision_loss, reason = "the loss is what kubectl does")]
        (Tag::Float, Scalar::Int(value)) => Some(Scalar::Float(value as f64)),
        (Tag::Int, found @ (Scalar::Int(_) | Scalar::Large(_)))
        | (Tag::Float, found @ Scalar::Float(_))
        | (Tag::Bool, found @ Scalar::Bool(_))
        | (Tag::Null, found @ Scalar::Null) => Some(found),
        (Tag::Timestamp, Scalar::Text(text)) if looks_like_time(&text) => Some(Scalar::Text(text)),
        _ => None,
    }
}

/// The forms yaml.v2 takes for a time begin with a date: four digits and a dash.
fn looks_like_time(text: &str) -> bool {
    text.len() >= 8 && text.bytes().take(4).all(|byte| byte.is_ascii_digit()) && text.as_bytes()[4] == b'-'
}

/// Standard base64 with padding, read as leniently as Go does.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// Standard base64 with padding; line breaks are skipped, as Go does.
#[must_use]
pub fn base64(text: &str) -> Option<Vec<u8>> {
    let is_text = |byte: &u8| !matches!(byte, b'\r' | b'\n');
    BASE64
        .decode(text.bytes().filter(is_text).collect::<Vec<u8>>())
        .ok()
}

#[cfg(test)]
mod tests;
