//! What we write into the status of a Workload: conditions that Kueue leaves to the controller of the job.
//!
//! The status is written as a whole, over the version that was read. Applying single fields cannot take `admission` away, and a merge patch
//! would replace the list of conditions.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::state::condition;

/// What changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Amendment {
    /// The job was evicted and nothing of it runs: its quota is free.
    pub release: bool,
    /// Whether every task runs.
    pub ready: Option<bool>,
    /// How many pods are given back, by pod set.
    pub reclaimable: Option<BTreeMap<Arc<str>, u32>>,
    /// How the job has ended: whether it succeeded, and in words.
    pub finished: Option<(bool, String)>,
}

/// Evictions after which the job stands in its queue again at once. After others Kueue decides when it does.
const REQUEUED: &[&str] = &["Preempted", "NodeFailures"];

/// The status of a Workload with these changes; none if it has them.
#[must_use]
pub fn amended(workload: &Value, change: &Amendment, now: &str) -> Option<Value> {
    let before = &workload["status"];
    let mut status = if before.is_object() {
        before.clone()
    } else {
        json!({})
    };
    if change.release {
        release(&mut status, now);
    } else if let Some(ready) = change.ready {
        set_ready(&mut status, ready, now);
    }
    if let Some(counts) = &change.reclaimable {
        reclaim(&mut status, counts);
    }
    if let Some((succeeded, words)) = &change.finished {
        let reason = if *succeeded { "Succeeded" } else { "Failed" };
        set(&mut status, "Finished", (true, reason, words), now);
    }
    (status != *before).then_some(status)
}

/// Gives the quota back. All of it in one write: a Workload that is admitted and has no quota would never be admitted again.
fn release(status: &mut Value, now: &str) {
    let Some(evicted) = condition(status, "Evicted").filter(|found| found["status"] == "True") else {
        return;
    };
    let text = |field: &str| evicted[field].as_str().unwrap_or_default().to_owned();
    let (reason, message) = (text("reason"), text("message"));
    set(status, "QuotaReserved", (false, "Pending", &message), now);
    let words = "The workload has no reservation";
    set(status, "Admitted", (false, "NoReservation", words), now);
    set(
        status,
        "PodsReady",
        (false, "WaitForStart", "Not all pods are ready or succeeded"),
        now,
    );
    let requeued = REQUEUED.contains(&&*reason);
    // A condition needs a reason.
    let reason = if reason.is_empty() { "Evicted" } else { &reason };
    set(status, "Requeued", (requeued, reason, &message), now);
    if let Some(status) = status.as_object_mut() {
        status.shift_remove("admission");
    }
}

fn set_ready(status: &mut Value, ready: bool, now: &str) {
    let before = condition(status, "PodsReady").map(|found| {
        let recovers = matches!(found["reason"].as_str(), Some("WaitForRecovery" | "Recovered"));
        (found["status"] == "True", recovers)
    });
    let (reason, words) = match (ready, before) {
        (true, Some((_, true))) => (
            "Recovered",
            "All pods were ready or succeeded since the last recovery",
        ),
        (true, _) => (
            "Started",
            "All pods reached readiness and the workload is running",
        ),
        (false, Some((true, _) | (_, true))) => (
            "WaitForRecovery",
            "At least one pod has failed, waiting for recovery",
        ),
        (false, _) => ("WaitForStart", "Not all pods are ready or succeeded"),
    };
    if before.is_none_or(|(was, _)| was != ready) {
        set(status, "PodsReady", (ready, reason, words), now);
    }
}

fn reclaim(status: &mut Value, counts: &BTreeMap<Arc<str>, u32>) {
    let counts: Vec<Value> = counts
        .iter()
        .map(|(name, count)| json!({ "name": name, "count": count }))
        .collect();
    if counts.is_empty() && status.get("reclaimablePods").is_none() {
        return;
    }
    status["reclaimablePods"] = counts.into();
}

/// Sets a condition; when it changed is when its value did.
fn set(status: &mut Value, kind: &str, (value, reason, message): (bool, &str, &str), now: &str) {
    let value = if value { "True" } else { "False" };
    let since = condition(status, kind)
        .filter(|before| before["status"] == value)
        .and_then(|before| before["lastTransitionTime"].as_str())
        .unwrap_or(now);
    let condition = json!({
        "type": kind, "status": value, "reason": reason, "message": message, "lastTransitionTime": since,
    });
    if !status["conditions"].is_array() {
        status["conditions"] = json!([]);
    }
    let Some(conditions) = status["conditions"].as_array_mut() else {
        return;
    };
    match conditions.iter_mut().find(|before| before["type"] == kind) {
        Some(before) => *before = condition,
        None => conditions.push(condition),
    }
}
