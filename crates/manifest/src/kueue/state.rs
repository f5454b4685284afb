//! What a Workload says.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::placement::{Placement, key};
use super::{CONTENT, PLACEMENT};

/// Longer words of Kueue's are cut.
const LONGEST: usize = 500;
/// More pod sets than Kueue allows are not looked at.
const MOST: usize = 64;

/// How far Kueue has come with a Workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It holds no quota.
    Pending,
    /// Quota is reserved, and something else has to be checked.
    Reserved,
    /// The job may run.
    Admitted,
    /// The job has to stop. Its quota is free once we say that it has.
    Evicted,
    /// It counts no more.
    Finished,
}

/// What is kept of a Workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadState {
    /// How far it has come.
    pub phase: Phase,
    /// Neither a user nor Kueue has taken it out of its queue.
    pub active: bool,
    /// Why it waits or was evicted, in Kueue's words.
    pub words: Option<Arc<str>>,
    /// Its queue.
    pub queue: Arc<str>,
    /// The name of its priority class.
    pub class: Option<Arc<str>>,
    /// How many pods it asks for, by pod set.
    pub counts: BTreeMap<Arc<str>, u32>,
    /// From which templates it was written.
    pub content: Option<Arc<str>>,
    /// For how many pods quota is reserved.
    pub assigned: BTreeMap<Arc<str>, u32>,
    /// How many of them were given back.
    pub reclaimed: BTreeMap<Arc<str>, u32>,
    /// Whether we have said that pods are ready.
    pub ready: Option<bool>,
    /// Where its pods are to run, if that was looked up since it was admitted.
    pub placement: Option<Arc<Placement>>,
}

impl WorkloadState {
    /// Reads a Workload.
    #[must_use]
    pub fn of(annotations: Option<&BTreeMap<String, String>>, object: &Value) -> Self {
        let (spec, status) = (&object["spec"], &object["status"]);
        let noted = |key: &str| annotations.and_then(|annotations| annotations.get(key));
        let phase = phase(status);
        let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(Arc::from);
        Self {
            phase,
            active: spec["active"] != false,
            words: words(status),
            queue: text(&spec["queueName"]).unwrap_or_default(),
            class: text(&spec["priorityClassRef"]["name"]),
            counts: counts(&spec["podSets"]),
            content: noted(CONTENT).map(|content| content.as_str().into()),
            assigned: counts(&status["admission"]["podSetAssignments"]),
            reclaimed: counts(&status["reclaimablePods"]),
            ready: condition(status, "PodsReady").map(|ready| ready["status"] == "True"),
            placement: noted(PLACEMENT)
                .filter(|_| phase == Phase::Admitted)
                .and_then(|text| Placement::read(text, &key(status)))
                .map(Arc::new),
        }
    }
}

fn phase(status: &Value) -> Phase {
    let is = |kind: &str| condition(status, kind).is_some_and(|found| found["status"] == "True");
    if is("Finished") {
        return Phase::Finished;
    }
    match (is("QuotaReserved"), is("Evicted"), is("Admitted")) {
        (false, _, _) => Phase::Pending,
        (true, true, _) => Phase::Evicted,
        (true, false, true) if status["admission"].is_object() => Phase::Admitted,
        (true, false, _) => Phase::Reserved,
    }
}

/// The condition of that type.
pub(super) fn condition<'a>(status: &'a Value, kind: &str) -> Option<&'a Value> {
    let mut conditions = status["conditions"].as_array().into_iter().flatten();
    conditions.find(|condition| condition["type"] == kind)
}

/// What Kueue says that the Workload waits for: quota, a check, or that it is requeued.
fn words(status: &Value) -> Option<Arc<str>> {
    let said = |kind: &str, value: &str| {
        let found = condition(status, kind).filter(|found| found["status"] == value)?;
        found["message"].as_str().filter(|words| !words.is_empty())
    };
    let check = || {
        let mut checks = status["admissionChecks"].as_array().into_iter().flatten();
        let waits = checks.find(|check| check["state"] != "Ready")?;
        waits["message"].as_str().filter(|words| !words.is_empty())
    };
    let words = said("Finished", "True")
        .or_else(|| said("QuotaReserved", "False"))
        .or_else(|| said("Evicted", "True"))
        .or_else(check)?;
    Some(words.chars().take(LONGEST).collect::<String>().into())
}

/// Names and counts of a list. Numbers that no pod set can have count as the nearest possible one.
fn counts(list: &Value) -> BTreeMap<Arc<str>, u32> {
    let entries = list.as_array().into_iter().flatten().take(MOST);
    let named = entries.filter_map(|entry| Some((entry["name"].as_str()?.into(), count(&entry["count"]))));
    named.collect()
}

fn count(value: &Value) -> u32 {
    let whole = value
        .as_u64()
        .map(|count| u32::try_from(count).unwrap_or(u32::MAX));
    whole.unwrap_or_default()
}
