//! What the API server itself says to jobs that cannot be run, by the rules of our definition.

use serde_json::{Value, json};
use trainyard_cluster_tests::shared;

use super::{Harness, install, job};

/// What `kubectl apply` answers.
fn answer(change: impl FnOnce(&mut Value)) -> String {
    install();
    let namespace = shared().namespace("refused");
    let mut object = job("mnist", &json!({}), &[("Worker", 1, "Never")]);
    change(&mut object);
    namespace.apply(&object.to_string()).bad()
}

/// What is wrong, how it is made so, and words of the answer.
type Row = (&'static str, fn(&mut Value), &'static [&'static str]);

/// Hands all of them in.
fn are_answered(rows: &[Row]) {
    for (what, change, words) in rows {
        let said = answer(change);
        for word in *words {
            assert!(said.contains(word), "{what}: no {word:?} in {said}");
        }
    }
}

#[test]
fn mistakes_about_roles_are_answered_with_the_reason() {
    are_answered(&[
        (
            "a type that there is not",
            |object| {
                let worker = object["spec"]["tfReplicaSpecs"]["Worker"].take();
                object["spec"]["tfReplicaSpecs"] = json!({ "Wrker": worker });
            },
            &["unknown replica type \"Wrker\"", "Evaluator"],
        ),
        (
            "less than none",
            |object| object["spec"]["tfReplicaSpecs"]["Worker"]["replicas"] = json!(-1),
            &["replicas", "greater than or equal to 0"],
        ),
        (
            "both names of one role",
            |object| {
                let worker = object["spec"]["tfReplicaSpecs"]["Worker"].clone();
                object["spec"]["tfReplicaSpecs"]["Chief"] = worker.clone();
                object["spec"]["tfReplicaSpecs"]["Master"] = worker;
            },
            &["Chief and Master"],
        ),
        (
            "two chiefs",
            |object| {
                let mut chief = object["spec"]["tfReplicaSpecs"]["Worker"].clone();
                chief["replicas"] = json!(2);
                object["spec"]["tfReplicaSpecs"]["chief"] = chief;
            },
            &["tfReplicaSpecs", "TensorFlow knows one Chief", "replicas to 1"],
        ),
        (
            "no role that could end it",
            |object| {
                let worker = object["spec"]["tfReplicaSpecs"]["Worker"].take();
                object["spec"]["tfReplicaSpecs"] = json!({ "PS": worker, "Evaluator": worker });
            },
            &["tfReplicaSpecs", "never ends", "add a Worker"],
        ),
        (
            "one role twice",
            |object| {
                let worker = object["spec"]["tfReplicaSpecs"]["Worker"].clone();
                object["spec"]["tfReplicaSpecs"]["worker"] = worker;
            },
            &["given twice"],
        ),
        (
            "a policy that there is not",
            |object| object["spec"]["tfReplicaSpecs"]["Worker"]["restartPolicy"] = "Sometimes".into(),
            &["restartPolicy", "ExitCode"],
        ),
    ]);
}

#[test]
fn mistakes_elsewhere_are_answered_with_the_field_and_the_reason() {
    are_answered(&[
        (
            "an unknown manager",
            |object| object["spec"]["runPolicy"]["managedBy"] = json!("kubeflow.org/training-operater"),
            &["managedBy", "Unsupported value", "kubeflow.org/training-operator"],
        ),
        (
            "no container of that name",
            |object| {
                object["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["name"] =
                    "main".into();
            },
            &["containers", "named \"tensorflow\""],
        ),
        (
            "no image",
            |object| {
                let containers =
                    &mut object["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"];
                containers[0] = json!({ "name": "tensorflow" });
            },
            &["containers[0].image", "Required value"],
        ),
        (
            "an image of no name",
            |object| {
                object["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["image"] =
                    "".into();
            },
            &["containers[0].image", "at least 1 char"],
        ),
        (
            "a deadline that cannot be kept",
            |object| object["spec"]["runPolicy"]["activeDeadlineSeconds"] = json!(0),
            &["activeDeadlineSeconds", "greater than or equal to 1"],
        ),
        (
            "a silent node that is given up before its kubelet could answer",
            |object| object["spec"]["runPolicy"]["lostNodeSeconds"] = json!(9),
            &["lostNodeSeconds", "greater than or equal to 10"],
        ),
        (
            "a field that there is not",
            |object| object["spec"]["bogus"] = json!(1),
            &["unknown field \"spec.bogus\""],
        ),
        (
            "a name that no Service can have, though there are no pods",
            |object| {
                object["metadata"]["name"] = "a".repeat(64).into();
                object["spec"]["tfReplicaSpecs"]["Worker"]["replicas"] = json!(0);
            },
            &["metadata.name", "DNS label of at most 63"],
        ),
        (
            "a name for which there is one worker too many",
            |object| {
                object["metadata"]["name"] = "a".repeat(54).into();
                object["spec"]["tfReplicaSpecs"]["Worker"]["replicas"] = json!(11);
            },
            &["metadata.name", "too long for its pods"],
        ),
        (
            "a name that is too long for one worker, as there is if nothing is said",
            |object| {
                object["metadata"]["name"] = "a".repeat(55).into();
                object["spec"]["tfReplicaSpecs"]["Worker"]
                    .as_object_mut()
                    .unwrap()
                    .remove("replicas");
            },
            &["metadata.name", "too long for its pods"],
        ),
    ]);
}

#[test]
fn the_longest_names_that_pods_can_have_are_taken_and_run() {
    let harness = Harness::new("longest");
    let ten = "a".repeat(54);
    let roles = [("Worker", 10, "Never"), ("Evaluator", 0, "Never")];
    harness.create(&job(&ten, &json!({}), &roles));
    let mut one = job(&"b".repeat(55), &json!({}), &[("Chief", 1, "Never")]);
    one["spec"]["tfReplicaSpecs"]["Chief"]
        .as_object_mut()
        .unwrap()
        .remove("replicas");
    harness.create(&one);
    harness.pod(&format!("{ten}-worker-9"), "0.0");
    harness.pod(&format!("{}-chief-0", "b".repeat(55)), "0.0");

    // One worker more has no name.
    harness.seen(&ten);
    let change = json!({ "spec": { "tfReplicaSpecs": { "Worker": { "replicas": 11 } } } });
    let refused = harness.api().patch(&harness.path(&ten), &change).unwrap_err();
    assert!(refused.to_string().contains("too long for its pods"), "{refused}");
}
