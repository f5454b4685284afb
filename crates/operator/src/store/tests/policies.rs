//! NetworkPolicies of isolated jobs.

use kube::core::DynamicObject;

use super::*;
use crate::job::Meaning;
use crate::store::PolicySeen;

const ENSURE: Action = Action::Ensure(Fixture::Extras);

fn isolated(version: u64, value: Option<&str>) -> JobWire {
    let mut wire = job(version, version.cast_signed(), &Value::Null);
    let annotations =
        value.map(|value| [("trainyard.dev/network-policy".to_owned(), value.to_owned())].into());
    wire.metadata.annotations = annotations;
    wire
}

fn store() -> Store {
    let mut store = Store::new(Reading {
        network_policies: true,
        ..Reading::default()
    });
    store.storage.insert(&TFJOB, Storage::Keeps);
    store
}

/// The policy as the watch shows it, with this spec.
fn shown(version: u64, uid: &str, spec: &Value) -> PolicySeen {
    let object: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
        "metadata": {
            "name": "mnist-isolate", "namespace": "ml", "uid": uid, "resourceVersion": version.to_string(),
            "ownerReferences": [{
                "apiVersion": "kubeflow.org/v1", "kind": "TFJob", "name": "mnist", "uid": "job", "controller": true,
            }],
        },
        "spec": spec,
    }))
    .unwrap();
    PolicySeen::of(&[&TFJOB], &object).unwrap()
}

/// As the API server writes it: its keys are in another order.
fn right() -> Value {
    let own = json!({ "matchLabels": { "training.kubeflow.org/job-name": "mnist" } });
    json!({ "policyTypes": ["Ingress"], "ingress": [{ "from": [{ "podSelector": own }] }], "podSelector": own })
}

fn open() -> Value {
    json!({ "podSelector": {}, "ingress": [{}], "policyTypes": ["Ingress"] })
}

/// A store in which an isolated job runs, with its policy.
fn with_policy() -> Store {
    let mut store = store();
    store.job_seen(&TFJOB, isolated(10, Some("isolate")));
    let writes = store.next(NOW).unwrap();
    assert_eq!(
        writes.actions.iter().position(|action| *action == ENSURE),
        Some(1),
        "before the pods"
    );
    let pods = vec![pod(0, 20, "p0", &running()), pod(1, 21, "p1", &running())];
    let made = Report {
        extras: vec![shown(22, "policy", &right()).object],
        looked_for_extras: true,
        ..report(&writes, 0, pods)
    };
    store.applied(made, NOW);
    settle(&mut store, 30);
    store
}

/// Everything is done that is to be done, and none of it concerns the policy.
fn settle(store: &mut Store, first: u64) {
    for version in first..first + 4 {
        let Some(writes) = store.next(NOW + 60) else {
            return;
        };
        assert!(!writes.actions.contains(&ENSURE), "{:?}", writes.actions);
        store.applied(report(&writes, version, Vec::new()), NOW + 60);
    }
    panic!("it does not come to rest");
}

/// The writes that correct the policy.
fn corrects(store: &mut Store) -> Writes {
    let writes = store.next(NOW + 60).unwrap();
    assert!(writes.actions.contains(&ENSURE), "{:?}", writes.actions);
    writes
}

#[test]
fn a_policy_that_was_changed_is_corrected_once_and_one_that_is_right_is_left_alone() {
    let mut store = with_policy();
    store.policy_seen(shown(22, "policy", &right()));
    settle(&mut store, 30);
    store.policy_seen(shown(40, "policy", &open()));
    let writes = corrects(&mut store);
    let [known] = &writes.extras[..] else {
        panic!("{:?}", writes.extras)
    };
    assert_eq!((&*known.uid, known.version), ("policy", 40));
    // The API server may store it in another form than it was written in: that is no reason to write it for ever.
    let corrected = Report {
        extras: vec![shown(41, "policy", &right()).object],
        ..report(&writes, 42, Vec::new())
    };
    store.applied(corrected, NOW + 60);
    store.policy_seen(shown(40, "policy", &open()));
    settle(&mut store, 30);
}

#[test]
fn a_policy_that_was_deleted_is_created_again() {
    let mut store = with_policy();
    store.policy_gone(&shown(40, "policy", &right()));
    assert_eq!(corrects(&mut store).extras, []);

    let mut store = with_policy();
    store.list_begins(Source::Policies);
    store.list_ends(Source::Policies);
    assert_eq!(corrects(&mut store).extras, [], "a list did not show it");
}

#[test]
fn a_policy_that_is_not_asked_for_any_more_is_removed() {
    let mut store = with_policy();
    store.job_seen(&TFJOB, isolated(50, None));
    let writes = corrects(&mut store);
    let Meaning::Job(compiled) = &*writes.meaning else {
        panic!("it can be read")
    };
    assert!(compiled.subject.objects.is_empty() && writes.extras.len() == 1);
    let removed = Report {
        removed_extras: vec!["policy".into()],
        looked_for_extras: true,
        ..report(&writes, 51, Vec::new())
    };
    store.applied(removed, NOW + 60);
    store.policy_seen(shown(40, "policy", &right()));
    settle(&mut store, 60);
}

#[test]
fn an_operator_that_starts_later_compares_what_the_watch_showed_before_it_saw_the_job() {
    for (spec, is_right) in [(right(), true), (open(), false)] {
        let mut store = store();
        store.policy_seen(shown(40, "policy", &spec));
        store.job_seen(&TFJOB, isolated(50, Some("isolate")));
        let writes = store.next(NOW).unwrap();
        assert_eq!(
            !writes.actions.contains(&ENSURE),
            is_right,
            "{:?}",
            writes.actions
        );
    }
}

#[test]
fn policies_of_other_names_and_other_owners_are_not_looked_at() {
    let seen = |name: &str, kind: &str| {
        let object: DynamicObject = serde_json::from_value(json!({
            "metadata": { "name": name, "namespace": "ml", "uid": "u", "ownerReferences": [
                { "apiVersion": "kubeflow.org/v1", "kind": kind, "name": "mnist", "uid": "job", "controller": true },
            ] },
        }))
        .unwrap();
        PolicySeen::of(&[&TFJOB], &object).is_some()
    };
    assert!(seen("mnist-isolate", "TFJob"));
    assert!(!seen("mnist", "TFJob") && !seen("mnist-isolate", "Deployment"));
}

#[test]
fn without_the_right_to_policies_a_job_waits_and_does_not_run_open() {
    let mut store = Store::new(Reading::default());
    store.job_seen(&TFJOB, isolated(10, Some("isolate")));
    let writes = store.next(NOW).unwrap();
    assert_eq!(writes.actions, []);
    let status = writes.status.unwrap();
    assert_eq!(status["waiting"][0]["reason"], "NetworkPoliciesNotEnabled");
}
