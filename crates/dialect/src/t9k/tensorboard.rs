//! `tensorboardSpec`: a TensorBoard beside the job, of the same name.

use serde_json::{Value, json};
use trainyard_document::codes::Code;
use trainyard_document::fields::{Field, Fields};
use trainyard_document::names::wrong_label;
use trainyard_document::problem::shown;

use crate::manifest::Metadata;

/// What `tensorboardSpec` says, as written.
pub(super) struct TensorBoard(Value);

impl TensorBoard {
    /// Reads `tensorboardSpec`.
    pub fn read(spec: &mut Fields<'_>) -> Option<Self> {
        let field = spec.get("tensorboardSpec")?;
        let mut fields = field.fields()?;
        if let Some(image) = fields.require("image") {
            let _ = image.text();
        }
        for fileset in fields.list("trainingLogFilesets") {
            check_fileset(&fileset);
        }
        if let Some(log_dir) = fields.map("logDir") {
            check_log_dir(log_dir);
        }
        let _ = fields.bool("suspend");
        fields.skip(&["runMode", "scheduler", "resources"]);
        fields.finish();
        Some(Self(field.node.to_json()))
    }

    /// The object that T9k makes of it.
    pub fn object(self, metadata: &Metadata<'_>) -> Value {
        json!({
            "apiVersion": "tensorstack.dev/v1beta1",
            "kind": "TensorBoard",
            "metadata": {"name": *metadata.name, "namespace": *metadata.namespace},
            "spec": self.0,
        })
    }
}

/// The addresses of sets of files, for people.
const FILESETS: &str = "`t9k://pvc/<claim>/<path>`, `t9k://minio/<secret>/<bucket>/<path>`, `pvc://<claim>/<path>` or `hostPath:///<path>`";

fn check_fileset(field: &Field<'_>) {
    let Some(text) = field.text() else { return };
    if !is_fileset(text) {
        let message = format!("`{}` is not the address of a set of files", shown(text));
        let problem = field.problem(Code::T9kFileset, message).found(text);
        field.tell(problem.allowed(FILESETS));
    }
}

/// Whether this is the address of a set of files, which leads out of no volume.
fn is_fileset(text: &str) -> bool {
    if let Some(path) = text.strip_prefix("hostPath://") {
        return path.starts_with('/') && !path.split('/').any(|step| step == "..");
    }
    let in_claim = |steps: &[&str]| match steps {
        [claim, path @ ..] => is_name(claim) && !path.contains(&".."),
        [] => false,
    };
    if let Some(rest) = text.strip_prefix("pvc://") {
        return in_claim(&rest.split('/').collect::<Vec<_>>());
    }
    let steps: Vec<&str> = text
        .strip_prefix("t9k://")
        .unwrap_or_default()
        .split('/')
        .collect();
    match &steps[..] {
        ["pvc", rest @ ..] => in_claim(rest),
        ["minio", secret, bucket, ..] => !secret.is_empty() && !bucket.is_empty(),
        _ => false,
    }
}

/// Whether an object can be called so.
fn is_name(name: &str) -> bool {
    name.split('.').all(|label| wrong_label(label).is_none())
}

fn check_log_dir(mut fields: Fields<'_>) {
    for claim in fields.list("pvc") {
        let Some(mut claim) = claim.fields() else { continue };
        if let Some(name) = claim.require("name") {
            let _ = name.text();
        }
        texts(&mut claim, "subPath");
        claim.finish();
    }
    if let Some(mut bucket) = fields.map("s3") {
        if let Some(mut secret) = bucket.map("secretRef") {
            let _ = secret.text("name");
            secret.finish();
        }
        texts(&mut bucket, "uri");
        bucket.finish();
    }
    if let Some(mut web) = fields.map("http") {
        texts(&mut web, "url");
        web.finish();
    }
    fields.finish();
}

fn texts(fields: &mut Fields<'_>, name: &'static str) {
    for item in fields.list(name) {
        let _ = item.text();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_files_lead_out_of_no_volume() {
        let rows = [
            ("t9k://pvc/logs", true),
            ("t9k://pvc/logs/run-1/a", true),
            ("t9k://minio/keys/bucket/run", true),
            ("pvc://logs/run-1", true),
            ("pvc://logs", true),
            ("hostPath:///data/logs", true),
            ("t9k://pvc/", false),
            ("t9k://pvc/logs/../other", false),
            ("t9k://minio/keys", false),
            ("pvc://", false),
            ("pvc:///logs", false),
            ("pvc://logs/..", false),
            ("hostPath://data", false),
            ("hostPath:///data/../etc", false),
            ("s3://bucket", false),
            ("logs", false),
        ];
        for (address, fits) in rows {
            assert_eq!(is_fileset(address), fits, "{address}");
        }
    }
}
