//! What is in a manifest or a Secret stays there: canaries are put into both, and no log, event, status or metric of the
//! operator's has one of them, whatever becomes of the job.

use serde_json::{Value, json};
use trainyard_cluster_tests::shared;

use super::endpoints::get;
use super::{Harness, job};

/// A variable's value.
const VARIABLE: &str = "canary-of-a-variable";
/// What a Secret holds, and what the API server shows of it.
const SECRET: &str = "canary-of-a-secret";
const SECRET_ENCODED: &str = "Y2FuYXJ5LW9mLWEtc2VjcmV0";
/// Elsewhere in a manifest.
const ARGUMENT: &str = "canary-of-an-argument";
const ANNOTATION: &str = "canary-of-an-annotation";
/// Values that forgot their quotes: they are no text, and the job is refused.
const NUMBER: u64 = 27_182_818_284;
const NUMBERED_ARGUMENT: u64 = 31_415_926_535;

/// A job of one worker that has a canary wherever one may be; its pods are admitted by every rule.
fn with_canaries(name: &str, restart: &str) -> Value {
    let mut object = job(name, &json!({}), &[("Worker", 1, restart)]);
    object["metadata"]["annotations"] = json!({ "team/token": ANNOTATION });
    let template = &mut object["spec"]["tfReplicaSpecs"]["Worker"]["template"];
    template["metadata"] = json!({ "annotations": { "team/token": ANNOTATION } });
    let spec = &mut template["spec"];
    spec["securityContext"] = json!({ "runAsNonRoot": true, "seccompProfile": { "type": "RuntimeDefault" } });
    spec["volumes"] = json!([{ "name": "secret", "secret": { "secretName": "canary" } }]);
    let container = &mut spec["containers"][0];
    container["securityContext"] =
        json!({ "allowPrivilegeEscalation": false, "capabilities": { "drop": ["ALL"] } });
    container["args"] = json!(["--token", ARGUMENT]);
    container["volumeMounts"] = json!([{ "name": "secret", "mountPath": "/secret" }]);
    container["env"] = json!([
        { "name": "TOKEN", "value": VARIABLE },
        { "name": "SECRET", "valueFrom": { "secretKeyRef": { "name": "canary", "key": "token" } } },
    ]);
    object
}

