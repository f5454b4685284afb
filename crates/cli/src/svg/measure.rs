//! Estimates the width of text: fonts are not available here, and viewers choose their own.

use super::Font;

impl Font {
    /// The width of a text in pixels, rather too much than too little.
    pub fn width(self, text: &str) -> i32 {
        let hundredths: i32 = text.chars().map(letter).sum();
        let weight = if self.bold { 110 } else { 100 };
        hundredths * self.size * weight / 10_000 + 1
    }

    /// The text, cut with an ellipsis if it is wider than this.
    pub fn shorten(self, text: &str, width: i32) -> String {
        if self.width(text) <= width {
            return text.to_owned();
        }
        let mut short = String::new();
        for letter in text.chars() {
            short.push(letter);
            if self.width(&short) > width - self.size {
                short.pop();
                break;
            }
        }
        short.push('…');
        short
    }
}

/// A letter's width in hundredths of the font's size, for the usual sans-serif fonts.
fn letter(letter: char) -> i32 {
    match letter {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '|' | '\'' | '!' | '`' => 30,
        'f' | 't' | 'r' | ' ' | '-' | '(' | ')' | '/' | 'I' => 40,
        'm' | 'w' | 'M' | 'W' | '@' | '…' | '→' | '★' => 90,
        'A'..='Z' => 70,
        _ if letter.is_ascii() => 60,
        '–' | '·' | '×' => 60,
        _ => 105,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_text_stays_and_long_text_fits() {
        let font = Font::new(12, "#000");
        assert_eq!(font.shorten("worker-0", 100), "worker-0");
        let short = font.shorten("a-very-long-name-of-a-task", 60);
        assert!(short.ends_with('…') && font.width(&short) <= 64, "{short}");
    }
}
