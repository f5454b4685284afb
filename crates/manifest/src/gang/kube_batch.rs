//! kube-batch, Volcano's predecessor: one `PodGroup` per job. It looks at pods that exist, so they are created at once.
//!
//! It reads groups of two APIs, this one and `scheduling.sigs.dev/v1alpha2`. The operator writes this one, which Kubeflow's operator wrote;
//! a group that the templates name may be of either.

use serde_json::{Map, Value};
use trainyard_core::{Gang, GangScheduler, Job, Role};

use super::queue::{DEFAULT_QUEUE, QueueState};
use super::volcano::{GROUP, state};
use super::{GroupApi, QueueApi, Scheduler, group_of, place};
use crate::install::access::{of_groups, of_queues};

const API_GROUP: &str = "scheduling.incubator.k8s.io";
/// The other one that it reads.
const OTHER_GROUP: &str = "scheduling.sigs.dev";

static POD_GROUPS: GroupApi = GroupApi {
    group: API_GROUP,
    version: "v1alpha1",
    kind: "PodGroup",
    plural: "podgroups",
    follows: &["minMember", "priorityClassName"],
    // The phase decides: the condition `Unschedulable` stays true after the group has been placed.
    state,
    help: "install kube-batch and its definitions",
};

/// It finds a group's queue among those of both APIs, and ignores a group whose queue is in neither.
static QUEUES: QueueApi = queues(API_GROUP, "v1alpha1");
static OTHER_QUEUES: QueueApi = queues(OTHER_GROUP, "v1alpha2");

/// Its queues are never closed. What they may hold is counted by weights, so no limit explains why a group waits.
const fn queues(group: &'static str, version: &'static str) -> QueueApi {
    QueueApi {
        group,
        version,
        kind: "Queue",
        plural: "queues",
        state: |_| QueueState::default(),
        open: |_| String::new(),
    }
}

pub(super) static SCHEDULER: Scheduler = Scheduler {
    serves: |named| *named == GangScheduler::KubeBatch,
    apis: &[&POD_GROUPS],
    queues: &[&QUEUES, &OTHER_QUEUES],
    uses: &[
        of_groups(API_GROUP, "podgroups"),
        of_queues(API_GROUP, "queues"),
        of_queues(OTHER_GROUP, "queues"),
    ],
    holds: false,
    groups: |subject, gang, _| {
        // Its groups say nothing of resources.
        let mut spec = Map::new();
        spec.insert("minMember".into(), gang.members.max(1).into());
        let queue = gang.queue.as_deref().unwrap_or(DEFAULT_QUEUE);
        spec.insert("queue".into(), queue.into());
        if let Some(class) = &gang.priority {
            spec.insert("priorityClassName".into(), (**class).into());
        }
        group_of(&POD_GROUPS, subject, &spec)
    },
    mark,
};

fn mark(pod: &mut Value, job: &Job, _: &Role, gang: &Gang) {
    if gang.existing.is_none() {
        pod["metadata"]["annotations"][GROUP] = (&*job.name).into();
    }
    place(pod, gang);
}
