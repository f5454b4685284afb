//! Pod security (PSA): the operator's pods go past no rule of a namespace, and a job says which rule refuses them.
//!
//! What is played is the table in docs/security.md, row by row.

use std::thread;
use std::time::{Duration, Instant};

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};
use trainyard_cluster_tests::shared;
use trainyard_manifest::install::Install;

use super::{Harness, job};

/// The rows of the table: what the template says, and the job's name here.
const TEMPLATES: [(&str, &str); 6] = [
    ("everything that `restricted` asks for", "conforming"),
    ("nothing about security", "plain"),
    ("`runAsUser: 0`", "root"),
    ("a `hostPath` volume", "host-path"),
    ("`hostNetwork: true`", "host-network"),
    ("`privileged: true`", "privileged"),
];
const LEVELS: [&str; 3] = ["restricted", "baseline", "privileged"];

/// A job of one worker whose pod is made of that row's template.
fn of_template(name: &str) -> Value {
    let mut object = job(name, &json!({}), &[("Worker", 1, "Never")]);
    let spec = &mut object["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"];
    match name {
        "conforming" => {
            spec["securityContext"] =
                json!({ "runAsNonRoot": true, "seccompProfile": { "type": "RuntimeDefault" } });
            spec["containers"][0]["securityContext"] =
                json!({ "allowPrivilegeEscalation": false, "capabilities": { "drop": ["ALL"] } });
        }
        "root" => spec["securityContext"] = json!({ "runAsUser": 0 }),
        "host-path" => spec["volumes"] = json!([{ "name": "host", "hostPath": { "path": "/" } }]),
        "host-network" => spec["hostNetwork"] = json!(true),
        "privileged" => spec["containers"][0]["securityContext"] = json!({ "privileged": true }),
        _ => {}
    }
    object
}

/// The cells of a row of the documented table: whether each level admits such a pod.
fn documented(row: &str) -> Vec<bool> {
    let page = std::fs::read_to_string(trainyard_tools::root().join("docs/security.md")).unwrap();
    let begins = format!("| {row} |");
    let line = page.lines().find(|line| line.starts_with(&begins));
    let line = line.unwrap_or_else(|| panic!("docs/security.md has no row {begins}"));
    let cells = line.split('|').skip(2).map(str::trim);
    cells
        .filter(|cell| !cell.is_empty())
        .map(|cell| match cell {
            "admitted" => true,
            "refused" => false,
            other => panic!("{row}: {other}"),
        })
        .collect()
}

fn enforce(namespace: &str, level: &str) {
    let label = json!({ "metadata": { "labels": { "pod-security.kubernetes.io/enforce": level } } });
    let path = format!("/api/v1/namespaces/{namespace}");
    shared().api().patch(&path, &label).unwrap();
}

/// Events of that reason about a job.
fn events(harness: &Harness, name: &str, reason: &str) -> Vec<String> {
    let path = harness.namespace.path("apis/events.k8s.io/v1", "events");
    let all = shared().api().list(&path).unwrap();
    let about = |event: &&Value| event["regarding"]["name"] == name && event["reason"] == reason;
    all.iter()
        .filter(about)
        .map(|event| event["note"].as_str().unwrap_or_default().to_owned())
        .collect()
}

/// What the job says of a pod that the namespace refuses, once as an event and as long as it lasts in the status.
#[track_caller]
fn is_told(harness: &Harness, name: &str, level: &str) {
    let rule = format!("violates PodSecurity \"{level}:latest\"");
    let status = shared().api().wait(&harness.path(name), &rule, |job| {
        let waiting = job["status"]["waiting"].as_array()?.first()?;
        let words = waiting["message"].as_str().unwrap_or_default();
        (waiting["reason"] == "FailedCreatePod" && words.contains(&rule)).then(|| job["status"].clone())
    });
    for condition in status["conditions"].as_array().unwrap() {
        assert_ne!(
            condition["type"], "Failed",
            "{name} waits for another rule: {status}"
        );
    }
    let remedy = ["pod security (", "securityContext"];
    super::waits::is_explained(harness, name, &remedy);
    let path = harness.namespace.path("apis/events.k8s.io/v1", "events");
    shared().api().wait(&path, "an event", |_| {
        let told = events(harness, name, "FailedCreatePod");
        (told.len() == 1 && told[0].contains(&rule)).then_some(())
    });
}

#[test]
fn each_level_of_pod_security_refuses_and_admits_as_documented() {
    for (column, level) in LEVELS.into_iter().enumerate() {
        let harness = Harness::new(&format!("psa-{level}"));
        enforce(harness.namespace.name(), level);
        for (_, name) in TEMPLATES {
            harness.create(&of_template(name));
        }
        let mut refused = Vec::new();
        for (row, name) in TEMPLATES {
            if documented(row)[column] {
                harness.pod(&format!("{name}-worker-0"), "0.0");
            } else {
                is_told(&harness, name, level);
                refused.push(name);
            }
        }
        let pods = harness.names();
        for name in &refused {
            assert!(
                !pods.contains(&format!("{name}-worker-0")),
                "{level}: {name} has a pod"
            );
        }
        // A namespace that is opened lets them go on by themselves.
        enforce(harness.namespace.name(), "privileged");
        for name in refused {
            harness.pod(&format!("{name}-worker-0"), "0.0");
            shared()
                .api()
                .wait(&harness.path(name), "nothing it waits for", |job| {
                    job["status"].get("waiting").is_none().then_some(())
                });
        }
    }
}

#[test]
fn a_pod_that_is_refused_is_asked_for_less_and_less_often() {
    const TRIES: usize = 5;
    let harness = Harness::new("psa-patience");
    enforce(harness.namespace.name(), "restricted");
    harness.create(&of_template("plain"));
    let begun = Instant::now();
    let times = loop {
        let times = harness.operator.account().created("pods", "plain-worker-0");
        if times.len() >= TRIES {
            break times;
        }
        assert!(begun.elapsed() < Duration::from_mins(2), "only {times:?}");
        thread::sleep(Duration::from_millis(100));
    };
    let seconds = |from: Timestamp, to: Timestamp| to.duration_since(from).as_secs_f64();
    let waits: Vec<f64> = times.windows(2).map(|pair| seconds(pair[0], pair[1])).collect();
    // 1 s, 2 s, 4 s, 8 s; the operator counts whole seconds, so that each may begin up to one before.
    for (wait, least) in waits.iter().zip([0.0, 1.0, 3.0, 7.0]) {
        assert!(*wait >= least, "{waits:?}");
    }
}

#[test]
fn the_operators_own_pods_are_admitted_where_restricted_is_enforced() {
    let namespace = shared().namespace("psa-own");
    enforce(namespace.name(), "restricted");
    let install = Install::default();
    let deployment = install
        .objects()
        .into_iter()
        .find(|object| object["kind"] == "Deployment");
    let mut pod = deployment.unwrap()["spec"]["template"].take();
    pod["apiVersion"] = "v1".into();
    pod["kind"] = "Pod".into();
    pod["metadata"]["name"] = "operator".into();
    // The account is not what is asked about; every namespace has this one.
    pod["spec"]["serviceAccountName"] = "default".into();
    let pods = namespace.path("api/v1", "pods?dryRun=All");
    shared().api().create(&pods, &pod).unwrap();
    pod["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = true.into();
    let refused = shared().api().create(&pods, &pod).unwrap_err();
    assert!(refused.message.contains("violates PodSecurity"), "{refused}");
}
