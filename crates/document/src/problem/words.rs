//! The user's own words in messages, and what they were probably meant to be.

use std::fmt::{self, Write as _};

/// How many characters of the user's own text a message repeats.
const SHOWN_CHARACTERS: usize = 60;

/// User text as it may be repeated in a message: control characters escaped, long text shortened.
#[must_use]
pub fn shown(text: &str) -> String {
    let mut characters = text.char_indices().skip(SHOWN_CHARACTERS);
    match characters.next() {
        Some((end, _)) => escaped(text.get(..end).unwrap_or_default()) + "…",
        None => escaped(text),
    }
}

/// User text as it may be repeated in a message, whole: for paths, of which the end matters most.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if is_hidden(character) {
            // Writing to a String cannot fail.
            let _ = write!(out, "{}", character.escape_default());
        } else {
            out.push(character);
        }
    }
    out
}

/// Whether a character is not seen where it is displayed, but changes what is: it controls, or it directs.
#[must_use]
pub fn is_hidden(character: char) -> bool {
    character.is_control() || is_direction_mark(character)
}

/// Characters that change how the rest of a line is displayed, or are line breaks to some terminals.
fn is_direction_mark(character: char) -> bool {
    matches!(character, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// `` `a`, `b` ``: words in a message, each in backticks.
#[must_use]
pub fn quoted(words: impl IntoIterator<Item = impl fmt::Display>) -> String {
    let words: Vec<String> = words.into_iter().map(|word| format!("`{word}`")).collect();
    words.join(", ")
}

/// The one of `candidates` that `word` was probably meant to be.
///
/// Letter case, dashes and underscores weigh nothing; otherwise about one slip in three letters is forgiven.
#[must_use]
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| -> String {
        text.chars()
            .filter(|c| !matches!(c, '-' | '_' | ' '))
            .flat_map(char::to_lowercase)
            .take(64)
            .collect()
    };
    let wanted = plain(word);
    let forgiven = (wanted.chars().count() / 3).clamp(1, 4);
    candidates
        .into_iter()
        .filter(|candidate| *candidate != word)
        .map(|candidate| (strsim::damerau_levenshtein(&wanted, &plain(candidate)), candidate))
        .filter(|(distance, candidate)| *distance <= forgiven && *distance < candidate.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// `did you mean `x`?`, if something is close enough.
#[must_use]
pub fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    closest(word, candidates).map(|candidate| format!("did you mean `{candidate}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_text_is_escaped_and_shortened() {
        assert_eq!(shown("a\u{1b}[31m\n"), "a\\u{1b}[31m\\n");
        assert_eq!(shown("\u{202e}x"), "\\u{202e}x");
        assert_eq!(shown(&"é".repeat(100)).chars().count(), SHOWN_CHARACTERS + 1);
    }

    #[test]
    fn slips_are_recognised_and_strangers_are_not() {
        let roles = ["Worker", "PS", "Chief", "Evaluator"];
        for (word, meant) in [
            ("Wroker", "Worker"),
            ("worker", "Worker"),
            ("ps", "PS"),
            ("evalutor", "Evaluator"),
        ] {
            assert_eq!(closest(word, roles), Some(meant), "{word}");
        }
        assert_eq!(closest("Launcher", roles), None);
        assert_eq!(closest("x", ["y"]), None);
    }
}
