//! A row of a table, and the words that stand in it for whole conditions.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};
use trainyard_document::{Source, parse};
use trainyard_scenarios::Fault;

/// One row. What is left out is not compared, unless it says otherwise.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Row {
    /// Which table it is in.
    #[serde(skip)]
    pub table: String,
    /// What it shows.
    #[serde(rename = "row")]
    pub shows: String,
    /// Where we differ from Kubeflow on purpose: what it does. For the reader.
    #[serde(default)]
    #[expect(dead_code, reason = "it is there to be read in the table")]
    pub kubeflow: Option<String>,
    /// `2 Never`, by role.
    pub roles: BTreeMap<String, String>,
    /// `runPolicy`.
    #[serde(default)]
    pub policy: Map<String, Value>,
    /// What else the spec has.
    #[serde(default)]
    pub spec: Map<String, Value>,
    #[serde(default)]
    pub annotations: Map<String, Value>,
    /// What happens, in the words of the scenarios.
    #[serde(default)]
    pub faults: Vec<Fault>,
    /// Pods that never get a node.
    #[serde(default)]
    pub no_node: Vec<String>,
    /// Tasks whose pods are preempted in second 3, and whose program ends with 143.
    #[serde(default)]
    pub preempted: Vec<String>,
    /// Tasks whose pods a user deletes in second 3, and whose program ends with 143.
    #[serde(default)]
    pub deleted_by_hand: Vec<String>,
    /// What the user changes, each when its time has come.
    #[serde(default)]
    pub changes: Vec<Change>,
    /// It is not looked at before this second: for rows where nothing must happen.
    #[serde(default)]
    pub not_before: u32,
    /// The whole list, in order: see [`condition`].
    pub conditions: Option<Vec<String>>,
    /// The last conditions that there were, in order.
    pub sequence: Option<Vec<String>>,
    /// `replicaStatuses`, whole.
    pub counts: Option<Value>,
    /// The conditions that hold, where all of them are always there; the others do not.
    pub holds: Option<Vec<String>>,
    /// Parts of the messages of conditions, by their types.
    #[serde(default)]
    pub says: BTreeMap<String, String>,
    /// Fields of the status, by their pointers.
    #[serde(default)]
    pub status: BTreeMap<String, Value>,
    /// All pods that are there, with their phases.
    pub pods: Option<BTreeMap<String, String>>,
    /// So many pods were made.
    pub creates: Option<usize>,
    /// The reasons of all events, sorted.
    pub events: Option<Vec<String>>,
    /// The job is gone.
    #[serde(default)]
    pub deleted: bool,
}

/// A change of the job.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// When its last condition is this.
    pub when: String,
    /// As a merge patch.
    pub patch: Value,
}

/// The rows of a table.
pub fn read(table: &str, text: &str) -> Vec<Row> {
    let source = Source::from_bytes(table, text.as_bytes()).unwrap();
    let (documents, problems) = parse(&source);
    assert!(problems.is_empty(), "{table}: {problems:?}");
    let mut rows: Vec<Row> = serde_json::from_value(documents[0].root.to_json())
        .unwrap_or_else(|error| panic!("{table}: {error}"));
    for row in &mut rows {
        table.clone_into(&mut row.table);
    }
    rows
}

/// A condition as `type reason: message`, from the few words of a row: its type and what it is about.
pub fn condition(words: &str, namespace: &str, job: &str) -> String {
    let (kind, about) = words.split_once(' ').unwrap_or((words, ""));
    let (reason, message) = match (kind, about) {
        ("Created", "") => ("TFJobCreated", format!("TFJob {job} is created.")),
        ("Running" | "!Running", "") => ("TFJobRunning", format!("TFJob {namespace}/{job} is running.")),
        ("Suspended", "") | ("!Running", "suspended") => {
            ("TFJobSuspended", format!("TFJob {job} is suspended."))
        }
        ("!Suspended", "") => ("TFJobResumed", format!("TFJob {job} is resumed.")),
        ("Restarting", role) => (
            "TFJobRestarting",
            format!("job {job} is restarting because {role} replica(s) failed."),
        ),
        ("Succeeded", "") => (
            "TFJobSucceeded",
            format!("TFJob {namespace}/{job} successfully completed."),
        ),
        ("Failed", about) => ("TFJobFailed", failed(about, namespace, job)),
        _ => panic!("a row says `{words}`, which means nothing"),
    };
    format!("{kind} {reason}: {message}")
}

fn failed(about: &str, namespace: &str, job: &str) -> String {
    match about.split_once(' ') {
        None if about == "backoff" => {
            format!("Job {job} has failed because it has reached the specified backoff limit")
        }
        None if about == "deadline" => {
            format!("Job {job} has failed because it was active longer than specified deadline")
        }
        Some(("code", role)) => format!("job \"{job}\" is failing because \"{role}\" replica(s) failed."),
        Some((count, role)) => {
            format!("TFJob {namespace}/{job} has failed because {count} {role} replica(s) failed.")
        }
        None => panic!("a row says `Failed {about}`, which means nothing"),
    }
}
