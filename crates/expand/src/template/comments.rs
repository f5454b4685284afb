//! Comments as Go means them.
//!
//! After `{{- /* … */}}` the engine also trims what follows, as if it ended with `-}}`. So such a comment is given to it
//! as what it amounts to, an action that makes nothing, with the same length so that all places stay.

use std::borrow::Cow;

const OPEN: &str = "{{- ";

/// The template with every comment of that form replaced.
pub(super) fn mended(source: &str) -> Cow<'_, str> {
    let mut text = String::new();
    let mut done = 0;
    let mut at = 0;
    while let Some(found) = source[at..].find("{{") {
        at += found;
        match trimmed_comment(&source[at..]) {
            Some(length) => {
                text.push_str(&source[done..at + OPEN.len()]);
                text.push_str("\"\"");
                let inside = &source.as_bytes()[at + OPEN.len() + 2..at + length - 2];
                // Line breaks stay, so that lines are counted right.
                text.extend(inside.iter().map(|byte| if *byte == b'\n' { '\n' } else { ' ' }));
                text.push_str("}}");
                at += length;
                done = at;
            }
            None => at += action(&source[at..]),
        }
    }
    if done == 0 {
        return Cow::Borrowed(source);
    }
    text.push_str(&source[done..]);
    Cow::Owned(text)
}

/// The length of a comment that trims what is before it, and not what is behind.
fn trimmed_comment(text: &str) -> Option<usize> {
    let inside = text.strip_prefix("{{-")?.strip_prefix([' ', '\t', '\r', '\n'])?;
    let words = inside
        .trim_start_matches([' ', '\t', '\r', '\n'])
        .strip_prefix("/*")?;
    let behind = &words[words.find("*/")? + 2..];
    let behind = behind.strip_prefix("}}")?;
    Some(text.len() - behind.len())
}

/// The length of an action: to its braces, but not to those in a text of it.
pub(super) fn action(text: &str) -> usize {
    let mut rest = text[2..].char_indices();
    let mut quote = None;
    while let Some((at, c)) = rest.next() {
        match quote {
            Some(open) if c == open => quote = None,
            Some('"' | '\'') if c == '\\' => {
                rest.next();
            }
            None if matches!(c, '"' | '`' | '\'') => quote = Some(c),
            None if text[2 + at..].starts_with("}}") => return at + 4,
            None if text[2 + at..].starts_with("/*") => {
                // A comment holds quotes as it likes.
                return text[2 + at..]
                    .find("*/")
                    .map_or(text.len(), |end| 2 + at + end + 2);
            }
            Some(_) | None => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_comments_that_trim_on_the_left_alone_are_replaced() {
        let table = [
            ("a {{- /* b */}} c", "a {{- \"\"     }} c"),
            ("a {{-\n/* é\n*/}} c", "a {{-\n\"\"   \n  }} c"),
            ("{{- /**/}}", "{{- \"\"  }}"),
        ];
        for (source, expected) in table {
            assert_eq!(mended(source), expected, "{source}");
            assert_eq!(mended(source).len(), source.len(), "{source}");
        }
        for source in [
            "a {{- /* b */ -}} c",
            "a {{/* b */}} c",
            "a {{/* b */ -}} c",
            "{{\"{{- /* b */}}\"}}",
            "{{`\\`}}{{'\"'}}{{\"\\\"{{- /* */}}\"}}",
            "{{/* don't {{- \" */}}",
            "{{- /* open",
            "{{",
            "a {{- /* b */ }} c",
        ] {
            assert_eq!(mended(source), source);
        }
        assert_eq!(mended("{{/* don't */}}{{- /**/}}"), "{{/* don't */}}{{- \"\"  }}");
    }
}
