//! The files of volumes that are made of files: each must stay within its volume.
//!
//! Types and unknown fields have been reported by then, so what does not fit is passed over in silence here.

use trainyard_document::codes::Code;
use trainyard_document::fields::Field;
use trainyard_document::names::{wrong_file_path, wrong_sub_path};
use trainyard_document::problem::shown;

use super::container::items;

/// Projections whose one file is named by a field of their own.
const NAMED: &[(&str, &str)] = &[
    ("serviceAccountToken", "path"),
    ("clusterTrustBundle", "path"),
    ("podCertificate", "credentialBundlePath"),
    ("podCertificate", "keyPath"),
    ("podCertificate", "certificateChainPath"),
];

/// Reports files of a volume that would be written outside of it.
pub(super) fn of_volume(volume: &Field<'_>) {
    of_source(volume);
    let Some(projected) = volume.get("projected") else {
        return;
    };
    for source in items(&projected, "sources") {
        of_source(&source);
        for (kind, name) in NAMED {
            if let Some(path) = source.get(kind).and_then(|kind| kind.get(name)) {
                check(&path, wrong_file_path);
            }
        }
    }
}

fn of_source(source: &Field<'_>) {
    for kind in ["configMap", "secret", "downwardAPI"] {
        let Some(kind) = source.get(kind) else { continue };
        for item in items(&kind, "items") {
            if let Some(path) = item.get("path") {
                check(&path, wrong_file_path);
            }
        }
    }
}

/// Reports a part of a volume that is none. An empty one is the whole volume.
pub(super) fn sub_path(mount: &Field<'_>) {
    for name in ["subPath", "subPathExpr"] {
        if let Some(path) = mount.get(name).filter(|path| path.node.as_text() != Some("")) {
            check(&path, wrong_sub_path);
        }
    }
}

fn check(path: &Field<'_>, rule: fn(&str) -> Option<&'static str>) {
    let Some(text) = path.node.as_text() else { return };
    let Some(wrong) = rule(text) else { return };
    let message = format!("`{}` cannot be a path within a volume: {wrong}", shown(text));
    let problem = path.problem(Code::BadFileName, message).found(text);
    path.tell(problem.allowed("a relative path without `..`"));
}
