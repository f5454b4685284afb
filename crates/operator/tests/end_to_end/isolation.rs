//! Jobs that nothing but their own pods may connect to: their NetworkPolicies. No network here enforces them; what they say is shown.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use trainyard_manifest::install::access::{Asked, POLICIES, uses};
use trainyard_manifest::kinds::{ALL, JobApi, Kinds, tfjob};

use super::rights::sample;
use super::{Harness, job};

fn harness(name: &str, kind: &'static JobApi) -> Harness {
    let flags = ["--kinds", kind.word, "--network-policies"];
    Harness {
        kind,
        ..Harness::with(name, &flags)
    }
}

fn isolated(mut job: Value) -> Value {
    job["metadata"]["annotations"] = json!({
        "trainyard.dev/network-policy": "isolate",
        "trainyard.dev/network-policy-from": "[{podSelector: {matchLabels: {app: notebook}}}]",
    });
    job
}

fn policies(harness: &Harness) -> String {
    harness
        .namespace
        .path("apis/networking.k8s.io/v1", "networkpolicies")
}

/// Waits until the policy of the job is as it was first, but for its version, and gives it.
#[track_caller]
fn corrected(harness: &Harness, path: &str, first: &Value, what: &str) -> Value {
    harness.api().wait(path, what, |policy| {
        let right =
            policy["spec"] == first["spec"] && policy["metadata"]["labels"] == first["metadata"]["labels"];
        right.then(|| policy.clone())
    })
}

fn version(object: &Value) -> u64 {
    let version = object["metadata"]["resourceVersion"].as_str();
    version.and_then(|version| version.parse().ok()).unwrap()
}

/// Everything that the operator asked for was granted with the flag, and each right of the flag was used.
fn check_rights(harness: &Harness, kind: &JobApi) {
    let named = |verb: &str, group: &str, resource: &str| format!("{verb} {resource}.{group}");
    let account = harness.operator.account();
    for verb in POLICIES.verbs {
        let right = named(verb, POLICIES.group, POLICIES.resource);
        account.wait_until_asked(&right, |asked| asked.to_string() == right);
    }
    let kinds: Kinds = kind.word.parse().unwrap();
    let requests = uses(&kinds).chain([POLICIES]);
    let granted: BTreeSet<String> = requests
        .filter(|used| used.asked == Asked::Request)
        .flat_map(|used| {
            used.verbs
                .iter()
                .map(move |verb| named(verb, used.group, used.resource))
        })
        .collect();
    for asked in account.asked() {
        assert!(
            asked.allowed && granted.contains(&asked.to_string()),
            "{asked} without a right"
        );
    }
}

#[test]
fn a_job_of_any_kind_has_its_policy_before_its_pods_and_keeps_it_while_it_asks_for_it() {
    for kind in ALL {
        let mut harness = harness(&format!("isolated-{}", kind.word), kind);
        harness.create(&isolated(sample(kind)));
        let pod = format!("{}-worker-0", kind.word);
        let begun = harness.pod(&pod, "0.0");
        let path = format!("{}/{}-isolate", policies(&harness), kind.word);
        let first = harness.api().get(&path).unwrap();
        assert!(version(&first) < version(&begun), "the policy comes first");
        let own = &first["spec"]["podSelector"]["matchLabels"];
        for (label, value) in own.as_object().unwrap() {
            assert_eq!(begun["metadata"]["labels"][label], *value);
        }
        let owner = &harness.api().get(&harness.path(kind.word)).unwrap()["metadata"]["uid"];
        assert_eq!(first["metadata"]["ownerReferences"][0]["uid"], *owner);
        harness.run_on_a_node(&pod);

        let wider = json!({ "spec": { "podSelector": { "matchLabels": { "app": "none" } }, "ingress": [{}], "egress": [{}] } });
        harness.api().patch(&path, &wider).unwrap();
        let again = corrected(&harness, &path, &first, "its spec corrected");
        assert_eq!(again["metadata"]["uid"], first["metadata"]["uid"]);
        harness.kill();
        let unmarked = json!({ "metadata": { "labels": null }, "spec": { "ingress": [{}] } });
        harness.api().patch(&path, &unmarked).unwrap();
        harness.start();
        corrected(
            &harness,
            &path,
            &first,
            "a spec corrected that was changed before the operator started",
        );
        harness.api().delete(&path).unwrap();
        let other = corrected(&harness, &path, &first, "another one");
        assert_ne!(other["metadata"]["uid"], first["metadata"]["uid"]);

        harness.patch(kind.word, &json!({ "metadata": { "annotations": null } }));
        harness.api().wait_until_gone(&path);
        let still = harness.api().get(&harness.namespace.pod(&pod)).unwrap();
        assert_eq!(
            still["metadata"]["uid"], begun["metadata"]["uid"],
            "its pods run on"
        );
        check_rights(&harness, kind);
    }
}

#[test]
fn a_policy_of_another_owner_is_told_and_left_alone_and_the_job_waits_for_its_own() {
    let harness = harness("isolated-taken", &tfjob::API);
    let foreign = json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": { "name": "mnist-isolate" },
        "spec": { "podSelector": {}, "policyTypes": ["Ingress"] },
    });
    let foreign = harness.api().create(&policies(&harness), &foreign).unwrap();
    harness.create(&isolated(job(
        "mnist",
        &json!({ "cleanPodPolicy": "All" }),
        &[("Worker", 1, "Never")],
    )));
    let told = harness
        .api()
        .wait(&harness.path("mnist"), "what is in the way", |object| {
            let wait = &object["status"]["waiting"][0];
            (wait["reason"] == "FailedCreateObject").then(|| wait["message"].to_string())
        });
    assert!(told.contains("was not made for this job"), "{told}");
    let path = format!("{}/mnist-isolate", policies(&harness));
    assert_eq!(harness.api().get(&path).unwrap(), foreign);
    assert!(harness.names().is_empty(), "it does not run open");
    harness.api().delete(&path).unwrap();
    harness.run(&["mnist-worker-0"]);
    harness.exit("mnist-worker-0", 0);
    harness.api().wait_until_gone(&path);
}
