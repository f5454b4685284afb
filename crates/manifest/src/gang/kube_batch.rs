//! kube-batch, Volcano's predecessor: one `PodGroup` per job. It looks at pods that exist, so they are created at once.
//!
//! It reads groups of two APIs, this one and `scheduling.sigs.dev/v1alpha2`. The operator writes this one, which Kubeflow's operator wrote;
//! a group that the templates name may be of either.

use serde_json::{Map, Value};
use trainyard_core::{Gang, GangScheduler, Job, Role};

use super::volcano::{DEFAULT_QUEUE, GROUP, state};
use super::{GroupApi, Scheduler, group_of, place};
use crate::install::access::of_groups;

const API_GROUP: &str = "scheduling.incubator.k8s.io";

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

pub(super) static SCHEDULER: Scheduler = Scheduler {
    serves: |named| *named == GangScheduler::KubeBatch,
    apis: &[&POD_GROUPS],
    uses: &[of_groups(API_GROUP, "podgroups")],
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
