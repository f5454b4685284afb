use super::*;

const WORKER: &str =
    "spec: {tfReplicaSpecs: {Worker: {template: {spec: {containers: [{name: tensorflow, image: i}]}}}}}";

fn reading(text: &str) -> Reading {
    read(&Source::from_bytes("test.yaml", text.as_bytes()).unwrap())
}

fn job(heading: &str, name: &str) -> String {
    format!("{heading}\nmetadata: {{name: {name}}}\n{WORKER}\n")
}

#[test]
fn one_bad_object_hides_no_other() {
    let good = |name| job("apiVersion: kubeflow.org/v1\nkind: TFJob", name);
    let bad = good("b").replace("image: i", "imgae: i");
    let text = [good("a"), bad, "- 1\n".into(), "a: [\n".into(), good("c")].join("---\n");
    let reading = reading(&text);
    let names: Vec<&str> = reading.jobs().map(|read| &*read.job.name).collect();
    assert_eq!(names, ["a", "c"], "{:#?}", reading.problems);
    let mut documents: Vec<usize> = reading
        .problems
        .iter()
        .map(|problem| problem.place.document)
        .collect();
    documents.dedup();
    assert!(documents.len() >= 3, "{documents:?}");
}

#[test]
fn slips_in_the_heading_are_errors_with_the_right_word() {
    let table = [
        ("kubeflow.org/v1", "TFjob", Code::MistakenKind, "`TFJob`"),
        ("kubeflow.org/v1", "TensorFlowJob", Code::MistakenKind, "`TFJob`"),
        ("kubflow.org/v1", "TFJob", Code::MistakenKind, "`kubeflow.org/v1`"),
        (
            "tensorflow.org/v1alpha1",
            "TfJob",
            Code::MistakenKind,
            "before Kubeflow",
        ),
        ("kubeflow.org/v2", "TFJob", Code::UnknownVersion, "`v1`"),
        (
            "batch.tensorstack.dev/v1beta1",
            "TensorFlowJob",
            Code::MistakenKind,
            "`TensorFlowTrainingJob`",
        ),
        ("batch.volcano.sh/v1alpha1", "VCJob", Code::MistakenKind, "`Job`"),
        (
            "training.kubedl.io/v1alpha1",
            "TFJob",
            Code::MistakenKind,
            "into `runPolicy`",
        ),
    ];
    for (api_version, kind, code, hint) in table {
        let reading = reading(&job(&format!("apiVersion: {api_version}\nkind: {kind}"), "a"));
        let [problem] = &reading.problems[..] else {
            panic!("{api_version} {kind}: {:#?}", reading.problems);
        };
        assert_eq!(problem.code, code, "{api_version} {kind}");
        assert!(problem.hint.as_ref().unwrap().contains(hint), "{problem:#?}");
        assert!(reading.items.is_empty());
    }
}

#[test]
fn strangers_are_named_once_and_kept() {
    let text = "apiVersion: example.com/v1\nkind: Thing\n---\napiVersion: example.com/v1\nkind: Thing\n---\n\
                apiVersion: v1\nkind: ConfigMap\n---\napiVersion: kubeflow.org/v1\nkind: PyTorchJob\n\
                ---\napiVersion: kubeflow.org/v1\nkind: MXJob\n";
    let reading = reading(text);
    let codes: Vec<Code> = reading.problems.iter().map(|problem| problem.code).collect();
    assert_eq!(codes, [Code::UnknownKind; 3]);
    let words = "`MXJob` of `kubeflow.org/v1` is not a kind that Trainyard runs";
    assert!(reading.problems[2].message.starts_with(words));
    let kinds: Vec<&str> = reading
        .items
        .iter()
        .map(|item| match item {
            Item::Other(other) => &*other.kind,
            Item::Job(_) => "a job",
        })
        .collect();
    assert_eq!(kinds, ["Thing", "Thing", "ConfigMap", "PyTorchJob", "MXJob"]);
}

#[test]
fn two_jobs_of_one_name_are_told_apart_by_namespace_alone() {
    let heading = "apiVersion: kubeflow.org/v1\nkind: TFJob";
    let twice = [job(heading, "a"), job(heading, "a")].join("---\n");
    let problems = reading(&twice).problems;
    assert_eq!(problems.len(), 1, "{problems:#?}");
    assert_eq!(problems[0].code, Code::SameJobTwice);
    let apart = [job(heading, "a"), job(heading, "a, namespace: other")].join("---\n");
    assert!(reading(&apart).problems.is_empty());
    let generated = job(heading, "a").replace("name: a", "generateName: a-");
    assert!(
        reading(&[generated.clone(), generated].join("---\n"))
            .problems
            .is_empty()
    );
}
