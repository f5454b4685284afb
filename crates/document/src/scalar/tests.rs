//! Scalars that kubectl takes in its own way, each with what it makes of them.

use super::*;

const T: Scalar<'static> = Scalar::Bool(true);
const F: Scalar<'static> = Scalar::Bool(false);

fn text(text: &str) -> Scalar<'_> {
    Scalar::Text(Cow::Borrowed(text))
}

#[test]
fn words_mean_what_kubectl_says() {
    for word in ["yes", "Yes", "y", "Y", "on", "On", "TRUE"] {
        assert_eq!(resolve(word), T, "{word}");
    }
    for word in ["n", "NO", "Off"] {
        assert_eq!(resolve(word), F, "{word}");
    }
    for word in ["", "~", "null", "Null"] {
        assert_eq!(resolve(word), Scalar::Null, "{word}");
    }
    let words = [
        "t",
        "nan",
        "NaN",
        "inf",
        "Infinity",
        "=",
        "<<",
        "yEs",
        "12:30:45",
        "1:30",
        "2020-01-01",
    ];
    for word in words {
        assert_eq!(resolve(word), text(word), "{word}");
    }
}

#[test]
fn whole_numbers_have_go_s_bases_and_underscores() {
    let cases: &[(&str, i64)] = &[
        ("017", 15),
        ("0777", 511),
        ("-017", -15),
        ("0o17", 15),
        ("0O17", 15),
        ("0x1F", 31),
        ("-0x10", -16),
        ("0b11", 3),
        ("08", 8),
        ("1_000", 1000),
        ("0b1_1", 3),
        ("-1_0", -10),
        ("0x_1", 1),
        ("0_7", 7),
        ("1__0", 10),
        ("1e3", 1000),
        ("1.0", 1),
        ("1.", 1),
        ("-0", 0),
        ("-0.0", 0),
        ("0b+1", 1),
        ("9223372036854775807", i64::MAX),
        ("-9223372036854775808", i64::MIN),
        ("1000000000000000128.0", 1_000_000_000_000_000_100),
    ];
    for (text, value) in cases {
        assert_eq!(resolve(text).into_value(), Some(Scalar::Int(*value)), "{text}");
    }
    for word in [
        "_1",
        "1e",
        "0x",
        "0b2",
        "0o8",
        "1.2.3",
        "1e400",
        "0xFFFFFFFFFFFFFFFFFF",
        "-",
        "+",
        "--1",
    ] {
        assert_eq!(resolve(word), text(word), "{word}");
    }
}

#[test]
fn other_numbers_are_floats() {
    let cases: &[(&str, f64)] = &[
        (".5", 0.5),
        ("+.5", 0.5),
        ("0.1", 0.1),
        ("1_000.5", 1000.5),
        (".1_0", 0.1),
        ("9223372036854775808", 9_223_372_036_854_775_808.0),
        (
            "123456789012345678901234567890",
            123_456_789_012_345_680_000_000_000_000.0,
        ),
        ("1e21", 1e21),
    ];
    for (text, value) in cases {
        assert_eq!(resolve(text).into_value(), Some(Scalar::Float(*value)), "{text}");
    }
    for text in [".inf", ".nan", "-.INF", "+.Inf"] {
        assert_eq!(resolve(text).into_value(), None, "{text}");
    }
}

#[test]
fn keys_become_text() {
    let cases = [
        ("yes", "true"),
        ("n", "false"),
        ("1.50", "1.5"),
        ("1e3", "1000"),
        ("017", "15"),
        ("1e6", "1e+06"),
        ("999999.0", "999999"),
        ("0.0001", "0.0001"),
        ("0.00001", "1e-05"),
        ("16777217.0", "1.6777216e+07"),
        (".inf", ".inf"),
        ("-.inf", "-.inf"),
        ("1e300", ".inf"),
        ("a", "a"),
    ];
    for (text, key) in cases {
        assert_eq!(resolve(text).into_key().as_deref(), Some(key), "{text}");
    }
    for text in ["", "~", "9223372036854775808"] {
        assert_eq!(resolve(text).into_key(), None, "{text}");
    }
}

#[test]
fn tags_hold_or_are_refused() {
    let cases = [
        (Tag::Str, "017", Some(text("017"))),
        (Tag::Int, "017", Some(Scalar::Int(15))),
        (Tag::Int, "1.0", None),
        (Tag::Int, "", None),
        (Tag::Float, "3", Some(Scalar::Float(3.0))),
        (Tag::Float, "x", None),
        (Tag::Bool, "yes", Some(T)),
        (Tag::Bool, "1", None),
        (Tag::Null, "", Some(Scalar::Null)),
        (Tag::Null, "x", None),
        (Tag::Timestamp, "2020-01-01", Some(text("2020-01-01"))),
        (Tag::Timestamp, "x", None),
        (Tag::Binary, "aGk=", Some(text("hi"))),
        (Tag::Binary, "aGkh", Some(text("hi!"))),
        (Tag::Binary, "aA==", Some(text("h"))),
        (Tag::Binary, "a\nG\r\nk=", Some(text("hi"))),
        (Tag::Binary, "", Some(text(""))),
        (Tag::Binary, "aGk", None),
        (Tag::Binary, "aGk=x", None),
        (Tag::Binary, "aGk==", None),
        (Tag::Binary, "a", None),
        (Tag::Binary, "====", None),
        // Not UTF-8: kubectl would replace it silently.
        (Tag::Binary, "/w==", None),
    ];
    for (tag, written, expected) in cases {
        assert_eq!(tagged(tag, written), expected, "{tag:?} {written:?}");
    }
}