/// The same, changed so that something refuses it.
fn changed(name: &str, change: impl FnOnce(&mut Value)) -> Value {
    let mut object = with_canaries(name, "Never");
    change(&mut object["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]);
    object
}

/// Jobs, and what is said of each: the word that must come, so that there is something to look at.
fn refused() -> [(Value, &'static str); 8] {
    let invalid = |name: &str, change: fn(&mut Value)| (changed(name, change), "InvalidTFJobSpec");
    let no_pod = |name: &str, change: fn(&mut Value)| (changed(name, change), "FailedCreatePod");
    let mut edited = with_canaries("annotated", "Never");
    edited["metadata"]["annotations"]["trainyard.dev/restart-scope"] = "Sometimes".into();
    [
        // By a rule of the namespace.
        no_pod("insecure", |spec| spec["hostNetwork"] = json!(true)),
        // By the API server's validation, which quotes what is wrong.
        no_pod("tolerant", |spec| {
            spec["tolerations"] = json!([{ "operator": "Often" }]);
        }),
        // By us.
        invalid("doubled", |spec| {
            spec["containers"][0]["env"][1]["value"] = VARIABLE.into();
        }),
        invalid("listed", |spec| {
            spec["preemptionPolicy"] = json!(["Never", ARGUMENT]);
        }),
        invalid("number", |spec| {
            spec["containers"][0]["env"][0]["value"] = json!(NUMBER);
        }),
        invalid("counted", |spec| {
            spec["containers"][0]["args"][1] = json!(NUMBERED_ARGUMENT);
        }),
        invalid("unmounted", |spec| spec["volumes"] = json!([])),
        (edited, "InvalidTFJobSpec"),
    ]
}

/// Waits until the job's status has that word somewhere.
#[track_caller]
fn says(harness: &Harness, job: &str, word: &str) {
    shared().api().wait(&harness.path(job), word, |object| {
        object["status"].to_string().contains(word).then_some(())
    });
}

/// Everything that was said of these jobs: where, and what.
fn everything(harness: &Harness, metrics: &str) -> Vec<(&'static str, String)> {
    let list = |version: &str, what: &str| {
        shared()
            .api()
            .list(&harness.namespace.path(version, what))
            .unwrap()
    };
    let jobs = list("apis/kubeflow.org/v1", "tfjobs");
    let statuses = jobs.iter().map(|job| ("a status", job["status"].to_string()));
    let events = list("apis/events.k8s.io/v1", "events").into_iter();
    let ours = events.filter(|event| event["reportingController"] == "trainyard.dev/operator");
    let events = ours.map(|event| ("an event", event.to_string()));
    let mut all = vec![
        ("the log", harness.operator.said()),
        ("a metric", get(metrics, "/metrics").1),
    ];
    all.extend(statuses.chain(events));
    all
}

fn never_show_a_canary(name: &str, format: &str) {
    let harness = Harness::with(name, &["--metrics-bind-address=127.0.0.1:0", format]);
    let api = shared().api();
    let listening = harness.operator.says("listening");
    let secret = json!({ "metadata": { "name": "canary" }, "stringData": { "token": SECRET } });
    api.create(&harness.namespace.path("api/v1", "secrets"), &secret)
        .unwrap();
    let label = json!({ "metadata": { "labels": { "pod-security.kubernetes.io/enforce": "restricted" } } });
    api.patch(
        &format!("/api/v1/namespaces/{}", harness.namespace.name()),
        &label,
    )
    .unwrap();
    // One that runs and succeeds, one that is restarted and fails.
    harness.create(&with_canaries("good", "Never"));
    harness.create(&with_canaries("bad", "ExitCode"));
    harness.run(&["good-worker-0", "bad-worker-0"]);
    harness.exit("good-worker-0", 0);
    harness.exit("bad-worker-0", 1);
    says(&harness, "good", "Succeeded");
    says(&harness, "bad", "firstFailure");
    let refused = refused();
    for (object, _) in &refused {
        harness.create(object);
    }
    for (object, word) in &refused {
        says(&harness, object["metadata"]["name"].as_str().unwrap(), word);
    }
    full(&harness);
    harness.create(&with_canaries("late", "Never"));
    says(&harness, "late", "ExceededQuota");
    harness.operator.says("ExceededQuota");

    let all = everything(&harness, &address(&listening));
    for word in [
        "FailedCreatePod",
        "InvalidTFJobSpec",
        "ExceededQuota",
        "TFJobSucceeded",
        "TFJobFailed",
    ] {
        let told = |place: &str| {
            all.iter()
                .any(|(here, text)| *here == place && text.contains(word))
        };
        assert!(
            told("the log") && told("an event") && told("a status"),
            "{word} is not told"
        );
    }
    let canaries = [VARIABLE, SECRET, SECRET_ENCODED, ARGUMENT, ANNOTATION].map(str::to_owned);
    let numbers = [NUMBER, NUMBERED_ARGUMENT].map(|number| number.to_string());
    for (place, text) in &all {
        for canary in canaries.iter().chain(&numbers) {
            assert!(!text.contains(canary), "{canary} is in {place}: {text}");
        }
    }
}

/// Uses up the namespace's quota.
fn full(harness: &Harness) {
    let quotas = harness.namespace.path("api/v1", "resourcequotas");
    let quota = json!({ "metadata": { "name": "none" }, "spec": { "hard": { "pods": "0" } } });
    shared().api().create(&quotas, &quota).unwrap();
    // Without this it counts only when a controller has counted.
    let counted = json!({ "status": { "hard": { "pods": "0" }, "used": { "pods": "0" } } });
    shared()
        .api()
        .patch(&format!("{quotas}/none/status"), &counted)
        .unwrap();
}

/// The address in a line of the log.
fn address(line: &str) -> String {
    let (_, rest) = line.split_once("127.0.0.1:").unwrap();
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    format!("127.0.0.1:{digits}")
}

#[test]
fn no_value_of_a_manifest_or_a_secret_is_in_a_json_log_an_event_a_status_or_a_metric() {
    never_show_a_canary("canary-json", "--log-format=json");
}

#[test]
fn no_value_of_a_manifest_or_a_secret_is_in_a_text_log() {
    never_show_a_canary("canary-text", "--log-format=text");
}
