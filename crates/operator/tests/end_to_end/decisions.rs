//! What is decided about TFJobs, row by row: the tables of Kubeflow's behaviour, and where we differ on purpose.
//!
//! ```text
//! decisions/*.yaml ─▶ a job, scripts for its pods ─▶ `trainyard operator` ─▶ conditions, counts, pods, events as the row says
//! ```
//!
//! The rows are in `decisions/`, by the script of Kubeflow's behaviour that they are about. All of them are played at once by
//! one operator in one namespace. Rows that are not as they should be are played once more, by themselves.

mod row;

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use trainyard_cluster_tests::fake_kubelet::{Disruption, FakeKubelet, History, ObjectHistory};
use trainyard_core::TaskId;

use self::row::{Change, Row};
use super::scenarios::{change, script};
use super::{Harness, NODE};

/// Nothing takes longer than that: grace, waits of 10 s, a busy machine.
const PATIENCE: Duration = Duration::from_mins(2);

/// The tables.
const TABLES: [(&str, &str); 6] = [
    ("status", include_str!("decisions/status.yaml")),
    ("restarts", include_str!("decisions/restarts.yaml")),
    ("success", include_str!("decisions/success.yaml")),
    ("cleanup", include_str!("decisions/cleanup.yaml")),
    ("edits", include_str!("decisions/edits.yaml")),
    ("disrupted", include_str!("decisions/disrupted.yaml")),
];

#[test]
fn every_row_of_the_tables_is_decided_as_it_says() {
    let rows: Vec<Row> = TABLES
        .iter()
        .flat_map(|(name, text)| row::read(name, text))
        .collect();
    assert!(rows.len() >= 110, "the tables have {} rows", rows.len());
    let all: Vec<&Row> = rows.iter().collect();
    let differing: Vec<&Row> = play(&all).into_iter().map(|(row, _)| row).collect();
    let report = |(row, wrong): (&Row, Vec<String>)| {
        format!("{}: {}\n  {}\n", row.table, row.shows, wrong.join("\n  "))
    };
    let reports: Vec<String> = play(&differing).into_iter().map(report).collect();
    assert!(reports.is_empty(), "\n{}", reports.join("\n"));
}

/// The rows in which something is wrong, and what.
fn play<'a>(rows: &[&'a Row]) -> Vec<(&'a Row, Vec<String>)> {
    if rows.is_empty() {
        return Vec::new();
    }
    let harness = Harness::new("decisions");
    let kubelet = FakeKubelet::open(&harness.namespace, NODE);
    let begun: Vec<(String, Instant)> = rows
        .iter()
        .enumerate()
        .map(|(number, row)| {
            let name = format!("row-{number}");
            let begun = begin(&harness, &kubelet, row, &name);
            (name, begun)
        })
        .collect();
    let wrong = |number: usize, row: &Row| {
        let (name, _) = &begun[number];
        kubelet.look(|history| wrong(row, name, harness.namespace.name(), history))
    };
    let mut to_come: Vec<(String, &Change)> = Vec::new();
    for (row, (name, _)) in rows.iter().zip(&begun) {
        to_come.extend(row.changes.iter().map(|change| (harness.path(name), change)));
    }
    for (number, row) in rows.iter().enumerate() {
        let (_, begin) = begun[number];
        let not_before = begin + Duration::from_secs(row.not_before.into());
        while Instant::now() < not_before
            || (!wrong(number, row).is_empty() && Instant::now() < begin + PATIENCE)
        {
            to_come.retain(|(path, change)| !changed(&harness, &kubelet, path, change));
            thread::sleep(Duration::from_millis(100));
        }
    }
    // All of them once more: what was decided must have stayed so, however long ago it was.
    let all = rows
        .iter()
        .enumerate()
        .map(|(number, row)| (*row, wrong(number, row)));
    all.filter(|(_, wrong)| !wrong.is_empty()).collect()
}

/// Changes a job once it stands where the change waits for; true when that is done.
fn changed(harness: &Harness, kubelet: &FakeKubelet, path: &str, change: &Change) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let stands = kubelet.look(|history| history.job(name).map(sequence_of).unwrap_or_default());
    let due = stands.last() == Some(&change.when);
    if due {
        harness.api().patch(path, &change.patch).unwrap();
    }
    due
}

/// Sets the scripts of the pods and creates the job.
fn begin(harness: &Harness, kubelet: &FakeKubelet, row: &Row, name: &str) -> Instant {
    let object = object(row, name);
    for role in row.roles.keys() {
        for index in 0..9 {
            let task = TaskId::new(&role.to_lowercase(), index);
            let mut script = script(&row.faults, &task);
            let word = task.to_string();
            script.no_node = row.no_node.contains(&word);
            script.disruptions.extend(
                row.preempted
                    .contains(&word)
                    .then_some((3, Disruption::Preempt(143))),
            );
            script.disruptions.extend(
                row.deleted_by_hand
                    .contains(&word)
                    .then_some((3, Disruption::Delete(143))),
            );
            kubelet.script(&format!("{name}-{task}"), script);
        }
    }
    let path = harness.namespace.path("apis/kubeflow.org/v1", "tfjobs");
    harness.api().create(&path, &object).unwrap();
    let begin = Instant::now();
    for (at, patch) in row.faults.iter().filter_map(|fault| change(&object, fault)) {
        kubelet.change(begin + Duration::from_secs(at.into()), &harness.path(name), patch);
    }
    if row
        .conditions
        .as_ref()
        .is_none_or(|conditions| !conditions.is_empty())
    {
        // The next job is created once the operator has reconciled this one: not all at once.
        harness
            .api()
            .wait(&harness.path(name), "a first look at it", |object| {
                object["status"]["conditions"].is_array().then_some(())
            });
    }
    begin
}

