//! Line breaking.

/// Units that stay on the line of their number.
const UNITS: [&str; 4] = ["s", "min", "h", "d"];

/// Breaks text into lines of at most `width` characters, not counting styles; a longer word has its own line.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut length = 0;
    for word in words(text) {
        let size = anstream::adapter::strip_str(&word)
            .map(|piece| piece.chars().count())
            .sum::<usize>();
        if length > 0 && length + 1 + size > width {
            lines.push(std::mem::take(&mut line));
            length = 0;
        }
        if length > 0 {
            line.push(' ');
            length += 1;
        }
        line.push_str(&word);
        length += size;
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// The words of a text; a number and its unit are one word.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let is_unit = UNITS.contains(&word.trim_end_matches([',', '.', ';', ':']));
        match words.last_mut() {
            Some(number) if is_unit && number.bytes().all(|byte| byte.is_ascii_digit()) => {
                number.push(' ');
                number.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn lines_are_filled_and_never_longer_unless_one_word_is() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("one two three", 6), ["one", "two", "three"]);
        assert_eq!(wrap("unbreakable a b", 5), ["unbreakable", "a b"]);
        assert_eq!(wrap("– … ×", 5), ["– … ×"], "characters are counted, not bytes");
        assert_eq!(wrap("after 10 s, then", 8), ["after", "10 s,", "then"]);
        assert!(wrap("  ", 5).is_empty());
        assert_eq!(wrap("\x1b[1mone\x1b[0m two", 7), ["\x1b[1mone\x1b[0m two"]);
    }
}
