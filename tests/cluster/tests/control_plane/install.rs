//! `trainyard install` and `trainyard uninstall` on a real API server, of their own: they change what all others rely on.

mod kubeflow;
mod vendors;

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use serde_json::{Value, json};
use trainyard_cluster_tests::{Cluster, Parts, Said};

/// One at a time: there is one definition and one namespace.
fn alone() -> (&'static Cluster, MutexGuard<'static, ()>) {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    static ALONE: Mutex<()> = Mutex::new(());
    let guard = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    (
        CLUSTER.get_or_init(|| Cluster::start(Parts::CONTROL_PLANE)),
        guard,
    )
}

/// Runs our program as the administrator of a cluster.
fn trainyard(cluster: &Cluster, arguments: &[&str]) -> Said {
    let ended = Command::new(trainyard_tools::trainyard().unwrap())
        .args(arguments)
        .env("KUBECONFIG", cluster.kubeconfig())
        .env("NO_PROXY", "*")
        .output()
        .unwrap();
    Said {
        success: ended.status.success(),
        output: String::from_utf8(ended.stdout).unwrap(),
        errors: String::from_utf8(ended.stderr).unwrap(),
    }
}

/// Each object and what became of it.
fn outcomes(said: &str) -> Vec<(&str, &str)> {
    said.lines().map(|line| line.split_once(' ').unwrap()).collect()
}

/// A patch by which an object is held by these alone, and goes only when they let it.
fn holds(by: &[&str]) -> Value {
    json!({ "metadata": { "finalizers": by } })
}

#[test]
fn installing_again_changes_nothing_and_uninstalling_keeps_what_holds_jobs() {
    let (cluster, _guard) = alone();
    let first = trainyard(cluster, &["install", "--image", "operator:1"]).good();
    assert!(
        first.contains("deployment.apps/trainyard-operator created"),
        "{first}"
    );
    let policy = "networkpolicy.networking.k8s.io/trainyard-operator";
    assert!(first.contains(&format!("{policy} created")), "{first}");
    let again = trainyard(cluster, &["install", "--image", "operator:1"]).good();
    for (object, outcome) in outcomes(&again) {
        assert_eq!(outcome, "unchanged", "{object}");
    }
    // The rules of the namespace let its pods in.
    let sets = "/apis/apps/v1/namespaces/trainyard-system/replicasets";
    cluster.api().wait(sets, "two pods", |list| {
        let set = &list["items"].as_array()?.first()?["status"];
        (set["replicas"] == 2).then_some(())
    });
    let tried = trainyard(cluster, &["install", "--image", "operator:2", "--dry-run=server"]).good();
    for (object, outcome) in outcomes(&tried) {
        let expected = if object.starts_with("deployment") {
            "configured"
        } else {
            "unchanged"
        };
        assert_eq!(outcome, format!("{expected} (server dry run)"), "{object}");
    }
    let upgraded = trainyard(cluster, &["install", "--image", "operator:2", "-o", "json"]).good();
    let upgraded: Value = serde_json::from_str(&upgraded).unwrap();
    let objects = upgraded["objects"].as_array().unwrap();
    let deployment = objects
        .iter()
        .find(|object| object["kind"] == "Deployment")
        .unwrap();
    assert_eq!(deployment["outcome"], "configured");
    let removed = trainyard(cluster, &["uninstall"]).good();
    assert!(
        removed.contains("deployment.apps/trainyard-operator deleted"),
        "{removed}"
    );
    assert!(removed.contains(&format!("{policy} deleted")), "{removed}");
    let kept = "customresourcedefinition.apiextensions.k8s.io/tfjobs.kubeflow.org kept";
    assert!(removed.contains(kept), "{removed}");
    let rest = trainyard(cluster, &["uninstall"]).good();
    assert!(
        outcomes(&rest)
            .iter()
            .all(|(_, outcome)| ["not found", "kept"].contains(outcome)),
        "{rest}"
    );
}

