//! Kinds whose vendor is on the cluster already are left off.

use serde_json::{Value, json};
use trainyard_cluster_tests::{Cluster, Crds};
use trainyard_manifest::kinds::{JobApi, Served, is_our_definition, t9k, volcano};

use super::{alone, trainyard};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles";

fn definition(cluster: &Cluster, api: &JobApi) -> Option<Value> {
    let path = format!("{DEFINITIONS}/{}", api.definition_name());
    cluster.api().get(&path).ok()
}

/// Deletes every definition of a kind, and waits until they are gone.
fn delete(cluster: &Cluster, api: &JobApi) {
    for definition in (api.definitions)(Served::All) {
        let path = format!(
            "{DEFINITIONS}/{}",
            definition["metadata"]["name"].as_str().unwrap()
        );
        if cluster.api().delete(&path).is_ok() {
            cluster.api().wait_until_gone(&path);
        }
    }
}

/// What the operator may do in all namespaces, as text.
fn rights(cluster: &Cluster) -> String {
    let role = cluster.api().get(&format!("{ROLES}/trainyard-operator")).unwrap();
    role["rules"].to_string()
}

#[test]
fn a_kind_with_its_vendors_definition_is_left_off_and_the_others_are_installed() {
    let (cluster, _guard) = alone();
    cluster.install(Crds::VolcanoJobs);
    let before = definition(cluster, &volcano::API).unwrap();
    // As a vendor's, whose definition is not public: ours without its label.
    let mut theirs = (t9k::API.definitions)(Served::All).remove(0);
    theirs["metadata"]["labels"] = json!(null);
    cluster.api().create(DEFINITIONS, &theirs).unwrap();

    let alone = trainyard(cluster, &["install", "--kinds", "volcano"]);
    assert!(!alone.success && alone.output.is_empty(), "{}", alone.output);
    assert!(alone.errors.contains("nothing was installed"), "{}", alone.errors);
    assert!(
        alone.errors.contains("`jobs.batch.volcano.sh` is Volcano's own"),
        "{}",
        alone.errors
    );

    let all = [
        "install",
        "--kinds",
        "tfjob,tensorflowtrainingjob,volcano",
        "--image",
        "operator:1",
    ];
    let said = trainyard(cluster, &all);
    for words in [
        "`tensorflowtrainingjobs.batch.tensorstack.dev` is T9k's own",
        "`tensorflowtrainingjob` is left off",
        "`volcano` is left off",
    ] {
        assert!(said.errors.contains(words), "{words}: {}", said.errors);
    }
    let said = said.good();
    assert!(
        !said.contains("volcano") && !said.contains("tensorstack"),
        "{said}"
    );
    assert!(said.contains("tfjobs.kubeflow.org"), "{said}");
    let now = definition(cluster, &volcano::API).unwrap();
    assert_eq!(
        now["metadata"]["resourceVersion"],
        before["metadata"]["resourceVersion"]
    );
    let granted = rights(cluster);
    assert!(
        granted.contains("kubeflow.org") && !granted.contains("volcano"),
        "{granted}"
    );

    // When the vendor is gone, the kinds are installed, and are ours from then on.
    delete(cluster, &volcano::API);
    delete(cluster, &t9k::API);
    trainyard(cluster, &all).good();
    for api in [&t9k::API, &volcano::API] {
        assert!(is_our_definition(&definition(cluster, api).unwrap()["metadata"]));
    }
    let again = trainyard(cluster, &all);
    assert!(!again.errors.contains("left off"), "{}", again.errors);
    let again = again.good();
    assert!(again.lines().all(|line| line.ends_with(" unchanged")), "{again}");
    assert!(rights(cluster).contains("batch.volcano.sh"));

    // A kind that is turned off has no rights any more, and keeps its definition, which holds jobs.
    let fewer = trainyard(cluster, &["install", "--image", "operator:1"]);
    let taken = "`tensorflowtrainingjob,volcano` in `--kinds`, which this installation takes away";
    assert!(fewer.errors.contains(taken), "{}", fewer.errors);
    let fewer = fewer.good();
    let deleted: Vec<&str> = fewer.lines().filter(|line| line.ends_with(" deleted")).collect();
    assert_eq!(deleted.len(), 4, "two roles for people per kind: {fewer}");
    assert!(!rights(cluster).contains("batch.volcano.sh"));
    assert!(definition(cluster, &volcano::API).is_some());
    let removed = trainyard(cluster, &["uninstall"]).good();
    assert!(removed.contains("jobs.batch.volcano.sh kept"), "{removed}");
    delete(cluster, &volcano::API);
    delete(cluster, &t9k::API);
}
