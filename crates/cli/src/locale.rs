//! The terminal: its width, whether it shows more than ASCII, and whether its cursor can be moved.

use std::env;

/// Limit for lines of prose on wide terminals.
const WIDEST: usize = 120;
/// On narrower terminals, the terminal breaks lines.
const NARROWEST: usize = 40;
/// The default.
const USUAL: usize = 80;

/// Columns to use: `COLUMNS`, else the terminal's, else 80.
pub fn columns() -> usize {
    let said = env::var("COLUMNS")
        .ok()
        .and_then(|text| text.parse::<usize>().ok());
    let seen = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    said.or_else(seen).unwrap_or(USUAL).clamp(NARROWEST, WIDEST)
}

/// Whether a terminal obeys control codes: `TERM=dumb` says that it does not, as in Emacs' shell.
pub fn moves_cursor() -> bool {
    env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Whether the locale's characters are UTF-8. The first of the three variables that is set decides, as in C.
pub fn is_utf8() -> bool {
    let set = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .filter_map(|name| env::var(name).ok())
        .find(|value| !value.is_empty());
    set.is_some_and(|value| names_utf8(&value))
}

fn names_utf8(locale: &str) -> bool {
    let plain = locale.to_ascii_lowercase();
    plain.contains("utf-8") || plain.contains("utf8")
}

/// Replaces the non-ASCII characters that our texts use by ASCII; others become `?`.
pub fn to_ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '…' => out.push_str("..."),
            '→' => out.push_str("->"),
            '–' | '─' | '┄' | '╌' => out.push('-'),
            '━' => out.push('='),
            '⇒' => out.push_str("=>"),
            '↯' => out.push('!'),
            '■' => out.push('#'),
            '×' | '✖' => out.push('x'),
            '·' | '▪' => out.push('.'),
            '★' => out.push('*'),
            '✔' | '╭' | '╮' | '╰' | '╯' | '├' | '┤' => out.push('+'),
            '│' | '╷' => out.push('|'),
            _ if character.is_ascii() => out.push(character),
            _ => out.push('?'),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locales_are_known_by_their_codeset() {
        for (locale, utf8) in [
            ("C.UTF-8", true),
            ("de_DE.utf8", true),
            ("C", false),
            ("POSIX", false),
            ("ja_JP.eucJP", false),
        ] {
            assert_eq!(names_utf8(locale), utf8, "{locale}");
        }
    }

    #[test]
    fn our_own_signs_have_a_plain_form() {
        assert_eq!(to_ascii("a … b → 1–2 × 3 ╭─│ ★ 中"), "a ... b -> 1-2 x 3 +-| * ?");
    }
}
