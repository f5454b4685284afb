//! Scheduling gates: gangs on the cluster's own scheduler, which places pods one by one. There are no group objects. Pods are created behind a
//! gate of ours, and of gangs that compete for nodes the operator takes the gates of one at a time away (`trainyard_core::gates`).

use serde_json::{Map, Value, json};
use trainyard_core::{Gang, GangScheduler, Job, Role};

use super::Scheduler;
use crate::install::access::{Use, cluster, jobs};

/// Keeps the scheduler from placing a pod before the turn of its gang. It is the first of a pod's gates.
pub const GATE: &str = "trainyard.dev/gang";

pub(super) static SCHEDULER: Scheduler = Scheduler {
    serves: |named| *named == GangScheduler::Gates,
    apis: &[],
    queues: &[],
    uses: &[
        Use {
            verbs: &["patch"],
            why: "the gates of a gang's pods are taken away when it is its turn",
            ..jobs("", "pods")
        },
        Use {
            verbs: &["list", "watch"],
            why: "gangs that no node could take both have turns at the same time, and one that would not fit is told why; without this right \
                  all gangs wait for each other",
            ..cluster("", "nodes")
        },
    ],
    holds: false,
    groups: |_, _, _| Vec::new(),
    mark,
};

/// A template that names a node needs no scheduler, and the API server refuses a gate there.
fn mark(pod: &mut Value, _: &Job, _: &Role, gang: &Gang) {
    let Some(Value::Object(spec)) = pod.get_mut("spec") else {
        return;
    };
    let says = |spec: &Map<String, Value>, field: &str| {
        let named = spec.get(field).and_then(Value::as_str);
        named.is_some_and(|name| !name.is_empty())
    };
    if !says(spec, "nodeName") {
        let theirs = spec.get("schedulingGates").and_then(Value::as_array);
        let theirs = theirs.into_iter().flatten().filter(|gate| gate["name"] != GATE);
        let gates = [json!({ "name": GATE })].into_iter().chain(theirs.cloned());
        let gates: Vec<Value> = gates.collect();
        spec.insert("schedulingGates".into(), gates.into());
    }
    // Pods and gangs come first by the same number.
    if let Some(class) = gang.priority.as_deref()
        && class.parse::<i64>().is_err()
        && !says(spec, "priorityClassName")
    {
        spec.insert("priorityClassName".into(), class.into());
    }
}
