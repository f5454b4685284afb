//! A TensorBoard beside the job: `spec.tensorboardSpec`, or the annotation that says the same where a definition has no such field.

use serde_json::{Value, json};
use trainyard_document::codes::Code;
use trainyard_document::fields::{Field, Fields};
use trainyard_document::names::is_subdomain;
use trainyard_document::problem::{FieldPath, Problem, Problems, Severity, shown};
use trainyard_document::{Source, parse};

use crate::manifest::Metadata;
use crate::pod_template::resources::Amounts;
use crate::pod_template::{check, schema};

/// The annotation with the same settings, as JSON or YAML.
pub const ANNOTATION: &str = "trainyard.dev/tensorboard";
/// The field of `spec`.
pub const FIELD: &str = "tensorboardSpec";
/// Where it is.
const PATH: &str = "spec.tensorboardSpec";
/// What the annotation may be.
const WORDS: &str = "the fields of `tensorboardSpec`, as JSON or YAML";

/// What the settings say, as written.
#[derive(Debug)]
pub(crate) struct TensorBoard(Value);

impl TensorBoard {
    /// Reads the field of `spec`, or else the annotation.
    pub fn read(spec: &mut Fields<'_>, annotation: Option<&Field<'_>>) -> Option<Self> {
        match (spec.get(FIELD), annotation) {
            (Some(field), annotation) => {
                if let Some(annotation) = annotation {
                    let message = format!("the annotation has no effect: `{PATH}` is given too");
                    annotation.report(Code::FieldIgnored, message);
                }
                settings(&field).map(Self)
            }
            (None, annotation) => Self::of_annotation(annotation?),
        }
    }

