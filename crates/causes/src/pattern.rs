//! Patterns of the catalogue: text with holes, `No module named '{}'`.
//!
//! The pieces between the holes must occur in this order; the first may stand anywhere and the last hole takes the rest.
//! Every search starts where the last ended, so matching is linear in the text.

/// What stands in the holes of the pattern, if the text fits it.
pub(crate) fn holes<'t>(pattern: &str, text: &'t str) -> Option<Vec<&'t str>> {
    let mut pieces = pattern.split("{}");
    let first = pieces.next()?;
    let mut rest = &text[text.find(first)? + first.len()..];
    let mut holes = Vec::new();
    for piece in pieces {
        let end = if piece.is_empty() {
            rest.len()
        } else {
            rest.find(piece)?
        };
        holes.push(&rest[..end]);
        rest = &rest[end + piece.len()..];
    }
    Some(holes)
}

/// The template with `{exception}` and `{0}`, `{1}`… replaced by these texts, whatever stands in them.
pub(crate) fn filled(template: &str, holes: &[&str], exception: &str) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, name, after)) = next_name(rest) {
        out.push_str(before);
        match name.parse::<usize>() {
            Ok(at) => out.push_str(holes.get(at).copied().unwrap_or_default()),
            Err(_) => out.push_str(exception),
        }
        rest = after;
    }
    out + rest
}

fn next_name(template: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = template.split_once('{')?;
    let (name, after) = rest.split_once('}')?;
    Some((before, name, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_filled_in_order() {
        let table: [(&str, &str, Option<&[&str]>); 6] = [
            ("No module named '{}'", "x: No module named 'a.b'", Some(&["a.b"])),
            ("port {} of {}", "port 1 of ps", Some(&["1", "ps"])),
            ("plain", "a plain text", Some(&[])),
            ("{}: bad", "train.py: bad", Some(&["train.py"])),
            ("a{}b", "ba", None),
            ("", "anything", Some(&[])),
        ];
        for (pattern, text, expected) in table {
            assert_eq!(holes(pattern, text).as_deref(), expected, "{pattern}");
        }
    }

    #[test]
    fn a_template_is_filled_once() {
        let text = filled("{0}, {1}: {exception}{7}", &["{1}", "b"], "{0}");
        assert_eq!(text, "{1}, b: {0}");
    }
}