/// W6: two versions never act in turns. Earlier installations had no strategy of their own, and the API server gave them one with
/// a field that the other one may not have.
#[test]
fn an_installation_that_was_updated_pod_by_pod_is_updated_as_a_whole_from_now_on() {
    let (cluster, _guard) = alone();
    let api = cluster.api();
    let deployment = "/apis/apps/v1/namespaces/trainyard-system/deployments/trainyard-operator";
    trainyard(cluster, &["install", "--image", "operator:1"]).good();
    assert_eq!(
        api.get(deployment).unwrap()["spec"]["strategy"],
        json!({ "type": "Recreate" })
    );
    let old = json!({ "spec": { "strategy": { "type": "RollingUpdate", "rollingUpdate": { "maxSurge": "25%" } } } });
    api.patch(deployment, &old).unwrap();
    let tried = trainyard(cluster, &["install", "--image", "operator:2", "--dry-run=server"]).good();
    assert!(
        tried.contains("deployment.apps/trainyard-operator configured (server dry run)"),
        "{tried}"
    );
    trainyard(cluster, &["install", "--image", "operator:2"]).good();
    assert_eq!(
        api.get(deployment).unwrap()["spec"]["strategy"],
        json!({ "type": "Recreate" })
    );
    trainyard(cluster, &["uninstall"]).good();
}

#[test]
fn the_operator_stops_before_its_rights_go_and_its_lease_goes_along() {
    let (cluster, _guard) = alone();
    let api = cluster.api();
    trainyard(cluster, &["install", "--image", "operator:1"]).good();
    let core = "/api/v1/namespaces/trainyard-system";
    let pod = api.wait(&format!("{core}/pods"), "its pod", |list| {
        Some(
            list["items"].as_array()?.first()?["metadata"]["name"]
                .as_str()?
                .to_owned(),
        )
    });
    let pod = format!("{core}/pods/{pod}");
    api.patch(&pod, &holds(&["trainyard.dev/test"])).unwrap();
    let leases = "/apis/coordination.k8s.io/v1/namespaces/trainyard-system/leases";
    let lease = json!({ "metadata": { "name": "trainyard-operator" }, "spec": { "holderIdentity": "it" } });
    api.create(leases, &lease).unwrap();

    let mut uninstall = Command::new(trainyard_tools::trainyard().unwrap())
        .arg("uninstall")
        .env("KUBECONFIG", cluster.kubeconfig())
        .env("NO_PROXY", "*")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(uninstall.stderr.take().unwrap()).lines();
    assert_eq!(said.next().unwrap().unwrap(), "waiting for the operator to stop");
    let account = format!("{core}/serviceaccounts/trainyard-operator");
    let binding = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/trainyard-operator";
    api.get(binding).expect("it still has its rights");
    api.patch(&pod, &holds(&[])).unwrap();
    assert!(uninstall.wait().unwrap().success());
    api.wait_until_gone(&account);
    api.wait_until_gone(binding);
    api.wait_until_gone(&format!("{leases}/trainyard-operator"));
}

#[test]
fn nothing_is_applied_to_what_is_being_deleted() {
    let (cluster, _guard) = alone();
    let api = cluster.api();
    trainyard(cluster, &["install", "--image", "operator:1"]).good();
    let deployment = "/apis/apps/v1/namespaces/trainyard-system/deployments/trainyard-operator";
    api.patch(deployment, &holds(&["trainyard.dev/test"])).unwrap();
    api.delete(deployment).unwrap();
    let refused = trainyard(cluster, &["install", "--image", "operator:1"]);
    assert!(!refused.success, "{}", refused.output);
    assert!(refused.errors.contains("is being deleted"), "{}", refused.errors);
    api.patch(deployment, &holds(&[])).unwrap();
    api.wait_until_gone(deployment);
    let again = trainyard(cluster, &["install", "--image", "operator:1"]).good();
    assert!(
        again.contains("deployment.apps/trainyard-operator created"),
        "{again}"
    );
    trainyard(cluster, &["uninstall"]).good();
}

#[test]
fn a_narrower_installation_takes_rights_back_and_another_place_is_not_touched() {
    let (cluster, _guard) = alone();
    let binding = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/trainyard-operator";
    trainyard(cluster, &["install", "--image", "operator:1"]).good();
    let wrong = trainyard(cluster, &["uninstall", "--namespace", "wrong"]);
    assert!(!wrong.success && wrong.output.is_empty(), "{}", wrong.output);
    assert!(
        wrong.errors.contains("uninstall --namespace trainyard-system"),
        "{}",
        wrong.errors
    );
    cluster.api().get(binding).unwrap();
    let nowhere = trainyard(
        cluster,
        &["install", "--image", "operator:1", "--watch-namespace", "nowhere"],
    );
    assert!(
        !nowhere.success && nowhere.output.is_empty(),
        "{}",
        nowhere.output
    );
    assert!(
        nowhere.errors.contains("kubectl create namespace nowhere"),
        "{}",
        nowhere.errors
    );
    cluster.api().get(binding).unwrap();
    let team = cluster.namespace("team");
    let narrow = [
        "install",
        "--image",
        "operator:1",
        "--replicas",
        "1",
        "--watch-namespace",
        team.name(),
    ];
    let said = trainyard(cluster, &narrow).good();
    for gone in ["clusterrolebinding", "clusterrole.", "poddisruptionbudget"] {
        let line = said
            .lines()
            .find(|line| line.starts_with(gone) && line.ends_with("deleted"));
        assert!(line.is_some(), "{gone}: {said}");
    }
    assert_eq!(cluster.api().get(binding).unwrap_err().code, 404);
    trainyard(cluster, &["uninstall", "--watch-namespace", team.name()]).good();
}

