use std::sync::LazyLock;

use serde_json::{Value, json};

use super::*;

use trainyard_manifest::kinds::{t9k, tfjob, volcano};

static DEFAULT: LazyLock<Kinds> = LazyLock::new(Kinds::default);

fn everywhere() -> Newcomer<'static> {
    Newcomer {
        namespace: "trainyard-system",
        name: "trainyard-operator",
        watch: None,
        kinds: &DEFAULT,
    }
}

/// Kubeflow's operator, or ours, as it stands in the way of TFJobs.
fn rival(deployment: &Value, newcomer: &Newcomer<'_>) -> Option<ClusterError> {
    our_operator(deployment, newcomer).or_else(|| operator(deployment, newcomer, &tfjob::API))
}

/// As Kubeflow 1.9 installs it.
fn kubeflow() -> Value {
    json!({
        "metadata": {
            "namespace": "kubeflow", "name": "training-operator",
            "labels": { "control-plane": "kubeflow-training-operator" },
        },
        "spec": { "replicas": 1, "template": { "spec": { "containers": [{
            "image": "registry.example/kubeflow/training-v1/training-operator:v1-d6eb98e", "command": ["/manager"],
        }] } } },
    })
}

fn with(change: impl FnOnce(&mut Value)) -> Value {
    let mut deployment = kubeflow();
    change(&mut deployment);
    deployment
}

fn container(deployment: &mut Value) -> &mut Value {
    &mut deployment["spec"]["template"]["spec"]["containers"][0]
}

#[test]
fn kubeflows_operator_is_found_under_each_of_its_names() {
    let named = |image: &str| {
        with(|deployment| {
            deployment["metadata"]["labels"] = json!(null);
            container(deployment)["image"] = image.into();
        })
    };
    let found = [
        kubeflow(),
        with(|deployment| container(deployment)["image"] = "registry.example/ours@sha256:00".into()),
        named("public.example/kubeflow/tf_operator:v1.0.1"),
        named("tf-operator@sha256:00"),
        named("localhost:5000/training-operator"),
        with(|deployment| deployment["spec"]["replicas"] = json!(null)),
        with(|deployment| {
            container(deployment)["args"] = json!(["--enable-scheme=pytorchjob", "--enable-scheme=TFJob"]);
        }),
    ];
    for deployment in found {
        let found = rival(&deployment, &everywhere()).unwrap_or_else(|| panic!("{deployment:#}"));
        assert!(
            found.message.contains("deployment `kubeflow/training-operator`"),
            "{found}"
        );
        assert!(
            found
                .hint
                .contains("kubectl --namespace kubeflow scale deployment training-operator")
        );
    }
}

#[test]
fn who_does_not_run_the_same_jobs_is_no_rival() {
    let none = [
        with(|deployment| deployment["spec"]["replicas"] = json!(0)),
        with(|deployment| container(deployment)["args"] = json!(["--enable-scheme=pytorchjob"])),
        with(|deployment| container(deployment)["command"] = json!(["/manager", "-enable-scheme", "MPIJob"])),
        json!({
            "metadata": { "namespace": "kubeflow-system", "name": "kubeflow-trainer-controller-manager" },
            "spec": { "template": { "spec": { "containers": [{ "image": "trainer-controller-manager:v2.0" }] } } },
        }),
        json!({}),
    ];
    for deployment in none {
        assert!(rival(&deployment, &everywhere()).is_none(), "{deployment:#}");
    }
}

#[test]
fn operators_for_different_namespaces_live_side_by_side() {
    let research = Newcomer {
        watch: Some("research"),
        ..everywhere()
    };
    let rows = [
        (json!({ "args": ["--namespace=research"] }), true),
        (json!({ "args": ["--namespace", "other"] }), false),
        (
            json!({ "env": [{ "name": "KUBEFLOW_NAMESPACE", "value": "other" }] }),
            false,
        ),
        (
            json!({ "env": [{ "name": "KUBEFLOW_NAMESPACE", "value": "" }] }),
            true,
        ),
        (json!({}), true),
    ];
    for (change, expected) in rows {
        let deployment = with(|deployment| {
            for (field, value) in change.as_object().unwrap() {
                container(deployment)[field] = value.clone();
            }
        });
        assert_eq!(rival(&deployment, &research).is_some(), expected, "{change}");
        assert!(rival(&deployment, &everywhere()).is_some(), "{change}");
    }
}

#[test]
fn another_operator_of_ours_is_one_too_but_not_the_one_that_is_upgraded() {
    let ours = |namespace: &str| {
        with(|deployment| {
            deployment["metadata"] = json!({
                "namespace": namespace, "name": "trainyard-operator",
                "labels": { "app.kubernetes.io/name": "trainyard", "app.kubernetes.io/component": "operator" },
            });
            container(deployment)["image"] = "trainyard:1".into();
        })
    };
    assert!(rival(&ours("trainyard-system"), &everywhere()).is_none());
    let other = rival(&ours("elsewhere"), &everywhere()).unwrap();
    assert!(
        other.message.starts_with("another operator of Trainyard"),
        "{other}"
    );
    assert!(other.hint.contains("--namespace elsewhere"));
}

