//! The way to a field, as Kubernetes writes it.

use std::fmt;
use std::sync::Arc;

use super::shown;

/// The way from the root of a document to a field: `spec.tasks[0].policies[1].event`.
///
/// Cloning and adding a step are cheap; the text is only made when there is something to report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldPath(Option<Arc<PathStep>>);

#[derive(Debug, PartialEq, Eq)]
struct PathStep {
    before: FieldPath,
    step: Step,
}

#[derive(Debug, PartialEq, Eq)]
enum Step {
    Field(Arc<str>),
    Index(usize),
}

impl FieldPath {
    /// The document itself.
    #[must_use]
    pub fn root() -> Self {
        Self(None)
    }

    /// The field `name` of this place.
    #[must_use]
    pub fn field(&self, name: impl Into<Arc<str>>) -> Self {
        self.step(Step::Field(name.into()))
    }

    /// The item `index` of this place, counted from 0.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        self.step(Step::Index(index))
    }

    fn step(&self, step: Step) -> Self {
        Self(Some(Arc::new(PathStep {
            before: self.clone(),
            step,
        })))
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(last) = &self.0 else { return Ok(()) };
        write!(f, "{}", last.before)?;
        match &last.step {
            Step::Index(index) => write!(f, "[{index}]"),
            // A key such as `nvidia.com/gpu` would read as two fields without the brackets.
            Step::Field(name) if name.contains(['.', '/', ' ', '[']) || name.is_empty() => {
                write!(f, "[{}]", shown(name))
            }
            Step::Field(name) if last.before.0.is_none() => f.write_str(&shown(name)),
            Step::Field(name) => write!(f, ".{}", shown(name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_read_like_kubernetes_paths() {
        let tasks = FieldPath::root().field("spec").field("tasks").index(0);
        assert_eq!(
            tasks.field("policies").index(1).field("event").to_string(),
            "spec.tasks[0].policies[1].event"
        );
        assert_eq!(
            FieldPath::root()
                .field("limits")
                .field("nvidia.com/gpu")
                .to_string(),
            "limits[nvidia.com/gpu]"
        );
        assert_eq!(FieldPath::root().to_string(), "");
    }
}
