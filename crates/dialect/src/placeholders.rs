//! Placeholders that were not filled in: `<DOCKER_USERNAME>/tf-mnist` is the image of a tutorial, not one of a registry.
//!
//! A command of its own beside [`read`](crate::read): objects that an API server holds are run as they are. Where a name is
//! wanted, no bracket can be meant; a command may redirect (`<input`), and `<PAD>` is a token of a language model, so there only
//! what looks like a placeholder is one.

use std::collections::BTreeSet;

use trainyard_document::codes::Code;
use trainyard_document::fields::Field;
use trainyard_document::problem::{FieldPath, Problem, Problems, Severity, shown, tidy};
use trainyard_document::{Document, Entry, Node, Source, parse};

/// A placeholder is not longer than this.
const LONGEST: usize = 60;

/// Fields whose value is a name, or a path: an angle bracket is never part of it.
const NAMES: &[&str] = &[
    "claimName",
    "generateName",
    "hostname",
    "image",
    "mountPath",
    "name",
    "namespace",
    "nodeName",
    "priorityClassName",
    "queue",
    "runtimeClassName",
    "schedulerName",
    "secretName",
    "server",
    "serviceAccount",
    "serviceAccountName",
    "storageClassName",
    "subPath",
    "subdomain",
    "volumeName",
];

/// Fields that hold text for people or files: anything may be in it.
const FREE: &[&str] = &["annotations", "binaryData", "data", "stringData"];

/// Words of placeholders that have no second word.
const WORDS: &[&str] = &[
    "BUCKET",
    "CHANGEME",
    "DATASET",
    "HOST",
    "IMAGE",
    "NAME",
    "NAMESPACE",
    "PASSWORD",
    "PATH",
    "PLACEHOLDER",
    "PROJECT",
    "REGION",
    "REGISTRY",
    "REPO",
    "TAG",
    "TODO",
    "TOKEN",
    "USER",
    "USERNAME",
    "VERSION",
    "ZONE",
];

/// How placeholders in small letters begin.
const BEGINNINGS: &[&str] = &[
    "enter ", "insert", "my-", "my_", "path to", "path-to", "path_to", "replace", "your",
];

/// An error for each value in which a placeholder was left.
#[must_use]
pub fn placeholders(source: &Source) -> Vec<Problem> {
    // Most manifests have none, and need not be parsed again.
    if !["<", "${", "{{", "$("]
        .iter()
        .any(|sign| source.text.contains(sign))
    {
        return Vec::new();
    }
    let (documents, _) = parse(source);
    documents
        .iter()
        .flat_map(|document| of_document(source, document))
        .collect()
}

/// Problems together with those of placeholders. Whatever else is wrong with a value that holds one is a consequence, and is left out; where
/// placeholders are only warned of, an error of the value stays instead.
#[must_use]
pub fn with_placeholders(problems: Vec<Problem>, mut placeholders: Vec<Problem>) -> Vec<Problem> {
    let place = |problem: &Problem| (problem.place.document, problem.place.span);
    let is_error = |problem: &&Problem| problem.severity == Severity::Error;
    let wrong: BTreeSet<_> = problems.iter().filter(is_error).map(place).collect();
    placeholders.retain(|one| is_error(&one) || !wrong.contains(&place(one)));
    let places: BTreeSet<_> = placeholders.iter().map(place).collect();
    let others = problems
        .into_iter()
        .filter(|problem| !places.contains(&place(problem)));
    tidy(others.chain(placeholders).collect())
}

fn of_document(source: &Source, document: &Document) -> Vec<Problem> {
    let problems = Problems::new(source, document.index);
    for (path, object) in document.objects() {
        walk(object, &path, "", &problems);
    }
    problems.into_vec()
}

/// Looks at every text below a node; `key` is the field that it is, or is an item of.
fn walk(node: &Node, path: &FieldPath, key: &str, problems: &Problems) {
    if let Some(map) = node.as_map() {
        for Entry { key, value, .. } in map.entries() {
            if !FREE.contains(&&**key) {
                walk(value, &path.field(key.clone()), key, problems);
            }
        }
    } else if let Some(items) = node.as_list() {
        for (index, item) in items.iter().enumerate() {
            walk(item, &path.index(index), key, problems);
        }
    } else if let Some(found) = node.as_text().and_then(|text| placeholder(key, text)) {
        let field = Field::root(node, path.clone(), problems);
        let message = format!("`{}` is a placeholder that was not filled in", shown(found));
        let problem = field.problem(Code::Placeholder, message).found(found);
        field.tell(problem.hint("write your own value in its place"));
    }
}

/// The first placeholder in the value of a field.
fn placeholder<'t>(key: &str, text: &'t str) -> Option<&'t str> {
    if !NAMES.contains(&key) {
        return brackets(text).find_map(|(at, found)| is_meant(text, at, found).then_some(found));
    }
    let variables = [("${", "}"), ("{{", "}}"), ("$(", ")")];
    let variables = variables.into_iter().filter(|_| key == "image");
    let variable = variables.into_iter().find_map(|(open, close)| {
        let start = text.find(open)?;
        let end = start + text[start..].find(close)? + close.len();
        Some(&text[start..end])
    });
    variable.or_else(|| brackets(text).map(|(_, found)| found).next())
}

