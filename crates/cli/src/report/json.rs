//! Problems for programs. The form is documented in docs/json.md and changes only by additions.

use serde::Serialize;
use trainyard_dialect::ReadJob;
use trainyard_document::codes::Code;
use trainyard_document::problem::{Problem, Severity, Span};

/// One problem.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JsonProblem {
    code: Code,
    severity: Severity,
    message: String,
    /// The field, as `spec.tasks[0].name`.
    #[serde(skip_serializing_if = "String::is_empty")]
    path: String,
    /// Which document of the file, from 0.
    document: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<Span>,
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related: Vec<Related>,
}

/// Another place that belongs to a problem.
#[derive(Debug, Serialize)]
struct Related {
    line: u32,
    column: u32,
    message: String,
}

impl From<&Problem> for JsonProblem {
    fn from(problem: &Problem) -> Self {
        Self {
            code: problem.code,
            severity: problem.severity,
            message: problem.message.clone(),
            path: problem.place.path.clone(),
            document: problem.place.document,
            position: problem.place.span,
            found: problem.found.clone(),
            allowed: problem.allowed.clone(),
            hint: problem.hint.clone(),
            related: problem
                .related
                .iter()
                .map(|(span, message)| Related {
                    line: span.line,
                    column: span.column,
                    message: message.clone(),
                })
                .collect(),
        }
    }
}

/// A job that can be used.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonJob {
    name: String,
    namespace: String,
    kind: &'static str,
    api_version: String,
    tasks: u64,
}

/// One file and what was found in it.
#[derive(Debug, Serialize)]
pub struct CheckedFile {
    file: String,
    jobs: Vec<JsonJob>,
    problems: Vec<JsonProblem>,
}

impl CheckedFile {
    /// What a file's reading says.
    pub fn new<'a>(file: &str, jobs: impl Iterator<Item = &'a ReadJob>, problems: &[Problem]) -> Self {
        let job = |read: &ReadJob| JsonJob {
            name: read.job.name.to_string(),
            namespace: read.job.namespace.to_string(),
            kind: read.dialect.kind(),
            api_version: read.api_version.to_string(),
            tasks: read.job.size(),
        };
        Self {
            file: file.to_owned(),
            jobs: jobs.map(job).collect(),
            problems: problems.iter().map(Into::into).collect(),
        }
    }
}

/// The whole answer of `check`.
#[derive(Debug, Serialize)]
pub struct Summary {
    pub files: Vec<CheckedFile>,
    pub jobs: usize,
    pub errors: usize,
    pub warnings: usize,
}
