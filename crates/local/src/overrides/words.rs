//! `--command`: one line as the words of a command.

use super::BadOption;

/// Splits a command into words as a POSIX shell does. Variables, pipes and everything else that a shell does are text; for those
/// there is `sh -c '…'`.
pub fn words(line: &str) -> Result<Vec<String>, BadOption> {
    match shlex::split(line) {
        None => Err(BadOption::new(
            "the command ends within a quote or after a backslash",
        )),
        Some(words) if words.is_empty() => Err(BadOption::new("the command is empty")),
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
        let open = BadOption::new("the command ends within a quote or after a backslash");
        assert_eq!(words("a 'b"), Err(open.clone()));
        assert_eq!(words("a \"b\\\""), Err(open.clone()));
        assert_eq!(words("a\\"), Err(open.clone()));
        assert_eq!(words("  "), Err(BadOption::new("the command is empty")));
    }
}
