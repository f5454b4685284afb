//! One file per object in a directory, without losing files of others.

use std::fs;
use std::path::PathBuf;

use super::{DIGITS, rendered};
use crate::run::{Ran, folder};

const TWO_ROLES: &str = "examples/tfjob/parameter-server.yaml";
const ONE_WORKER: &str = "examples/tfjob/one-worker.yaml";

struct Out(PathBuf);

impl Out {
    fn new(name: &str) -> Self {
        Self(folder(&format!("render-{name}")).join("out"))
    }

    fn render(&self, typed: &[&str]) -> Ran {
        let out = self.0.to_str().expect("a path");
        rendered(&[typed, &["-o", out]].concat())
    }

    /// Every file with its text.
    fn files(&self) -> Vec<(String, String)> {
        let entries = fs::read_dir(&self.0).expect("the folder");
        let mut files: Vec<(String, String)> = entries
            .map(|entry| {
                let path = entry.expect("an entry").path();
                let name = path.file_name().expect("a name").to_str().expect("UTF-8");
                (name.to_owned(), fs::read_to_string(&path).expect("a file"))
            })
            .collect();
        files.sort();
        files
    }

    fn names(&self) -> Vec<String> {
        self.files().into_iter().map(|(name, _)| name).collect()
    }

    fn append(&self, name: &str) {
        let path = self.0.join(name);
        let text = fs::read_to_string(&path).expect("a file");
        fs::write(&path, text + "# edited\n").expect("a file");
    }
}

#[test]
fn a_path_that_may_be_mistyped_is_not_made() {
    let out = Out(folder("render-parents").join("no/such"));
    let ran = out.render(&[DIGITS]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""));
    assert!(ran.err.contains("/no` does not exist"), "{}", ran.err);
    assert!(!out.0.parent().expect("a parent").exists());
}

#[test]
fn a_folder_gets_one_file_an_object_and_foreign_files_are_left_alone() {
    let out = Out::new("folder");
    let ran = out.render(&[DIGITS]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""), "{}", ran.err);
    assert!(ran.err.contains("wrote 5 objects"), "{}", ran.err);
    let first = out.names();
    assert_eq!(first[0], "01-service-digits.yaml");
    assert_eq!(
        first[2..],
        [
            "03-job-digits-chief.yaml",
            "04-job-digits-ps.yaml",
            "05-job-digits-worker.yaml"
        ]
    );
    let files = out.files();
    assert!(
        files[0]
            .1
            .starts_with("# Rendered by trainyard from TFJob digits ("),
        "{}",
        files[0].1
    );
    assert_eq!(files[0].1.lines().nth(1), Some("# TFJob `digits` as plain Jobs."));
    assert_eq!(files[3].1.lines().nth(1), Some("apiVersion: batch/v1"));

    // Another namespace: the map has another name, and the old file goes.
    fs::write(out.0.join("kustomization.yaml"), "mine\n").expect("a file");
    let ran = out.render(&[DIGITS, "-n", "prod"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(out.names().len(), 6, "{:?}", out.names());
    assert_ne!(out.names()[1], first[1]);

    fs::write(out.0.join("01-service-digits.yaml"), "mine too\n").expect("a file");
    let before = out.files();
    let ran = out.render(&[DIGITS]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("01-service-digits.yaml` exists"), "{}", ran.err);
    assert_eq!(out.files(), before, "nothing is touched");
    let ran = out.render(&[DIGITS, "--force"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(out.files()[5], ("kustomization.yaml".into(), "mine\n".into()));
    assert_eq!(out.names().len(), 6, "{:?}", out.names());
}

#[test]
fn what_somebody_has_changed_is_neither_replaced_nor_removed() {
    let out = Out::new("changed");
    assert_eq!(out.render(&[DIGITS]).code, Some(0));
    // Rendering the same again is nothing.
    let before = out.files();
    assert_eq!(out.render(&[DIGITS]).code, Some(0));
    assert_eq!(out.files(), before);
    out.append("04-job-digits-ps.yaml");
    out.append("05-job-digits-worker.yaml");
    let before = out.files();
    // The second would replace them, the third remove them.
    for form in [&[][..], &["-n", "prod"], &["--to", "jobset"]] {
        let ran = out.render(&[&[DIGITS], form].concat());
        assert_eq!((ran.code, out.files()), (Some(2), before.clone()), "{form:?}");
        for name in ["04-job-digits-ps.yaml", "05-job-digits-worker.yaml"] {
            let told = format!("{name}` has been edited since it was written");
            assert!(ran.err.contains(&told), "{}", ran.err);
        }
        assert!(ran.err.contains("`--force` replaces them"), "{}", ran.err);
    }
    let ran = out.render(&[DIGITS, "--to", "jobset", "--force"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(out.names()[1..], ["02-jobset-digits.yaml"]);
}

#[test]
fn files_of_other_jobs_stay() {
    let out = Out::new("others");
    assert_eq!(out.render(&[TWO_ROLES]).code, Some(0));
    out.append(&out.names()[3]);
    let before = out.files();
    let ran = out.render(&[ONE_WORKER]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(
        ran.err.contains("files of other jobs were not changed: `TFJob "),
        "{}",
        ran.err
    );
    let after = out.files();
    assert!(
        before.iter().all(|file| after.contains(file)),
        "{:?}",
        out.names()
    );
    assert!(after.len() > before.len());
    // They go with their own job.
    assert_eq!(out.render(&[ONE_WORKER, "--to", "jobset"]).code, Some(0));
    assert!(
        !out.names().iter().any(|name| name.contains("-job-one-worker")),
        "{:?}",
        out.names()
    );
}

#[test]
fn an_object_that_another_job_has_too_is_in_the_way() {
    let out = Out::new("clash");
    assert_eq!(out.render(&[DIGITS]).code, Some(0));
    let before = out.files();
    let text = fs::read_to_string(crate::run::root().join(DIGITS)).expect("an example");
    let text = text.replacen("  name: digits\n", "  name: digits\n  namespace: prod\n", 1);
    // One object more comes first, so that the same Service has another number.
    let text = format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: first\n---\n{text}");
    let path = out.0.with_file_name("prod.yaml");
    fs::write(&path, text).expect("a file");
    let typed = path.to_str().expect("a path");
    let ran = out.render(&[typed]);
    assert_eq!((ran.code, out.files()), (Some(2), before));
    let told = "01-service-digits.yaml` was rendered from another job, `TFJob digits`";
    assert!(ran.err.contains(told), "{}", ran.err);
    assert_eq!(out.render(&[typed, "--force"]).code, Some(0));
    assert_eq!(out.names()[0], "01-configmap-first.yaml");
    assert!(
        !out.names().contains(&"01-service-digits.yaml".to_owned()),
        "{:?}",
        out.names()
    );
}
