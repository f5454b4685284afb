//! What the API server accepts and refuses by itself, in which words.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use trainyard_cluster_tests::{Crds, shared};
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

/// Roles as `training_job` takes them.
type Roles = &'static [(&'static str, u32, &'static str)];
const WORKERS: Roles = &[("worker", 2, "Never")];

/// Roles that are wrong, and what is said of them.
const WRONG_ROLES: &[(Roles, &str)] = &[
    (
        &[("chief", 2, "Never")],
        "TensorFlow knows one chief: set its replicas to 1",
    ),
    (
        &[("ps", 2, "Never"), ("evaluator", 1, "Never")],
        "a job of ps and evaluator alone never ends",
    ),
    (
        &[("Worker", 2, "Never")],
        "supported values: \"chief\", \"worker\", \"ps\", \"evaluator\"",
    ),
    (
        &[("worker", 2, "Never"), ("worker", 1, "Never")],
        "Duplicate value",
    ),
    (
        &[("worker", 2, "Sometimes")],
        "supported values: \"Always\", \"OnFailure\", \"Never\", \"ExitCode\"",
    ),
];

/// Names that are wrong for eleven workers.
const WRONG_NAMES: &[(&str, &str)] = &[
    ("Upper", "Invalid value: \"Upper\""),
    ("1st", "metadata.name must be a DNS label"),
    (
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "metadata.name is too long for its pods",
    ),
];

/// The rest of a spec of two workers that is wrong, and what is said of it.
fn wrong_specs() -> Vec<(Value, &'static str)> {
    let policy = |policy: Value| json!({ "runPolicy": policy });
    let mode = |name: &str, mode: Value| json!({ "runMode": { name: mode } });
    let fileset = |set: &str| json!({ "tensorboardSpec": { "image": "i", "trainingLogFilesets": [set] } });
    vec![
        (
            policy(json!({ "cleanUpPolicy": "Running" })),
            "cleanUpPolicy is None, All or Unfinished",
        ),
        (
            policy(json!({ "activeDeadlineSeconds": 0 })),
            "greater than or equal to 1",
        ),
        (
            mode("debug", json!({ "enable": true, "enabled": false })),
            "says something else: keep enabled alone",
        ),
        (
            mode("debug", json!({ "replicaSpecs": [{ "type": "chief" }] })),
            "spec.runMode.debug.replicaSpecs is about a type that spec.replicaSpecs does not have",
        ),
        (
            mode("pause", json!({ "resumeSpecs": [{ "type": "ps" }] })),
            "spec.runMode.pause.resumeSpecs is about a type that spec.replicaSpecs does not have",
        ),
        (
            json!({ "scheduler": { "t9kScheduler": { "queue": "q", "priority": 101 } } }),
            "less than or equal to 100",
        ),
        (
            fileset("t9k://pvc/logs/../other"),
            "is not the address of a set of files",
        ),
        (fileset("logs"), "is not the address of a set of files"),
    ]
}

#[test]
fn a_wrong_job_is_refused_in_the_words_of_the_rule() {
    shared().install(Crds::of(&API));
    let namespace = shared().namespace("t9k-words");
    let refused = |job: &Value, words: &str| {
        let said = shared().api().create(&jobs(&namespace), job);
        let said = said.map_or_else(|refused| refused.message, |_| "nothing".to_owned());
        assert!(said.contains(words), "{job}: expected {words}, found {said}");
    };
    for (roles, words) in WRONG_ROLES {
        refused(&training_job("roles", &json!({}), roles), words);
    }
    for (name, words) in WRONG_NAMES {
        refused(&training_job(name, &json!({}), &[("worker", 11, "Never")]), words);
    }
    for (spec, words) in wrong_specs() {
        refused(&training_job("spec", &spec, WORKERS), words);
    }
    let mut unnamed = training_job("unnamed", &json!({}), WORKERS);
    unnamed["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]["name"] = "main".into();
    refused(&unnamed, "exactly one container must be named \"tensorflow\"");
}

#[test]
fn a_pause_may_be_switched_at_any_time_and_what_follows_it_may_not_be_changed() {
    shared().install(Crds::of(&API));
    let namespace = shared().namespace("t9k-immutable");
    let resume = json!([{ "type": "worker", "command": ["train"], "args": ["--resume"] }]);
    let specs = json!({ "runMode": { "pause": { "enabled": true, "resumeSpecs": resume } } });
    let api = shared().api();
    let path = |name: &str| format!("{}/{name}", jobs(&namespace));
    let pause = |change: Value| json!({ "spec": { "runMode": { "pause": change } } });
    api.create(&jobs(&namespace), &training_job("with", &specs, WORKERS))
        .unwrap();
    api.create(&jobs(&namespace), &training_job("without", &json!({}), WORKERS))
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
        let said = api.patch(&path(name), &change);
        let said = said.map_or_else(|refused| refused.message, |_| "nothing".to_owned());
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
