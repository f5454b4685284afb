//! T9k's scheduler: one `PodGroup` per job, as T9k's controllers write it by T9k's documents; the scheduler itself is closed. It looks at
//! pods that exist, so they are created at once.

use serde_json::{Map, Value, json};
use trainyard_core::{Gang, GangScheduler, Job, Role, Subject};

use super::queue::DEFAULT_QUEUE;
use super::{Ended, GroupApi, GroupState, GroupWanted, Scheduler, group_of, place};
use crate::install::access::of_groups;

const API_GROUP: &str = "scheduler.tensorstack.dev";
/// Joins a pod to a group.
const GROUP: &str = "scheduler.tensorstack.dev/group-name";
/// The queue that a pod's resources come from.
const QUEUE: &str = "scheduler.tensorstack.dev/queue";
/// The role of a pod, which `spec.roles` of its group may count.
const ROLE: &str = "scheduler.tensorstack.dev/role";
/// The highest priority of a group; the lowest is 0, which is the default.
const HIGHEST: u64 = 100;

static POD_GROUPS: GroupApi = GroupApi {
    group: API_GROUP,
    version: "v1beta1",
    kind: "PodGroup",
    plural: "podgroups",
    follows: &["minMember", "priority", "roles"],
    state,
    help: "install T9k's scheduler",
};

pub(super) static SCHEDULER: Scheduler = Scheduler {
    serves: |named| *named == GangScheduler::T9k,
    apis: &[&POD_GROUPS],
    // They are in a namespace of T9k's, whose admission refuses pods of a queue that is closed or has too little left: the refusal says so.
    queues: &[],
    uses: &[of_groups(API_GROUP, "podgroups")],
    holds: false,
    groups,
    mark,
};

fn groups(subject: &Subject, gang: &Gang, ended: Ended) -> Vec<GroupWanted> {
    // Pods that have failed are no members, those that have succeeded are.
    let all = u32::try_from(subject.job.size()).unwrap_or(u32::MAX);
    let members = gang.members.min(all.saturating_sub(ended.failed)).max(1);
    let priority = gang.priority.as_ref().and_then(|text| text.parse().ok());
    let priority = priority.filter(|number: &u64| *number <= HIGHEST).unwrap_or(0);
    let mut spec = Map::new();
    spec.insert("minMember".into(), members.into());
    spec.insert("queue".into(), queue(gang).into());
    spec.insert("priority".into(), priority.into());
    if !gang.per_role.is_empty() {
        let roles = gang.per_role.iter();
        let roles = roles.map(|(role, least)| json!({ "name": role, "minMember": least }));
        spec.insert("roles".into(), roles.collect());
    }
    group_of(&POD_GROUPS, subject, &spec)
}

fn queue(gang: &Gang) -> &str {
    gang.queue.as_deref().unwrap_or(DEFAULT_QUEUE)
}

fn mark(pod: &mut Value, job: &Job, role: &Role, gang: &Gang) {
    let labels = &mut pod["metadata"]["labels"];
    if gang.existing.is_none() {
        labels[GROUP] = (&*job.name).into();
        labels[QUEUE] = queue(gang).into();
        labels[ROLE] = (&*role.name.0).into();
    }
    place(pod, gang);
}

/// `GroupScheduled` is true once the group has been given resources. What keeps it waiting stands in the condition that is not true;
/// whether there are enough members comes first.
fn state(status: &Value) -> GroupState {
    let conditions = || status["conditions"].as_array().into_iter().flatten();
    let find = |kind: &str| conditions().find(|one| one["type"] == kind);
    if find("GroupScheduled").is_some_and(|one| one["status"] == "True") {
        return GroupState::Open;
    }
    let untrue = ["SufficientGroupMember", "GroupScheduled"].map(find);
    let untrue = untrue.into_iter().flatten().filter(|one| one["status"] != "True");
    let words = untrue.filter_map(|one| {
        let said = [&one["message"], &one["reason"]];
        said.into_iter()
            .filter_map(Value::as_str)
            .find(|text| !text.is_empty())
    });
    GroupState::Waiting(words.map(Into::into).next())
}