/// Everything between angle brackets, the brackets included, with where it begins.
fn brackets(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices('<').filter_map(|(at, _)| {
        let inner = text[at + 1..].split(['<', '>']).next()?;
        let closed = text[at + 1 + inner.len()..].starts_with('>');
        let fits = closed && inner.len() <= LONGEST && inner.contains(char::is_alphanumeric);
        fits.then(|| (at, &text[at..at + inner.len() + 2]))
    })
}

/// Whether brackets in a command, an argument or a variable are a placeholder: no redirection, token, tag or group.
fn is_meant(text: &str, at: usize, found: &str) -> bool {
    let inner = &found[1..found.len() - 1];
    let before = text[..at].chars().next_back();
    let after = text[at + found.len()..].chars().next();
    let joined = before.is_some_and(|it| it.is_alphanumeric() || "?<\\".contains(it))
        || after.is_some_and(|it| it.is_alphanumeric() || "$&>".contains(it));
    if joined || inner != inner.trim() || text.contains("</") {
        return false;
    }
    let capital = |it: char| it.is_ascii_uppercase() || it.is_ascii_digit();
    let several = inner.split(['_', '-', ' ']).count() > 1;
    let capitals = inner
        .split(['_', '-', ' '])
        .all(|word| !word.is_empty() && word.chars().all(capital));
    let small = inner.to_ascii_lowercase();
    capitals && (several || WORDS.contains(&inner)) || BEGINNINGS.iter().any(|begin| small.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_in_names_are_placeholders_and_in_commands_mostly_not() {
        let table = [
            (
                "image",
                "<DOCKER_USERNAME>/tf-mnist:gpu",
                Some("<DOCKER_USERNAME>"),
            ),
            ("image", "gcr.io/<project>/mnist", Some("<project>")),
            ("image", "${REGISTRY}/mnist", Some("${REGISTRY}")),
            ("image", "{{ .Values.image }}", Some("{{ .Values.image }}")),
            ("image", "tensorflow/tensorflow:2.21.0", None),
            ("claimName", "<claim>", Some("<claim>")),
            ("name", "mnist-<your-name>", Some("<your-name>")),
            ("name", "mnist", None),
            ("args", "--data=<DATA_DIR>/train", Some("<DATA_DIR>")),
            (
                "args",
                "python train.py <DATA_DIR> <MODEL_DIR>",
                Some("<DATA_DIR>"),
            ),
            ("args", "--bucket=gs://<BUCKET>", Some("<BUCKET>")),
            ("args", "--user=<your name>", Some("<your name>")),
            ("value", "<AWS-SECRET-KEY>", Some("<AWS-SECRET-KEY>")),
            // Redirections, heredocs, comparisons, tokens, tags, groups, types.
            ("args", "sort <IN >OUT", None),
            ("args", "sort <IN>OUT", None),
            ("args", "sort < in.txt > out.txt", None),
            ("args", "sort <input_file>output_file", None),
            ("args", "cat <<END_OF_FILE >x\nEND_OF_FILE\n", None),
            ("command", "while [ $a -lt 3 ]; do run <A_B 2>&1; done", None),
            ("args", "--pad=<PAD> --unknown=<UNK>", None),
            ("args", "<p><B_C></p>", None),
            ("args", "(?P<MY_GROUP>a+)", None),
            ("args", "std::vector<MY_TYPE>", None),
            ("args", "$(DATA_DIR)/train ${HOME} {{x}}", None),
            ("args", "<>", None),
            ("args", "<", None),
            ("args", "<ä_ö> <Ä_Ö>", None),
        ];
        for (key, text, expected) in table {
            assert_eq!(placeholder(key, text), expected, "{key}: {text}");
        }
    }

    #[test]
    fn a_value_with_a_placeholder_is_told_once_and_files_are_left_alone() {
        let text = "\
apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: <YOUR_NAME>, annotations: {about: <SOME_THING>}}
spec:
  tfReplicaSpecs:
    Worker:
      template:
        spec:
          containers: [{name: tensorflow, image: <DOCKER_USERNAME>/x, args: [--data, <DATA_DIR>]}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: files}
data: {page: <SOME_THING>}
";
        let source = Source::from_bytes("t", text.as_bytes()).unwrap();
        let all = with_placeholders(crate::read(&source).problems, placeholders(&source));
        let codes: Vec<(Code, &str)> = all
            .iter()
            .map(|problem| (problem.code, problem.place.path.as_str()))
            .collect();
        let expected = [
            "metadata.name",
            "spec.tfReplicaSpecs.Worker.template.spec.containers[0].image",
            "spec.tfReplicaSpecs.Worker.template.spec.containers[0].args[1]",
        ];
        assert_eq!(codes, expected.map(|path| (Code::Placeholder, path)));
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_looked_through(key in "image|args|name", text in "[<>a-zA-Z_ {}$()ä/-]{0,40}") {
            if let Some(found) = placeholder(&key, &text) {
                proptest::prop_assert!(text.contains(found) && found.len() > 2);
            }
        }
    }
}
