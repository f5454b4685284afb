//! What is decided about Volcano jobs, row by row: Volcano's tables of events, actions and phases, on a real API server.
//!
//! All rows of `volcano_decisions/table.yaml` are played at once by one operator in one namespace. Rows that are not as they should be
//! are played once more, by themselves: a busy machine may be late, but a wrong decision stays wrong.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Map, Value, json};
use trainyard_cluster_tests::fake_kubelet::{FakeKubelet, History};
use trainyard_core::TaskId;
use trainyard_document::{Source, parse};
use trainyard_scenarios::Fault;

use super::NODE;
use super::scenarios::script;
use super::volcano::{Harness, JOBS, history, job};

const TABLE: &str = include_str!("volcano_decisions/table.yaml");

/// Nothing takes longer than that: grace, waits of 10 s, a busy machine.
const PATIENCE: Duration = Duration::from_mins(2);

/// One row. What is left out is not compared, but for `retries` and `version`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Row {
    /// What it shows.
    #[serde(rename = "row")]
    shows: String,
    /// Fields of the spec.
    #[serde(default)]
    spec: Map<String, Value>,
    /// Fields of the task `worker`.
    #[serde(default)]
    worker: Map<String, Value>,
    /// Pods are restarted in place.
    #[serde(default)]
    in_place: bool,
    /// What happens, in the words of the scenarios.
    #[serde(default)]
    faults: Vec<Fault>,
    /// Pods that never get a node.
    #[serde(default)]
    no_node: Vec<String>,
    /// Commands, each when the job is in its phase.
    #[serde(default)]
    orders: Vec<Ordered>,
    /// It is not looked at before this second: for rows where nothing must happen.
    #[serde(default)]
    not_before: u32,
    /// The conditions, in order.
    phases: Vec<String>,
    /// The conditions may begin with others.
    #[serde(default)]
    ends_with: bool,
    #[serde(default)]
    retries: u64,
    #[serde(default)]
    version: u64,
    /// By task, pods in each state.
    counts: Option<Map<String, Value>>,
    /// All pods that are there, with their phases.
    pods: Option<BTreeMap<String, String>>,
    /// So many pods were made.
    creates: Option<usize>,
    /// The job is gone.
    #[serde(default)]
    deleted: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ordered {
    when: String,
    action: String,
}

#[test]
fn every_row_of_volcanos_table_is_decided_as_it_says() {
    let source = Source::from_bytes("table", TABLE.as_bytes()).unwrap();
    let (documents, problems) = parse(&source);
    assert!(problems.is_empty(), "{problems:?}");
    let rows: Vec<Row> = serde_json::from_value(documents[0].root.to_json()).unwrap();
    let all: Vec<&Row> = rows.iter().collect();
    let differing: Vec<&Row> = play(&all).into_iter().map(|(row, _)| row).collect();
    let report = |(row, wrong): (&Row, Vec<String>)| format!("{}\n  {}\n", row.shows, wrong.join("\n  "));
    let reports: Vec<String> = play(&differing).into_iter().map(report).collect();
    assert!(reports.is_empty(), "\n{}", reports.join("\n"));
}

/// The rows in which something is wrong, and what.
fn play<'a>(rows: &[&'a Row]) -> Vec<(&'a Row, Vec<String>)> {
    if rows.is_empty() {
        return Vec::new();
    }
    let harness = Harness::new("volcano-decisions");
    let kubelet = FakeKubelet::of_jobs(&harness.namespace, NODE, (JOBS, "jobs"));
    let mut to_come: Vec<(String, &Ordered)> = Vec::new();
    let mut begun: Vec<(String, Instant)> = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        let name = format!("row-{number}");
        begin(&harness, &kubelet, row, &name);
        to_come.extend(row.orders.iter().map(|order| (name.clone(), order)));
        begun.push((name, Instant::now()));
    }
    let is_wrong = |number: usize| kubelet.look(|seen| wrong(rows[number], &begun[number].0, seen));
    for (number, row) in rows.iter().enumerate() {
        let begin = begun[number].1;
        let not_before = begin + Duration::from_secs(row.not_before.into());
        while Instant::now() < not_before
            || (!is_wrong(number).is_empty() && Instant::now() < begin + PATIENCE)
        {
            give_orders(&harness, &kubelet, &mut to_come);
            thread::sleep(Duration::from_millis(100));
        }
    }
    // All of them once more: what was decided must have stayed so, however long ago it was.
    let all = rows
        .iter()
        .enumerate()
        .map(|(number, row)| (*row, is_wrong(number)));
    all.filter(|(_, wrong)| !wrong.is_empty()).collect()
}