fn object(row: &Row, name: &str) -> Value {
    let mut roles = Map::new();
    for (role, said) in &row.roles {
        let (replicas, restart) = said.split_once(' ').unwrap();
        let container = json!({ "name": "tensorflow", "image": "trainer" });
        let spec = json!({
            "replicas": replicas.parse::<u32>().unwrap(), "restartPolicy": restart,
            "template": { "spec": { "containers": [container] } },
        });
        roles.insert(role.clone(), spec);
    }
    let mut object = json!({
        "apiVersion": "kubeflow.org/v1", "kind": "TFJob",
        "metadata": { "name": name, "annotations": row.annotations },
        "spec": { "runPolicy": row.policy, "tfReplicaSpecs": roles },
    });
    for (field, value) in &row.spec {
        object["spec"][field] = value.clone();
    }
    object
}

/// Everything that is not as the row says, a line each.
fn wrong(row: &Row, name: &str, namespace: &str, history: &History) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut same = |what: &str, found: String, expected: String| {
        if found != expected {
            wrong.push(format!("{what}:\n    expected {expected}\n    found    {found}"));
        }
    };
    let Some(job) = history.job(name) else {
        return vec!["the job was not seen".to_owned()];
    };
    same("deleted", job.gone.is_some().to_string(), row.deleted.to_string());
    let status = &job.last()["status"];
    if let Some(conditions) = &row.conditions {
        let expected = conditions
            .iter()
            .map(|words| row::condition(words, namespace, name));
        let all = status["conditions"].as_array().into_iter().flatten();
        same("conditions", lines(all.map(told)), lines(expected));
    }
    if let Some(sequence) = &row.sequence {
        same(
            "sequence",
            format!("{:?}", sequence_of(job)),
            format!("{sequence:?}"),
        );
    }
    if let Some(counts) = row
        .counts
        .as_ref()
        .filter(|counts| status["replicaStatuses"] != **counts)
    {
        let found = status["replicaStatuses"].to_string();
        same("counts", found, counts.to_string());
    }
    if let Some(pods) = &row.pods {
        let found: BTreeMap<String, String> = history
            .pods_of(name)
            .filter(|pod| pod.gone.is_none())
            .map(|pod| {
                (
                    pod.name.trim_start_matches(&format!("{name}-")).to_owned(),
                    phase(pod),
                )
            })
            .collect();
        same("pods", format!("{found:?}"), format!("{pods:?}"));
    }
    if let Some(creates) = row.creates {
        same(
            "creates",
            history.pods_of(name).count().to_string(),
            creates.to_string(),
        );
    }
    if let Some(events) = &row.events {
        let mut found: Vec<String> = history
            .events_of(name)
            .into_iter()
            .map(|(reason, _)| reason)
            .collect();
        found.sort();
        same("events", format!("{found:?}"), format!("{events:?}"));
    }
    let last = status["conditions"].as_array().and_then(|all| all.last());
    let over = last.is_some_and(|last| last["type"] == "Succeeded" || last["type"] == "Failed");
    same(
        "completionTime",
        status["completionTime"].is_string().to_string(),
        over.to_string(),
    );
    wrong.extend(always_wrong(job));
    if !wrong.is_empty() {
        wrong.push(format!("status {status}"));
    }
    wrong
}

/// What must hold of every version of every job: an end never changes, and nothing runs after it.
fn always_wrong(job: &ObjectHistory) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut end = None;
    for version in &job.versions {
        let conditions = version["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let is = |kind: &str| {
            let mut all = conditions.iter();
            all.any(|one| one["type"] == kind && one["status"] == "True")
        };
        let ends = (is("Succeeded"), is("Failed"));
        if ends == (true, true) {
            wrong.push("it both succeeded and failed".to_owned());
        }
        if is("Running") && (is("Restarting") || ends != (false, false)) {
            wrong.push(format!("running, and more: {conditions:?}"));
        }
        if end.is_some_and(|end| end != ends) {
            wrong.push(format!("its end has changed: {conditions:?}"));
        }
        end = end.or_else(|| (ends != (false, false)).then_some(ends));
        let times: Vec<_> = conditions
            .iter()
            .map(|one| one["lastTransitionTime"].as_str())
            .collect();
        if times.iter().any(Option::is_none) {
            wrong.push(format!("a condition without its time: {conditions:?}"));
        }
    }
    wrong
}

/// The types of the last conditions, one for each time that it changed.
fn sequence_of(job: &ObjectHistory) -> Vec<String> {
    let last = |version: &Value| {
        let conditions = version["status"]["conditions"].as_array()?;
        conditions.last().map(super::shown)
    };
    let mut all: Vec<String> = job.versions.iter().filter_map(last).collect();
    all.dedup();
    all
}

fn phase(pod: &ObjectHistory) -> String {
    let phase = pod.last()["status"]["phase"].as_str().unwrap_or_default();
    let stopping = pod.last()["metadata"]["deletionTimestamp"].is_string();
    if stopping {
        format!("{phase}, told to go")
    } else {
        phase.to_owned()
    }
}

fn told(condition: &Value) -> String {
    let text = |field: &str| condition[field].as_str().unwrap_or_default();
    format!(
        "{} {}: {}",
        super::shown(condition),
        text("reason"),
        text("message")
    )
}

fn lines(all: impl Iterator<Item = String>) -> String {
    let mut lines = vec![String::new()];
    lines.extend(all);
    lines.join("\n      ")
}
