//! How wide a text is, near enough: no font is at hand, and viewers choose their own.

/// The width of a text in pixels, rather too much than too little.
pub fn text_width(text: &str, size: i32, bold: bool) -> i32 {
    let hundredths: i32 = text.chars().map(letter).sum();
    let weight = if bold { 110 } else { 100 };
    hundredths * size * weight / 10_000 + 1
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

/// The text, cut with an ellipsis where it is wider than that.
pub fn shorten(text: &str, size: i32, bold: bool, width: i32) -> String {
    if text_width(text, size, bold) <= width {
        return text.to_owned();
    }
    let mut short = String::new();
    for letter in text.chars() {
        short.push(letter);
        if text_width(&short, size, bold) > width - size {
            short.pop();
            break;
        }
    }
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_text_stays_and_long_text_fits() {
        assert_eq!(shorten("worker-0", 12, false, 100), "worker-0");
        let short = shorten("a-very-long-name-of-a-task", 12, false, 60);
        assert!(
            short.ends_with('…') && text_width(&short, 12, false) <= 64,
            "{short}"
        );
    }
}
