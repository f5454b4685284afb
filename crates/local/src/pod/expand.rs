//! `$(NAME)` in commands, arguments and variables, as the kubelet expands it.
//!
//! Only a name in parentheses is a reference. `$$` stands for one `$`, so `$$(NAME)` is the text `$(NAME)`. A name
//! that is not defined stays as it is written, and what a variable holds is not expanded again.

/// The text with every reference that `value` knows replaced. Values are bytes: a Secret may hold any.
pub(super) fn expand<'v>(text: &str, value: impl Fn(&str) -> Option<&'v [u8]>) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.extend(rest[..at].bytes());
        let after = &rest[at + 1..];
        if let Some(after) = after.strip_prefix('$') {
            out.push(b'$');
            rest = after;
            continue;
        }
        let reference = after.strip_prefix('(').and_then(|inner| inner.split_once(')'));
        let Some((name, behind)) = reference else {
            out.push(b'$');
            rest = after;
            continue;
        };
        match value(name) {
            Some(value) => out.extend(value),
            None => out.extend(format!("$({name})").bytes()),
        }
        rest = behind;
    }
    out.extend(rest.bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_expanded_as_the_kubelet_does() {
        let known = |name: &str| {
            Some(match name {
                "A" => "1".as_bytes(),
                "B" => "two".as_bytes(),
                "EMPTY" => "".as_bytes(),
                "REFERS" => "$(A)".as_bytes(),
                "" => "nameless".as_bytes(),
                _ => return None,
            })
        };
        let table = [
            ("", ""),
            ("plain", "plain"),
            ("$(A)", "1"),
            ("$(A)$(B)", "1two"),
            ("--x=$(A),$(B)/end", "--x=1,two/end"),
            ("[$(EMPTY)]", "[]"),
            // What a variable holds is taken as it is.
            ("$(REFERS)", "$(A)"),
            ("$(NOBODY)", "$(NOBODY)"),
            ("$()", "nameless"),
            // Two dollars are one, from the left.
            ("$$", "$"),
            ("$$(A)", "$(A)"),
            ("$$$(A)", "$1"),
            ("$$$$(A)", "$$(A)"),
            ("$$$$$(A)", "$$1"),
            ("a$$b", "a$b"),
            // Shell forms are not ours.
            ("$A ${A} $1 $? `$(A)`", "$A ${A} $1 $? `1`"),
            ("\\$(A)", "\\1"),
            // What is not closed is no reference, and hides none behind it.
            ("$(A", "$(A"),
            ("$(", "$("),
            ("$", "$"),
            ("end$", "end$"),
            ("$(A)$(", "1$("),
            // The name reaches to the first closing parenthesis.
            ("$(X$(A))", "$(X$(A))"),
            ("$(X$$Y)", "$(X$$Y)"),
            ("$x$$(A)", "$x$(A)"),
            ("$é$(A)", "$é1"),
            ("$\n$(A)", "$\n1"),
        ];
        for (text, expected) in table {
            let expanded = String::from_utf8(expand(text, known)).unwrap();
            assert_eq!(expanded, expected, "{text}");
        }
    }
}