/// A webhook that is asked about these objects.
fn webhook(name: &str, group: &str, resource: &str) -> Value {
    json!({ "name": name, "rules": [{ "apiGroups": [group], "resources": [resource] }] })
}

#[test]
fn kubeflows_webhook_is_found_and_kueues_is_not() {
    let configuration = json!({
        "metadata": { "name": "validator.training-operator.kubeflow.org" },
        "webhooks": [
            webhook("validator.pytorchjob.training-operator.kubeflow.org", "kubeflow.org", "pytorchjobs"),
            webhook("validator.tfjob.training-operator.kubeflow.org", "kubeflow.org", "tfjobs"),
            webhook("vtfjob.kb.io", "kubeflow.org", "tfjobs"),
        ],
    });
    let found = webhooks_of(WEBHOOKS[0], &configuration, &tfjob::API);
    assert_eq!(found.len(), 1);
    let hint = &found[0].hint;
    assert!(
        hint.contains("kubectl patch validatingwebhookconfiguration "),
        "{hint}"
    );
    assert!(hint.contains("\"path\":\"/webhooks/1\""), "{hint}");
    assert!(webhooks_of(WEBHOOKS[0], &json!({}), &tfjob::API).is_empty());
}

#[test]
fn an_operator_of_one_vendor_does_not_stand_in_the_way_of_other_kinds() {
    assert!(operator(&kubeflow(), &everywhere(), &t9k::API).is_none());
    assert!(our_operator(&kubeflow(), &everywhere()).is_none());
}

#[test]
fn volcanos_controller_is_known_and_its_scheduler_is_no_rival() {
    let of_image = |image: &str| {
        json!({
            "metadata": { "namespace": "volcano-system", "name": "volcano", "labels": { "app": "volcano" } },
            "spec": { "replicas": 1, "template": { "spec": { "containers": [{ "image": image }] } } },
        })
    };
    let rows = [
        ("docker.example/volcanosh/vc-controller-manager:v1.10.0", true),
        ("vc-controller-manager", true),
        ("docker.example/volcanosh/vc-scheduler:v1.10.0", false),
        ("docker.example/volcanosh/vc-webhook-manager:v1.10.0", false),
        ("training-operator", false),
    ];
    for (image, expected) in rows {
        let found = operator(&of_image(image), &everywhere(), &volcano::API);
        assert_eq!(found.is_some(), expected, "{image}");
        let told = |rival: &ClusterError| rival.message.starts_with("Volcano's operator runs");
        assert!(found.iter().all(told), "{found:?}");
    }
    // Volcano has a configuration per webhook. Those of its other objects stay.
    let rows = [
        ("validatejob.volcano.sh", "batch.volcano.sh", "jobs", true),
        ("mutatejob.volcano.sh", "batch.volcano.sh", "jobs", true),
        ("mutatejob.volcano.sh", "*", "*", true),
        (
            "validatecronjob.volcano.sh",
            "batch.volcano.sh",
            "cronjobs",
            false,
        ),
        ("validatejobflow.volcano.sh", "flow.volcano.sh", "jobflows", false),
        ("validatepod.volcano.sh", "", "pods", false),
        ("jobs.example", "batch.volcano.sh", "jobs", false),
    ];
    for (name, group, resource, expected) in rows {
        let configuration =
            json!({ "metadata": { "name": "volcano" }, "webhooks": [webhook(name, group, resource)] });
        let found = webhooks_of(WEBHOOKS[1], &configuration, &volcano::API);
        assert_eq!(
            found.len(),
            usize::from(expected),
            "{name} for {resource}: {found:?}"
        );
        assert!(webhooks_of(WEBHOOKS[1], &configuration, &tfjob::API).is_empty());
    }
}

#[test]
fn a_vendors_definition_is_told_from_ours() {
    let api = &t9k::API;
    let ours = &(api.definitions)(Served::All)[0]["metadata"];
    let name = &ours["name"];
    let rows = [
        (json!(null), false),
        (ours.clone(), false),
        // As others mark what they have installed.
        (json!({ "name": name }), true),
        (json!({ "name": name, "labels": null }), true),
        (
            json!({ "name": name, "labels": { "app.kubernetes.io/name": "training-job" } }),
            true,
        ),
        (
            json!({ "name": name, "labels": { "app.kubernetes.io/name": 7 } }),
            true,
        ),
        (
            json!({ "name": name, "labels": { "app.kubernetes.io/part-of": "trainyard" } }),
            true,
        ),
    ];
    for (metadata, expected) in rows {
        let found = foreign_definition(&metadata, api);
        assert_eq!(found.is_some(), expected, "{metadata}");
        if let Some(found) = found {
            assert!(found.message.contains("is T9k's own"), "{found}");
            assert!(found.message.contains(&api.definition_name()), "{found}");
        }
    }
}
