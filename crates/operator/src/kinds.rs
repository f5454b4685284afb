//! Kinds of jobs, one file per kind. Nothing else in this crate names a kind, its conditions, its paths or its reasons; a test here sees
//! to it.
//!
//! Common to all kinds is what the operator adds to a status by itself: `trainyard` (memory), `waiting`, `summary`, `ready`, `restarts`,
//! `tensorboard` and `objects` (extra objects that must be deleted at the end).

pub mod t9k;
pub mod tfjob;
pub mod volcano;

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde_json::{Value, json};
use trainyard_core::{AddressForm, Job, Memory, Observed, Step, Time};
use trainyard_manifest::kinds::{JobApi, Kinds};
use trainyard_status::{MEMORY_FIELD, Unread, rfc3339};

use crate::job::{JobWire, Reading};
use crate::order::OrderApi;
use crate::reconcile::events::Change;
use crate::store::HeldPod;

/// Every kind that can be operated.
pub static KINDS: &[&Kind] = &[&tfjob::KIND, &t9k::KIND, &volcano::KIND];

/// The kinds that an operator was told to run.
#[must_use]
pub fn chosen(kinds: &Kinds) -> Vec<&'static Kind> {
    let is_chosen = |kind: &&Kind| kinds.apis().contains(&kind.api);
    KINDS.iter().copied().filter(is_chosen).collect()
}

/// What is different about jobs of one kind. Two kinds are equal if their APIs are.
pub struct Kind {
    /// Names, labels, definition and rights.
    pub api: &'static JobApi,
    /// The label `framework` in Kubeflow's counters.
    pub framework: &'static str,
    /// The object as the manifest that its author could have written; none if another controller runs the job. The memory is
    /// that of the status, as far as it can be read.
    pub manifest: fn(&JobWire, Option<&Memory>, &Reading) -> Option<Value>,
    /// The status after a step, with the memory and without `waiting` and `summary`.
    pub status: fn(&Projection<'_>) -> Value,
    /// Fields of the status that only count tasks: changes of these are merged for a while.
    pub counts: &'static [&'static str],
    /// The memory that a status holds.
    pub memory: fn(Option<&Value>, &Job) -> Result<Option<Memory>, Unread>,
    /// The memory of a job that another operator began; none if such jobs are not taken over.
    pub taken_over: Option<TakenOver>,
    /// The status of a job about which nothing is done yet, without what it waits for.
    pub waiting: fn(Time) -> Value,
    /// The status of a job whose spec cannot be read; none if it says so already, has ended, or has run.
    pub invalid: fn(Option<&Value>, &str, Time) -> Option<Value>,
    /// The reason in `waiting` of a job that runs and was then edited into one that cannot be read.
    pub invalid_edit: &'static str,
    /// The reason of the condition of a job whose memory the installed definition drops.
    pub definition_too_old: &'static str,
    /// How far a job is by its status.
    pub stage: fn(Option<&Value>) -> Stage,
    /// What has changed between two statuses, but for `waiting`.
    pub changes: fn(Option<&Value>, &Value) -> Vec<Change>,
    /// Objects that give orders to its jobs.
    pub orders: Option<&'static OrderApi>,
}

/// From a status without memory, which another operator wrote, to the memory that it implies; none if it implies none.
pub type TakenOver = fn(Option<&Value>, &Job, &Observed) -> Option<Memory>;

/// What a status is made from.
#[derive(Clone, Copy)]
pub struct Projection<'a> {
    /// The stored status.
    pub previous: Option<&'a Value>,
    /// The job.
    pub job: &'a Job,
    /// What was decided.
    pub step: &'a Step,
    /// What it was decided from.
    pub observed: &'a Observed,
    /// The pods that name the job, its own and others, by their names.
    pub pods: &'a BTreeMap<Arc<str>, HeldPod>,
    /// The time of the step.
    pub now: Time,
}

/// How far a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It has neither run nor been held.
    New,
    /// It runs, is held, or did so.
    Begun,
    /// It has succeeded or failed.
    Ended,
}

/// The type of the condition of a job about which nothing is done.
const STALLED: &str = "Stalled";

/// The condition of a job about which nothing is done: the installed definition drops its memory, or another controller writes its status.
#[derive(Clone, Copy, Debug)]
pub struct Stalled<'a> {
    /// In one word.
    pub reason: &'a str,
    /// What is wrong, and what helps.
    pub message: &'a str,
}

impl Stalled<'_> {
    /// Adds the condition to a status. The next status that is projected has none.
    pub fn write(self, status: &mut Value, before: Option<&Value>, now: Time) {
        let is_stalled = |condition: &Value| condition["type"] == STALLED;
        let is_known = |condition: &&Value| is_stalled(condition) && condition["reason"] == self.reason;
        let stalled = conditions(before).find(is_known).cloned().unwrap_or_else(|| {
            let now = rfc3339(now);
            json!({
                "type": STALLED, "status": "True", "reason": self.reason, "message": self.message,
                "lastUpdateTime": now, "lastTransitionTime": now,
            })
        });
        let mut conditions: Vec<Value> = conditions(Some(status))
            .filter(|condition| !is_stalled(condition))
            .cloned()
            .collect();
        conditions.push(stalled);
        status["conditions"] = conditions.into();
    }
}

