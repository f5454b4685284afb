//! What is written beside jobs, as far as it decides about files: the keys of ConfigMaps and Secrets.

use trainyard_document::Node;
use trainyard_document::codes::Code;
use trainyard_document::fields::Field;
use trainyard_document::names::{mended_key, wrong_key};
use trainyard_document::problem::{Problem, shown};

/// The fields whose keys are names of files.
fn data(api_version: &str, kind: &str) -> &'static [&'static str] {
    match (api_version, kind) {
        ("v1", "ConfigMap") => &["data", "binaryData"],
        ("v1", "Secret") => &["data", "stringData"],
        _ => &[],
    }
}

/// Reports keys that no API server takes. Of the values nothing is said, and nothing shown: they may be secret.
pub(super) fn check(root: &Field<'_>, api_version: &str, kind: &str) {
    for name in data(api_version, kind) {
        let path = root.path.field(*name);
        let Some(data) = root.node.get(name).and_then(Node::as_map) else {
            continue;
        };
        for entry in data.entries() {
            let Some(wrong) = wrong_key(&entry.key) else {
                continue;
            };
            let message = format!("`{}` cannot be a key of a {kind}: {wrong}", shown(&entry.key));
            let place = root
                .problems
                .place(Some(entry.key_span), &path.field(entry.key.clone()));
            let hint = mended_key(&entry.key).map(|key| format!("for example `{}`", shown(&key)));
            root.tell(
                Problem::new(Code::BadFileName, place, message)
                    .found(&entry.key)
                    .allowed("letters, digits, `-`, `_` and `.`; not `..` at the beginning; at most 253")
                    .maybe_hint(hint),
            );
        }
    }
}
