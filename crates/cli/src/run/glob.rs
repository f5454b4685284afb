//! Patterns for tasks: `worker-0`, `worker-*`, `ps-?`, `worker` for all of that role, `mnist/worker-0` for one job's.

use trainyard_core::TaskId;

/// A pattern over the names of tasks: `*` stands for any text, `?` for any one character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob(String);

impl Glob {
    /// The pattern as typed; every text is valid.
    pub fn new(pattern: &str) -> Self {
        Self(pattern.to_owned())
    }

    /// Whether the pattern matches this task of this job.
    pub fn means(&self, job: &str, task: &TaskId) -> bool {
        match self.0.split_once('/') {
            Some((jobs, tasks)) => matches(jobs, job) && names(tasks, task),
            None => names(&self.0, task),
        }
    }
}

fn names(pattern: &str, task: &TaskId) -> bool {
    matches(pattern, task.role.as_str()) || matches(pattern, &task.to_string())
}

/// Whether the whole text is as the pattern says. A star is tried with as little as will do, and given one more
/// character whenever what follows it does not fit; only the last star ever has to be tried again.
fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut at, mut seen) = (0, 0);
    let mut star = None;
    while seen < text.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, seen));
                at += 1;
            }
            Some(b'?') => (at, seen) = (at + 1, seen + 1),
            Some(byte) if *byte == text[seen] => (at, seen) = (at + 1, seen + 1),
            _ => {
                let Some((position, taken)) = star else {
                    return false;
                };
                star = Some((position, taken + 1));
                (at, seen) = (position + 1, taken + 1);
            }
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks_stand_for_text() {
        let table = [
            ("worker-1", "worker-1", true),
            ("worker-1", "worker-11", false),
            ("worker-*", "worker-11", true),
            ("worker-?", "worker-1", true),
            ("worker-?", "worker-11", false),
            ("*-0", "ps-0", true),
            ("*-0", "ps-01", false),
            ("w*r-*1", "worker-101", true),
            ("*", "", true),
            ("?", "", false),
            ("", "", true),
            ("**a*", "bab", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-b-b", false),
        ];
        for (pattern, text, expected) in table {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn a_role_means_all_its_tasks_and_a_slash_names_the_job() {
        let task = TaskId::new("worker", 3);
        for (pattern, expected) in [
            ("worker", true),
            ("ps", false),
            ("mnist/worker", true),
            ("other/worker", false),
            ("*/worker-3", true),
        ] {
            assert_eq!(Glob::new(pattern).means("mnist", &task), expected, "{pattern}");
        }
    }
}
