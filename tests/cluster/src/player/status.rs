//! A pod's status, as a kubelet writes it: changed in place, never made anew, since others write conditions too.

use serde_json::{Value, json};

/// The address of every pod: reserved for documentation, so it leads nowhere.
const ADDRESS: &str = "192.0.2.1";

pub(crate) fn running(pod: &Value, status: &mut Value) {
    let now = now();
    status["phase"] = "Running".into();
    status["startTime"] = now.as_str().into();
    status["podIP"] = ADDRESS.into();
    status["podIPs"] = json!([{"ip": ADDRESS}]);
    let containers = pod["spec"]["containers"].as_array().cloned().unwrap_or_default();
    let started = containers.iter().map(|container| {
        json!({
            "name": container["name"], "image": container["image"], "imageID": "", "ready": true, "started": true,
            "restartCount": 0, "state": {"running": {"startedAt": now}},
        })
    });
    status["containerStatuses"] = started.collect();
    for kind in ["PodScheduled", "Initialized", "ContainersReady", "Ready"] {
        condition(status, kind, "True", "");
    }
}

/// Ends the container of that name, or all; when none runs any more, the pod has ended.
pub(crate) fn exited(pod: &Value, status: &mut Value, code: i32, container: Option<&str>) {
    // Also where an init container has failed before: what waits did not run.
    let ran = status["containerStatuses"][0]["state"]["waiting"].is_null();
    if !status["containerStatuses"].is_array() || !ran {
        running(pod, status);
    }
    let now = now();
    let mut codes = Vec::new();
    for one in status["containerStatuses"].as_array_mut().into_iter().flatten() {
        let runs = one["state"]["running"].is_object();
        if runs && container.is_none_or(|name| one["name"] == name) {
            one["state"] = json!({"terminated": terminated(code, &one["state"], &now)});
            one["ready"] = false.into();
            one["started"] = false.into();
        }
        codes.push(one["state"]["terminated"]["exitCode"].as_i64());
    }
    unready(status);
    if let Some(codes) = codes.into_iter().collect::<Option<Vec<_>>>() {
        let good = codes.iter().all(|code| *code == 0);
        status["phase"] = if good { "Succeeded" } else { "Failed" }.into();
    }
}

/// Ends everything for want of memory on the node, as a kubelet does.
pub(crate) fn evicted(pod: &Value, status: &mut Value) {
    exited(pod, status, 137, None);
    status["phase"] = "Failed".into();
    status["reason"] = "Evicted".into();
    status["message"] = "The node was low on resource: memory.".into();
    disrupted(status, "TerminationByKubelet");
}

/// Ends the first init container; `again` says that the kubelet will start it once more, and the pod goes on.
pub(crate) fn init_failed(pod: &Value, status: &mut Value, code: Option<i32>, again: bool) {
    let now = now();
    let name = &pod["spec"]["initContainers"][0]["name"];
    let reason = if code.is_some() { "Error" } else { "StartError" };
    let started = if code.is_some() {
        &now
    } else {
        "1970-01-01T00:00:00Z"
    };
    let ended = json!({"terminated": {
        "exitCode": code.unwrap_or(128), "reason": reason, "startedAt": started, "finishedAt": now,
        "message": "fetching the data\nno such bucket\n",
    }});
    let before = status["initContainerStatuses"][0]["restartCount"].as_i64();
    let waits =
        json!({"waiting": {"reason": "CrashLoopBackOff", "message": "back-off restarting failed container"}});
    let before = before.unwrap_or_default();
    let (state, last, count) = if again {
        (waits, ended, before + 1)
    } else {
        (ended, json!({}), before)
    };
    status["initContainerStatuses"] = json!([{
        "name": name, "image": "", "imageID": "", "ready": false, "restartCount": count, "state": state,
        "lastState": last,
    }]);
    let waiting = |container: &Value| {
        json!({
            "name": container["name"], "image": "", "imageID": "", "ready": false, "restartCount": 0,
            "state": {"waiting": {"reason": "PodInitializing"}},
        })
    };
    let containers = pod["spec"]["containers"].as_array().cloned().unwrap_or_default();
    status["containerStatuses"] = containers.iter().map(waiting).collect();
    condition(status, "Initialized", "False", "ContainersNotInitialized");
    let (phase, why) = if again {
        ("Pending", "ContainersNotReady")
    } else {
        ("Failed", "PodFailed")
    };
    condition(status, "Ready", "False", why);
    status["phase"] = phase.into();
}

