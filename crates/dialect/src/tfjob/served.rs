//! Versions of `TFJob` that are read here and that no API server takes from our definition.

use crate::codes::Code;
use crate::document::Source;
use crate::manifest::{Dialect, ReadJob, Reading};
use crate::problem::{FieldPath, Problem, Problems};

/// The versions that our definition serves, the stored one first.
pub const SERVED: [&str; 3] = ["v1", "v1beta2", "v1beta1"];

/// A warning for each job in a version that is not served: it runs on one machine, and a cluster refuses it.
#[must_use]
pub fn not_served(source: &Source, reading: &Reading) -> Vec<Problem> {
    let unserved = |read: &&ReadJob| read.dialect == Dialect::TfJob && !SERVED.contains(&read.version());
    reading
        .jobs()
        .filter(unserved)
        .map(|read| problem(source, read))
        .collect()
}

fn problem(source: &Source, read: &ReadJob) -> Problem {
    let problems = Problems::new(source, read.document);
    let node = read.node.get("apiVersion").unwrap_or(&read.node);
    let place = problems.place(Some(node.span), &FieldPath::root().field("apiVersion"));
    let message = format!(
        "an API server would refuse `{}`: the definition of TFJob does not serve it",
        read.api_version
    );
    Problem::new(Code::VersionNotServed, place, message)
        .found(&read.api_version)
        .allowed(
            SERVED
                .map(|version| format!("`kubeflow.org/{version}`"))
                .join(", "),
        )
        .hint("`trainyard convert --to tfjob` writes the manifest as `kubeflow.org/v1`")
}
