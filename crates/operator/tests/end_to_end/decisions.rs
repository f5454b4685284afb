//! What is decided about TFJobs, row by row: the tables of Kubeflow's behaviour, and where we differ on purpose.
//!
//! ```text
//! decisions/*.yaml ─▶ a job, scripts for its pods ─▶ `trainyard operator` ─▶ conditions, counts, pods, events as the row says
//! ```
//!
//! The rows are in `decisions/`, by the script of Kubeflow's behaviour that they are about. All of them are played at once by
//! one operator in one namespace. Rows that are not as they should be are played once more, by themselves.

pub mod row;

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use trainyard_cluster_tests::fake_kubelet::{Disruption, FakeKubelet, History, ObjectHistory};
use trainyard_core::TaskId;

use self::row::{Change, Row};
use super::played::{Played, TFJOB};
use super::scenarios::script;
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

/// What is compared: its name, what was found, what a row expects.
pub type Compared = (&'static str, String, String);

/// What the tables of one kind are about.
pub struct Decisions {
    /// How its jobs are played.
    pub played: &'static Played,
    /// The job of a row.
    pub object: fn(&Row, &str) -> Value,
    /// What is not as the row says, of what this kind alone has: by name and namespace of the job, a line each.
    pub wrong: fn(&Row, &ObjectHistory, &str, &str) -> Vec<Compared>,
    /// What must hold of every version of every job; what does not, a line each.
    pub always_wrong: fn(&ObjectHistory) -> Vec<String>,
    /// The words for where a job stood, one for each time that it changed.
    pub sequence: fn(&ObjectHistory) -> Vec<String>,
}

const TFJOBS: Decisions = Decisions {
    played: &TFJOB,
    object,
    wrong: conditions_and_counts,
    always_wrong,
    sequence: sequence_of,
};

#[test]
fn every_row_of_the_tables_is_decided_as_it_says() {
    each_is_decided_as_it_says(&TFJOBS, &TABLES, 110);
}

/// Plays every row of the tables; there must be so many.
pub fn each_is_decided_as_it_says(kind: &Decisions, tables: &[(&str, &str)], least: usize) {
    let rows: Vec<Row> = tables
        .iter()
        .flat_map(|(name, text)| row::read(name, text))
        .collect();
    assert!(rows.len() >= least, "the tables have {} rows", rows.len());
    let all: Vec<&Row> = rows.iter().collect();
    let differing: Vec<&Row> = play(kind, &all).into_iter().map(|(row, _)| row).collect();
    let report = |(row, wrong): (&Row, Vec<String>)| {
        format!("{}: {}\n  {}\n", row.table, row.shows, wrong.join("\n  "))
    };
    let reports: Vec<String> = play(kind, &differing).into_iter().map(report).collect();
    assert!(reports.is_empty(), "\n{}", reports.join("\n"));
}

/// The rows in which something is wrong, and what.
fn play<'a>(kind: &Decisions, rows: &[&'a Row]) -> Vec<(&'a Row, Vec<String>)> {
    if rows.is_empty() {
        return Vec::new();
    }
    let harness = Harness::of_kind("decisions", kind.played.kind.api);
    let kubelet = FakeKubelet::of_jobs(&harness.namespace, NODE, kind.played.jobs);
    let begun: Vec<(String, Instant)> = rows
        .iter()
        .enumerate()
        .map(|(number, row)| {
            let name = format!("row-{number}");
            let begun = begin(kind, (&harness, &kubelet), row, &name);
            (name, begun)
        })
        .collect();
    let wrong = |number: usize, row: &Row| {
        let (name, _) = &begun[number];
        kubelet.look(|history| wrong(kind, row, (name, harness.namespace.name()), history))
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
            to_come.retain(|(path, change)| !changed(kind, (&harness, &kubelet), path, change));
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
fn changed(
    kind: &Decisions,
    (harness, kubelet): (&Harness, &FakeKubelet),
    path: &str,
    change: &Change,
) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let stands = kubelet.look(|history| history.job(name).map(kind.sequence).unwrap_or_default());
    let due = stands.last() == Some(&change.when);
    if due {
        harness.api().patch(path, &change.patch).unwrap();
    }
    due
}

/// Sets the scripts of the pods and creates the job.
fn begin(kind: &Decisions, (harness, kubelet): (&Harness, &FakeKubelet), row: &Row, name: &str) -> Instant {
    let object = (kind.object)(row, name);
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
    harness.create(&object);
    let begin = Instant::now();
    let changes = row
        .faults
        .iter()
        .filter_map(|fault| kind.played.change(&object, fault));
    for (at, patch) in changes {
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
fn wrong(kind: &Decisions, row: &Row, (name, namespace): (&str, &str), history: &History) -> Vec<String> {
    let Some(job) = history.job(name) else {
        return vec!["the job was not seen".to_owned()];
    };
    let mut compared = vec![("deleted", job.gone.is_some().to_string(), row.deleted.to_string())];
    compared.extend((kind.wrong)(row, job, name, namespace));
    if let Some(sequence) = &row.sequence {
        let found = (kind.sequence)(job);
        compared.push(("sequence", format!("{found:?}"), format!("{sequence:?}")));
    }
    if let Some(pods) = &row.pods {
        let of_job = format!("{name}-");
        let here = history.pods_of(name).filter(|pod| pod.gone.is_none());
        let found: BTreeMap<String, String> = here
            .map(|pod| (pod.name.trim_start_matches(&of_job).to_owned(), phase(pod)))
            .collect();
        compared.push(("pods", format!("{found:?}"), format!("{pods:?}")));
    }
    if let Some(creates) = row.creates {
        let found = history.pods_of(name).count().to_string();
        compared.push(("creates", found, creates.to_string()));
    }
    if let Some(events) = &row.events {
        let told = history.events_of(name).into_iter();
        let mut found: Vec<String> = told.map(|(reason, _)| reason).collect();
        found.sort();
        compared.push(("events", format!("{found:?}"), format!("{events:?}")));
    }
    let differs = |(what, found, expected): (&str, String, String)| {
        (found != expected).then(|| format!("{what}:\n    expected {expected}\n    found    {found}"))
    };
    let mut wrong: Vec<String> = compared.into_iter().filter_map(differs).collect();
    wrong.extend((kind.always_wrong)(job));
    if !wrong.is_empty() {
        wrong.push(format!("status {}", job.last()["status"]));
    }
    wrong
}

fn may_say_more(condition: &str) -> bool {
    condition.starts_with("Failed ") || condition.starts_with("Restarting ")
}

/// The conditions of a TFJob, the counts of its replicas, and when it ended: found and expected.
fn conditions_and_counts(row: &Row, job: &ObjectHistory, name: &str, namespace: &str) -> Vec<Compared> {
    let status = &job.last()["status"];
    let mut compared = Vec::new();
    if let Some(conditions) = &row.conditions {
        let expected: Vec<String> = conditions
            .iter()
            .map(|words| row::condition(words, namespace, name))
            .collect();
        let all = status["conditions"].as_array().into_iter().flatten();
        let mut wanted = expected.iter();
        // The table has Kubeflow's words; ours follow those of a failure and of a restart.
        let found = all.map(told).map(|found| match wanted.next() {
            Some(words) if may_say_more(words) && found.starts_with(words) => words.clone(),
            _ => found,
        });
        compared.push(("conditions", lines(found), lines(expected.iter().cloned())));
    }
    let counts = row.counts.as_ref();
    if let Some(counts) = counts.filter(|counts| status["replicaStatuses"] != **counts) {
        let found = status["replicaStatuses"].to_string();
        compared.push(("counts", found, counts.to_string()));
    }
    let last = status["conditions"].as_array().and_then(|all| all.last());
    let over = last.is_some_and(|last| last["type"] == "Succeeded" || last["type"] == "Failed");
    let said = status["completionTime"].is_string();
    compared.push(("completionTime", said.to_string(), over.to_string()));
    compared
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
