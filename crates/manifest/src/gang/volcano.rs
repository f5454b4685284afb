//! Volcano: one `PodGroup` per job, as Kubeflow's operator writes it. Its pods are created once it has been let in.

use serde_json::{Map, Value};
use trainyard_core::{Gang, GangScheduler, Job, Role};

use super::queue::{DEFAULT_QUEUE, QueueState, amounts, short};
use super::{GroupApi, GroupState, QueueApi, Scheduler, phase, place, pod_group, unschedulable};
use crate::install::access::{of_groups, of_queues};

/// Joins a pod to a group.
pub(super) const GROUP: &str = "scheduling.k8s.io/group-name";
/// Says which of a job's roles a pod is of.
const TASK: &str = "volcano.sh/task-spec";
const API_GROUP: &str = "scheduling.volcano.sh";

static POD_GROUPS: GroupApi = GroupApi {
    group: API_GROUP,
    version: "v1beta1",
    kind: "PodGroup",
    plural: "podgroups",
    follows: &["minMember", "minTaskMember", "minResources", "priorityClassName"],
    state,
    help: "install Volcano",
};

static QUEUES: QueueApi = QueueApi {
    group: API_GROUP,
    version: "v1beta1",
    kind: "Queue",
    plural: "queues",
    state: queue_state,
    open: |name| format!("open it with `vcctl queue operate --action open --name {name}`"),
};

pub(super) static SCHEDULER: Scheduler = Scheduler {
    serves: |named| *named == GangScheduler::Volcano,
    apis: &[&POD_GROUPS],
    queues: &[&QUEUES],
    uses: &[of_groups(API_GROUP, "podgroups"), of_queues(API_GROUP, "queues")],
    holds: true,
    groups: |subject, gang, _| {
        pod_group(&POD_GROUPS, subject, gang, |spec| {
            let queue = gang.queue.as_deref().unwrap_or(DEFAULT_QUEUE);
            spec.insert("queue".into(), queue.into());
            if !gang.per_role.is_empty() {
                let least = gang.per_role.iter();
                let least = least.map(|(role, least)| (role.to_string(), Value::from(*least)));
                spec.insert("minTaskMember".into(), least.collect::<Map<_, _>>().into());
            }
            if let Some(class) = &gang.priority {
                spec.insert("priorityClassName".into(), (**class).into());
            }
        })
    },
    mark,
};

fn mark(pod: &mut Value, job: &Job, role: &Role, gang: &Gang) {
    if gang.existing.is_none() {
        let annotations = &mut pod["metadata"]["annotations"];
        annotations[GROUP] = (&*job.name).into();
        annotations[TASK] = (&*role.name.0).into();
    }
    place(pod, gang);
}

/// `Unknown` is Volcano's word for a group of which some members run while others cannot be placed. One that is `Inqueue` says how many of its
/// members fit.
pub(super) fn state(status: &Value) -> GroupState {
    match status["phase"].as_str() {
        Some("Unknown") => GroupState::Broken,
        Some("Inqueue") => unschedulable(status).map_or(GroupState::Open, GroupState::Placing),
        _ => phase(status),
    }
}

/// Volcano's webhook refuses pods of a queue that is not open, and since 1.12 its scheduler lets none of its groups in, without a word.
fn queue_state(queue: &Value) -> QueueState {
    let word = queue["status"]["state"].as_str();
    // Nothing sets the state of a queue where Volcano's controllers do not run.
    let closed = word.filter(|word| !["", "Open"].contains(word));
    QueueState {
        closed: closed.map(short),
        limit: amounts(&queue["spec"]["capability"]),
        held: amounts(&queue["status"]["allocated"]),
    }
}
