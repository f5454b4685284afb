//! Operators of several kinds, with the rights that they were given.

use serde_json::{Value, json};
use trainyard_cluster_tests::{Account, Operator, shared};
use trainyard_manifest::gang::Schedulers;
use trainyard_manifest::install::{Install, NAME};
use trainyard_manifest::kinds::{JobApi, Kinds, t9k, tfjob};

use super::{Harness, install, job, volcano};

const BOTH: &str = "tfjob,tensorflowtrainingjob";

fn training_job(name: &str) -> Value {
    let template = json!({ "spec": { "containers": [{ "name": "tensorflow", "image": "trainer" }] } });
    json!({
        "apiVersion": t9k::API.api_version, "kind": t9k::API.kind, "metadata": { "name": name },
        "spec": { "replicaSpecs": [{ "type": "worker", "replicas": 2, "template": template }] },
    })
}

fn jobs(harness: &Harness, api: &JobApi) -> String {
    harness
        .namespace
        .path(&format!("apis/{}", api.api_version), api.plural)
}

/// The role of an operator for one namespace.
fn role(harness: &Harness, kinds: Kinds) -> Value {
    let name = harness.namespace.name();
    let install = Install {
        namespace: name.into(),
        watch: Some(name.into()),
        kinds,
        ..Install::default()
    };
    let mut objects = install.access().into_iter();
    objects
        .find(|object| object["kind"] == "Role" && object["metadata"]["name"] == NAME)
        .unwrap()
}

#[test]
fn a_kind_that_may_not_be_listed_stops_no_other_kind() {
    install();
    let namespace = shared().namespace("one-right");
    // The operator's account has its rights before it is started with two kinds.
    let _account = Account::of_operator(&namespace, Schedulers::default(), Kinds::default());
    let operator = Operator::with(&namespace, &["--kinds", BOTH]).in_vain();
    let harness = Harness {
        operator,
        namespace,
        kind: &tfjob::API,
    };
    let said = harness.operator.says("cannot watch");
    assert!(said.contains("tensorflowtrainingjobs"), "{said}");
    harness.create(&job("mnist", &json!({}), &[("Worker", 1, "Never")]));
    harness.run(&["mnist-worker-0"]);
    harness.exit("mnist-worker-0", 0);
    harness.conditions("mnist", &["Created", "!Running", "Succeeded"]);

    // With the right, its jobs are run as well.
    let path = harness
        .namespace
        .path("apis/rbac.authorization.k8s.io/v1", &format!("roles/{NAME}"));
    shared()
        .api()
        .replace(&path, &role(&harness, BOTH.parse().unwrap()))
        .unwrap();
    let path = jobs(&harness, &t9k::API);
    shared().api().create(&path, &training_job("digits")).unwrap();
    harness.run(&["digits-worker-0", "digits-worker-1"]);
}

#[test]
fn kubectl_shows_the_same_columns_for_every_kind() {
    let harness = Harness::with("columns", &["--kinds", &Kinds::all().to_string()]);
    let objects = [
        job("mnist", &json!({}), &[("Worker", 2, "Never")]),
        training_job("digits"),
        volcano::job("letters", &json!({ "minAvailable": 2 }), &[("worker", 2)]),
    ];
    let names = ["mnist", "digits", "letters"];
    for ((api, object), name) in Kinds::all().apis().iter().zip(&objects).zip(names) {
        let path = jobs(&harness, api);
        shared().api().create(&path, object).unwrap();
        harness.run(&[&format!("{name}-worker-0"), &format!("{name}-worker-1")]);
        let path = format!("{path}/{name}");
        shared().api().wait(&path, "two ready tasks", |job| {
            (job["status"]["ready"] == "2/2").then_some(())
        });
    }
    let namespace = harness.namespace.name();
    let shown = shared()
        .kubectl()
        .run(&["get", "tj,vcjob,tfjob", "--namespace", namespace])
        .good();
    let rows: Vec<Vec<&str>> = shown
        .lines()
        .map(|line| {
            line.split("  ")
                .map(str::trim)
                .filter(|word| !word.is_empty())
                .collect()
        })
        .collect();
    let heads = rows.iter().filter(|row| row.first() == Some(&"NAME"));
    let heads: Vec<&[&str]> = heads.map(Vec::as_slice).collect();
    assert_eq!(
        heads,
        [["NAME", "STATE", "READY", "RESTARTS", "SUMMARY", "AGE"]; 3],
        "{shown}"
    );
    for name in names {
        let row = rows
            .iter()
            .find(|row| row.first().is_some_and(|first| first.ends_with(name)));
        let row = row.unwrap();
        assert_eq!(
            row[1..5],
            ["Running", "2/2", "0", "2 of 2 tasks ready"],
            "{shown}"
        );
    }
}
