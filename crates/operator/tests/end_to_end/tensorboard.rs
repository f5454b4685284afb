//! A TensorBoard beside jobs of every kind: asked for by a field or an annotation, told of, and gone with its settings, its time or its job.

use serde_json::{Value, json};
use trainyard_cluster_tests::{Account, Namespace, Operator, shared};
use trainyard_manifest::gang::Schedulers;
use trainyard_manifest::kinds::{Kinds, tfjob};

use super::{Harness, install, job, volcano};

const ANNOTATION: &str = "trainyard.dev/tensorboard";
/// Two directories of one claim.
const LOGS: &str = "trainingLogFilesets: [pvc://logs/1, pvc://logs/2]";

/// A TFJob with that annotation.
fn annotated(name: &str, settings: &str) -> Value {
    let mut job = job(name, &json!({}), &[("Worker", 1, "Never")]);
    job["metadata"]["annotations"][ANNOTATION] = settings.into();
    job
}

fn deployment(namespace: &Namespace<'_>, job: &str) -> String {
    namespace.path("apis/apps/v1", &format!("deployments/{job}-tensorboard"))
}

fn service(namespace: &Namespace<'_>, job: &str) -> String {
    namespace.path("api/v1", &format!("services/{job}-tensorboard"))
}

/// Waits until the status of an object says this about its TensorBoard.
#[track_caller]
fn told(path: &str, reason: &str) -> Value {
    shared().api().wait(path, reason, |object| {
        let board = &object["status"]["tensorboard"];
        (board["reason"] == reason).then(|| board.clone())
    })
}

#[test]
fn a_tfjob_and_a_volcano_job_have_one_by_annotation_and_it_goes_with_them() {
    let harness = Harness::with(
        "board-kinds",
        &["--kinds", &Kinds::all().to_string(), "--tensorboard"],
    );
    let mut letters = volcano::job("letters", &json!({ "minAvailable": 1 }), &[("worker", 1)]);
    letters["metadata"]["annotations"][ANNOTATION] = LOGS.into();
    let jobs = |group: &str, plural: &str| harness.namespace.path(&format!("apis/{group}"), plural);
    let volcano_jobs = jobs("batch.volcano.sh/v1alpha1", "jobs");
    harness.create(&annotated("mnist", LOGS));
    harness.api().create(&volcano_jobs, &letters).unwrap();
    for (name, path) in [
        ("mnist", harness.path("mnist")),
        ("letters", format!("{volcano_jobs}/letters")),
    ] {
        let board = told(&path, "DependentNotReady");
        let url = format!("http://{name}-tensorboard.{}.svc:6006/", harness.namespace.name());
        assert_eq!(board["url"], url);
        let api = harness.api();
        let made = api.wait(&deployment(&harness.namespace, name), "a Deployment", |object| {
            Some(object["spec"]["template"]["spec"]["containers"][0].clone())
        });
        assert_eq!(made["command"][1], "--logdir_spec=0:/logs/logs/1,1:/logs/logs/2");
        assert_eq!(made["image"], trainyard_manifest::tensorboard::IMAGE);
        // The garbage collector takes both.
        api.delete(&path).unwrap();
        for path in [
            deployment(&harness.namespace, name),
            service(&harness.namespace, name),
        ] {
            api.wait_until_gone(&path);
        }
    }
}

#[test]
fn the_field_of_a_tfjob_is_known_to_its_definition_and_without_it_the_tensorboard_is_deleted() {
    let harness = Harness::with("board-field", &["--tensorboard"]);
    let mut asking = job("mnist", &json!({}), &[("Worker", 1, "Never")]);
    asking["spec"]["tensorboardSpec"] = json!({ "image": "i", "trainingLogFilesets": ["pvc://logs"] });
    let mut wrong = asking.clone();
    wrong["metadata"]["name"] = "wrong".into();
    wrong["spec"]["tensorboardSpec"]["trainingLogFilesets"] = json!(["/tmp"]);
    let refused = harness.api().create(&harness.jobs(), &wrong).unwrap_err();
    assert!(
        refused.message.contains("is not the address of a set of files"),
        "{refused}"
    );
    harness.create(&asking);
    let api = harness.api();
    api.wait(&deployment(&harness.namespace, "mnist"), "a Deployment", |_| {
        Some(())
    });
    // A suspended job keeps it, and its status says so.
    harness.patch("mnist", &json!({ "spec": { "runPolicy": { "suspend": true } } }));
    harness.conditions("mnist", &["Created", "Suspended"]);
    let kept = told(&harness.path("mnist"), "DependentNotReady");
    assert_eq!(kept["dependent"]["kind"], "Deployment");
    let before = api.get(&deployment(&harness.namespace, "mnist")).unwrap();
    assert_eq!(kept["dependent"]["uid"], before["metadata"]["uid"]);
    harness.patch("mnist", &json!({ "spec": { "tensorboardSpec": null } }));
    api.wait_until_gone(&deployment(&harness.namespace, "mnist"));
    api.wait_until_gone(&service(&harness.namespace, "mnist"));
    api.wait(&harness.path("mnist"), "no TensorBoard in the status", |object| {
        object["status"]["tensorboard"].is_null().then_some(())
    });
}

