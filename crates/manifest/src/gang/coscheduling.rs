//! The coscheduling plugin of `kubernetes-sigs/scheduler-plugins`, in a scheduler of any name: one `PodGroup` per job. It looks at
//! pods that exist, so they are created at once.

use serde_json::Value;
use trainyard_core::{Gang, Job, Role};

use super::{GroupApi, Scheduler, not_ended, phase, place, pod_group};
use crate::install::access::of_groups;

/// Joins a pod to a group.
const GROUP: &str = "scheduling.x-k8s.io/pod-group";
const API_GROUP: &str = "scheduling.x-k8s.io";

static POD_GROUPS: GroupApi = GroupApi {
    group: API_GROUP,
    version: "v1alpha1",
    kind: "PodGroup",
    plural: "podgroups",
    follows: &["minMember", "minResources", "scheduleTimeoutSeconds"],
    state: phase,
    help: "install the coscheduling plugin (scheduler-plugins)",
};

pub(super) static SCHEDULER: Scheduler = Scheduler {
    // Every name that no other module serves is that of a scheduler with the plugin, as for Kubeflow's operator.
    serves: |named| named.name().is_some(),
    apis: &[&POD_GROUPS],
    queues: &[],
    uses: &[of_groups(API_GROUP, "podgroups")],
    holds: false,
    groups: |subject, gang, ended| {
        pod_group(&POD_GROUPS, subject, gang, |spec| {
            // Pods that have ended are no siblings: a task that is created again would not be placed.
            spec.insert("minMember".into(), not_ended(subject, gang, ended).into());
            if let Some(timeout) = gang.timeout {
                spec.insert("scheduleTimeoutSeconds".into(), timeout.into());
            }
        })
    },
    mark,
};

fn mark(pod: &mut Value, job: &Job, _: &Role, gang: &Gang) {
    if gang.existing.is_none() {
        pod["metadata"]["labels"][GROUP] = (&*job.name).into();
    }
    place(pod, gang);
}
