//! `TF_CONFIG` as text: the block that simpletfjob wrote, byte for byte, and one line of JSON for all other templates.
//!
//! The part that all tasks share is made once: for N hosts it has N names, and there are N tasks.

use std::fmt::Write as _;

use serde_json::Value;

use crate::hosts::Cast;

/// The indentation that simpletfjob had: right below `value: >` in its example, and nowhere else.
const INDENT: &str = "                ";

/// What all tasks share.
#[derive(Clone, Debug)]
pub struct ClusterText {
    block: String,
    line: String,
}

impl ClusterText {
    /// The cluster of a cast.
    #[must_use]
    pub fn of(cast: &Cast) -> Self {
        let chief: Vec<String> = cast.chief.iter().cloned().collect();
        let roles = [("chief", &chief), ("ps", &cast.ps), ("worker", &cast.workers)];
        let (mut indented, mut short) = (Vec::new(), Vec::new());
        for (role, hosts) in roles.into_iter().filter(|(_, hosts)| !hosts.is_empty()) {
            let list = addresses(hosts, cast.port);
            indented.push(format!("{INDENT}    \"{role}\": [{list}]"));
            short.push(format!("\"{role}\":[{list}]"));
        }
        let (indented, short) = (indented.join(",\n"), short.join(","));
        Self {
            block: format!("{INDENT}{{\n{INDENT}  \"cluster\": {{\n{indented}\n{INDENT}  }},\n"),
            line: format!("{{\"cluster\":{{{short}}},"),
        }
    }

    /// simpletfjob's block for one task; it ends in a line break.
    #[must_use]
    pub fn block(&self, kind: &str, index: usize) -> String {
        let mut text = String::with_capacity(self.block.len() + 160);
        text.push_str(&self.block);
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "{INDENT}  \"task\": {{\n{INDENT}    \"index\": {index},\n{INDENT}    \"type\": \"{kind}\"\n{INDENT}  }}\n{INDENT}}}\n"
        );
        text
    }

    /// The same on one line.
    #[must_use]
    pub fn line(&self, kind: &str, index: usize) -> String {
        format!(
            "{}\"task\":{{\"type\":\"{kind}\",\"index\":{index}}}}}",
            self.line
        )
    }
}

/// `"a:2222","b:2222"`.
fn addresses(hosts: &[String], port: u16) -> String {
    let quoted = |host: &String| Value::String(format!("{host}:{port}")).to_string();
    hosts.iter().map(quoted).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cast() -> Cast {
        Cast {
            ps: vec!["h10".into()],
            workers: vec!["h100".into(), "h14".into()],
            port: 2222,
            ..Cast::default()
        }
    }

    #[test]
    fn the_block_is_simpletfjobs() {
        let expected = "                {
                  \"cluster\": {
                    \"ps\": [\"h10:2222\"],
                    \"worker\": [\"h100:2222\",\"h14:2222\"]
                  },
                  \"task\": {
                    \"index\": 1,
                    \"type\": \"worker\"
                  }
                }
";
        assert_eq!(ClusterText::of(&cast()).block("worker", 1), expected);
    }

    #[test]
    fn block_and_line_are_the_same_json() {
        let with_chief = Cast {
            chief: Some("h1".into()),
            evaluator: Some("h2".into()),
            ..cast()
        };
        let no_ps = Cast {
            ps: Vec::new(),
            ..cast()
        };
        for cast in [cast(), with_chief, no_ps] {
            let text = ClusterText::of(&cast);
            for (kind, index, _) in cast.tasks() {
                let block: Value = serde_json::from_str(&text.block(kind, index)).unwrap();
                let line: Value = serde_json::from_str(&text.line(kind, index)).unwrap();
                assert_eq!(block, line);
                assert_eq!(block["task"]["type"], kind);
                assert!(
                    block["cluster"].get("evaluator").is_none(),
                    "the others would wait for it"
                );
            }
        }
    }
}
