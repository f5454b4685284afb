//! One line as the words of a command, as a shell would split it, without being one.

/// A line that cannot be split.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadWords {
    /// Nothing is in it.
    #[error("the command is empty")]
    Empty,
    /// A quote is open at its end.
    #[error("a quote in the command is not closed")]
    Open,
}

/// The words of a command: blanks part them, quotes hold them together, a backslash takes the next character as it is.
/// Variables, pipes and everything else that a shell does are text; for those there is `sh -c '…'`.
pub fn words(line: &str) -> Result<Vec<String>, BadWords> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            c if c.is_whitespace() => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next().ok_or(BadWords::Open)? {
                        '\'' => break,
                        c => word.push(c),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next().ok_or(BadWords::Open)? {
                        '"' => break,
                        '\\' => match chars.next().ok_or(BadWords::Open)? {
                            c @ ('"' | '\\' | '$' | '`') => word.push(c),
                            c => word.extend(['\\', c]),
                        },
                        c => word.push(c),
                    }
                }
            }
            '\\' => word.get_or_insert_default().extend(chars.next()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    if words.is_empty() {
        Err(BadWords::Empty)
    } else {
        Ok(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_split_as_a_shell_would() {
        let table: &[(&str, &[&str])] = &[
            ("python train.py", &["python", "train.py"]),
            ("  a   b\t c ", &["a", "b", "c"]),
            ("sh -c 'echo $X | cat'", &["sh", "-c", "echo $X | cat"]),
            (r#"a "b c" d"e f"g"#, &["a", "b c", "de fg"]),
            (r#"a "\"" "\x" "#, &["a", "\"", "\\x"]),
            (r"a\ b \'", &["a b", "'"]),
            ("a '' \"\"", &["a", "", ""]),
            ("a\\", &["a"]),
        ];
        for (line, expected) in table {
            assert_eq!(words(line).unwrap(), *expected, "{line}");
        }
        assert_eq!(words("a 'b"), Err(BadWords::Open));
        assert_eq!(words("a \"b\\\""), Err(BadWords::Open));
        assert_eq!(words("  "), Err(BadWords::Empty));
    }
}
