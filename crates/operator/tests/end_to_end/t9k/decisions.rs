//! What is decided about jobs of T9k's, row by row: what T9k's documents say, and `docs/t9k.md` where they are silent.

use serde_json::{Value, json};
use trainyard_cluster_tests::fake_kubelet::ObjectHistory;

use super::super::decisions::row::Row;
use super::super::decisions::{Compared, Decisions, each_is_decided_as_it_says};
use super::super::played::T9K;
use super::training_job;

const TABLES: [(&str, &str); 1] = [("t9k", include_str!("decisions.yaml"))];

/// The conditions, which are always there.
const CONDITIONS: [&str; 6] = [
    "Initialized",
    "Running",
    "ReplicaFailure",
    "Completed",
    "Failed",
    "Paused",
];

#[test]
fn every_row_of_the_table_is_decided_as_it_says() {
    let kind = Decisions {
        played: &T9K,
        object,
        wrong: conditions_and_fields,
        always_wrong,
        sequence: phases,
    };
    each_is_decided_as_it_says(&kind, &TABLES, 35);
}

fn object(row: &Row, name: &str) -> Value {
    let roles: Vec<(&str, u32, &str)> = row
        .roles
        .iter()
        .map(|(role, said)| {
            let (replicas, restart) = said.split_once(' ').unwrap();
            (&**role, replicas.parse().unwrap(), restart)
        })
        .collect();
    let mut rest = json!({ "runPolicy": row.policy });
    for (field, value) in &row.spec {
        rest[field] = value.clone();
    }
    let mut object = training_job(name, &rest, &roles);
    object["metadata"]["annotations"] = json!(row.annotations);
    object
}

/// Which conditions hold, what they say, and fields of the status: found and expected.
fn conditions_and_fields(row: &Row, job: &ObjectHistory, _: &str, _: &str) -> Vec<Compared> {
    let status = &job.last()["status"];
    let conditions = || status["conditions"].as_array().into_iter().flatten();
    let mut compared = Vec::new();
    if let Some(holds) = &row.holds {
        let found: Vec<&Value> = conditions()
            .filter(|one| one["status"] == "True")
            .map(|one| &one["type"])
            .collect();
        compared.push(("holds", json!(found).to_string(), json!(holds).to_string()));
    }
    for (kind, words) in &row.says {
        let one = conditions().find(|one| one["type"] == **kind);
        let said = one.and_then(|one| one["message"].as_str()).unwrap_or_default();
        let found = if said.contains(words.as_str()) {
            words
        } else {
            said
        };
        compared.push(("says", found.to_owned(), words.clone()));
    }
    for (pointer, expected) in &row.status {
        let found = status.pointer(pointer).unwrap_or(&Value::Null);
        compared.push((
            "status",
            format!("{pointer} {found}"),
            format!("{pointer} {expected}"),
        ));
    }
    let over = ended(status).is_some();
    let said = status["completionTime"].is_string();
    compared.push(("completionTime", said.to_string(), over.to_string()));
    compared
}

fn ended(status: &Value) -> Option<&str> {
    status["phase"]
        .as_str()
        .filter(|phase| ["Succeeded", "Failed"].contains(phase))
}

/// An end never changes, all conditions are there with their times, and every replica is counted.
fn always_wrong(job: &ObjectHistory) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut end = None;
    for version in job
        .versions
        .iter()
        .filter(|version| version["status"]["phase"].is_string())
    {
        let status = &version["status"];
        let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
        let kinds: Vec<&str> = conditions.iter().filter_map(|one| one["type"].as_str()).collect();
        let times = conditions.iter().all(|one| one["lastTransitionTime"].is_string());
        if kinds != CONDITIONS || !times {
            wrong.push(format!(
                "not every condition, or without its time: {conditions:?}"
            ));
        }
        if end.is_some() && end != ended(status) {
            wrong.push(format!("its end has changed: {status}"));
        }
        end = end.or_else(|| ended(status));
        let listed = status["tasks"].as_array().into_iter().flatten();
        let listed: usize = listed
            .filter_map(|task| Some(task["replicas"].as_array()?.len()))
            .sum();
        let counts = status["aggregate"].as_object().into_iter().flatten();
        let counted: u64 = counts.filter_map(|(_, count)| count.as_u64()).sum();
        if u64::try_from(listed) != Ok(counted) {
            wrong.push(format!("{listed} replicas, of which {counted} are counted"));
        }
    }
    wrong
}

/// The phases, but for `Pending`: pods may run before the first status is written.
fn phases(job: &ObjectHistory) -> Vec<String> {
    let phases = job
        .versions
        .iter()
        .filter_map(|version| version["status"]["phase"].as_str());
    let mut phases: Vec<String> = phases
        .filter(|phase| *phase != "Pending")
        .map(str::to_owned)
        .collect();
    phases.dedup();
    phases
}
