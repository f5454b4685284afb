//! Manifests against the API server's own judgement.

use trainyard_cluster_tests::{Crds, bare, shared};

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
    bare().install(Crds::Volcano);
    let namespace = bare().namespace("volcano");
    namespace.apply_twice(VOLCANO);
}

#[test]
fn the_version_is_the_one_that_was_built() {
    let version = shared().api().get("/version").unwrap();
    let expected = format!("v{}", trainyard_tools::KUBERNETES);
    assert_eq!(version["gitVersion"], expected.as_str(), "{version}");
}
