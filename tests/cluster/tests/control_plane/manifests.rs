//! Manifests against the API server's own judgement.

use serde_json::json;
use trainyard_cluster_tests::{Crds, bare, shared};
use trainyard_document::names::{KEY_LENGTH, wrong_file_path, wrong_key, wrong_sub_path};

const SERVICE: &str = "
apiVersion: v1
kind: Service
metadata: {name: train}
spec: {clusterIP: None, ports: [{port: 2222}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: train}
data: {a: b}
";

const JOBSET: &str = "
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train}
spec:
  replicatedJobs:
  - name: worker
    template:
      spec:
        template:
          spec:
            restartPolicy: Never
            containers: [{name: tensorflow, image: tensorflow}]
";

const VOLCANO: &str = "
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train}
spec:
  minAvailable: 1
  tasks:
  - name: worker
    replicas: 1
    template:
      spec:
        containers: [{name: tensorflow, image: tensorflow}]
";

#[test]
fn a_manifest_that_is_applied_twice_changes_nothing() {
    let namespace = bare().namespace("twice");
    let names: Vec<String> = namespace
        .apply_twice(SERVICE)
        .into_iter()
        .map(|applied| applied.name)
        .collect();
    assert_eq!(names, ["Service/train", "ConfigMap/train"]);
}

#[test]
#[should_panic(expected = "ConfigMap/train is written again the second time")]
fn a_manifest_that_changes_by_itself_is_noticed() {
    let namespace = bare().namespace("unstable");
    let other = SERVICE.replace("a: b", "a: c");
    namespace.apply_twice(&format!("{SERVICE}---\n{other}"));
}

#[test]
fn an_unknown_field_is_refused_and_named() {
    let namespace = bare().namespace("unknown");
    let said = namespace
        .apply(&SERVICE.replace("clusterIP:", "clusterip:"))
        .bad();
    assert!(said.contains("unknown field \"spec.clusterip\""), "{said}");
}

#[test]
fn jobsets_are_known_once_their_crd_is_installed() {
    bare().install(Crds::JobSet);
    let namespace = bare().namespace("jobset");
    namespace.apply_twice(JOBSET);
    let said = namespace
        .apply(&JOBSET.replace("replicatedJobs", "replicatedjobs"))
        .bad();
    assert!(said.contains("unknown field \"spec.replicatedjobs\""), "{said}");
}

#[test]
fn volcano_jobs_are_known_once_their_crds_are_installed() {
    bare().install(Crds::VolcanoJobs);
    let namespace = bare().namespace("volcano");
    namespace.apply_twice(VOLCANO);
}

#[test]
fn the_version_is_the_one_that_was_built() {
    let version = shared().api().get("/version").unwrap();
    let expected = format!("v{}", trainyard_tools::KUBERNETES);
    assert_eq!(version["gitVersion"], expected.as_str(), "{version}");
}

#[test]
fn names_of_files_are_taken_and_refused_as_check_says() {
    let namespace = bare().namespace("names-of-files");
    let (longest, too_long) = ("x".repeat(KEY_LENGTH), "x".repeat(KEY_LENGTH + 1));
    let names = [
        "a", ".a", "a.b", "A_b-1", "a..b", ".", "..", "..a", "./a", "../a", "/a", "/", "a/b", "a/../b",
        "a/..", "a/..b", "a b", "\u{e4}", "a\n", "a\\b", &longest, &too_long,
    ];
    for (number, name) in names.into_iter().enumerate() {
        let taken = |kind: &str, object: serde_json::Value| {
            let path = namespace.path("api/v1", kind);
            let mut object = object;
            object["metadata"] = json!({ "name": format!("n{number}") });
            bare().api().create(&path, &object).is_ok()
        };
        for (kind, field, value) in [("configmaps", "data", "x"), ("secrets", "data", "aGk=")] {
            let object = json!({ field: { name: value } });
            assert_eq!(taken(kind, object), wrong_key(name).is_none(), "{kind} {name:?}");
        }
        // A template is judged as its pods are, and needs no account.
        let template = |name: &str, item: &str, part: &str| {
            json!({ "template": { "spec": {
                "volumes": [{ "name": "v", "configMap": { "name": name, "items": [{ "key": "k", "path": item }] } }],
                "containers": [{ "name": "c", "image": "i", "volumeMounts": [
                    { "name": "v", "mountPath": "/v", "subPath": part },
                ] }],
            } } })
        };
        let by_path = taken("podtemplates", template("m", name, "a"));
        assert_eq!(by_path, wrong_file_path(name).is_none(), "{name:?}");
        if !by_path {
            let by_part = taken("podtemplates", template("m", "a", name));
            assert_eq!(by_part, wrong_sub_path(name).is_none(), "{name:?}");
        }
    }
}
