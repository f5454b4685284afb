//! Versions of `TFJob` that are read here and that no API server takes from our definition.

use trainyard_document::codes::Code;
use trainyard_document::fields::Field;
use trainyard_document::problem::{FieldPath, Problem, Problems, quoted};
use trainyard_document::tfjob_api::SERVED;
use trainyard_document::{Document, Node, Source, parse};

use crate::dialect::Dialect;

/// A warning for each job in a version that is not served, also where other things are wrong with it: it runs on one machine, and a
/// cluster refuses it.
#[must_use]
pub fn not_served(source: &Source) -> Vec<Problem> {
    let (documents, _) = parse(source);
    let of_document = |document: &Document| -> Vec<Problem> {
        let unserved = |(path, object): (FieldPath, &Node)| {
            let text = |field: &str| object.get(field).and_then(Node::as_text);
            let version = text("apiVersion")?.strip_prefix("kubeflow.org/")?;
            let known = Dialect::TfJob.versions().contains(&version) && !SERVED.contains(&version);
            (text("kind") == Some("TFJob") && known).then(|| problem(source, document.index, path, object))
        };
        document.objects().into_iter().filter_map(unserved).collect()
    };
    documents.iter().flat_map(of_document).collect()
}

fn problem(source: &Source, document: usize, path: FieldPath, object: &Node) -> Problem {
    let problems = Problems::new(source, document);
    let root = Field::root(object, path, &problems);
    let found = object
        .get("apiVersion")
        .and_then(Node::as_text)
        .unwrap_or_default();
    let message = format!("an API server would refuse `{found}`: the definition of TFJob does not serve it");
    let problem = root.problem_in("apiVersion", Code::VersionNotServed, message);
    let allowed = quoted(SERVED.map(|version| format!("kubeflow.org/{version}")));
    let hint = "`trainyard convert --to tfjob` writes the manifest as `kubeflow.org/v1`";
    problem.found(found).allowed(allowed).hint(hint)
}