/// The kubelet will not have the pod: that is all it says of it.
pub(crate) fn rejected(status: &mut Value) {
    *status = json!({
        "phase": "Failed", "reason": "OutOfcpu", "startTime": now(), "qosClass": "BestEffort",
        "message": "Pod was rejected: Node didn't have enough resource: cpu, requested: 9000, used: 0, capacity: 4000",
    });
}

/// Says why containers have ended, in the runtime's one word.
pub(crate) fn reason(status: &mut Value, reason: &str) {
    for one in status["containerStatuses"].as_array_mut().into_iter().flatten() {
        if let Some(terminated) = one["state"]["terminated"].as_object_mut() {
            terminated.insert("reason".into(), reason.into());
        }
    }
}

pub(crate) fn restarted(status: &mut Value, code: i32) {
    let now = now();
    for one in status["containerStatuses"].as_array_mut().into_iter().flatten() {
        one["lastState"] = json!({"terminated": terminated(code, &one["state"], &now)});
        one["state"] = json!({"running": {"startedAt": now}});
        one["restartCount"] = (one["restartCount"].as_i64().unwrap_or_default() + 1).into();
    }
}

fn terminated(code: i32, before: &Value, now: &str) -> Value {
    let started = before["running"]["startedAt"].as_str().unwrap_or(now);
    let reason = if code == 0 { "Completed" } else { "Error" };
    json!({"exitCode": code, "reason": reason, "startedAt": started, "finishedAt": now})
}

pub(crate) fn unready(status: &mut Value) {
    for kind in ["ContainersReady", "Ready"] {
        condition(status, kind, "False", "");
    }
}

/// The node lifecycle controller's word about a pod whose node is silent: nothing else of its status changes.
pub(crate) fn silent(status: &mut Value) {
    condition(status, "Ready", "False", "");
}

/// A kubelet's word about a pod whose readiness probe fails.
pub(crate) fn probe_failed(status: &mut Value) {
    for kind in ["ContainersReady", "Ready"] {
        condition(status, kind, "False", "ContainersNotReady");
    }
}

pub(crate) fn unschedulable(status: &mut Value, why: &str) {
    condition(status, "PodScheduled", "False", "Unschedulable");
    for one in status["conditions"].as_array_mut().into_iter().flatten() {
        if one["type"] == "PodScheduled" {
            one["message"] = why.into();
        }
    }
}

/// Marks a pod as the target of a disruption.
pub(crate) fn disrupted(status: &mut Value, reason: &str) {
    condition(status, "DisruptionTarget", "True", reason);
}

fn condition(status: &mut Value, kind: &str, value: &str, reason: &str) {
    let mut new = json!({"type": kind, "status": value, "lastTransitionTime": now()});
    if !reason.is_empty() {
        new["reason"] = reason.into();
    }
    if !status["conditions"].is_array() {
        status["conditions"] = json!([]);
    }
    if let Some(conditions) = status["conditions"].as_array_mut() {
        match conditions.iter_mut().find(|one| one["type"] == kind) {
            Some(old) => *old = new,
            None => conditions.push(new),
        }
    }
}

/// Now, as Kubernetes writes it.
pub(crate) fn now() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seconds = since.map_or(0, |since| since.as_secs());
    let seconds = i64::try_from(seconds).unwrap_or_default();
    let time = k8s_openapi::jiff::Timestamp::from_second(seconds).unwrap_or_default();
    time.to_string()
}
