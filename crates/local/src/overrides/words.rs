//! `--command`: one line as the words of a command.

/// A command that cannot be split.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadWords {
    /// It has no words.
    #[error("the command is empty")]
    Empty,
    /// A quote is open at its end, or a backslash is its last character.
    #[error("the command ends within a quote or after a backslash")]
    Open,
}

/// Splits a command into words as a POSIX shell does. Variables, pipes and everything else that a shell does are text; for those
/// there is `sh -c '…'`.
pub fn words(line: &str) -> Result<Vec<String>, BadWords> {
    match shlex::split(line) {
        None => Err(BadWords::Open),
        Some(words) if words.is_empty() => Err(BadWords::Empty),
        Some(words) => Ok(words),
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
        ];
        for (line, expected) in table {
            assert_eq!(words(line).unwrap(), *expected, "{line}");
        }
        assert_eq!(words("a 'b"), Err(BadWords::Open));
        assert_eq!(words("a \"b\\\""), Err(BadWords::Open));
        assert_eq!(words("a\\"), Err(BadWords::Open));
        assert_eq!(words("  "), Err(BadWords::Empty));
    }
}
