//! What the API server accepts and refuses by itself, in which words.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use trainyard_cluster_tests::{Crds, Namespace, shared};
use trainyard_document::{Source, parse};
use trainyard_manifest::kinds::t9k::API;

use super::{jobs, training_job};

/// The manifests in a folder of the repository.
fn manifests(folder: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let entries = fs::read_dir(root.join(folder)).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn object(path: &Path) -> Value {
    let source = Source::from_bytes("job", &fs::read(path).unwrap()).unwrap();
    let (documents, problems) = parse(&source);
    assert!(problems.is_empty(), "{}: {problems:?}", path.display());
    documents[0].root.to_json()
}

#[test]
fn every_manifest_that_can_be_read_is_stored_as_it_is_written() {
    shared().install(Crds::of(&API));
    let namespace = shared().namespace("t9k-accepted");
    let files = [manifests("examples/t9k"), manifests("tests/fixtures/ok/t9k")].concat();
    assert!(files.len() >= 15, "{files:?}");
    for (number, path) in files.iter().enumerate() {
        let mut sent = object(path);
        sent["metadata"] = json!({ "name": format!("job-{number}") });
        let stored = shared().api().create(&jobs(&namespace), &sent);
        let stored = stored.unwrap_or_else(|refused| panic!("{}: {refused}", path.display()));
        assert_eq!(stored["spec"], sent["spec"], "{}", path.display());
    }
}

#[test]
fn every_manifest_that_cannot_be_read_is_refused_by_kubectl_apply() {
    shared().install(Crds::of(&API));
    let namespace = shared().namespace("t9k-refused");
    for path in manifests("tests/fixtures/bad/t9k") {
        let said = namespace.apply(&fs::read_to_string(&path).unwrap());
        assert!(!said.success, "{}: {}", path.display(), said.output);
    }
}

/// A job of two workers and this spec, and what is said of it.
fn refused(namespace: &Namespace<'_>, name: &str, spec: &Value, roles: &[(&str, u32, &str)]) -> String {
    let job = training_job(name, spec, roles);
    let answer = shared().api().create(&jobs(namespace), &job);
    answer.expect_err(&spec.to_string()).message
}

#[test]
fn a_wrong_job_is_refused_in_the_words_of_the_rule() {
    shared().install(Crds::of(&API));
    let namespace = shared().namespace("t9k-words");
    let mode = |name: &str, mode: Value| json!({ "runMode": { name: mode } });
    let worker = [("worker", 2, "Never")];
    let fileset =
        |fileset: &str| json!({ "tensorboardSpec": { "image": "i", "trainingLogFilesets": [fileset] } });
    let clean = json!({ "runPolicy": { "cleanUpPolicy": "Running" } });
    let rows: Vec<(&str, Value, &[(&str, u32, &str)], &str)> = vec![
        (
            "a",
            json!({}),
            &[("chief", 2, "Never")],
            "TensorFlow knows one chief: set its replicas to 1",
        ),
        (
            "b",
            json!({}),
            &[("ps", 2, "Never"), ("evaluator", 1, "Never")],
            "a job of ps and evaluator alone never ends",
        ),
        (
            "c",
            json!({}),
            &[("Worker", 2, "Never")],
            "supported values: \"chief\", \"worker\", \"ps\", \"evaluator\"",
        ),
        (
            "d",
            json!({}),
            &[("worker", 2, "Never"), ("worker", 1, "Never")],
            "Duplicate value",
        ),
        (
            "e",
            json!({}),
            &[("worker", 2, "Sometimes")],
            "supported values: \"Always\", \"OnFailure\", \"Never\", \"ExitCode\"",
        ),
        ("f", clean, &worker, "cleanUpPolicy is None, All or Unfinished"),
        (
            "g",
            json!({ "runPolicy": { "activeDeadlineSeconds": 0 } }),
            &worker,
            "greater than or equal to 1",
        ),
        (
            "h",
            mode("debug", json!({ "enable": true, "enabled": false })),
            &worker,
            "says something else: keep enabled alone",
        ),
        (
            "i",
            mode("debug", json!({ "replicaSpecs": [{ "type": "chief" }] })),
            &worker,
            "spec.runMode.debug.replicaSpecs is about a type that spec.replicaSpecs does not have",
        ),
        (
            "j",
            mode("pause", json!({ "resumeSpecs": [{ "type": "ps" }] })),
            &worker,
            "spec.runMode.pause.resumeSpecs is about a type that spec.replicaSpecs does not have",
        ),
        (
            "k",
            json!({ "scheduler": { "t9kScheduler": { "queue": "q", "priority": 101 } } }),
            &worker,
            "less than or equal to 100",
        ),
        (
            "l",
            fileset("t9k://pvc/logs/../other"),
            &worker,
            "is not the address of a set of files",
        ),
        ("Upper", json!({}), &worker, "Invalid value: \"Upper\""),
        ("1st", json!({}), &worker, "metadata.name must be a DNS label"),
        (
            "m",
            fileset("logs"),
            &worker,
            "is not the address of a set of files",
        ),
    ];
    for (name, spec, roles, words) in rows {
        let said = refused(&namespace, name, &spec, roles);
        assert!(said.contains(words), "{spec}: expected {words}, found {said}");
    }
    let long = "a".repeat(54);
    let said = refused(&namespace, &long, &json!({}), &[("worker", 11, "Never")]);
    assert!(said.contains("metadata.name is too long for its pods"), "{said}");
    let mut unnamed = training_job("unnamed", &json!({}), &worker);
    unnamed["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]["name"] = "main".into();
    let said = shared()
        .api()
        .create(&jobs(&namespace), &unnamed)
        .unwrap_err()
        .message;
    assert!(
        said.contains("exactly one container must be named \"tensorflow\""),
        "{said}"
    );
}

#[test]
fn a_pause_may_be_switched_at_any_time_and_what_follows_it_may_not_be_changed() {
    shared().install(Crds::of(&API));
    let namespace = shared().namespace("t9k-immutable");
    let resume = json!([{ "type": "worker", "command": ["train"], "args": ["--resume"] }]);
    let specs = json!({ "runMode": { "pause": { "enabled": true, "resumeSpecs": resume } } });
    let worker = [("worker", 2, "Never")];
    let api = shared().api();
    let path = |name: &str| format!("{}/{name}", jobs(&namespace));
    let pause = |change: Value| json!({ "spec": { "runMode": { "pause": change } } });
    api.create(&jobs(&namespace), &training_job("with", &specs, &worker))
        .unwrap();
    api.create(&jobs(&namespace), &training_job("without", &json!({}), &worker))
        .unwrap();
    let refused = [
        (
            "with",
            pause(json!({ "resumeSpecs": [{ "type": "worker", "command": ["other"] }] })),
        ),
        ("with", pause(json!({ "resumeSpecs": null }))),
        ("with", json!({ "spec": { "runMode": null } })),
        ("without", pause(json!({ "resumeSpecs": resume }))),
    ];
    for (name, change) in refused {
        let said = api
            .patch(&path(name), &change)
            .expect_err(&change.to_string())
            .message;
        assert!(
            said.contains("spec.runMode.pause.resumeSpecs is immutable"),
            "{change}: {said}"
        );
    }
    let accepted = [
        ("with", pause(json!({ "enabled": false }))),
        ("with", pause(json!({ "enabled": true, "resumeSpecs": resume }))),
        ("without", pause(json!({ "enabled": true }))),
        ("without", json!({ "spec": { "runMode": null } })),
    ];
    for (name, change) in accepted {
        api.patch(&path(name), &change)
            .unwrap_or_else(|refused| panic!("{change}: {refused}"));
    }
}
