//! Where a block is opened and never closed, or closed and never opened. The engine accepts both.

use super::comments::action;

/// The byte of the action that has no partner.
pub(super) fn unpaired(source: &str) -> Option<usize> {
    let mut open = Vec::new();
    let mut at = 0;
    while let Some(found) = source[at..].find("{{") {
        at += found;
        let length = action(&source[at..]);
        let inside = source[at..at + length].trim_start_matches("{{");
        let inside = inside.strip_prefix("- ").unwrap_or(inside).trim_start();
        let end = inside.find(|c: char| !c.is_ascii_alphabetic());
        match &inside[..end.unwrap_or(inside.len())] {
            "if" | "range" | "with" | "block" | "define" => open.push(at),
            "else" if open.is_empty() => return Some(at),
            "end" if open.pop().is_none() => return Some(at),
            _ => {}
        }
        at += length;
    }
    open.pop()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_action_without_a_partner_is_found() {
        let table = [
            ("{{if .a}}{{range .b}}x{{end}}", Some(0)),
            ("{{if .a}}x{{end}}{{- with .b}}", Some(17)),
            ("{{.a}} {{end}} b", Some(7)),
            ("{{else}}", Some(0)),
            ("{{if .a}}{{else}}{{\"{{if\"}}{{/* {{if */}}{{- end -}}", None),
            ("{{ endless }}{{ifs}}", None),
        ];
        for (source, expected) in table {
            assert_eq!(unpaired(source), expected, "{source}");
        }
    }
}