#[test]
fn wrong_settings_are_told_and_a_time_to_live_counts_from_the_end() {
    let harness = Harness::with("board-life", &["--tensorboard"]);
    harness.create(&annotated("wrong", "logdir: {}"));
    harness.create(&annotated(
        "short",
        "{trainingLogFilesets: [pvc://logs], ttlSecondsAfterFinished: 1}",
    ));
    let note = told(&harness.path("wrong"), "Invalid")["note"].to_string();
    assert!(note.contains("did you mean `logDir`?"), "{note}");
    let path = deployment(&harness.namespace, "short");
    harness.api().wait(&path, "a Deployment", |_| Some(()));
    harness.run(&["wrong-worker-0", "short-worker-0"]);
    for name in ["wrong", "short"] {
        harness.exit(&format!("{name}-worker-0"), 0);
        harness.conditions(name, &["Created", "!Running", "Succeeded"]);
    }
    harness.api().wait_until_gone(&path);
    told(&harness.path("short"), "Expired");
}

#[test]
fn a_claim_that_is_missing_is_named() {
    let harness = Harness::with("board-claim", &["--tensorboard"]);
    harness.create(&annotated("mnist", LOGS));
    let pods = harness
        .namespace
        .path("api/v1", &format!("pods?labelSelector={ANNOTATION}=mnist"));
    let pod = harness.api().wait(&pods, "its pod", |list| {
        Some(list["items"][0]["metadata"]["name"].as_str()?.to_owned())
    });
    // As the scheduler writes it.
    let message = "0/1 nodes are available: persistentvolumeclaim \"logs\" not found.";
    let condition =
        json!({ "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message });
    let status = format!("{}/status", harness.namespace.pod(&pod));
    let change = json!({ "status": { "conditions": [condition] } });
    harness.api().patch(&status, &change).unwrap();
    let expected = format!(
        "the claim `logs` does not exist in namespace `{}`",
        harness.namespace.name()
    );
    harness
        .api()
        .wait(&harness.path("mnist"), "the claim's name", |object| {
            let board = &object["status"]["tensorboard"];
            let told = board["note"].as_str()?.contains(&expected);
            told.then(|| assert_eq!(board["type"], "Warning"))
        });
    harness.run(&["mnist-worker-0"]);
    harness.conditions("mnist", &["Created", "Running"]);
}

#[test]
fn deployments_that_may_not_be_listed_stop_no_job() {
    install();
    let namespace = shared().namespace("board-forbidden");
    // The operator's account has its rights before it is started with `--tensorboard`.
    let _account = Account::of_operator(&namespace, Schedulers::default(), Kinds::default());
    let operator = Operator::with(&namespace, &["--tensorboard"]).in_vain();
    let harness = Harness {
        operator,
        namespace,
        kind: &tfjob::API,
    };
    let said = harness.operator.says("cannot watch");
    assert!(said.contains("deployments"), "{said}");
    harness.create(&annotated("mnist", LOGS));
    harness.run(&["mnist-worker-0"]);
    let refused = told(&harness.path("mnist"), "DependentRefused");
    assert!(
        refused["note"].as_str().unwrap().contains("forbidden"),
        "{refused}"
    );
    harness.exit("mnist-worker-0", 0);
    harness.conditions("mnist", &["Created", "!Running", "Succeeded"]);
}