impl Kind {
    /// Whether a job says that it has ended.
    #[must_use]
    pub fn has_ended(&self, status: Option<&Value>) -> bool {
        (self.stage)(status) == Stage::Ended
    }
}

/// The object as its author wrote it.
fn as_written(api: &JobApi, wire: &JobWire) -> Value {
    let meta = &wire.metadata;
    json!({
        "apiVersion": api.api_version,
        "kind": api.kind,
        "metadata": {
            "name": meta.name, "namespace": meta.namespace,
            "labels": meta.labels.clone().unwrap_or_default(),
            "annotations": meta.annotations.clone().unwrap_or_default(),
        },
        "spec": wire.spec,
    })
}

/// How the author of a job chooses the addresses of its tasks.
const ADDRESSES: &str = "trainyard.dev/addresses";

/// Says how tasks find each other as the author could have said it: as the job began, since tasks that run know each other by it. A
/// job that has not begun, or is suspended, is as its own annotation or else the operator's flag says.
fn keep_addresses(
    annotations: &mut BTreeMap<String, String>,
    status: Option<&Value>,
    memory: Option<&Memory>,
    per_replica: bool,
) {
    let form = match memory {
        Some(memory) => memory.form,
        None if is_remembered(status) => None,
        None => per_replica.then_some(AddressForm::PerReplica),
    };
    let runs = memory.is_some_and(|memory| memory.started.is_some() && memory.held.is_none());
    if runs && form != Some(AddressForm::Kubeflow) {
        annotations.remove(ADDRESSES);
    }
    if form.is_some() {
        let entry = annotations.entry(ADDRESSES.to_owned());
        entry.or_insert_with(|| "per-replica".to_owned());
    }
}

/// Whether a status holds a memory, readable or not.
fn is_remembered(status: Option<&Value>) -> bool {
    status.is_some_and(|status| status.get(MEMORY_FIELD).is_some_and(|it| !it.is_null()))
}

/// The conditions of a status.
fn conditions(status: Option<&Value>) -> impl Iterator<Item = &Value> {
    let conditions = status.and_then(|status| status["conditions"].as_array());
    conditions.into_iter().flatten()
}

impl fmt::Debug for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.api.kind)
    }
}

impl PartialEq for Kind {
    fn eq(&self, other: &Self) -> bool {
        self.api == other.api
    }
}

impl Eq for Kind {}

impl PartialOrd for Kind {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Kind {
    fn cmp(&self, other: &Self) -> Ordering {
        self.api.cmp(other.api)
    }
}

impl Hash for Kind {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.api.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{read_dir, read_to_string};
    use std::path::Path;

    use trainyard_core::LabelValue;
    use trainyard_dialect::Dialect;
    use trainyard_manifest::kinds::{ALL, PodLabels};

    use super::*;

    /// Words that belong to one kind.
    const WORDS: &[&str] = &[
        "TFJob",
        "tfjob",
        "TensorFlowTrainingJob",
        "\"Running\"",
        "\"Succeeded\"",
        "\"Failed\"",
        "\"Restarting\"",
        "\"Suspended\"",
        "replicaStatuses",
        "managedBy",
        "startTime",
        "kubeflow.org",
        "batch.volcano.sh",
        "bus.volcano.sh",
        "\"Completed\"",
        "\"Terminated\"",
        "\"Aborted\"",
    ];

    fn named(folder: &Path, found: &mut Vec<String>) {
        for entry in read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                if !["kinds", "tests"].contains(&&*name) {
                    named(&path, found);
                }
                continue;
            }
            if ["kinds.rs", "tests.rs"].contains(&&*name) {
                continue;
            }
            let text = read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            for (number, line) in code.lines().enumerate() {
                if WORDS.iter().any(|word| line.contains(word)) {
                    found.push(format!("{}:{}: {}", path.display(), number + 1, line.trim()));
                }
            }
        }
    }

    /// The dialect writes them and the API looks for them: without them the operator would create pods and never see them.
    #[test]
    fn pods_of_every_kind_have_the_labels_by_which_they_are_found() {
        for kind in KINDS {
            let PodLabels {
                selector,
                job,
                role,
                index,
            } = &kind.api.labels;
            let dialect = Dialect::of(kind.api.group, kind.api.kind).unwrap();
            let written = dialect.conventions().operated_labels;
            let fixed = (selector.0, LabelValue::Fixed(selector.1));
            assert!(written.contains(&fixed), "{kind:?}: {fixed:?}");
            for (keys, value) in [
                (job, LabelValue::Job),
                (role, LabelValue::Role),
                (index, LabelValue::Index),
            ] {
                let last = (*keys.last().unwrap(), value);
                assert!(written.contains(&last), "{kind:?}: {last:?}");
            }
            assert!(ALL.contains(&kind.api), "{kind:?} has a row in one list alone");
        }
        assert_eq!(chosen(&Kinds::all()), KINDS, "a kind that is offered can be run");
    }

    #[test]
    fn nothing_outside_this_folder_names_a_kind() {
        let mut found = Vec::new();
        named(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
        assert!(found.is_empty(), "{found:#?}");
    }
}