#[test]
fn an_installation_without_queues_takes_back_what_one_with_them_could_read_and_no_other_does() {
    let (cluster, _guard) = alone();
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    let team = cluster.namespace("queued-team");
    let other = cluster.namespace("other-team");
    let install = |namespace: &str, more: &[&str]| {
        let watch = [
            "--namespace",
            namespace,
            "--watch-namespace",
            namespace,
            "--image",
            "operator:1",
        ];
        trainyard(cluster, &[&["install"], &watch[..], more].concat()).good()
    };
    let reads = |namespace: &str| format!("trainyard-operator-reader-{namespace}");
    let resources = |namespace: &str| {
        let role = cluster.api().get(&format!("{roles}/{}", reads(namespace)));
        let rules = role.unwrap()["rules"].as_array().unwrap().clone();
        let named = rules
            .iter()
            .map(|rule| rule["resources"][0].as_str().unwrap().to_owned());
        named.collect::<Vec<_>>()
    };
    install(team.name(), &["--kueue"]);
    install(other.name(), &["--gang", "volcano"]);
    assert_eq!(
        resources(team.name()),
        ["resourceflavors", "workloadpriorityclasses", "priorityclasses"],
        "another installation has other schedulers, and takes nothing away"
    );
    assert_eq!(resources(other.name()), ["queues"]);

    let said = install(team.name(), &[]);
    for (all, kind) in [(roles, "clusterrole."), (bindings, "clusterrolebinding.")] {
        let name = reads(team.name());
        let deleted =
            |line: &&str| line.starts_with(kind) && line.contains(&name) && line.ends_with("deleted");
        assert!(said.lines().any(|line| deleted(&line)), "{kind}: {said}");
        assert_eq!(cluster.api().get(&format!("{all}/{name}")).unwrap_err().code, 404);
        cluster
            .api()
            .get(&format!("{all}/{}", reads(other.name())))
            .unwrap();
    }
    for namespace in [team.name(), other.name()] {
        trainyard(
            cluster,
            &[
                "uninstall",
                "--namespace",
                namespace,
                "--watch-namespace",
                namespace,
            ],
        )
        .good();
    }
    for all in [roles, bindings] {
        let left = cluster.api().get(&format!("{all}/{}", reads(other.name())));
        assert_eq!(left.unwrap_err().code, 404);
    }
}

#[test]
fn who_may_not_install_is_told_every_refusal() {
    let (cluster, _guard) = alone();
    let unprivileged = cluster.namespace("unprivileged");
    let account = cluster.account(unprivileged.name(), "default");
    let ended = Command::new(trainyard_tools::trainyard().unwrap())
        .args(["install", "--namespace", unprivileged.name()])
        .env("KUBECONFIG", account.kubeconfig())
        .env("NO_PROXY", "*")
        .output()
        .unwrap();
    assert_eq!(ended.status.code(), Some(1));
    let errors = String::from_utf8(ended.stderr).unwrap();
    assert!(errors.contains("you may not list Deployments"), "{errors}");
    for word in ["customresourcedefinition", "namespace/", "clusterrole."] {
        assert!(
            errors.contains(&format!("cannot apply {word}")),
            "{word}: {errors}"
        );
    }
    let help = "print the objects with `--dry-run`, for an administrator to apply";
    assert!(errors.contains(help), "{errors}");
}

#[test]
fn gang_schedulers_that_are_not_there_are_told_and_nothing_is_refused() {
    let (cluster, _guard) = alone();
    let said = trainyard(
        cluster,
        &["install", "--gang", "volcano,native", "--dry-run=server"],
    );
    for api in [
        "podgroups.scheduling.volcano.sh (v1beta1)",
        "podgroups.scheduling.k8s.io (v1beta1)",
    ] {
        let words = format!("does not serve {api}");
        assert!(said.errors.contains(&words), "{}", said.errors);
    }
    assert!(said.errors.contains("GenericWorkload=true"), "{}", said.errors);
    said.good();
}
