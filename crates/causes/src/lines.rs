//! Output as lines that can be shown: UTF-8, without control sequences, and of a line that was written over and over (a
//! progress bar) the last state.

use crate::MOST_OUTPUT;

/// The lines at the end of a program's output, the last one last.
#[derive(Debug)]
pub(crate) struct Lines(Vec<String>);

impl Lines {
    pub fn of(output: &[u8]) -> Self {
        let start = output.len().saturating_sub(MOST_OUTPUT);
        let text = String::from_utf8_lossy(&output[start..]);
        Self(text.split('\n').map(clean).collect())
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// What was printed last before the last traceback: a program that Python had started says there why it failed.
    pub fn words_before_traceback(&self) -> Option<&str> {
        let at = self.0.iter().rposition(|line| line.starts_with("Traceback "))?;
        let mut before = self.0[..at].iter().rev().map(|line| line.trim());
        before.find(|line| line.chars().any(char::is_alphanumeric) && !is_log(line))
    }

    /// The last line that says something and is no message of a library.
    pub fn last_words(&self) -> Option<&str> {
        let mut lines = self.iter().rev().map(str::trim);
        lines.find(|line| line.chars().any(char::is_alphanumeric) && !is_log(line))
    }
}

/// A line as a terminal would leave it: what follows the last carriage return, without escape sequences, control characters
/// and marks of writing direction. Tabs stay.
fn clean(line: &str) -> String {
    let line = line.trim_end_matches('\r');
    if line.contains("\r: ") && line.contains(": line ") {
        // A shell complains about a name that ends so: the script has Windows line ends.
        return clean(&line.replace('\r', "\\r"));
    }
    let mut states = line.rsplit('\r');
    let line = states.find(|state| !state.trim().is_empty()).unwrap_or(line);
    let mut out = String::with_capacity(line.len());
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => skip_sequence(&mut characters),
            '\t' => out.push('\t'),
            control if control.is_control() || is_invisible(control) => {}
            character => out.push(character),
        }
    }
    out
}

/// The rest of an escape sequence: `[` up to a letter, or one character.
fn skip_sequence(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    if characters.next() != Some('[') {
        return;
    }
    while let Some(character) = characters.peek().copied() {
        if !matches!(character, ' '..='?') {
            if character.is_ascii_graphic() {
                characters.next();
            }
            return;
        }
        characters.next();
    }
}

/// Characters that change how others are shown and are not seen themselves.
fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
    )
}

/// A message of TensorFlow's C++ part: `E0000 00:00:1795004423.062223    9548 add_port.cc:83] …`, or with a date before it.
pub(crate) fn is_log(line: &str) -> bool {
    let Some((before, _)) = line.split_once("] ") else {
        return line.starts_with("WARNING: All log messages before absl::InitializeLog()");
    };
    let place = before.rsplit([' ', '/']).next().unwrap_or_default();
    let number = place.rsplit_once(':').map_or("", |(_, number)| number);
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) && place.contains(".cc:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_as_a_terminal_leaves_them() {
        let table: [(&[u8], &str); 10] = [
            (b"plain", "plain"),
            (b"a\rbb\rlast", "last"),
            (b"windows\r", "windows"),
            (
                b"a.sh: line 1: set: -\r: invalid",
                "a.sh: line 1: set: -\\r: invalid",
            ),
            (b"bar\r  \r", "bar"),
            (b"\x1b[1mbold\x1b[0m", "bold"),
            (b"\x1b[38;5;1mred\x1b[", "red"),
            (b"\x1b]0;title\x07bell", "0;titlebell"),
            ("a\u{202e}b\u{200b}c".as_bytes(), "abc"),
            (b"\xff\xfe", "\u{fffd}\u{fffd}"),
        ];
        for (bytes, expected) in table {
            assert_eq!(Lines::of(bytes).0, [expected], "{bytes:?}");
        }
    }

    #[test]
    fn last_words_are_those_of_the_program() {
        let output = b"no data found\n\nE0000 00:00:1795004423.062223    9548 add_port.cc:83] Failed\n----\n";
        assert_eq!(Lines::of(output).last_words(), Some("no data found"));
        assert_eq!(Lines::of(b"\n\n").last_words(), None);
    }
}