/// Gives the first order of each job whose time has come.
fn give_orders(harness: &Harness, kubelet: &FakeKubelet, to_come: &mut Vec<(String, &Ordered)>) {
    let mut waiting: Vec<String> = Vec::new();
    to_come.retain(|(name, order)| {
        let phase = kubelet.look(|seen| {
            seen.job(name)
                .map(|job| job.last()["status"]["state"]["phase"].clone())
        });
        let due = !waiting.contains(name) && phase.is_some_and(|phase| phase == *order.when);
        if due {
            harness.order(name, &order.action);
        }
        waiting.push(name.clone());
        !due
    });
}

/// Sets the scripts of the pods and creates the job.
fn begin(harness: &Harness, kubelet: &FakeKubelet, row: &Row, name: &str) {
    let tasks = [("ps", 1), ("worker", 2)];
    for (role, replicas) in tasks {
        for index in 0..replicas {
            let task = TaskId::new(role, index);
            let mut script = script(&row.faults, &task);
            script.no_node = row.no_node.contains(&task.to_string());
            kubelet.script(&format!("{name}-{task}"), script);
        }
    }
    let mut object = job(name, &json!(row.spec), &tasks);
    for (field, value) in &row.worker {
        object["spec"]["tasks"][1][field] = value.clone();
    }
    if row.in_place {
        object["spec"]["tasks"][1]["template"]["spec"]["restartPolicy"] = "OnFailure".into();
    }
    harness.create(&object);
}

/// Everything that is not as the row says, a line each.
fn wrong(row: &Row, name: &str, seen: &History) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut same = |what: &str, found: String, expected: String| {
        if found != expected {
            wrong.push(format!("{what}: expected {expected}, found {found}"));
        }
    };
    let Some(job) = seen.job(name) else {
        return vec!["the job was not seen".to_owned()];
    };
    let status = &job.last()["status"];
    let phases = history(status);
    let skipped = phases.len().saturating_sub(row.phases.len());
    let phases = if row.ends_with {
        &phases[skipped..]
    } else {
        &phases[..]
    };
    same("phases", format!("{phases:?}"), format!("{:?}", row.phases));
    let number = |field: &str| status[field].as_u64().unwrap_or(0).to_string();
    same("retries", number("retryCount"), row.retries.to_string());
    same("version", number("version"), row.version.to_string());
    same("deleted", job.gone.is_some().to_string(), row.deleted.to_string());
    if let Some(counts) = &row.counts {
        let expected: Map<String, Value> = counts
            .iter()
            .map(|(task, states)| (task.clone(), json!({ "phase": states })))
            .collect();
        if status["taskStatusCount"] != json!(expected) {
            same(
                "counts",
                status["taskStatusCount"].to_string(),
                json!(expected).to_string(),
            );
        }
    }
    let pods = || seen.pods_of(name);
    if let Some(expected) = &row.pods {
        let here = pods().filter(|pod| pod.gone.is_none());
        let found: BTreeMap<String, String> = here
            .map(|pod| {
                let phase = pod.last()["status"]["phase"].as_str().unwrap_or_default();
                (pod.name.replace(&format!("{name}-"), ""), phase.to_owned())
            })
            .collect();
        same("pods", format!("{found:?}"), format!("{expected:?}"));
    }
    if let Some(creates) = row.creates {
        same("creates", pods().count().to_string(), creates.to_string());
    }
    if !wrong.is_empty() {
        wrong.push(format!("status {status}"));
    }
    wrong
}
