//! What an exception says, in one line: libraries wrap what matters into lines that say nothing.

use crate::traceback::{Exception, Place, is_usual, raised};

/// What an exception says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub kind: String,
    pub message: String,
    /// `train.py:2`.
    pub place: Option<String>,
}

impl Said {
    /// `ValueError: bad value`.
    pub fn sentence(&self) -> String {
        match self.message.as_str() {
            "" => self.kind.clone(),
            message => format!("{}: {message}", self.kind),
        }
    }
}

/// What the exception says.
pub(crate) fn of(exception: &Exception) -> Said {
    let mut said = Said {
        kind: exception.kind.clone(),
        message: plain(&exception.message).to_owned(),
        place: exception.place.as_ref().map(Place::short),
    };
    let mut rest: &[String] = &exception.details;
    if said.message == "in user code:" {
        // AutoGraph shows the user's code and the exception again, indented.
        let nested = rest.iter().rposition(|line| {
            line.starts_with(' ') && raised(line.trim_start()).is_some_and(|(kind, _)| is_usual(kind))
        });
        let mut frames = rest.iter().rev().filter_map(|line| Place::of_frame(line));
        if let Some(place) = frames.find(Place::is_users) {
            said.place = Some(place.short());
        }
        if let Some((at, (kind, message))) = nested.and_then(|at| Some((at, raised(rest[at].trim_start())?)))
        {
            kind.clone_into(&mut said.kind);
            plain(message).clone_into(&mut said.message);
            rest = &rest[at + 1..];
        }
    }
    if says_nothing(&said.message)
        && let Some(line) = rest
            .iter()
            .map(|line| line.trim())
            .find(|line| says_something(line))
    {
        plain(line).clone_into(&mut said.message);
    }
    said
}

/// Whether a message only announces another.
fn says_nothing(message: &str) -> bool {
    message.is_empty()
        || message.starts_with("Graph execution error")
        || message.starts_with("Exception encountered when calling")
        || message.starts_with("in user code:")
}

/// Whether a line below such a message says what happened: no frame of a node, no name of one.
fn says_something(line: &str) -> bool {
    const NOTHING: [&str; 8] = [
        "Detected at node",
        "File \"",
        "Node:",
        "<stack traces unavailable>",
        "[[{{node",
        "defined at (most recent call last)",
        "Arguments received by",
        "•",
    ];
    !line.is_empty() && !says_nothing(line) && !NOTHING.iter().any(|nothing| line.starts_with(nothing))
}

/// TensorFlow's message without the names of its nodes and operations around it.
fn plain(message: &str) -> &str {
    let mut message = message.trim();
    while let Some(rest) = message.strip_prefix("{{") {
        let Some((_, after)) = rest.split_once("}}") else {
            break;
        };
        message = after.trim_start();
    }
    if let Some((before, _)) = message.split_once(" [Op:") {
        message = before;
    }
    message.trim_end_matches("name:").trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_nodes_are_left_out() {
        let table = [
            ("plain", "plain"),
            ("{{function_node a}} {{node b}} OOM [Op:Fill] name: ", "OOM"),
            ("{{never closed", "{{never closed"),
            ("{{a}}", ""),
        ];
        for (message, expected) in table {
            assert_eq!(plain(message), expected);
        }
    }
}