    /// Reads the annotation. What is wrong in it is told at the annotation, with the path inside of it.
    fn of_annotation(annotation: &Field<'_>) -> Option<Self> {
        let text = annotation.text()?;
        let source = Source {
            name: "annotation".into(),
            text: text.clone(),
        };
        let (documents, problems) = parse(&source);
        let inner = Problems::new(&source, 0);
        let found = match documents.as_slice() {
            [only] => settings(&Field::root(&only.root, FieldPath::root(), &inner)),
            _ => None,
        };
        let unread = documents.len() != 1;
        let problems: Vec<Problem> = problems.into_iter().chain(inner.into_vec()).collect();
        if unread && problems.is_empty() {
            let message = "the annotation is not one map of settings";
            let problem = annotation.problem(Code::BadFormat, message);
            annotation.tell(problem.allowed(WORDS));
        }
        for problem in problems {
            annotation.tell(at_annotation(annotation, text, problem));
        }
        found.map(Self)
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

/// A problem inside of the annotation's text as one of the manifest.
fn at_annotation(annotation: &Field<'_>, text: &str, problem: Problem) -> Problem {
    let mut place = annotation
        .problems
        .place(Some(annotation.span()), &annotation.path);
    let inside = problem.place.path.as_str();
    if inside.starts_with('[') {
        place.path.push_str(inside);
    } else if !inside.is_empty() {
        place.path = format!("{}.{inside}", place.path);
    }
    // Only a text of several lines has lines of its own to name.
    let line = problem
        .place
        .span
        .filter(|span| span.line > 1 || text.trim_end().contains('\n'));
    let message = match line {
        Some(span) => format!("line {} of the annotation: {}", span.line, problem.message),
        None => problem.message,
    };
    Problem {
        place,
        message,
        allowed: problem
            .allowed
            .or_else(|| problem.code.is_about_text().then(|| WORDS.to_owned())),
        label: None,
        related: Vec::new(),
        ..problem
    }
}

/// Checks the settings.
fn settings(field: &Field<'_>) -> Option<Value> {
    let mut fields = field.fields()?;
    let _ = fields.text("image");
    for fileset in fields.list("trainingLogFilesets") {
        check_fileset(&fileset);
    }
    if let Some(log_dir) = fields.map("logDir") {
        check_log_dir(log_dir);
    }
    let _ = fields.bool("suspend");
    let _ = fields.count("ttlSecondsAfterFinished");
    if let Some(resources) = fields.get("resources") {
        check::check(&resources, &schema::RESOURCES);
        let _ = Amounts::read(&resources);
    }
    let logs = ["trainingLogFilesets", "logDir"]
        .iter()
        .any(|name| fields.has(name));
    if !logs {
        let message = "it names no logs: `trainingLogFilesets` or `logDir` says where they are";
        field.tell(field.problem(Code::MissingField, message));
    }
    fields.skip(&["runMode", "scheduler"]);
    fields.finish();
    Some(field.node.to_json())
}

/// What is wrong with the settings of the TensorBoard: without them the job may be one that can be run.
#[must_use]
pub fn flaws(problems: &[Problem]) -> Option<String> {
    let is_here = |problem: &&Problem| {
        let path = &problem.place.path;
        problem.severity == Severity::Error && (path.starts_with(PATH) || path.contains(ANNOTATION))
    };
    let words: Vec<String> = problems.iter().filter(is_here).map(Problem::in_a_line).collect();
    (!words.is_empty()).then(|| words.join("; "))
}

/// Takes the settings of the TensorBoard away from a job.
pub fn remove(job: &mut Value) {
    if let Some(Value::Object(spec)) = job.get_mut("spec") {
        spec.shift_remove(FIELD);
    }
    if let Some(Value::Object(annotations)) = job.pointer_mut("/metadata/annotations") {
        annotations.shift_remove(ANNOTATION);
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
        [claim, path @ ..] => is_subdomain(claim) && !path.contains(&".."),
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

fn check_log_dir(mut fields: Fields<'_>) {
    for claim in fields.list("pvc") {
        let Some(mut claim) = claim.fields() else { continue };
        if let Some(name) = claim.require("name") {
            check_claim(&name);
        }
        for folder in claim.list("subPath") {
            check_folder(&folder);
        }
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

fn check_claim(field: &Field<'_>) {
    let Some(text) = field.text().filter(|text| !is_subdomain(text)) else {
        return;
    };
    let message = format!("`{}` is not the name of a claim", shown(text));
    let problem = field.problem(Code::BadName, message).found(text);
    field.tell(problem.allowed("a name of a-z, 0-9, `-` and `.`"));
}

fn check_folder(field: &Field<'_>) {
    let leads_out = |text: &str| text.split('/').any(|step| step == "..");
    let Some(text) = field.text().filter(|text| leads_out(text)) else {
        return;
    };
    let message = format!("`{}` leads out of the claim", shown(text));
    let problem = field.problem(Code::T9kFileset, message).found(text);
    field.tell(problem.allowed("a folder in the claim, without `..`"));
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

    /// The settings, and what is wrong, of a job with this annotation.
    fn annotated(manifest: &str, annotation: &str) -> (Option<Value>, Vec<Problem>) {
        let metadata = format!("  name: job\n  annotations: {{{ANNOTATION}: {annotation:?}}}\n");
        let text = manifest.replace("  name: job\n", &metadata);
        let source = Source::from_bytes("job.yaml", text.as_bytes()).unwrap();
        let reading = crate::read(&source);
        let board = reading
            .jobs()
            .next()
            .and_then(|job| job.subject(None, None).tensorboard);
        (board.map(|board| board["spec"].clone()), reading.problems)
    }

    const TFJOB: &str = "apiVersion: kubeflow.org/v1\nkind: TFJob\nmetadata:\n  name: job\nspec:\n  tfReplicaSpecs:\n    Worker:\n      \
                         template: {spec: {containers: [{name: tensorflow, image: x}]}}\n";
    const VOLCANO: &str = "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata:\n  name: job\nspec:\n  tasks:\n  - name: worker\n    \
                           replicas: 1\n    template: {spec: {containers: [{name: tensorflow, image: x}]}}\n";

    #[test]
    fn the_annotation_says_in_json_or_yaml_what_the_field_says() {
        let wanted = json!({ "image": "i", "trainingLogFilesets": ["pvc://logs"] });
        for manifest in [TFJOB, VOLCANO] {
            for text in [
                &wanted.to_string(),
                "image: i\ntrainingLogFilesets:\n- pvc://logs\n",
            ] {
                let (board, problems) = annotated(manifest, text);
                assert_eq!(board.as_ref(), Some(&wanted), "{problems:?}");
            }
        }
    }

    #[test]
    fn what_is_wrong_in_the_annotation_is_told_at_its_line_and_is_about_the_tensorboard_alone() {
        for manifest in [TFJOB, VOLCANO] {
            for text in [
                "",
                "[]",
                "null",
                "a: [",
                "image: 3",
                "image: i\nlogdir: {}",
                "trainingLogFilesets: [x]",
            ] {
                let (board, problems) = annotated(manifest, text);
                assert_eq!(board, None, "{text}");
                for problem in problems
                    .iter()
                    .filter(|problem| problem.severity == Severity::Error)
                {
                    assert_eq!(problem.place.span.unwrap().line, 5, "{problem:?}");
                    assert!(problem.place.path.contains(ANNOTATION), "{problem:?}");
                }
                assert!(flaws(&problems).is_some(), "{text}");
            }
        }
    }

    #[test]
    fn another_kind_is_given_the_same_tensorboard() {
        use crate::Dialect::{self, TensorFlowTrainingJob, TfJob, Volcano};
        let field =
            json!({ "image": "i", "trainingLogFilesets": ["pvc://logs"], "ttlSecondsAfterFinished": 60 });
        let of = |text: &str, to: Dialect| {
            let source = Source::from_bytes("job.yaml", text.as_bytes()).unwrap();
            let reading = crate::read(&source);
            let read = reading
                .jobs()
                .next()
                .unwrap_or_else(|| panic!("{:?}\n{text}", reading.problems));
            let converted = crate::convert::convert(&source, read, to);
            let lost = |loss: &Problem| loss.message.contains("TensorBoard");
            assert!(!converted.losses.iter().any(lost), "{:?}", converted.losses);
            converted
        };
        let text = TFJOB.replace("spec:\n  tf", &format!("spec:\n  {FIELD}: {field}\n  tf"));
        let same = of(&text.replace("/v1", "/v1beta1"), TfJob);
        assert_eq!(same.manifest["spec"][FIELD], field, "where it is written");
        let volcano = of(&text, Volcano);
        let said = volcano.manifest["metadata"]["annotations"][ANNOTATION]
            .as_str()
            .unwrap()
            .to_owned();
        assert_eq!(serde_json::from_str::<Value>(&said).unwrap(), field);
        let t9k = of(&volcano.text, TensorFlowTrainingJob);
        assert_eq!(t9k.manifest["spec"][FIELD], field);
        let back = of(&t9k.text, TfJob);
        assert_eq!(back.manifest["metadata"]["annotations"][ANNOTATION], said);
        assert_eq!(
            back.manifest["spec"][FIELD],
            Value::Null,
            "Kubeflow's definition would drop it"
        );
    }
}
