//! What is written beside jobs, as far as it decides about files: the keys of ConfigMaps and Secrets.

use trainyard_document::codes::Code;
use trainyard_document::fields::{Field, Fields};
use trainyard_document::names::{mended_key, wrong_key};
use trainyard_document::problem::shown;

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
        let data = root.get(name).filter(|data| data.node.as_map().is_some());
        for (key, field) in data
            .and_then(|data| data.fields())
            .iter_mut()
            .flat_map(Fields::entries)
        {
            let Some(wrong) = wrong_key(key) else { continue };
            let message = format!("`{}` cannot be a key of a {kind}: {wrong}", shown(key));
            let hint = mended_key(key).map(|key| format!("for example `{}`", shown(&key)));
            let problem = field.key_problem(Code::BadFileName, message).found(key);
            let allowed = "letters, digits, `-`, `_` and `.`; not `..` at the beginning; at most 253";
            field.tell(problem.allowed(allowed).maybe_hint(hint));
        }
    }
}
