//! Makes messages safe for terminals and logs.
//!
//! Messages quote clusters, files and programs. A line break in a quote would start a line that looks like
//! ours, an escape code could move the cursor or rename the window, a bidirectional mark could reverse the rest of
//! the line. So every message passes through here: in the [`printer`](crate::printer), in the
//! operator's log and in the messages of a run ([`View::dress`](crate::run::View::dress)): a new message cannot
//! forget it. Data for programs, and the output of tasks, do not.

use std::borrow::Cow;
use std::fmt::Write as _;

use trainyard_document::problem::is_hidden;

const ESCAPE: char = '\x1b';

/// A line break in a message: the next line is indented, so that it does not look like a message.
pub const CONTINUED: &str = "\n  ";

/// One line. Line breaks are escaped; our own styles are kept.
pub fn line(text: &str) -> Cow<'_, str> {
    visible(text, |_| false, is_ours)
}

/// A message of one or more lines; those after the first are indented.
pub fn message(text: &str) -> String {
    let lines: Vec<Cow<'_, str>> = text.split(CONTINUED).map(line).collect();
    lines.join(CONTINUED)
}

/// Output of a program, as part of a message.
pub fn continued(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    lines.join(CONTINUED)
}

/// Several lines. Our own styles are kept.
pub fn page(text: &str) -> Cow<'_, str> {
    visible(text, is_layout, is_ours)
}

/// The same for output of tasks: every colour is kept.
pub fn colored_page(text: &str) -> Cow<'_, str> {
    visible(text, is_layout, |_| true)
}

/// JSON with every such character escaped: `serde_json` leaves non-ASCII ones as they are.
pub fn json(text: String) -> String {
    // Line breaks separate values: within strings they are escaped already.
    let raw = |c: char| is_hidden(c) && c != '\n';
    if !text.contains(raw) {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if raw(character) {
            // Writing to a String cannot fail. None of these is beyond the first plane.
            let _ = write!(out, "\\u{:04x}", u32::from(character));
        } else {
            out.push(character);
        }
    }
    out
}

fn is_layout(character: char) -> bool {
    matches!(character, '\n' | '\t')
}

/// Whether these are the parameters of a style that we use.
fn is_ours(parameters: &str) -> bool {
    let number = parameters.parse::<u8>();
    number.is_ok_and(|number| matches!(number, 0..=4 | 30..=37 | 90..=97))
}

fn visible(text: &str, passes: fn(char) -> bool, style: fn(&str) -> bool) -> Cow<'_, str> {
    if !text.contains(|c: char| is_hidden(c) && !passes(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let mut length = character.len_utf8();
        match style_at(rest).filter(|(parameters, _)| style(parameters)) {
            Some((_, styled)) => {
                length = styled;
                out.push_str(&rest[..length]);
            }
            None if is_hidden(character) && !passes(character) => {
                // Writing to a String cannot fail.
                let _ = write!(out, "{}", character.escape_default());
            }
            None => out.push(character),
        }
        rest = &rest[length..];
    }
    Cow::Owned(out)
}

/// The parameters and the length of a style at the start of the text: `ESC [ 31 m`.
fn style_at(text: &str) -> Option<(&str, usize)> {
    let rest = text.strip_prefix(ESCAPE)?.strip_prefix('[')?;
    let end = rest.find(|c: char| !matches!(c, '0'..='9' | ';' | ':'))?;
    rest[end..].starts_with('m').then(|| (&rest[..end], 2 + end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::printer::{BAD, STRONG};

    /// Text that would affect a terminal, and its escaped form.
    const HOSTILE: [(&str, &str); 12] = [
        ("a\nb", "a\\nb"),
        ("a\r\nb", "a\\r\\nb"),
        ("\x1b[2J", "\\u{1b}[2J"),
        ("\x1b]0;title\x07", "\\u{1b}]0;title\\u{7}"),
        ("\x1b[8mhidden", "\\u{1b}[8mhidden"),
        ("\x1b[31", "\\u{1b}[31"),
        ("\x08\x7f\0", "\\u{8}\\u{7f}\\u{0}"),
        ("\u{80}\u{85}\u{9b}2J\u{9f}", "\\u{80}\\u{85}\\u{9b}2J\\u{9f}"),
        ("\u{2028}\u{2029}", "\\u{2028}\\u{2029}"),
        ("\u{202e}\u{2066}\u{2069}", "\\u{202e}\\u{2066}\\u{2069}"),
        ("\u{61c}\u{200f}\u{feff}", "\\u{61c}\\u{200f}\\u{feff}"),
        ("plain grün ✔ 中 \\n", "plain grün ✔ 中 \\n"),
    ];

    #[test]
    fn a_line_is_one_line_and_shows_what_would_not_be_seen() {
        for (text, shown) in HOSTILE {
            assert_eq!(line(text), shown);
            assert_eq!(message(text), shown);
        }
        assert_eq!(message("a\n    b\nc"), "a\n    b\\nc");
        assert_eq!(message(&continued("a\n\nb\x07\n")), "a\n  b\\u{7}");
    }

    #[test]
    fn a_page_keeps_its_lines_and_our_styles_only() {
        for (text, shown) in HOSTILE {
            assert_eq!(
                page(text),
                shown.replace("a\\n", "a\n").replace("\\r\\n", "\\r\n")
            );
        }
        let own = format!("{BAD}error{BAD:#}{STRONG}: x{STRONG:#}\n\tb");
        assert_eq!(page(&own), own);
        assert_eq!(page("\x1b[38;5;9mx"), "\\u{1b}[38;5;9mx");
        assert_eq!(colored_page("\x1b[38;5;9mx\x1b[2J"), "\x1b[38;5;9mx\\u{1b}[2J");
    }

    #[test]
    fn json_is_escaped_and_means_the_same() {
        for (text, _) in HOSTILE {
            let written = serde_json::to_string(&[text]).unwrap();
            let shown = json(written);
            assert!(!shown.contains(is_hidden), "{shown:?}");
            assert_eq!(serde_json::from_str::<[String; 1]>(&shown).unwrap(), [text]);
        }
    }
}
